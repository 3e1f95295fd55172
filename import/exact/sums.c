/*
 * The pass that gives short sums their exact form: what StableHLO defines, one element after the
 * other, each sum rounded to the type. The machine's own sums are trees, or chains in another order.
 */
#include "import/exact/exact.h"

enum {
    ADDED_MAX = 64,                     /* elements that become one: each is an instruction or two */
    ALL_MAX = 1 << 16,                  /* elements that are added in all, */
    SMALL_MAX = 1 << 10,                /* or where many instructions share the time */
    RANKS = 16
};

/* ADD or MULTIPLY of two scalars and nothing else; OPCODE_COUNT: anything else */
static enum hlo_opcode body_of(const struct hlo_module *m, const struct hlo_instruction *from)
{
    const struct hlo_computation *c = &m->computation[hlo_detail(from)->computation[0]];
    const struct hlo_instruction *root = &c->instruction[c->root];

    if (from->operand_count != 2 || (root->op != OPCODE_ADD && root->op != OPCODE_MULTIPLY) ||
        c->parameter_count != 2 || root->operand[0] == root->operand[1])
        return OPCODE_COUNT;
    for (int k = 0; k < 2; k++)
        if (c->instruction[root->operand[k]].op != OPCODE_PARAMETER)
            return OPCODE_COUNT;
    return root->op;
}

static bool is_float(enum hlo_element e)
{
    return hlo_element_is_float(e) && hlo_element_bits(e) <= 32;
}

static int padded(struct hlo_builder *b, const struct hlo_instruction *from, const int *operand)
{
    int64_t low[RANKS], high[RANKS], interior[RANKS];

    for (int d = 0; d < hlo_detail(from)->window_count; d++) {
        low[d] = hlo_detail(from)->window[d].pad_low;
        high[d] = hlo_detail(from)->window[d].pad_high;
        interior[d] = hlo_detail(from)->window[d].base_dilation - 1;
    }
    return hlo_pad(b, operand[0], operand[1], low, high, interior);
}

/* the elements that stand at one place of their windows; places are counted row-major */
static int at_place(struct hlo_builder *b, const struct hlo_instruction *from, int x, int64_t place)
{
    int64_t start[RANKS], limit[RANKS], stride[RANKS];

    for (int d = hlo_detail(from)->window_count - 1; d >= 0; d--) {
        const struct hlo_window *w = &hlo_detail(from)->window[d];

        start[d] = place % w->size * w->window_dilation;
        limit[d] = start[d] + (from->type->dim[d] - 1) * w->stride + 1;
        stride[d] = w->stride;
        place /= w->size;
    }
    return hlo_slice(b, x, start, limit, stride);
}

/*
 * One more element of a sum of bf16 that is carried in f32: the compiler keeps what is between two
 * operations of bf16 in f32 and rounds where it is stored, so the rounding is said.
 */
static int add_element(struct hlo_builder *b, enum hlo_opcode op, int sum, int x, bool is_bf16)
{
    struct hlo_instruction i = {.op = OPCODE_REDUCE_PRECISION,
                                .detail =
                                    &(struct hlo_detail){.exponent_bits = 8, .mantissa_bits = 7},
                                .operand_count = 1};

    if (!is_bf16)
        return hlo_binary(b, op, sum, x);
    sum = hlo_binary(b, op, sum, hlo_convert(b, x, ELEMENT_F32));
    i.type = hlo_type_of(b, sum);
    return hlo_copy_instruction(b, &i, &sum);
}

static int first_sum(struct hlo_builder *b, const struct hlo_instruction *from, int init,
                     bool is_bf16)
{
    int sum = hlo_splat(b, init, from->type);

    return is_bf16 ? hlo_convert(b, sum, ELEMENT_F32) : sum;
}

