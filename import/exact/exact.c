/* The pass that gives functions their exact form, in f32 whatever float they are of. */
#include "import/exact/exact.h"

/* neither function: the compiler's own form, in f32 also where the machine has one of bf16 */
struct row {
    enum hlo_opcode op;
    int (*one)(struct hlo_builder *b, int x);
    int (*two)(struct hlo_builder *b, int x, int y);
};

static const struct row *row_of(enum hlo_opcode op)
{
    static const struct row rows[] = {
        {OPCODE_EXPONENTIAL, exact_exp, NULL}, {OPCODE_EXPONENTIAL_MINUS_ONE, exact_expm1, NULL},
        {OPCODE_LOGISTIC, exact_logistic, NULL}, {OPCODE_LOG, exact_log, NULL},
        {OPCODE_LOG_PLUS_ONE, exact_log1p, NULL}, {OPCODE_SQRT, exact_sqrt, NULL},
        {OPCODE_SINE, exact_sin, NULL}, {OPCODE_TAN, exact_tan, NULL},
        {OPCODE_TANH, NULL, NULL}, {OPCODE_COSINE, NULL, NULL}, {OPCODE_RSQRT, NULL, NULL},
        {OPCODE_CBRT, NULL, NULL}, {OPCODE_ERF, exact_erf, NULL}, {OPCODE_ATAN2, NULL, NULL},
        {OPCODE_DIVIDE, NULL, exact_divide}, {OPCODE_POWER, NULL, exact_power},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].op == op)
            return &rows[i];
    return NULL;
}

static int visit(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    const struct row *row = row_of(from->op);
    enum hlo_element e = from->type->element;
    int x[2], y;

    (void)r;
    if (!row || (e != ELEMENT_F32 && e != ELEMENT_BF16))
        return -1;
    for (int k = 0; k < from->operand_count; k++)
        x[k] = hlo_convert(b, operand[k], ELEMENT_F32);
    if (row->one || row->two)
        y = row->one ? row->one(b, x[0]) : row->two(b, x[0], x[1]);
    else
        y = from->operand_count == 1 ? hlo_unary(b, from->op, x[0])
                                     : hlo_binary(b, from->op, x[0], x[1]);
    return hlo_convert(b, y, e);
}

int exact_functions(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                    struct err *e)
{
    struct hlo_rewrite r = {.visit = visit};

    if (hlo_rewrite_module(old, made, a, &r, e))
        return -1;
    hlo_eliminate_dead(made);
    return 0;
}
