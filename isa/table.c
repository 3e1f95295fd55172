/*
 * Derives the table of operations from ops.def: operands from each format's template, choices from
 * each mnemonic.
 */
#include "isa/isa.h"

#include "base/units.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

static const char *const templates[] = {
#define FMT(name, template) template,
#include "isa/formats.def"
};

static struct isa_info table[] = {
#define OP(id, mnemonic, slot, format, unit, class, effect, meaning) \
    { NULL, mnemonic, SLOT_##slot, ISA_FMT_##format, UNIT_##unit, CLASS_##class, effect, meaning, \
      0, 0, 0, 0, { 0 }, "" },
#include "isa/ops.def"
};

static char plain_mnemonics[OP_COUNT][ISA_MNEMONIC_MAX];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

/* The operands of a template, in order: one role letter each, two for an address. */
static void derive_operands(struct isa_info *info)
{
    int count = 0;

    for (const char *t = templates[info->format]; *t; t++) {
        if (*t != '$')
            continue;
        t++;
        if (*t == '?') {
            info->tail_first = (uint8_t)count;
            continue;
        }
        assert(count < ISA_OPERAND_MAX);
        if (*t == 'A') {
            assert(count + 2 <= ISA_OPERAND_MAX);
            info->role[count++] = 'B';
            info->role[count++] = 'O';
        } else {
            info->role[count++] = *t;
        }
    }
    info->operand_count = info->choice_first = (uint8_t)count;
    if (!strstr(templates[info->format], "$?"))
        info->tail_first = info->choice_first;
}

static void add_choice(struct isa_info *info, int alternative_count)
{
    assert(info->choice_count < ISA_CHOICE_MAX && info->operand_count < ISA_OPERAND_MAX);
    info->alternative_count[info->choice_count++] = (uint8_t)alternative_count;
    info->role[info->operand_count++] = 'x';
}

/* The choices of the mnemonic, and the mnemonic with the first of each. */
static void derive_choices(struct isa_info *info, char plain[ISA_MNEMONIC_MAX])
{
    size_t out = 0;

    assert(strlen(info->pattern) < 256);
    for (const char *p = info->pattern; *p; p++) {
        if (*p == '{') {
            int count = 1;

            for (p++; *p != '|' && *p != '}'; p++)
                plain[out++] = *p;
            for (; *p != '}'; p++)
                count += *p == '|';
            add_choice(info, count);
        } else if (p[0] == '.' && p[1] == '@') {
            p++;
        } else {
            if (*p == '#') {
                assert(strchr(p, '{') == NULL);     /* an accumulator is the last choice */
                add_choice(info, 0);
            }
            plain[out++] = *p;
        }
    }
    plain[out] = '\0';
    info->mnemonic = plain;
}

static void derive_table(void)
{
    for (int code = 0; code < OP_COUNT; code++) {
        derive_operands(&table[code]);
        derive_choices(&table[code], plain_mnemonics[code]);
    }
}

const struct isa_info *isa_info(enum isa_opcode code)
{
    assert((unsigned)code < OP_COUNT);
    pthread_once(&table_once, derive_table);
    return &table[code];
}

const char *isa_format_template(enum isa_format format)
{
    assert((unsigned)format < ISA_FMT_COUNT);
    return templates[format];
}

const char *isa_slot_name(enum isa_slot slot)
{
    static const char *const names[] = {
        "scalar", "valu", "eup", "load", "store", "push", "pop", "misc",
        "dma", "cmem",
    };

    assert((unsigned)slot < COUNT_OF(names));
    return names[slot];
}

const char *isa_unit_suffix(enum isa_opcode code)
{
    switch (isa_info(code)->unit) {
    case UNIT_MXU: return "mxu";
    case UNIT_XLU: return "xlu";
    default:       return NULL;
    }
}

/* Registers of a class, and what else the role takes. */
static const struct role {
    char letter;
    bool takes_immediate, takes_nothing;
    int register_count;                 /* 0: no register */
    const char *meaning;
} roles[] = {
    { 'd', false, false, ISA_VREG_MAX,    "vector register" },
    { 'v', false, false, ISA_VREG_MAX,    "vector register" },
    { 'V', true,  false, ISA_VREG_MAX,    "vector register or immediate" },
    { 'm', false, false, ISA_MASK_COUNT,  "mask register" },
    { 'n', false, false, ISA_MASK_COUNT,  "mask register" },
    { 'N', true,  false, ISA_MASK_COUNT,  "mask register or immediate" },
    { 'e', false, false, ISA_SREG_COUNT,  "scalar register" },
    { 's', false, false, ISA_SREG_COUNT,  "scalar register" },
    { 'S', true,  false, ISA_SREG_COUNT,  "scalar register or immediate" },
    { 'Z', true,  true,  ISA_SREG_COUNT,  "scalar register or immediate" },
    { 'q', false, false, ISA_PRED_COUNT,  "predicate register" },
    { 'p', false, false, ISA_PRED_COUNT,  "predicate register" },
    { 'P', true,  false, ISA_PRED_COUNT,  "predicate register or immediate" },
    { 'B', false, true,  ISA_SREG_COUNT,  "scalar base register" },
    { 'O', true,  false, ISA_SREG_COUNT,  "scalar index register or immediate offset" },
    { 'F', true,  false, ISA_SREG_COUNT,  "sync flag number" },
    { 'i', true,  false, 0,               "immediate" },
    { 'L', true,  false, 0,               "branch target" },
    { 'M', true,  false, 0,               "sublane mask" },
    { 'R', true,  false, 0,               "sublane pattern" },
    { 'T', true,  false, 0,               "sublane stride" },
    { 'x', true,  false, 0,               "choice of the mnemonic" },
};

static const struct role *role_of(char letter)
{
    size_t i = 0;

    while (roles[i].letter != letter) {
        i++;
        assert(i < COUNT_OF(roles));    /* every letter of a template has a role */
    }
    return &roles[i];
}

const char *isa_role_meaning(char role)
{
    return role_of(role)->meaning;
}

bool isa_role_allows(char role, const struct isa_operand *operand)
{
    const struct role *r = role_of(role);

    if (operand->is_negated > ((role == 'p' || role == 'P') && operand->kind == OPERAND_REG))
        return false;
    switch (operand->kind) {
    case OPERAND_NONE: return r->takes_nothing && operand->value == 0;
    case OPERAND_REG:  return operand->value >= 0 && operand->value < r->register_count;
    case OPERAND_IMM:  return r->takes_immediate;
    default:           return false;
    }
}

bool isa_lacks_base(const struct isa_op *op, int index)
{
    return isa_info((enum isa_opcode)op->code)->role[index] == 'O' &&
           op->operand[index].kind == OPERAND_REG && op->operand[index - 1].kind == OPERAND_NONE;
}

bool isa_operand_allowed(enum isa_opcode code, int index, const struct isa_operand *operand)
{
    const struct isa_info *info = isa_info(code);
    int choice = index - info->choice_first;

    if (!isa_role_allows(info->role[index], operand))
        return false;
    if (choice < 0)
        return true;
    return operand->value >= 0 &&
           operand->value < (info->alternative_count[choice] ? info->alternative_count[choice]
                                                             : ISA_ACCUMULATOR_MAX);
}
