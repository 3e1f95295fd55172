/* Prints modules: the head, tables of places, computations, instructions. */
#include "import/hlo_text/hlo_text.h"

#include "base/text.h"
#include "import/hlo_text/names.h"
#include "import/hlo_text/printer.h"
#include "import/hlo_text/scan.h"
#include "import/program/order.h"

#include <inttypes.h>
#include <string.h>

/* Equal elements of more than these are printed as one that is broadcast. */
#define SPLAT_ABOVE 256

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Names from elsewhere may have characters that HLO's names have not; some begin with a digit, which
 * only a `%` allows. */
static void print_letters(struct hlo_printer *p, const char *name)
{
    for (const char *c = name; *c; c++) {
        bool is_known = is_letter(*c) || (*c >= '0' && *c <= '9') || *c == '.' || *c == '-';

        fputc(is_known && !(c[0] == '-' && c[1] == '>') ? *c : '_', p->to);
    }
}

void hlo_print_name(struct hlo_printer *p, const char *name)
{
    if (!p->options->is_short || !is_letter(name[0]))
        fputc('%', p->to);
    print_letters(p, name);
}

void hlo_print_ints(struct hlo_printer *p, struct hlo_ints list)
{
    for (int n = 0; n < list.count; n++)
        fprintf(p->to, "%s%" PRId64, n ? "," : "", list.item[n]);
}

void hlo_print_string(struct hlo_printer *p, const char *text, size_t bytes)
{
    static const char from[] = "\n\r\t\"'\\", to[] = "nrt\"'\\";

    fputc('"', p->to);
    for (size_t n = 0; n < bytes; n++) {
        unsigned char c = (unsigned char)text[n];
        const char *escaped = c ? strchr(from, c) : NULL;

        if (escaped)
            fprintf(p->to, "\\%c", to[escaped - from]);
        else if (c < ' ' || c >= 0x7f)
            fprintf(p->to, "\\%03o", c);
        else
            fputc(c, p->to);
    }
    fputc('"', p->to);
}

/* Would it be read as one value, up to its end? */
static bool is_value(const char *text)
{
    struct hlo_span value;
    struct hlo_scan s;
    struct err e;

    hlo_scan_init(&s, text, strlen(text), "", &e);
    return hlo_scan_value(&s, &value) == 0 && s.at == s.end;
}

void hlo_print_value(struct hlo_printer *p, const char *value)
{
    if (is_value(value))
        fputs(value, p->to);
    else
        hlo_print_string(p, value, strlen(value));
}

static void print_key(struct hlo_printer *p, const char *key)
{
    if (!is_letter(key[0]))
        fputc('_', p->to);
    print_letters(p, key);
    fputc('=', p->to);
}

void hlo_print_pairs(struct hlo_printer *p, const struct hlo_pairs *pairs)
{
    fputc('{', p->to);
    for (int n = 0; n < pairs->count; n++) {
        fputs(n ? "," : "", p->to);
        print_key(p, pairs->item[n].key);
        if (pairs->item[n].value[0] && strchr("\"'{", pairs->item[n].value[0]))
            hlo_print_value(p, pairs->item[n].value);
        else                            /* here only strings and braces may stand */
            hlo_print_string(p, pairs->item[n].value, strlen(pairs->item[n].value));
    }
    fputc('}', p->to);
}

void hlo_print_other(struct hlo_printer *p, const struct hlo_pairs *pairs)
{
    for (int n = 0; n < pairs->count; n++) {
        fputs(", ", p->to);
        print_key(p, pairs->item[n].key);
        hlo_print_value(p, pairs->item[n].value);
    }
}

static void print_aliases(struct hlo_printer *p)
{
    const struct hlo_module *m = p->module;

    for (int n = 0; n < m->alias_count; n++) {
        const struct hlo_alias *a = &m->alias[n];

        fputs(n ? ", {" : ", input_output_alias={ {", p->to);
        hlo_print_ints(p, a->output);
        fprintf(p->to, "}: (%" PRId64 ", {", a->parameter);
        hlo_print_ints(p, a->parameter_path);
        fprintf(p->to, "}, %s)", a->is_must ? "must-alias" : "may-alias");
    }
    fputs(m->alias_count ? " }" : "", p->to);
}

static void print_entry_layout(struct hlo_printer *p)
{
    const struct hlo_module *m = p->module;

    fputs(", entry_computation_layout={(", p->to);
    for (int n = 0; n < m->entry_parameter_count; n++) {
        fputs(n ? ", " : "", p->to);
        hlo_print_type(p, &m->entry_parameter[n]);
    }
    fputs(")->", p->to);
    hlo_print_type(p, m->entry_result);
    fputc('}', p->to);
}

static void print_head(struct hlo_printer *p)
{
    const struct hlo_module *m = p->module;
    struct hlo_text_options plain = {.is_short = true};
    struct hlo_printer name = {.to = p->to, .options = &plain};

    fputs("HloModule ", p->to);
    hlo_print_name(&name, m->name && *m->name ? m->name : "module");
    if (m->is_scheduled)
        fputs(", is_scheduled=true", p->to);
    print_aliases(p);
    if (m->entry_result)
        print_entry_layout(p);
    if (m->replica_count > 1)
        fprintf(p->to, ", replica_count=%" PRId64, m->replica_count);
    if (m->partition_count > 1)
        fprintf(p->to, ", num_partitions=%" PRId64, m->partition_count);
    hlo_print_other(p, &m->other);
    if (m->frontend.count) {
        fputs(", frontend_attributes=", p->to);
        hlo_print_pairs(p, &m->frontend);
    }
    fputc('\n', p->to);
    if (m->tables && !p->options->no_metadata)
        fprintf(p->to, "\n%s\n", m->tables);
}