static int exact_windows(const struct hlo_module *m, struct hlo_builder *b,
                         const struct hlo_instruction *from, const int *operand, int64_t most)
{
    enum hlo_opcode op = body_of(m, from);
    int64_t size = 1, count = hlo_type_elements(from->type);
    bool is_bf16 = from->type->element == ELEMENT_BF16;
    int x, sum;

    for (int d = 0; d < hlo_detail(from)->window_count && size <= ADDED_MAX; d++)
        size *= hlo_detail(from)->window[d].size;
    if (op == OPCODE_COUNT || !is_float(from->type->element) ||
        hlo_detail(from)->window_count > RANKS || size < 2 || size > ADDED_MAX || count < 1 ||
        size * count > most)
        return -1;
    x = padded(b, from, operand);
    sum = first_sum(b, from, operand[1], is_bf16);
    for (int64_t place = 0; place < size; place++)
        sum = add_element(b, op, sum, at_place(b, from, x, place), is_bf16);
    return hlo_convert(b, sum, from->type->element);
}

/* reduced dimensions first, in their own order, as one */
static int reduced_first(struct hlo_builder *b, const struct hlo_instruction *from, int x)
{
    struct hlo_type t = *hlo_type_of(b, x);
    int64_t order[RANKS], dim[RANKS] = {1};
    int rank = 0, kept = 1;

    for (int pass = 0; pass < 2; pass++) {
        for (int d = 0; d < t.rank; d++) {
            bool is_reduced = false;

            for (int k = 0; k < hlo_detail(from)->dims.count; k++)
                is_reduced = is_reduced || hlo_detail(from)->dims.item[k] == d;
            if (is_reduced != (pass == 0))
                continue;
            order[rank++] = d;
            if (is_reduced)
                dim[0] *= t.dim[d];
            else
                dim[kept++] = t.dim[d];
        }
    }
    return hlo_reshape(b, hlo_transpose(b, x, order), kept, dim);
}

/* of f32 only: whoever reduces narrow floats keeps their sum in a wider one, as the machine does */
static int exact_reduce(const struct hlo_module *m, struct hlo_builder *b,
                        const struct hlo_instruction *from, const int *operand, int64_t most)
{
    enum hlo_opcode op = body_of(m, from);
    const struct hlo_type *t = hlo_type_of(b, operand[0]);
    int64_t all = hlo_type_elements(t), kept = hlo_type_elements(from->type);
    int x, sum;

    if (op == OPCODE_COUNT || from->type->element != ELEMENT_F32 || kept == 0 || all <= kept ||
        all / kept > ADDED_MAX || all > most || t->rank >= RANKS)
        return -1;
    x = reduced_first(b, from, operand[0]);
    sum = hlo_splat(b, operand[1], from->type);
    for (int64_t k = 0; k < all / kept; k++)
        sum = hlo_binary(b, op, sum, hlo_reshape(b, hlo_slice_dim(b, x, 0, k, k + 1),
                                                 from->type->rank, from->type->dim));
    return sum;
}

static int visit(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    const int64_t most = *(const int64_t *)r->user;
    bool is_product = from->op == OPCODE_DOT || from->op == OPCODE_CONVOLUTION;

    if (hlo_type_is_tuple(from->type) || from->operand_count != 2)
        return -1;
    for (int k = 0; k < 2; k++)
        if (hlo_type_is_dynamic(hlo_type_of(b, operand[k])) ||
            (is_product && ar_element(b, operand[k]) != ELEMENT_F32))
            return -1;
    switch (from->op) {
    case OPCODE_REDUCE:
        return exact_reduce(r->old, b, from, operand, most);
    case OPCODE_REDUCE_WINDOW:
        return exact_windows(r->old, b, from, operand, most);
    case OPCODE_DOT:
        return from->type->element == ELEMENT_F32 ? exact_dot(b, from, operand, most) : -1;
    case OPCODE_CONVOLUTION:
        return from->type->element == ELEMENT_F32 ? exact_convolution(b, from, operand, most) : -1;
    default:
        return -1;
    }
}

static int sums_of(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                   int64_t most, struct err *e)
{
    struct hlo_rewrite r = {.visit = visit, .user = &most};

    if (hlo_rewrite_module(old, made, a, &r, e))
        return -1;
    hlo_eliminate_dead(made);
    return 0;
}

int exact_sums(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
               struct err *e)
{
    return sums_of(old, made, a, ALL_MAX, e);
}

int exact_small_sums(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                     struct err *e)
{
    return sums_of(old, made, a, SMALL_MAX, e);
}
