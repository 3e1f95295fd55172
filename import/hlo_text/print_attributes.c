/* Prints attributes by their table, each by its kind; what is only kept stands behind them. */
#include "import/hlo_text/printer.h"

#include "import/program/sharding.h"

#include <inttypes.h>
#include <string.h>

/* What a kind's function gets: it prints nothing where the attribute is not set and need not be. */
struct printing {
    struct hlo_printer *p;
    const struct hlo_attribute_row *row;
    const struct hlo_fields *f;
    const void *field;
};

static FILE *begin(const struct printing *g)
{
    fprintf(g->p->to, ", %s=", g->row->name);
    return g->p->to;
}

static bool is_optional(const struct printing *g) { return g->row->need == HLO_NEED_OPTIONAL; }

static void print_kind_int(const struct printing *g)
{
    int64_t value = *(const int64_t *)g->field;

    if (value || !is_optional(g))
        fprintf(begin(g), "%" PRId64, value);
}

static void print_kind_count(const struct printing *g)
{
    int64_t value = *(const int64_t *)g->field;

    if (value != 1)
        fprintf(begin(g), "%" PRId64, value);
}

static void print_kind_bits(const struct printing *g)
{
    fprintf(begin(g), "%d", *(const int *)g->field);
}

static void print_kind_bool(const struct printing *g)
{
    bool value = *(const bool *)g->field;

    if (value || !is_optional(g))
        fputs(value ? "true" : "false", begin(g));
}

static void print_kind_number(const struct printing *g)
{
    begin(g);
    hlo_print_element(g->p, ELEMENT_F64, g->field);
}

static void print_kind_word(const struct printing *g)
{
    const char *word = *(const char *const *)g->field;

    if (word)
        fputs(word, begin(g));
}

static void print_braced(const struct printing *g, struct hlo_ints list)
{
    fputc('{', begin(g));
    hlo_print_ints(g->p, list);
    fputc('}', g->p->to);
}

static void print_kind_list(const struct printing *g)
{
    struct hlo_ints list = *(const struct hlo_ints *)g->field;

    if (list.count || !is_optional(g))
        print_braced(g, list);
}

static void print_kind_ranges(const struct printing *g)
{
    const struct hlo_instruction *i = &g->f->i;

    begin(g);
    for (int d = 0; d < hlo_detail(i)->start.count; d++) {
        fprintf(g->p->to, "%s[%" PRId64 ":%" PRId64, d ? ", " : "{", hlo_detail(i)->start.item[d],
                hlo_detail(i)->limit.item[d]);
        if (hlo_detail(i)->stride.count && hlo_detail(i)->stride.item[d] != 1)
            fprintf(g->p->to, ":%" PRId64, hlo_detail(i)->stride.item[d]);
        fputc(']', g->p->to);
    }
    fputs(hlo_detail(i)->start.count ? "}" : "{}", g->p->to);
}

static void print_kind_padding(const struct printing *g)
{
    const struct hlo_instruction *i = &g->f->i;

    begin(g);
    for (int d = 0; d < hlo_detail(i)->low.count; d++) {
        fprintf(g->p->to, "%s%" PRId64 "_%" PRId64, d ? "x" : "", hlo_detail(i)->low.item[d],
                hlo_detail(i)->high.item[d]);
        if (hlo_detail(i)->interior.count && hlo_detail(i)->interior.item[d])
            fprintf(g->p->to, "_%" PRId64, hlo_detail(i)->interior.item[d]);
    }
}

/* A field of a window that some dimension has otherwise than usual. */
static void print_window_field(FILE *to, const char *name, int count, const struct hlo_window *w,
                               size_t offset, int64_t usual)
{
    bool is_usual = true;

    for (int d = 0; d < count; d++)
        is_usual &= *(const int64_t *)(const void *)((const char *)&w[d] + offset) == usual;
    for (int d = 0; d < count && !is_usual; d++) {
        fputs(d ? "x" : name, to);
        fprintf(to, "%" PRId64, *(const int64_t *)(const void *)((const char *)&w[d] + offset));
    }
}

static void print_window_pad(FILE *to, int count, const struct hlo_window *w)
{
    bool is_any = false;

    for (int d = 0; d < count; d++)
        is_any |= w[d].pad_low || w[d].pad_high;
    for (int d = 0; d < count && is_any; d++)
        fprintf(to, "%s%" PRId64 "_%" PRId64, d ? "x" : " pad=", w[d].pad_low, w[d].pad_high);
}

static void print_window_reversal(FILE *to, int count, const struct hlo_window *w)
{
    bool is_any = false;

    for (int d = 0; d < count; d++)
        is_any |= w[d].is_reversed;
    for (int d = 0; d < count && is_any; d++)
        fprintf(to, "%s%d", d ? "x" : " rhs_reversal=", w[d].is_reversed);
}

