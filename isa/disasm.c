/* Prints a program as assembly text: labels, notes, and immediates in the form that reads best. */
#include "isa/disasm.h"

#include "base/arena.h"
#include "base/floats.h"
#include "base/text.h"
#include "base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OP_TEXT_MAX 512

/* Text into a buffer that may be too small; `length` counts what it would take. */
struct text_out {
    char *buf;
    size_t room, length;
};

static void put(struct text_out *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text_out *out, const char *fmt, ...)
{
    bool has_room = out->length < out->room;
    va_list ap;
    int count;

    va_start(ap, fmt);
    count = vsnprintf(has_room ? out->buf + out->length : NULL,
                      has_room ? out->room - out->length : 0, fmt, ap);
    va_end(ap);
    out->length += (size_t)count;
}

/* How the immediates of an operation read best; any way reads back to the same bits. */
enum imm_style { STYLE_INT, STYLE_FLOAT, STYLE_GUESS };

/* the type that the mnemonic names first is that of its operands */
static enum imm_style immediate_style(const struct isa_info *info)
{
    const char *f32 = strstr(info->mnemonic, ".f32"), *s32 = strstr(info->mnemonic, ".s32");

    if (f32 && !(s32 && s32 < f32))
        return STYLE_FLOAT;
    if (s32 || strstr(info->mnemonic, ".u32"))
        return STYLE_INT;
    return STYLE_GUESS;
}

static void put_float(struct text_out *out, uint32_t bits)
{
    float value = f32_from_bits(bits);
    char digits[32];

    if (!isfinite(value)) {
        put(out, "0x%" PRIx32, bits);
        return;
    }
    for (int precision = 6; precision <= 9; precision++) {
        text_print(digits, sizeof(digits), "%.*g", precision, (double)value);
        if (f32_bits(text_to_float(digits, NULL)) == bits)
            break;
    }
    put(out, "%s%s", digits, strpbrk(digits, ".e") ? "" : ".0");
}

static void put_int(struct text_out *out, int32_t value)
{
    if (value > -65536 && value < 65536)
        put(out, "%" PRId32, value);
    else
        put(out, "0x%" PRIx32, (uint32_t)value);
}

static void put_typed_immediate(struct text_out *out, const struct isa_info *info, int32_t value)
{
    enum imm_style style = immediate_style(info);
    uint32_t exponent = ((uint32_t)value >> 23) & 0xff;

    /* an untyped move: bits that would be a float between 2^-40 and 2^40 are one */
    if (style == STYLE_FLOAT || (style == STYLE_GUESS && exponent >= 87 && exponent <= 167))
        put_float(out, (uint32_t)value);
    else
        put_int(out, value);
}

static bool is_label(const char *name)
{
    if (!(isalpha((unsigned char)name[0]) || name[0] == '_'))
        return false;
    for (const char *c = name; *c; c++) {
        if (!(isalnum((unsigned char)*c) || *c == '_' || *c == '.'))
            return false;
    }
    return true;
}

/* v3, vm3, s3, p3 would read as registers, L3 as the label made up here for bundle 3 */
static bool is_reserved(const char *name, uint32_t bundle)
{
    static const char *const prefixes[] = { "v", "vm", "s", "p", "L" };

    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        size_t length = strlen(prefixes[i]);
        const char *digits = name + length;

        if (strncmp(name, prefixes[i], length) == 0 && *digits &&
            strspn(digits, "0123456789") == strlen(digits))
            return !(name[0] == 'L' && strtoul(digits, NULL, 10) == bundle && digits[0] != '0');
    }
    return false;
}

static bool can_be_written(const struct isa_symbol *symbol)
{
    return is_label(symbol->name) && !is_reserved(symbol->name, symbol->bundle);
}

