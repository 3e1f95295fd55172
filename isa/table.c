#include "isa/isa.h"

#include "base/units.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MNEMONIC_MAX 64

static const char *const templates[] = {
#define FMT(name, template) template,
#include "isa/formats.def"
};

/* The mnemonics as the table has them, ".@" marking the unit's place. */
static const char *const marked_mnemonics[] = {
#define OP(id, mnemonic, slot, format, unit, class, effect, meaning) mnemonic,
#include "isa/ops.def"
};

static struct isa_info table[] = {
#define OP(id, mnemonic, slot, format, unit, class, effect, meaning) \
    { mnemonic, SLOT_##slot, ISA_FMT_##format, UNIT_##unit, CLASS_##class, effect, meaning, 0, "" },
#include "isa/ops.def"
};

static char plain_mnemonics[OP_COUNT][MNEMONIC_MAX];
static uint16_t by_name[OP_COUNT];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static const char *unit_mark(enum isa_opcode code)
{
    return strstr(marked_mnemonics[code], ".@");
}

/* The operands of a template, in order: one role letter each, two for an address. */
static void derive_operands(struct isa_info *info)
{
    int count = 0;

    for (const char *t = templates[info->format]; *t; t++) {
        if (*t != '$')
            continue;
        t++;
        assert(count + 2 <= ISA_OPERAND_MAX);
        if (*t == 'A') {
            info->role[count++] = 'B';
            info->role[count++] = 'O';
        } else {
            info->role[count++] = *t;
        }
    }
    info->operand_count = (uint8_t)count;
}

static int compare_by_name(const void *a, const void *b)
{
    return strcmp(table[*(const uint16_t *)a].mnemonic, table[*(const uint16_t *)b].mnemonic);
}

static void derive_table(void)
{
    for (int code = 0; code < OP_COUNT; code++) {
        const char *marked = marked_mnemonics[code], *mark = unit_mark((enum isa_opcode)code);
        int head = mark ? (int)(mark - marked) : (int)strlen(marked);

        assert(strlen(marked) < MNEMONIC_MAX);
        snprintf(plain_mnemonics[code], MNEMONIC_MAX, "%.*s%s", head, marked,
                 mark ? mark + 2 : "");
        table[code].mnemonic = plain_mnemonics[code];
        derive_operands(&table[code]);
        by_name[code] = (uint16_t)code;
    }
    qsort(by_name, OP_COUNT, sizeof(by_name[0]), compare_by_name);
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
    };

    assert((unsigned)slot < COUNT_OF(names));
    return names[slot];
}

int isa_find(const char *name, size_t length)
{
    int first = 0, end = OP_COUNT;

    pthread_once(&table_once, derive_table);
    while (first < end) {
        int middle = (first + end) / 2;
        const char *candidate = table[by_name[middle]].mnemonic;
        int order = strncmp(candidate, name, length);

        if (order == 0 && candidate[length] == '\0')
            return by_name[middle];
        if (order < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return -1;
}

const char *isa_unit_suffix(enum isa_opcode code)
{
    switch (isa_info(code)->unit) {
    case UNIT_MXU: return "mxu";
    case UNIT_XLU: return "xlu";
    default:       return NULL;
    }
}

char *isa_print_mnemonic(enum isa_opcode code, int unit_index, char *buf, size_t buf_bytes)
{
    const char *marked = marked_mnemonics[code], *mark = unit_mark(code);
    const char *suffix = isa_unit_suffix(code);
    int head = mark ? (int)(mark - marked) : (int)strlen(marked);

    if (suffix)
        snprintf(buf, buf_bytes, "%.*s.%s%d%s", head, marked, suffix, unit_index,
                 mark ? mark + 2 : "");
    else
        snprintf(buf, buf_bytes, "%s", marked);
    return buf;
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
    { 'e', false, false, ISA_SREG_COUNT,  "scalar register" },
    { 's', false, false, ISA_SREG_COUNT,  "scalar register" },
    { 'S', true,  false, ISA_SREG_COUNT,  "scalar register or immediate" },
    { 'q', false, false, ISA_PRED_COUNT,  "predicate register" },
    { 'p', false, false, ISA_PRED_COUNT,  "predicate register" },
    { 'B', false, true,  ISA_SREG_COUNT,  "scalar base register" },
    { 'O', true,  false, 0,               "immediate offset" },
    { 'F', true,  false, ISA_SREG_COUNT,  "sync flag number" },
    { 'i', true,  false, 0,               "immediate" },
    { 'L', true,  false, 0,               "branch target" },
    { 'M', true,  false, 0,               "sublane mask" },
    { 'T', true,  false, 0,               "sublane stride" },
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

    if (operand->is_negated > (role == 'p' && operand->kind == OPERAND_REG))
        return false;
    switch (operand->kind) {
    case OPERAND_NONE: return r->takes_nothing && operand->value == 0;
    case OPERAND_REG:  return operand->value >= 0 && operand->value < r->register_count;
    case OPERAND_IMM:  return r->takes_immediate;
    default:           return false;
    }
}