static void print_kind_window(const struct printing *g)
{
    const struct hlo_window *w = hlo_detail(&g->f->i)->window;
    int count = hlo_detail(&g->f->i)->window_count;
    FILE *to;

    if (count == 0 && is_optional(g))
        return;
    to = begin(g);
    fputc('{', to);
    print_window_field(to, "size=", count, w, offsetof(struct hlo_window, size), INT64_MIN);
    print_window_field(to, " stride=", count, w, offsetof(struct hlo_window, stride), 1);
    print_window_pad(to, count, w);
    print_window_field(to, " lhs_dilate=", count, w, offsetof(struct hlo_window, base_dilation), 1);
    print_window_field(to, " rhs_dilate=", count, w, offsetof(struct hlo_window, window_dilation),
                       1);
    print_window_reversal(to, count, w);
    fputc('}', to);
}

static void print_labels(FILE *to, const char two[2], int64_t first, int64_t second,
                         struct hlo_ints spatial)
{
    for (int d = 0; d < spatial.count + 2; d++) {
        int label = 0;

        while (label < spatial.count && spatial.item[label] != d)
            label++;
        fputc(d == first ? two[0] : d == second ? two[1] : '0' + label, to);
    }
}

static void print_kind_labels(const struct printing *g)
{
    const struct hlo_conv *c = g->field;
    FILE *to = begin(g);

    print_labels(to, "bf", c->in_batch, c->in_feature, c->in_spatial);
    fputc('_', to);
    print_labels(to, "io", c->kernel_in, c->kernel_out, c->kernel_spatial);
    fputs("->", to);
    print_labels(to, "bf", c->out_batch, c->out_feature, c->out_spatial);
}

static void print_kind_precision(const struct printing *g)
{
    const enum hlo_precision *precision = g->field;

    if (precision[0] || precision[1])
        fprintf(begin(g), "{%s,%s}", hlo_words_precision[precision[0]],
                hlo_words_precision[precision[1]]);
}

static void print_word(const struct printing *g, const char *const *words, int value)
{
    if (value || !is_optional(g))
        fputs(words[value], begin(g));
}

