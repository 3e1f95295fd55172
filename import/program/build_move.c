/* Instructions that move elements and change nothing of them. */
#include "import/program/build.h"

#include <assert.h>

enum { RANK_MAX = 64 };

/* dimensions are the caller's; who is given the instruction copies them */
static struct hlo_type shaped(const struct hlo_builder *b, int like, int rank, const int64_t *dim)
{
    return (struct hlo_type){.element = hlo_type_of(b, like)->element, .rank = rank, .dim = dim};
}

static int add(struct hlo_builder *b, struct hlo_instruction i, int count, const int *operand)
{
    i.operand_count = count;
    i.operand = operand;
    i.place = b->place;
    i.line = b->line;
    i.col = hlo_column(b->col);
    return hlo_add(b->module, b->computation, &i);
}

int hlo_broadcast(struct hlo_builder *b, int x, int rank, const int64_t *dim, const int64_t *dims)
{
    int from = hlo_type_of(b, x)->rank;

    return add(b,
               (struct hlo_instruction){.op = OPCODE_BROADCAST,
                                        .type = HLO_TYPE(shaped(b, x, rank, dim)),
                                        .detail = &(struct hlo_detail){.dims = {from, dims}}},
               1, &x);
}

int hlo_splat(struct hlo_builder *b, int scalar, const struct hlo_type *like)
{
    assert(hlo_type_of(b, scalar)->rank == 0);
    return like->rank ? hlo_broadcast(b, scalar, like->rank, like->dim, NULL) : scalar;
}

int hlo_reshape(struct hlo_builder *b, int x, int rank, const int64_t *dim)
{
    struct hlo_type t = shaped(b, x, rank, dim);

    assert(hlo_type_elements(&t) == hlo_type_elements(hlo_type_of(b, x)));
    if (hlo_type_same_dims(&t, hlo_type_of(b, x)))
        return x;
    return add(b, (struct hlo_instruction){ .op = OPCODE_RESHAPE, .type = &t}, 1, &x);
}

int hlo_transpose(struct hlo_builder *b, int x, const int64_t *permutation)
{
    const struct hlo_type *t = hlo_type_of(b, x);
    int64_t dim[RANK_MAX];

    for (int d = 0; d < t->rank; d++)
        dim[d] = t->dim[permutation[d]];
    return add(
        b,
        (struct hlo_instruction){.op = OPCODE_TRANSPOSE,
                                 .type = HLO_TYPE(shaped(b, x, t->rank, dim)),
                                 .detail = &(struct hlo_detail){.dims = {t->rank, permutation}}},
        1, &x);
}

int hlo_reverse(struct hlo_builder *b, int x, int count, const int64_t *dims)
{
    const struct hlo_type *t = hlo_type_of(b, x);

    return add(b,
               (struct hlo_instruction){.op = OPCODE_REVERSE,
                                        .type = HLO_TYPE(shaped(b, x, t->rank, t->dim)),
                                        .detail = &(struct hlo_detail){.dims = {count, dims}}},
               1, &x);
}

int hlo_slice(struct hlo_builder *b, int x, const int64_t *start, const int64_t *limit,
              const int64_t *stride)
{
    int rank = hlo_type_of(b, x)->rank;
    int64_t dim[RANK_MAX], step[RANK_MAX];

    for (int d = 0; d < rank; d++) {
        step[d] = stride ? stride[d] : 1;
        dim[d] = limit[d] > start[d] ? (limit[d] - start[d] + step[d] - 1) / step[d] : 0;
    }
    return add(b,
               (struct hlo_instruction){.op = OPCODE_SLICE,
                                        .type = HLO_TYPE(shaped(b, x, rank, dim)),
                                        .detail = &(struct hlo_detail){.start = {rank, start},
                                                                       .limit = {rank, limit},
                                                                       .stride = {rank, step}}},
               1, &x);
}

int hlo_slice_dim(struct hlo_builder *b, int x, int dim, int64_t start, int64_t limit)
{
    const struct hlo_type *t = hlo_type_of(b, x);
    int64_t low[RANK_MAX], high[RANK_MAX];

    for (int d = 0; d < t->rank; d++) {
        low[d] = d == dim ? start : 0;
        high[d] = d == dim ? limit : t->dim[d];
    }
    return hlo_slice(b, x, low, high, NULL);
}

