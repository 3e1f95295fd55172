/* Parses operands: registers, immediates, addresses, flags, labels. */
#include "isa/asm_internal.h"

#include "base/text.h"
#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct register_class {
    char letter;
    const char *prefix, *meaning;
    int count;
} register_classes[] = {                /* "vm" before "v" */
    { 'm', "vm", "mask register",      ISA_MASK_COUNT },
    { 'v', "v",  "vector register",    ISA_VREG_MAX },
    { 's', "s",  "scalar register",    ISA_SREG_COUNT },
    { 'p', "p",  "predicate register", ISA_PRED_COUNT },
};

/* %v77_v9 is v9: the compiler writes its value's name before the register */
static struct scan_token without_decoration(struct scan_token w)
{
    size_t first = 0;

    if (w.length == 0 || w.start[0] != '%')
        return w;
    first = 1;
    for (size_t i = 1; i < w.length; i++) {
        if (w.start[i] == '_')
            first = i + 1;
    }
    return (struct scan_token){ w.start + first, w.length - first };
}

char asm_register_class(struct scan_token decorated, int64_t *number)
{
    struct scan_token w = without_decoration(decorated);

    for (size_t i = 0; i < COUNT_OF(register_classes); i++) {
        const struct register_class *c = &register_classes[i];
        size_t prefix = strlen(c->prefix), at = prefix;

        if (w.length <= prefix || w.length > prefix + 6 ||
            memcmp(w.start, c->prefix, prefix) != 0)
            continue;
        *number = 0;
        while (at < w.length && isdigit((unsigned char)w.start[at]))
            *number = *number * 10 + (w.start[at++] - '0');
        if (at == w.length)
            return c->letter;
    }
    return 0;
}

static const struct register_class *class_of(char letter)
{
    size_t i = 0;

    while (register_classes[i].letter != letter)
        i++;
    return &register_classes[i];
}

int asm_register(struct assembler *as, char class, const char *meaning, int32_t *number)
{
    const struct register_class *c = class_of(class);
    struct scan_token w = asm_peek(as);
    int64_t parsed;
    char wanted[96];

    if (asm_register_class(w, &parsed) != class) {
        snprintf(wanted, sizeof(wanted), "a %s", meaning);
        return asm_expected(as, wanted);
    }
    if (parsed >= c->count)
        return asm_error_at(as, &as->scan, "no %s %.*s (%s0..%s%d)", c->meaning, (int)w.length,
                            w.start, c->prefix, c->prefix, c->count - 1);
    asm_word(as);
    *number = (int32_t)parsed;
    return 0;
}

static int unknown_name(struct assembler *as, struct scan_token w)
{
    char wanted[64], hint[TEXT_NEAR_BYTES];

    snprintf(wanted, sizeof(wanted), "%.*s", (int)w.length, w.start);
    text_find(wanted, as->name_count ? &as->name->name : NULL, sizeof(*as->name), as->name_count,
              hint);
    return asm_error_at(as, &as->scan, "unknown name \"%s\"%s", wanted, hint);
}

static int named_value(struct assembler *as, int64_t *value)
{
    struct scan_token w = asm_peek(as);

    for (size_t i = 0; i < as->name_count; i++) {
        if (scan_word_is(w, as->name[i].name)) {
            *value = as->name[i].value;
            asm_word(as);
            return 0;
        }
    }
    return unknown_name(as, w);
}

/* "[#name]", "[#name + $0x8]", or "#name" behind an already taken '[' */
static int allocation(struct assembler *as, int64_t *value)
{
    int32_t number;

    if (asm_take(as, '#'))
        return named_value(as, value);
    asm_take(as, '[');
    if (asm_char(as) != '#')
        return asm_expected(as, "\"#\" and a name");
    if (asm_immediate(as, &number))
        return -1;
    *value = number;
    return asm_take(as, ']') ? 0 : asm_expected(as, "\"]\"");
}

static int bad_number(struct assembler *as)
{
    struct scan_token w;

    asm_take(as, '-');
    asm_take(as, '$');
    w = asm_peek(as);
    return asm_error_at(as, &as->scan, "\"%.*s\" is no number (12, 0x1f, 0.5, 1e-3, inf, nan)",
                        (int)(w.length < 80 ? w.length : 80), w.start);
}