/* the first symbol of this bundle or a later one */
static uint32_t first_symbol(const struct isa_program *p, uint32_t bundle)
{
    uint32_t first = 0, end = p->symbol_count;

    while (first < end) {
        uint32_t middle = first + (end - first) / 2;

        if (p->symbol[middle].bundle < bundle)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* The program's own symbol for a bundle, or NULL if it has none that can be written. */
static const char *symbol_of(const struct isa_program *p, uint32_t bundle)
{
    for (uint32_t i = first_symbol(p, bundle); i < p->symbol_count; i++) {
        if (p->symbol[i].bundle != bundle)
            break;
        if (can_be_written(&p->symbol[i]))
            return p->symbol[i].name;
    }
    return NULL;
}

static void put_label(struct text_out *out, const struct isa_program *p, uint32_t bundle)
{
    const char *symbol = symbol_of(p, bundle);

    if (bundle >= p->bundle_count)
        put(out, "%" PRIu32, bundle);
    else if (symbol)
        put(out, "%s", symbol);
    else
        put(out, "L%" PRIu32, bundle);
}

static void put_register(struct text_out *out, char role, const struct isa_operand *o)
{
    put(out, "%s%s%" PRId32, o->is_negated ? "!" : "", isa_register_prefix(isa_role_file(role)),
        o->value);
}

static void put_address(struct text_out *out, const struct isa_operand *base,
                        const struct isa_operand *offset)
{
    if (base->kind == OPERAND_REG) {
        put_register(out, 's', base);
        if (offset->kind == OPERAND_IMM && offset->value == 0)
            return;
        put(out, " + ");
    }
    if (offset->kind == OPERAND_REG) {
        put_register(out, 's', offset);
        return;
    }
    if (offset->value < 0)
        put(out, "%" PRId32, offset->value);
    else
        put(out, "0x%" PRIx32, (uint32_t)offset->value);
}

/* Writes what `role` stands for and returns how many operands that took. */
static int put_operand(struct text_out *out, const struct isa_program *p,
                       const struct isa_info *info, char role, const struct isa_operand *o)
{
    switch (role) {
    case 'A':
        put_address(out, &o[0], &o[1]);
        return 2;
    case 'F':
        put(out, "[sflag:");
        if (o->kind == OPERAND_REG)
            put_register(out, 's', o);
        else
            put_int(out, o->value);
        put(out, "]");
        return 1;
    case 'L':
        put(out, "target = ");
        put_label(out, p, (uint32_t)o->value);
        return 1;
    case 'M':
        if (o->value != 0xff)
            put(out, " sm:$0x%" PRIx32, (uint32_t)o->value);
        return 1;
    case 'R':
        if (o->value != ISA_SUBLANES_IN_ORDER)
            put(out, " pattern:$0x%" PRIx32, (uint32_t)o->value);
        return 1;
    case 'T':
        if (o->value != 1)
            put(out, " ss:$%" PRIu32, (uint32_t)o->value);
        return 1;
    default:
        if (o->kind == OPERAND_REG)
            put_register(out, role, o);
        else if (role == 'V' || (role == 'S' && immediate_style(info) == STYLE_FLOAT))
            put_typed_immediate(out, info, o->value);
        else
            put_int(out, o->value);
        return 1;
    }
}

int isa_print_op(const struct isa_program *p, const struct isa_op *op, char *buf, size_t buf_bytes)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);
    const struct isa_operand *operand = op->operand;
    struct text_out out = { buf, buf_bytes, 0 };
    char mnemonic[ISA_NAME_MAX];

    if (buf_bytes)
        buf[0] = '\0';
    for (const char *t = isa_format_template(info->format); *t; t++) {
        if (t[0] == '$' && t[1] == '?') {
            if (operand->kind == OPERAND_NONE)
                break;
            t++;
        } else if (*t == '$') {
            operand += put_operand(&out, p, info, *++t, operand);
        } else if (*t == '@') {
            put(&out, "%s", isa_print_op_mnemonic(op, mnemonic, sizeof(mnemonic)));
            if (op->pred != ISA_PRED_ALWAYS)
                put(&out, " (%sp%d)", op->pred_is_negated ? "!" : "", op->pred);
        } else {
            put(&out, "%c", *t);
        }
    }
    return (int)out.length;
}

