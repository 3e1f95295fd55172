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
#define OP(id, mnemonic, slot, format, unit, class, reads, writes, effect, meaning) \
    { NULL, mnemonic, SLOT_##slot, ISA_FMT_##format, UNIT_##unit, CLASS_##class, reads, writes, \
      effect, meaning, 0, 0, 0, 0, 0, 0, { 0 }, "" },
#include "isa/ops.def"
};

static const char *const state_names[] = {
#define STATE(id, name, kind, meaning) name,
#include "isa/states.def"
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

/* the set of the names in `text` */
static uint32_t derive_states(const char *text)
{
    uint32_t set = 0;

    while (*text) {
        size_t length = strcspn(text, " ");
        int state = 0;

        while (strlen(state_names[state]) != length || strncmp(state_names[state], text, length)) {
            state++;
            assert(state < STATE_COUNT);        /* every name stands in states.def */
        }
        set |= 1u << state;
        text += length + (text[length] == ' ');
    }
    return set;
}

static void derive_table(void)
{
    for (int code = 0; code < OP_COUNT; code++) {
        table[code].reads = derive_states(table[code].reads_text);
        table[code].writes = derive_states(table[code].writes_text);
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

enum isa_opcode isa_pop_of(enum isa_opcode push)
{
    uint32_t fifo = isa_info(push)->writes;
    int code = 0;

    while (isa_info((enum isa_opcode)code)->slot != SLOT_POP ||
           !(isa_info((enum isa_opcode)code)->reads & fifo)) {
        code++;
        assert(code < OP_COUNT);        /* it writes into a FIFO */
    }
    return (enum isa_opcode)code;
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
    bool takes_immediate, takes_nothing, is_written;
    int register_count;                 /* 0: no register */
    enum isa_state file;                /* of the registers */
    const char *meaning;
} roles[128] = {
    ['d'] = { false, false, true,  ISA_VREG_MAX,   STATE_V, "vector register" },
    ['v'] = { false, false, false, ISA_VREG_MAX,   STATE_V, "vector register" },
    ['V'] = { true,  false, false, ISA_VREG_MAX,   STATE_V, "vector register or immediate" },
    ['m'] = { false, false, true,  ISA_MASK_COUNT, STATE_M, "mask register" },
    ['n'] = { false, false, false, ISA_MASK_COUNT, STATE_M, "mask register" },
    ['N'] = { true,  false, false, ISA_MASK_COUNT, STATE_M, "mask register or immediate" },
    ['e'] = { false, false, true,  ISA_SREG_COUNT, STATE_S, "scalar register" },
    ['s'] = { false, false, false, ISA_SREG_COUNT, STATE_S, "scalar register" },
    ['S'] = { true,  false, false, ISA_SREG_COUNT, STATE_S, "scalar register or immediate" },
    ['Z'] = { true,  true,  false, ISA_SREG_COUNT, STATE_S, "scalar register or immediate" },
    ['q'] = { false, false, true,  ISA_PRED_COUNT, STATE_P, "predicate register" },
    ['p'] = { false, false, false, ISA_PRED_COUNT, STATE_P, "predicate register" },
    ['P'] = { true,  false, false, ISA_PRED_COUNT, STATE_P, "predicate register or immediate" },
    ['B'] = { false, true,  false, ISA_SREG_COUNT, STATE_S, "scalar base register" },
    ['O'] = { true,  false, false, ISA_SREG_COUNT, STATE_S,
      "scalar index register or immediate offset" },
    ['F'] = { true,  false, false, ISA_SREG_COUNT, STATE_S, "sync flag number" },
    ['i'] = { true,  false, false, 0, STATE_COUNT, "immediate" },
    ['L'] = { true,  false, false, 0, STATE_COUNT, "branch target" },
    ['M'] = { true,  false, false, 0, STATE_COUNT, "sublane mask" },
    ['R'] = { true,  false, false, 0, STATE_COUNT, "sublane pattern" },
    ['T'] = { true,  false, false, 0, STATE_COUNT, "sublane stride" },
    ['x'] = { true,  false, false, 0, STATE_COUNT, "choice of the mnemonic" },
};

static const struct role *role_of(char letter)
{
    assert(roles[letter & 127].meaning);        /* every letter of a template has a role */
    return &roles[letter & 127];
}

enum isa_state isa_role_file(char role)
{
    return role_of(role)->file;
}

bool isa_role_is_written(char role)
{
    return role_of(role)->is_written;
}

const char *isa_register_prefix(enum isa_state file)
{
    static const char *const prefixes[] = {"v", "vm", "s", "p"};

    assert((unsigned)file < COUNT_OF(prefixes));
    return prefixes[file];
}

uint8_t isa_scalar_operands(enum isa_opcode code)
{
    const struct isa_info *info = isa_info(code);
    unsigned set = 0;

    for (int i = 0; i < info->choice_first; i++)
        if (role_of(info->role[i])->file == STATE_S && !role_of(info->role[i])->is_written)
            set |= 1u << i;
    return (uint8_t)set;
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