/* A number or name; registers are the caller's. */
static int term(struct assembler *as, int64_t *value, bool *is_float)
{
    struct scan_value n;
    struct scan_token w;
    int64_t number;

    *is_float = false;
    if (asm_char(as) == '[' || asm_char(as) == '#')
        return allocation(as, value);
    n = scan_number(&as->scan);
    switch (n.kind) {
    case NUMBER_INT:
    case NUMBER_FLOAT:
        as->last = as->scan;
        *value = n.value;
        *is_float = n.kind == NUMBER_FLOAT;
        return 0;
    case NUMBER_BAD:
        return bad_number(as);
    case NUMBER_RANGE:
        return asm_error_at(as, &as->scan, "number does not fit 32 bits (-2147483648..4294967295,"
                            " or an f32)");
    case NUMBER_NONE:
        break;
    }
    w = asm_peek(as);
    if (w.length == 0 || w.start[0] == '%' || asm_register_class(w, &number))
        return asm_expected(as, "an immediate");
    return named_value(as, value);
}

/*
 * term { (+|-) term }; where `base` is not NULL, a scalar register may be among
 * them, and a second one if the constants come to 0: it goes to base[1].
 */
static int sum(struct assembler *as, struct isa_operand *base, int32_t *value)
{
    int64_t total = 0, number;
    bool is_float = false, is_negative = false;
    int term_count = 0, reg_count = 0;

    for (;;) {
        struct scan at;
        int64_t one = 0;

        asm_peek(as);
        at = as->scan;
        if (base && reg_count < 2 && !is_negative &&
            asm_register_class(asm_peek(as), &number) == 's') {
            base[reg_count].kind = OPERAND_REG;
            if (asm_register(as, 's', "scalar register", &base[reg_count++].value))
                return -1;
        } else {
            if (term(as, &one, &is_float))
                return -1;
            if (is_float && (term_count > 0 || base))
                return asm_error_at(as, &at, "a float cannot be part of an integer sum");
        }
        total += is_negative ? -one : one;
        term_count++;
        if (total < INT32_MIN || total > (int64_t)UINT32_MAX)
            return asm_error_at(as, &at, "sum does not fit 32 bits (-2147483648..4294967295)");
        if (reg_count == 2 && total != 0)
            return asm_error_at(as, &at, "an address has two registers, or one and an offset");
        if (is_float || (asm_char(as) != '+' && asm_char(as) != '-'))
            break;
        is_negative = asm_char(as) == '-';
        asm_take(as, is_negative ? '-' : '+');
    }
    if (reg_count < 2)
        *value = (int32_t)(uint32_t)total;
    return 0;
}

int asm_immediate(struct assembler *as, int32_t *value)
{
    return sum(as, NULL, value);
}

/* a register of the class, or an immediate */
static int register_or_immediate(struct assembler *as, char class, const char *meaning,
                                 struct isa_operand *operand)
{
    struct scan_token w = asm_peek(as);
    int64_t number;
    char found = asm_register_class(w, &number), wanted[96];

    if (found == class) {
        operand->kind = OPERAND_REG;
        return asm_register(as, class, meaning, &operand->value);
    }
    if (found) {
        snprintf(wanted, sizeof(wanted), "a %s", meaning);
        return asm_expected(as, wanted);
    }
    operand->kind = OPERAND_IMM;
    return sum(as, NULL, &operand->value);
}

static int address(struct assembler *as, struct isa_operand *operand)
{
    operand[1].kind = OPERAND_IMM;
    return sum(as, &operand[0], &operand[1].value);
}

/*
 * "[sflag:" S "]", and as listings have it "[#name]", "[#name + $0x1]", "[%s6]",
 * "[sflag:[#name]]" and "%s6" without brackets.
 */
