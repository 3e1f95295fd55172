/*
 * The assembler's operations: mnemonic, unit, guard, then the format's template.
 */
#include "isa/asm_internal.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 64

/* Parsing one operation along its template. */
struct op_parse {
    struct isa_op op;
    const struct isa_info *info;
    int unit;                           /* number behind .mxu or .xlu, -1 if absent */
    char unit_name[4];
    int operand;                        /* next to fill */
    bool bracket_is_nested;             /* "[vmem:[s1 + 8] sm:$0xff]", as listings write it */
    int32_t stride, mask;
};

/* Cuts ".mxuN" or ".xluN" out of the word; false when the rest is too long for a mnemonic. */
static bool cut_unit(struct word w, char name[WORD_MAX], struct op_parse *parse)
{
    size_t out = 0, i = 0;

    parse->unit = -1;
    if (w.length >= WORD_MAX)
        return false;
    while (i < w.length) {
        const char *at = w.start + i;
        size_t left = w.length - i, digits = 4;

        if (left > 4 && (memcmp(at, ".mxu", 4) == 0 || memcmp(at, ".xlu", 4) == 0)) {
            int unit = 0;

            while (digits < left && digits < 8 && isdigit((unsigned char)at[digits]))
                unit = unit * 10 + (at[digits++] - '0');
            if (digits > 4 && (digits == left || at[digits] == '.')) {
                memcpy(parse->unit_name, at + 1, 3);
                parse->unit = unit;
                i += digits;
                continue;
            }
        }
        name[out++] = w.start[i++];
    }
    name[out] = '\0';
    return true;
}

static int unknown_operation(struct assembler *as, struct word w, const char *name)
{
    const char *names[OP_COUNT];
    char hint[128];

    for (int code = 0; code < OP_COUNT; code++)
        names[code] = isa_info((enum isa_opcode)code)->mnemonic;
    text_did_you_mean(name, names, OP_COUNT, hint, sizeof(hint));
    return asm_error_at(as, &as->scan, "unknown operation \"%.*s\"%s",
                        (int)(w.length < 200 ? w.length : 200), w.start, hint);
}

static int check_unit(struct assembler *as, const struct op_parse *parse)
{
    const char *suffix = isa_unit_suffix((enum isa_opcode)parse->op.code);

    if (!suffix && parse->unit >= 0)
        return asm_error_at(as, &as->scan, "%s takes no unit, found \".%s%d\"",
                            parse->info->mnemonic, parse->unit_name, parse->unit);
    if (!suffix)
        return 0;
    if (parse->unit < 0 || strcmp(suffix, parse->unit_name) != 0)
        return asm_error_at(as, &as->scan, "%s needs its unit, \".%s0\"",
                            parse->info->mnemonic, suffix);
    if (parse->unit >= ISA_UNIT_MAX)
        return asm_error_at(as, &as->scan, "no unit %s%d (%s0..%s%d)", suffix, parse->unit, suffix,
                            suffix, ISA_UNIT_MAX - 1);
    return 0;
}

static int mnemonic(struct assembler *as, struct op_parse *parse)
{
    struct word w = asm_peek(as);
    char name[WORD_MAX] = "";
    int code = -1;

    if (w.length == 0)
        return asm_expected(as, "an operation");
    if (cut_unit(w, name, parse))
        code = isa_find(name, strlen(name));
    if (code < 0)
        return unknown_operation(as, w, name);
    parse->op.code = (uint16_t)code;
    parse->info = isa_info((enum isa_opcode)code);
    parse->op.operand_count = parse->info->operand_count;
    if (check_unit(as, parse))
        return -1;
    parse->op.unit_index = parse->unit < 0 ? 0 : (uint8_t)parse->unit;
    asm_word(as);
    return 0;
}

/* "[1/16]", "(short)" and "[thread:$0]" of listings say nothing that we need. */
static void skip_decoration(struct assembler *as)
{
    for (;;) {
        struct scan at;
        struct word w;

        asm_peek(as);
        at = as->scan;
        if (scan_take(&at, '[')) {
            w = scan_word(&at);
            if (w.length == 0 || !(isdigit((unsigned char)w.start[0]) || word_is(w, "thread")))
                return;
            while (scan_char(&at) >= 0 && scan_char(&at) != ']' && scan_char(&at) != '\n')
                at.pos++;
            if (!scan_take(&at, ']'))
                return;
        } else if (!scan_take(&at, '(') || !word_is(scan_word(&at), "short") ||
                   !scan_take(&at, ')')) {
            return;
        }
        as->scan = as->last = at;
    }
}

static int guard(struct assembler *as, struct op_parse *parse)
{
    int32_t number;

    parse->op.pred = ISA_PRED_ALWAYS;
    if (!asm_take(as, '('))
        return 0;
    parse->op.pred_is_negated = asm_take(as, '!');
    if (asm_register(as, 'p', "predicate register", &number))
        return -1;
    parse->op.pred = (uint8_t)number;
    return asm_take(as, ')') ? 0 : asm_expected(as, "\")\"");
}

