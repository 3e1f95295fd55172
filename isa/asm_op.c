/* Parses an operation: its mnemonic, unit and guard, then the operands by its format's template. */
#include "isa/asm_internal.h"

#include "base/text.h"
#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* What may follow a VMEM address, with the mark of a template that takes it. */
static const struct {
    const char *name, *mark;
    int32_t value;                      /* when left out */
} attributes[] = {
    { "ss",      "$T", 1 },
    { "sm",      "$M", 0xff },
    { "pattern", "$R", ISA_SUBLANES_IN_ORDER },
};

#define ATTRIBUTE_COUNT COUNT_OF(attributes)

/* Parsing one operation along its template. */
struct op_parse {
    struct isa_op op;
    const struct isa_info *info;
    char name[ISA_NAME_MAX];            /* as written, without the unit */
    char key[ISA_NAME_MAX];             /* the same with '#' for an accumulator's "[5]" */
    int unit;                           /* number behind .mxu or .xlu, -1 if absent */
    char unit_name[4];
    int accumulator;                    /* number in "mrb[5]" */
    int operand;                        /* next to fill */
    bool bracket_is_nested;             /* "[vmem:[s1 + 8] sm:$0xff]", as listings write it */
    int32_t attribute[ATTRIBUTE_COUNT];
};

/*
 * How far the mnemonic goes: a word, where a '-' before a letter ("vclamps-f32")
 * and a bracketed number behind "mrb" belong to it.
 */
static struct scan_token mnemonic_text(struct scan at)
{
    struct scan_token w = scan_word(&at);

    if (w.length == 0)
        return w;
    for (;;) {
        int c = scan_char(&at);
        struct scan behind = at;

        if (c == '-' && at.pos + 1 < at.end && isalpha((unsigned char)at.text[at.pos + 1])) {
            behind.pos++;
        } else if (c == '[' && at.text + at.pos - w.start >= 3 &&
                   memcmp(at.text + at.pos - 3, "mrb", 3) == 0) {
            do
                behind.pos++;
            while (isdigit(scan_char(&behind)));
            if (scan_char(&behind) != ']')
                break;
            behind.pos++;
        } else {
            break;
        }
        at = behind;
        if (!isspace(scan_char(&at)))
            scan_word(&at);
    }
    w.length = (size_t)(at.text + at.pos - w.start);
    return w;
}

/* the number of at most 9 digits at w[*i], -1 if there is none; *i moves behind it */
static int small_number(struct scan_token w, size_t *i)
{
    int number = 0, digits = 0;

    while (*i < w.length && digits < 9 && isdigit((unsigned char)w.start[*i])) {
        number = number * 10 + (w.start[(*i)++] - '0');
        digits++;
    }
    return digits ? number : -1;
}

/*
 * Cuts ".mxuN" or ".xluN" out of the mnemonic and puts '#' for "[N]"; false
 * when the rest is too long to be one.
 */
static bool cut_numbers(struct scan_token w, struct op_parse *parse)
{
    size_t out = 0, name_length = 0, i = 0;

    parse->unit = -1;
    if (w.length >= sizeof(parse->name))
        return false;
    while (i < w.length) {
        const char *at = w.start + i;
        size_t left = w.length - i, behind = i + 4;
        int unit;

        if (left > 4 && (memcmp(at, ".mxu", 4) == 0 || memcmp(at, ".xlu", 4) == 0)) {
            unit = small_number(w, &behind);
            if (unit >= 0 && (behind == w.length || w.start[behind] == '.')) {
                memcpy(parse->unit_name, at + 1, 3);
                parse->unit = unit;
                i = behind;
                continue;
            }
        }
        if (*at == '[') {
            i++;
            parse->accumulator = small_number(w, &i);
            i++;
            parse->key[out++] = '#';
        } else {
            parse->key[out++] = w.start[i++];
        }
        memcpy(parse->name + name_length, at, (size_t)(w.start + i - at));
        name_length += (size_t)(w.start + i - at);
    }
    return true;
}

static int unknown_operation(struct assembler *as, struct scan_token w, const char *key)
{
    size_t count;
    const char *const *names = isa_mnemonics(&count);
    struct near_text hint = text_did_you_mean(key, names, count);
    const char *number = strchr(hint.text, '#');

    return asm_error_at(as, &as->scan, "unknown operation \"%.*s\"%.*s%s%s",
                        (int)(w.length < 200 ? w.length : 200), w.start,
                        (int)strcspn(hint.text, "#"), hint.text, number ? "[0]" : "",
                        number ? number + 1 : "");
}