int hlo_pad(struct hlo_builder *b, int x, int value, const int64_t *low, const int64_t *high,
            const int64_t *interior)
{
    const struct hlo_type *t = hlo_type_of(b, x);
    int64_t dim[RANK_MAX], between[RANK_MAX];

    for (int d = 0; d < t->rank; d++) {
        between[d] = interior ? interior[d] : 0;
        dim[d] = low[d] + high[d] + t->dim[d] + (t->dim[d] ? (t->dim[d] - 1) * between[d] : 0);
        if (dim[d] < 0)
            dim[d] = 0;
    }
    return add(
        b,
        (struct hlo_instruction){.op = OPCODE_PAD,
                                 .type = HLO_TYPE(shaped(b, x, t->rank, dim)),
                                 .detail = &(struct hlo_detail){.low = {t->rank, low},
                                                                .high = {t->rank, high},
                                                                .interior = {t->rank, between}}},
        2, (int[]){x, value});
}

int hlo_concatenate(struct hlo_builder *b, int count, const int *x, int dim)
{
    const struct hlo_type *first = hlo_type_of(b, x[0]);
    int64_t sizes[RANK_MAX];

    if (count == 1)
        return x[0];
    for (int d = 0; d < first->rank; d++)
        sizes[d] = first->dim[d];
    for (int i = 1; i < count; i++)
        sizes[dim] += hlo_type_of(b, x[i])->dim[dim];
    return add(
        b,
        (struct hlo_instruction){.op = OPCODE_CONCATENATE,
                                 .type = HLO_TYPE(shaped(b, x[0], first->rank, sizes)),
                                 .detail = &(struct hlo_detail){.dims = {1, (int64_t[]){dim}}}},
        count, x);
}

int hlo_dynamic_slice(struct hlo_builder *b, int x, const int *start, const int64_t *sizes)
{
    int rank = hlo_type_of(b, x)->rank, operand[RANK_MAX + 1] = { x };

    for (int d = 0; d < rank; d++)
        operand[d + 1] = start[d];
    return add(b,
               (struct hlo_instruction){.op = OPCODE_DYNAMIC_SLICE,
                                        .type = HLO_TYPE(shaped(b, x, rank, sizes)),
                                        .detail = &(struct hlo_detail){.sizes = {rank, sizes}}},
               rank + 1, operand);
}

int hlo_dynamic_update_slice(struct hlo_builder *b, int x, int update, const int *start)
{
    const struct hlo_type *t = hlo_type_of(b, x);
    int operand[RANK_MAX + 2] = { x, update };

    for (int d = 0; d < t->rank; d++)
        operand[d + 2] = start[d];
    return add(b, (struct hlo_instruction){ .op = OPCODE_DYNAMIC_UPDATE_SLICE,
                                            .type = HLO_TYPE(shaped(b, x, t->rank, t->dim))},
               t->rank + 2, operand);
}

static bool has(struct hlo_ints list, int64_t value)
{
    for (int i = 0; i < list.count; i++) {
        if (list.item[i] == value)
            return true;
    }
    return false;
}

/* result dimensions: those of the slices at offset_dims, those of the indices elsewhere */
int hlo_gather(struct hlo_builder *b, int x, int indices, const struct hlo_gather *g,
               const int64_t *slice_sizes)
{
    const struct hlo_type *from = hlo_type_of(b, x), *where = hlo_type_of(b, indices);
    int64_t dim[RANK_MAX];
    int rank = 0, slice = 0, index = 0;
    int batch = where->rank - (g->index_vector_dim < where->rank);

    rank = batch + g->offset_dims.count;
    for (int d = 0; d < rank; d++) {
        if (has(g->offset_dims, d)) {
            while (has(g->collapsed_dims, slice) || has(g->operand_batching, slice))
                slice++;
            dim[d] = slice_sizes[slice++];
        } else {
            index += index == g->index_vector_dim;
            dim[d] = where->dim[index++];
        }
    }
    return add(b,
               (struct hlo_instruction){
                   .op = OPCODE_GATHER,
                   .type = HLO_TYPE(shaped(b, x, rank, dim)),
                   .detail = &(struct hlo_detail){.gather = g, .sizes = {from->rank, slice_sizes}}},
               2, (int[]){x, indices});
}