/* " ss:$1" and " sm:$0xff", in any order, each with a default */
static int tile_attributes(struct assembler *as, struct op_parse *parse)
{
    parse->stride = 1;
    parse->mask = 0xff;
    for (;;) {
        struct word w = asm_peek(as);
        bool is_stride = word_is(w, "ss");

        if (!is_stride && !word_is(w, "sm"))
            break;
        asm_word(as);
        if (!asm_take(as, ':'))
            return asm_expected(as, "\":\"");
        if (asm_immediate(as, is_stride ? &parse->stride : &parse->mask))
            return -1;
    }
    if (parse->bracket_is_nested && !asm_take(as, ']'))
        return asm_expected(as, "\"]\"");
    return 0;
}

static int template_operand(struct assembler *as, struct op_parse *parse, char role)
{
    struct isa_operand *operand = &parse->op.operand[parse->operand];

    switch (role) {
    case 'A':
        parse->operand += 2;
        parse->bracket_is_nested = asm_take(as, '[');
        return asm_operand(as, role, operand);
    case 'T':
        parse->operand++;
        operand->kind = OPERAND_IMM;
        if (tile_attributes(as, parse))
            return -1;
        operand->value = parse->stride;
        return 0;
    case 'M':
        parse->operand++;
        operand->kind = OPERAND_IMM;
        operand->value = parse->mask;
        return 0;
    default:
        parse->operand++;
        return asm_operand(as, role, operand);
    }
}

/* a word or a character that the template has literally; *t moves behind it */
static int literal(struct assembler *as, const char **t)
{
    char wanted[40];
    size_t length = 0;

    while (isalnum((unsigned char)(*t)[length]) || (*t)[length] == '_')
        length++;
    snprintf(wanted, sizeof(wanted), "\"%.*s\"", (int)(length ? length : 1), *t);
    if (length) {
        struct word w = asm_peek(as);

        if (w.length != length || memcmp(w.start, *t, length) != 0)
            return asm_expected(as, wanted);
        asm_word(as);
        *t += length;
        return 0;
    }
    if (!asm_take(as, **t))
        return asm_expected(as, wanted);
    (*t)++;
    return 0;
}

static int operands(struct assembler *as, struct op_parse *parse, const char *t)
{
    while (*t) {
        if (*t == ' ') {
            t++;
        } else if (strncmp(t, "/*", 2) == 0) {
            t = strstr(t, "*/") + 2;
        } else if (*t == '$') {
            if (template_operand(as, parse, t[1]))
                return -1;
            t += 2;
        } else {
            if (literal(as, &t))
                return -1;
            if (t[-1] == ']' && parse->bracket_is_nested && asm_take(as, ']'))
                parse->bracket_is_nested = false;
        }
    }
    return 0;
}

/* `%22` behind a pop names the push it belongs to */
static void skip_source_value(struct assembler *as)
{
    struct word w = asm_peek(as);

    if (w.length < 2 || w.start[0] != '%')
        return;
    for (size_t i = 1; i < w.length; i++) {
        if (!isdigit((unsigned char)w.start[i]))
            return;
    }
    asm_word(as);
}

/* What stands before '=': a register where the template has one, else only "%54". */
static int result(struct assembler *as, struct op_parse *parse, const struct scan *at,
                  const char *template)
{
    struct scan behind = as->scan, behind_last = as->last;
    struct word w;

    as->scan = *at;
    w = asm_peek(as);
    if (template[0] == '$') {
        if (template_operand(as, parse, template[1]))
            return -1;
    } else if (w.length < 2 || w.start[0] != '%' || !isdigit((unsigned char)w.start[1])) {
        return asm_error_at(as, &as->scan, "%s has no result to put into %.*s",
                            parse->info->mnemonic, (int)(w.length < 100 ? w.length : 100), w.start);
    }
    as->scan = behind;
    as->last = behind_last;
    return 0;
}

int asm_operation(struct assembler *as)
{
    struct op_parse parse = { .unit = -1 };
    struct scan start, behind, name_at;
    const char *template;
    bool has_result;

    asm_peek(as);
    start = behind = as->scan;
    has_result = scan_word(&behind).length > 0 && scan_take(&behind, '=');
    if (has_result)
        as->scan = as->last = behind;
    asm_peek(as);
    name_at = as->scan;
    if (mnemonic(as, &parse))
        return -1;
    template = isa_format_template(parse.info->format);
    if (has_result && result(as, &parse, &start, template))
        return -1;
    if (!has_result && template[0] == '$')
        return asm_error_at(as, &name_at, "%s needs a %s for its result: \"... = %s\"",
                            parse.info->mnemonic, isa_role_meaning(template[1]),
                            parse.info->mnemonic);
    skip_decoration(as);
    if (guard(as, &parse))
        return -1;
    skip_decoration(as);
    if (operands(as, &parse, strchr(template, '@') + 1))
        return -1;
    skip_source_value(as);
    as->op = mem_grow(as->op, &as->op_room, as->op_count + 1, sizeof(*as->op));
    as->op[as->op_count++] = parse.op;
    return 0;
}