/* A scalar that a constant of equal elements is broadcast of; the name is free. */
static bool is_large_splat(const struct hlo_printer *p, const struct hlo_instruction *i)
{
    return i->op == OPCODE_CONSTANT && i->literal->is_splat && !p->options->no_large_constants
           && hlo_type_elements(i->type) > SPLAT_ABOVE;
}

static void print_splat(struct hlo_printer *p, const struct hlo_instruction *i, const char *name)
{
    struct hlo_literal scalar = {.type = hlo_scalar_type(i->type->element),
                                 .data = i->literal->data};

    fputs("  ", p->to);
    hlo_print_name(p, name);
    fprintf(p->to, " = %s[] constant(", hlo_element_name(i->type->element));
    hlo_print_literal(p, &scalar);
    fputs(")\n", p->to);
}

static void print_operands(struct hlo_printer *p, const struct hlo_instruction *i)
{
    if (i->op == OPCODE_PARAMETER)
        fprintf(p->to, "%" PRId64, i->index);
    if (i->op == OPCODE_CONSTANT)
        hlo_print_literal(p, i->literal);
    for (int n = 0; n < i->operand_count; n++) {
        fputs(n ? ", " : "", p->to);
        hlo_print_name(p, hlo_name(&p->computation->instruction[i->operand[n]]));
    }
}

static void print_instruction(struct hlo_printer *p, const struct hlo_instruction *i,
                              const char *splat)
{
    struct hlo_instruction broadcast = *i;

    if (splat) {
        broadcast.op = OPCODE_BROADCAST;
        print_splat(p, i, splat);
    }
    fputs(i == &p->computation->instruction[p->computation->root] ? "  ROOT " : "  ", p->to);
    hlo_print_name(p, hlo_name(i));
    fputs(" = ", p->to);
    hlo_print_type(p, i->type);
    fprintf(p->to, " %s(", hlo_opcode_name(broadcast.op));
    if (splat)
        hlo_print_name(p, splat);
    else
        print_operands(p, i);
    fputc(')', p->to);
    hlo_print_attributes(p, &broadcast);
    fputc('\n', p->to);
}

static void print_signature(struct hlo_printer *p)
{
    const struct hlo_computation *c = p->computation;

    p->no_layouts = true;
    fputs(" (", p->to);
    for (int n = 0; n < c->parameter_count; n++) {
        const struct hlo_instruction *i = &c->instruction[c->parameter[n]];
        struct hlo_text_options plain = {.is_short = true};
        struct hlo_printer name = {.to = p->to, .options = &plain};

        fputs(n ? ", " : "", p->to);
        hlo_print_name(&name, hlo_name(i));
        fputs(": ", p->to);
        hlo_print_type(p, i->type);
    }
    fputs(") -> ", p->to);
    hlo_print_type(p, c->instruction[c->root].type);
    p->no_layouts = false;
}

/* A name that no instruction of the computation has. */
static char *free_name(struct hlo_names *taken, const struct hlo_computation *c, const char *name,
                       struct arena *a)
{
    char *made;

    if (taken->count == 0) {
        for (int n = 0; n < c->count; n++) {
            const char *other = hlo_name_in(a, &c->instruction[n]);

            hlo_names_add(taken, other, strlen(other), n);
        }
    }
    for (int n = 0;; n++) {
        made = n ? arena_printf(a, "%s.splat.%d", name, n) : arena_printf(a, "%s.splat", name);
        if (hlo_names_find(taken, made, strlen(made)) < 0)
            break;
    }
    hlo_names_add(taken, made, strlen(made), 0);
    return made;
}

static void print_computation(struct hlo_printer *p, int index)
{
    const struct hlo_computation *c = &p->module->computation[index];
    struct hlo_names taken = {.count = 0};
    struct arena names;

    arena_init(&names);
    p->computation = c;
    fputs(index == p->module->entry ? "\nENTRY " : "\n", p->to);
    hlo_print_name(p, c->name);
    if (!p->options->is_short)
        print_signature(p);
    fputs(" {\n", p->to);
    for (int n = 0; n < c->count; n++) {
        const struct hlo_instruction *i = &c->instruction[n];

        print_instruction(p, i, is_large_splat(p, i) ? free_name(&taken, c, hlo_name(i), &names)
                                                     : NULL);
    }
    fputc('}', p->to);
    if (c->thread) {
        fputs(", execution_thread=", p->to);
        hlo_print_string(p, c->thread, strlen(c->thread));
    }
    fputc('\n', p->to);
    hlo_names_fini(&taken);
    arena_fini(&names);
}

/* Computations stand before those that call them. */
void hlo_text_print(const struct hlo_module *m, FILE *to, const struct hlo_text_options *o)
{
    struct hlo_printer p = {.to = to, .options = o, .module = m};
    int *order = mem_alloc((size_t)m->computation_count * sizeof(*order));

    print_head(&p);
    if (hlo_call_order(m, order) == 0) {
        for (int n = 0; n < m->computation_count; n++)
            print_computation(&p, order[n]);
    }
    mem_free(order);
}