#define ENUM_KIND(id, type) \
    static void print_kind_##id(const struct printing *g) \
    { \
        print_word(g, hlo_words_##id, (int)*(const type *)g->field); \
    }
ENUM_KIND(direction, enum hlo_direction)
ENUM_KIND(comparison, enum hlo_comparison)
ENUM_KIND(solve, enum hlo_solve)
ENUM_KIND(fft, enum hlo_fft)
ENUM_KIND(random, enum hlo_random)
ENUM_KIND(fusion, enum hlo_fusion)

static void print_kind_groups(const struct printing *g)
{
    const struct hlo_groups *groups = g->field;
    int64_t at = 0;

    if (groups->text)
        fputs(groups->text, begin(g));
    if (groups->text || groups->size.count == 0)
        return;
    begin(g);
    for (int n = 0; n < groups->size.count; n++) {
        fputs(n ? ",{" : "{{", g->p->to);
        hlo_print_ints(g->p, (struct hlo_ints){(int)groups->size.item[n], groups->id.item + at});
        fputc('}', g->p->to);
        at += groups->size.item[n];
    }
    fputc('}', g->p->to);
}

static void print_kind_links(const struct printing *g)
{
    struct hlo_ints pair = *(const struct hlo_ints *)g->field;

    if (pair.count == 0 && g->f->i.op != OPCODE_COLLECTIVE_PERMUTE
        && g->f->i.op != OPCODE_COLLECTIVE_PERMUTE_START)
        return;
    begin(g);
    for (int n = 0; n + 1 < pair.count; n += 2)
        fprintf(g->p->to, "%s{%" PRId64 ",%" PRId64 "}", n ? "," : "{", pair.item[n],
                pair.item[n + 1]);
    fputs(pair.count ? "}" : "{}", g->p->to);
}

static void print_kind_target(const struct printing *g)
{
    const char *text = *(const char *const *)g->field;

    if (!text && is_optional(g))
        return;
    begin(g);
    hlo_print_string(g->p, text ? text : "", text ? hlo_detail(&g->f->i)->target_bytes : 0);
}

static void print_callee(const struct printing *g, int role)
{
    if (role >= hlo_detail(&g->f->i)->computation_count)
        return;
    begin(g);
    hlo_print_name(g->p, g->p->module->computation[hlo_detail(&g->f->i)->computation[role]].name);
}

static void print_kind_callee_first(const struct printing *g) { print_callee(g, 0); }
static void print_kind_callee_second(const struct printing *g) { print_callee(g, 1); }
static void print_kind_callee_also(const struct printing *g) { (void)g; }

static void print_kind_branch_true(const struct printing *g)
{
    if (hlo_detail(&g->f->i)->is_predicated)
        print_callee(g, 0);
}

static void print_kind_branch_false(const struct printing *g)
{
    if (hlo_detail(&g->f->i)->is_predicated)
        print_callee(g, 1);
}

static void print_kind_callees(const struct printing *g)
{
    const struct hlo_instruction *i = &g->f->i;

    if (hlo_detail(i)->computation_count == 0)
        return;
    begin(g);
    for (int n = 0; n < hlo_detail(i)->computation_count; n++) {
        fputs(n ? ", " : "{", g->p->to);
        hlo_print_name(g->p, g->p->module->computation[hlo_detail(i)->computation[n]].name);
    }
    fputc('}', g->p->to);
}

static void print_kind_branches(const struct printing *g)
{
    if (!hlo_detail(&g->f->i)->is_predicated)
        print_kind_callees(g);
}

static void print_kind_sharding(const struct printing *g)
{
    const struct hlo_instruction *i = &g->f->i;

    if (hlo_detail(i)->sharding_count == 0)
        return;
    begin(g);
    fputs(hlo_detail(i)->sharding_count > 1 ? "{" : "", g->p->to);
    for (int n = 0; n < hlo_detail(i)->sharding_count; n++) {
        const struct hlo_sharding *s = &hlo_detail(i)->sharding[n];

        fprintf(g->p->to, "%s%s", n ? ", " : "",
                s->text && *s->text == '{' ? s->text : hlo_sharding_text(g->p->module->arena, s));
    }
    fputs(hlo_detail(i)->sharding_count > 1 ? "}" : "", g->p->to);
}

static void print_kind_control(const struct printing *g)
{
    struct hlo_ints control = *(const struct hlo_ints *)g->field;

    for (int n = 0; n < control.count; n++) {
        if (n == 0)
            begin(g);
        fputs(n ? ", " : "{", g->p->to);
        hlo_print_name(g->p, hlo_name(&g->p->computation->instruction[control.item[n]]));
    }
    fputs(control.count ? "}" : "", g->p->to);
}

static void print_kind_pairs(const struct printing *g)
{
    const struct hlo_pairs *pairs = g->field;

    if (pairs->count == 0)
        return;
    begin(g);
    hlo_print_pairs(g->p, pairs);
}

static void print_text_field(struct hlo_printer *p, const char *name, const char *text, int *count)
{
    if (!text)
        return;
    fprintf(p->to, "%s%s=", (*count)++ ? " " : "", name);
    hlo_print_string(p, text, strlen(text));
}

static void print_int_field(struct hlo_printer *p, const char *name, int value, int *count)
{
    if (value)
        fprintf(p->to, "%s%s=%d", (*count)++ ? " " : "", name, value);
}

static void print_kind_metadata(const struct printing *g)
{
    const struct hlo_place *place = *(const struct hlo_place *const *)g->field;
    const struct hlo_place_more *more = place ? hlo_place_more(place) : NULL;
    struct hlo_printer *p = g->p;
    int count = 0;

    if (!place || p->options->no_metadata
        || !(place->op_type || place->op_name || place->file || place->line || place->end_line
             || place->col || place->end_col || more->frame || more->rest))
        return;
    fputc('{', begin(g));
    print_text_field(p, "op_type", place->op_type, &count);
    print_text_field(p, "op_name", place->op_name, &count);
    if (!more->is_of_frame) {
        print_text_field(p, "source_file", place->file, &count);
        print_int_field(p, "source_line", place->line, &count);
        print_int_field(p, "source_end_line", place->end_line, &count);
        print_int_field(p, "source_column", place->col, &count);
        print_int_field(p, "source_end_column", place->end_col, &count);
    }
    print_int_field(p, "stack_frame_id", more->frame, &count);
    if (more->rest)
        fprintf(p->to, "%s%s", count ? " " : "", more->rest);
    fputc('}', p->to);
}

static void print_kind_config(const struct printing *g)
{
    const char *text = *(const char *const *)g->field;

    if (!text)
        return;
    begin(g);
    hlo_print_value(g->p, text);
}

static void (*const printers[HLO_KINDS])(const struct printing *) = {
#define KIND(ID, id) [HLO_KIND_##ID] = print_kind_##id,
#include "import/hlo_text/attribute_kinds.def"
};

void hlo_print_attributes(struct hlo_printer *p, const struct hlo_instruction *i)
{
    struct hlo_fields f;

    hlo_fields_of(&f, i);
    for (int row = 0; row < HLO_ATTRIBUTE_COUNT; row++) {
        struct printing g = {p, &hlo_attributes[row], &f,
                             (const char *)&f + hlo_attributes[row].offset};

        if (hlo_attribute_is_owned(row, i->op))
            printers[hlo_attributes[row].kind](&g);
    }
    hlo_print_other(p, &hlo_detail(i)->other);
}