static int check_unit(struct assembler *as, const struct op_parse *parse)
{
    const char *suffix = isa_unit_suffix((enum isa_opcode)parse->op.code);

    if (!suffix && parse->unit >= 0)
        return asm_error_at(as, &as->scan, "%s takes no unit, found \".%s%d\"",
                            parse->name, parse->unit_name, parse->unit);
    if (!suffix)
        return 0;
    if (parse->unit < 0)
        return asm_error_at(as, &as->scan, "%s needs its unit, \".%s0\" to \".%s%d\"",
                            parse->name, suffix, suffix, ISA_UNIT_MAX - 1);
    if (strcmp(suffix, parse->unit_name) != 0)
        return asm_error_at(as, &as->scan, "%s runs on a unit \".%s0\" to \".%s%d\", found "
                            "\".%s%d\"", parse->name, suffix, suffix, ISA_UNIT_MAX - 1,
                            parse->unit_name, parse->unit);
    if (parse->unit >= ISA_UNIT_MAX)
        return asm_error_at(as, &as->scan, "no unit %s%d (%s0..%s%d)", suffix, parse->unit, suffix,
                            suffix, ISA_UNIT_MAX - 1);
    return 0;
}

static int check_accumulator(struct assembler *as, const struct op_parse *parse)
{
    if (!strchr(parse->key, '#') ||
        (parse->accumulator >= 0 && parse->accumulator < ISA_ACCUMULATOR_MAX))
        return 0;
    if (parse->accumulator < 0)
        return asm_error_at(as, &as->scan, "%s needs the number of its accumulator, \"[0]\" to "
                            "\"[%d]\"", parse->name, ISA_ACCUMULATOR_MAX - 1);
    return asm_error_at(as, &as->scan, "no accumulator mrb[%d] (mrb[0]..mrb[%d])",
                        parse->accumulator, ISA_ACCUMULATOR_MAX - 1);
}

/* What the mnemonic has chosen becomes the operation's last operands. */
static void set_choices(struct op_parse *parse, const int32_t choice[ISA_CHOICE_MAX])
{
    const struct isa_info *info = parse->info;

    for (int i = 0; i < info->choice_count; i++) {
        struct isa_operand *o = &parse->op.operand[info->choice_first + i];

        o->kind = OPERAND_IMM;
        o->value = info->alternative_count[i] ? choice[i] : parse->accumulator;
    }
}

static int mnemonic(struct assembler *as, struct op_parse *parse)
{
    int32_t choice[ISA_CHOICE_MAX];
    struct scan_token w;
    int code = -1;

    asm_peek(as);
    w = mnemonic_text(as->scan);
    if (w.length == 0)
        return asm_expected(as, "an operation");
    if (cut_numbers(w, parse))
        code = isa_find(parse->key, strlen(parse->key), choice);
    if (code < 0)
        return unknown_operation(as, w, parse->key);
    parse->op.code = (uint16_t)code;
    parse->info = isa_info((enum isa_opcode)code);
    parse->op.operand_count = parse->info->operand_count;
    set_choices(parse, choice);
    if (check_unit(as, parse) || check_accumulator(as, parse))
        return -1;
    parse->op.unit_index = parse->unit < 0 ? 0 : (uint8_t)parse->unit;
    as->scan.pos += w.length;           /* no line ends inside */
    as->last = as->scan;
    return 0;
}