static int sync_flag(struct assembler *as, struct isa_operand *operand)
{
    bool has_space;
    int64_t number;

    if (asm_register_class(asm_peek(as), &number) == 's')
        return register_or_immediate(as, 's', isa_role_meaning('S'), operand);
    if (!asm_take(as, '['))
        return asm_expected(as, "a sync flag \"[sflag:...]\"");
    has_space = scan_word_is(asm_peek(as), "sflag");
    if (has_space) {
        asm_word(as);
        if (!asm_take(as, ':'))
            return asm_expected(as, "\":\"");
    } else if (asm_char(as) != '#' && asm_register_class(asm_peek(as), &number) != 's') {
        return asm_expected(as, "\"sflag\"");
    }
    if (register_or_immediate(as, 's', isa_role_meaning('S'), operand))
        return -1;
    return asm_take(as, ']') ? 0 : asm_expected(as, "\"]\"");
}

static int predicate(struct assembler *as, struct isa_operand *operand)
{
    operand->is_negated = asm_take(as, '!');
    operand->kind = OPERAND_REG;
    return asm_register(as, 'p', isa_role_meaning('p'), &operand->value);
}

static int predicate_or_immediate(struct assembler *as, struct isa_operand *operand)
{
    if (asm_char(as) == '!')
        return predicate(as, operand);
    return register_or_immediate(as, 'p', isa_role_meaning('P'), operand);
}

/* "(0x1f), region = 20" behind a bundle number: listings say it twice, and what it belongs to */
static int skip_listing_region(struct assembler *as)
{
    int32_t number;

    asm_take(as, '(');
    if (asm_immediate(as, &number))
        return -1;
    if (!asm_take(as, ')'))
        return asm_expected(as, "\")\"");
    if (!asm_take(as, ','))
        return 0;
    if (!scan_word_is(asm_peek(as), "region"))
        return asm_expected(as, "\"region\"");
    asm_word(as);
    return asm_take(as, '=') ? asm_immediate(as, &number) : asm_expected(as, "\"=\"");
}

/* "target = label", "target = 31", "target bundleno = 31 (0x1f), region = 20" */
static int branch_target(struct assembler *as, struct isa_operand *operand)
{
    struct asm_label *use;
    struct scan_token w;
    int64_t number;

    if (!scan_word_is(asm_peek(as), "target"))
        return asm_expected(as, "\"target\"");
    asm_word(as);
    if (scan_word_is(asm_peek(as), "bundleno"))
        asm_word(as);
    if (!asm_take(as, '='))
        return asm_expected(as, "\"=\"");
    w = asm_peek(as);
    operand->kind = OPERAND_IMM;
    if (w.length == 0 || w.start[0] == '%' || asm_register_class(w, &number))
        return asm_expected(as, "a label or bundle number");
    if (isdigit((unsigned char)w.start[0])) {
        if (sum(as, NULL, &operand->value))
            return -1;
        return asm_char(as) == '(' ? skip_listing_region(as) : 0;
    }
    use = &MEM_ADD(as->use, as->use_count, as->use_room);
    use->name = arena_printf(as->arena, "%.*s", (int)w.length, w.start);
    use->index = (uint32_t)as->op_count;
    use->line = as->scan.line;
    use->col = scan_col(&as->scan);
    asm_word(as);
    return 0;
}

int asm_operand(struct assembler *as, char role, struct isa_operand *operand)
{
    const char *meaning;

    if (role == 'A')
        return address(as, operand);
    meaning = isa_role_meaning(role);
    operand->kind = OPERAND_REG;
    switch (role) {
    case 'd': case 'v': return asm_register(as, 'v', meaning, &operand->value);
    case 'm': case 'n': return asm_register(as, 'm', meaning, &operand->value);
    case 'e': case 's': return asm_register(as, 's', meaning, &operand->value);
    case 'q':           return asm_register(as, 'p', meaning, &operand->value);
    case 'p':           return predicate(as, operand);
    case 'P':           return predicate_or_immediate(as, operand);
    case 'N':           return register_or_immediate(as, 'm', meaning, operand);
    case 'V':           return register_or_immediate(as, 'v', meaning, operand);
    case 'S': case 'Z': return register_or_immediate(as, 's', meaning, operand);
    case 'F':           return sync_flag(as, operand);
    case 'L':           return branch_target(as, operand);
    default:
        operand->kind = OPERAND_IMM;
        return sum(as, NULL, &operand->value);
    }
}
