/* Translates the choices in a matrix operation's mnemonic into types, masks and targets. */
#include "isa/matrix.h"

/* by operation */
static const struct family {
    uint8_t kind;
    bool is_masked, has_accumulator;
} families[OP_COUNT] = {
    [OP_VMATPUSH] = {MATRIX_PUSH, false, false},
    [OP_VMATPUSH_MSK] = {MATRIX_PUSH, true, false},
    [OP_VMATPREP_SUBR] = {MATRIX_PREP_WEIGHTS, false, false},
    [OP_VMATPREP_SUBR_MSK] = {MATRIX_PREP_WEIGHTS, true, false},
    [OP_VMATPREP_MUBR] = {MATRIX_PREP_ROWS, false, false},
    [OP_VMATPREP_MUBR_MSK] = {MATRIX_PREP_ROWS, true, false},
    [OP_VMATMUL] = {MATRIX_MULTIPLY, false, false},
    [OP_VMATMUL_MSK] = {MATRIX_MULTIPLY, true, false},
    [OP_VMATMUL_ACC] = {MATRIX_MULTIPLY, false, true},
    [OP_VMATMUL_ACC_MSK] = {MATRIX_MULTIPLY, true, true},
    [OP_VPOP_MRF] = {MATRIX_POP, false, false},
    [OP_VPOP_MRB] = {MATRIX_POP, false, true},
    [OP_VDWG] = {MATRIX_GIVE_UP, false, false},
};

static void read_push(struct matrix_op *m, const int32_t *choice)
{
    m->mode = choice[PUSH_MODE];
    m->uses_prep = m->mode > 0;
    m->type = (enum matrix_type)choice[PUSH_TYPE];
    m->is_xpose = choice[PUSH_XPOSE] != 0;
    m->staging = choice[PUSH_STAGING];
}

static void read_multiply(struct matrix_op *m, const int32_t *choice)
{
    m->uses_prep = choice[MULTIPLY_PREP] != 0;
    m->type = (enum matrix_type)choice[MULTIPLY_TYPE];
    m->staging = choice[MULTIPLY_LATCH] - 1;
    m->gain = choice[MULTIPLY_GAIN];
}

struct matrix_op matrix_op_of(enum isa_opcode code, const int32_t *operand)
{
    const struct family *f = &families[code];
    const int32_t *choice = operand + isa_info(code)->choice_first;
    struct matrix_op m = {.kind = (enum matrix_kind)f->kind, .is_masked = f->is_masked,
                          .staging = -1, .accumulator = -1};

    switch (m.kind) {
    case MATRIX_PUSH:
        read_push(&m, choice);
        break;
    case MATRIX_PREP_WEIGHTS:
        m.takes_type_of_push = choice[0] == 0;
        m.type = (enum matrix_type)choice[0];
        break;
    case MATRIX_PREP_ROWS:
        m.type = (enum matrix_type)choice[0];
        break;
    case MATRIX_MULTIPLY:
        read_multiply(&m, choice);
        if (f->has_accumulator)
            m.accumulator = choice[MULTIPLY_CHOICES];
        break;
    case MATRIX_POP:
        m.type = choice[0] ? MATRIX_S8 : MATRIX_F32;
        if (f->has_accumulator)
            m.accumulator = choice[1];
        break;
    default:
        break;
    }
    return m;
}

struct matrix_op matrix_op_of_isa(const struct isa_op *op)
{
    int32_t value[ISA_OPERAND_MAX];

    for (int i = 0; i < ISA_OPERAND_MAX; i++)
        value[i] = op->operand[i].value;
    return matrix_op_of((enum isa_opcode)op->code, value);
}

static const struct {
    const char *name;
    int values_per_word;
    bool is_integer;
} types[MATRIX_TYPE_COUNT] = {
    [MATRIX_F32] = {"f32", 1, false}, [MATRIX_BF16] = {"bf16", 2, false},
    [MATRIX_S8] = {"s8", 4, true}, [MATRIX_U8] = {"u8", 4, true},
    [MATRIX_S4] = {"s4", 8, true}, [MATRIX_U4] = {"u4", 8, true},
    [MATRIX_F8E5M2] = {"f8e5m2", 4, false},
    [MATRIX_F8E4M3B11FNUZ] = {"f8e4m3b11fnuz", 4, false},
    [MATRIX_F8E4M3FN] = {"f8e4m3fn", 4, false},
};

int matrix_values_per_word(enum matrix_type t)
{
    return types[t].values_per_word;
}

bool matrix_is_integer(enum matrix_type t)
{
    return types[t].is_integer;
}

const char *matrix_type_name(enum matrix_type t)
{
    return types[t].name;
}