static void print_bundle(const struct isa_program *p, uint32_t bundle, FILE *to)
{
    const struct isa_bundle *b = &p->bundle[bundle];
    char number[16], text[OP_TEXT_MAX];

    snprintf(number, sizeof(number), "0x%" PRIx32, bundle);
    fprintf(to, "%6s : {", number);
    for (uint32_t i = 0; i < b->op_count; i++) {
        isa_print_op(p, &p->op[b->first_op + i], text, sizeof(text));
        fprintf(to, "%s %s", i ? " ;;" : "", text);
    }
    fprintf(to, " }\n");
}

/* Bundles that some branch names and that have no symbol. */
static uint8_t *unnamed_targets(const struct isa_program *p)
{
    uint8_t *is_target = mem_alloc(p->bundle_count + 1u);

    for (uint32_t i = 0; i < p->op_count; i++) {
        const struct isa_op *op = &p->op[i];

        if (op->code == OP_SBR && (uint32_t)op->operand[0].value < p->bundle_count)
            is_target[op->operand[0].value] = 1;
    }
    for (uint32_t i = 0; i < p->symbol_count; i++) {
        if (can_be_written(&p->symbol[i]))
            is_target[p->symbol[i].bundle] = 0;
    }
    return is_target;
}

/* A note as it is printed: without the blanks at its ends, on one line. */
struct note {
    const char *start, *end;
};

static struct note note_of(const struct isa_program *p, uint32_t bundle)
{
    struct note n = { "", "" };

    if (p->bundle[bundle].note == 0)
        return n;
    n.start = p->note[p->bundle[bundle].note - 1];
    n.end = n.start + strlen(n.start);
    while (n.start < n.end && isspace((unsigned char)*n.start))
        n.start++;
    while (n.end > n.start && isspace((unsigned char)n.end[-1]))
        n.end--;
    return n;
}

static char note_char(char c)
{
    return c == '\n' ? ' ' : c;
}

static bool is_same_note(struct note a, struct note b)
{
    if (a.end - a.start != b.end - b.start)
        return false;
    while (a.start < a.end && note_char(*a.start) == note_char(*b.start))
        a.start++, b.start++;
    return a.start == a.end;
}

static void print_note(struct note note, FILE *to)
{
    fprintf(to, ".note ");
    for (const char *c = note.start; c < note.end; c++)
        fputc(note_char(*c), to);
    fputc('\n', to);
}

static void nothing_before(void *context, uint32_t bundle, bool is_at_line, FILE *to)
{
    (void)context, (void)bundle, (void)is_at_line, (void)to;
}

void isa_print_program(const struct isa_program *p, FILE *to)
{
    isa_print_program_with(p, nothing_before, NULL, to);
}

void isa_print_program_with(const struct isa_program *p, isa_before_bundle *before, void *context,
                            FILE *to)
{
    uint8_t *is_target = unnamed_targets(p);
    struct note note = { "", "" };
    uint32_t symbol = 0;

    for (uint32_t b = 0; b < p->bundle_count; b++) {
        before(context, b, false, to);
        if (!is_same_note(note_of(p, b), note)) {
            note = note_of(p, b);
            print_note(note, to);
        }
        for (; symbol < p->symbol_count && p->symbol[symbol].bundle == b; symbol++) {
            if (can_be_written(&p->symbol[symbol]))
                fprintf(to, "%s:\n", p->symbol[symbol].name);
        }
        if (is_target[b])
            fprintf(to, "L%" PRIu32 ":\n", b);
        before(context, b, true, to);
        print_bundle(p, b, to);
    }
    mem_free(is_target);
}