/* "[1/16]", "(short)", "(narrow)" and "[thread:$0]" of listings say nothing that we need. */
static void skip_decoration(struct assembler *as)
{
    for (;;) {
        struct scan at;
        struct scan_token w;

        asm_peek(as);
        at = as->scan;
        if (scan_take(&at, '[')) {
            w = scan_word(&at);
            if (w.length == 0 || !(isdigit((unsigned char)w.start[0]) || scan_word_is(w, "thread")))
                return;
            while (scan_char(&at) >= 0 && scan_char(&at) != ']' && scan_char(&at) != '\n')
                at.pos++;
            if (!scan_take(&at, ']'))
                return;
        } else {
            if (!scan_take(&at, '('))
                return;
            w = scan_word(&at);
            if (!(scan_word_is(w, "short") || scan_word_is(w, "narrow")) || !scan_take(&at, ')'))
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
    if (!asm_take(as, ')'))
        return asm_expected(as, "\")\"");
    if (parse->info->choice_first > parse->operand)
        asm_take(as, ',');              /* as listings write it before operands */
    return 0;
}

/* the attribute of that name which the operation has; ATTRIBUTE_COUNT when none */
static size_t attribute_of(const struct op_parse *parse, struct scan_token name)
{
    const char *template = isa_format_template(parse->info->format);
    size_t i = 0;

    while (i < ATTRIBUTE_COUNT && !(scan_word_is(name, attributes[i].name) &&
                                    strstr(template, attributes[i].mark)))
        i++;
    return i;
}

/* " ss:$1", " sm:$0xff" and " pattern:$0x76543210", in any order, each with a default */
static int tile_attributes(struct assembler *as, struct op_parse *parse)
{
    bool is_given[ATTRIBUTE_COUNT] = { false };

    for (size_t i = 0; i < ATTRIBUTE_COUNT; i++)
        parse->attribute[i] = attributes[i].value;
    for (;;) {
        size_t i = attribute_of(parse, asm_peek(as));

        if (i == ATTRIBUTE_COUNT)
            break;
        if (is_given[i])
            return asm_error_at(as, &as->scan, "\"%s:\" is given twice", attributes[i].name);
        is_given[i] = true;
        asm_word(as);
        if (!asm_take(as, ':'))
            return asm_expected(as, "\":\"");
        if (asm_immediate(as, &parse->attribute[i]))
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
    case 'T': case 'M': case 'R':
        /* 'T' is the first of them, or 'M' where a format has no stride */
        if ((role == 'T' || (role == 'M' && parse->info->role[parse->operand - 1] != 'T'))
            && tile_attributes(as, parse))
            return -1;
        parse->operand++;
        operand->kind = OPERAND_IMM;
        operand->value = parse->attribute[role == 'T' ? 0 : role == 'M' ? 1 : 2];
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
        struct scan_token w = asm_peek(as);

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
        } else if (strncmp(t, "$?", 2) == 0) {
            t += 2;
            if (asm_char(as) != *t)
                return 0;
        } else if (t[0] == ',' && t[-1] == ']') {
            asm_take(as, ',');          /* listings store "[smem:s1] s2", without a comma */
            t++;
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
    struct scan_token w = asm_peek(as);

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
    struct scan_token w;

    as->scan = *at;
    w = asm_peek(as);
    if (template[0] == '$') {
        if (template_operand(as, parse, template[1]))
            return -1;
    } else if (w.length < 2 || w.start[0] != '%' || !isdigit((unsigned char)w.start[1])) {
        return asm_error_at(as, &as->scan, "%s has no result to put into %.*s",
                            parse->name, (int)(w.length < 100 ? w.length : 100), w.start);
    }
    as->scan = behind;
    as->last = behind_last;
    return 0;
}

static const char *result_example(char role)
{
    switch (role) {
    case 'd': return "v0";
    case 'm': return "vm0";
    case 'q': return "p0";
    default:  return "s0";
    }
}

/* how many operands the text has behind the mnemonic; ss: and the like do not count */
static int written_operand_count(const char *template)
{
    int count = 0;

    for (const char *t = template; *t; t++)
        count += *t == '$' && !strchr("TMR?", t[1]);
    return count;
}

int asm_operation(struct assembler *as)
{
    struct op_parse parse = { .unit = -1 };
    struct scan start, behind, name_at;
    const char *template;
    bool has_result;
    int count;

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
        return asm_error_at(as, &name_at, "%s needs a %s for its result: \"%s = %s ...\"",
                            parse.name, isa_role_meaning(template[1]),
                            result_example(template[1]), parse.name);
    skip_decoration(as);
    if (guard(as, &parse))
        return -1;
    skip_decoration(as);
    count = written_operand_count(strchr(template, '@'));
    if (operands(as, &parse, strchr(template, '@') + 1))
        return -1;
    skip_source_value(as);
    if (asm_char(as) == ',')
        return asm_error_at(as, &as->scan, "%s takes %s%d operand%s", parse.name,
                            count ? "only " : "", count, count == 1 ? "" : "s");
    MEM_ADD(as->op, as->op_count, as->op_room) = parse.op;
    return 0;
}
