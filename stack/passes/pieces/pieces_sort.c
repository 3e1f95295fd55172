/*
 * Sorts longer than vector memory, over blocks that fit: Batcher's bitonic sorter, whose exchanges
 * between blocks are elementwise work over all of them, and whose exchanges within a block are a
 * sort of each.
 *
 * What is compared is a key whose order is that of the values, as in the kernel (kernel_sort.c),
 * and then the place that an element comes from: so no two are equal, and the sort is stable. A
 * run that falls has all bits of both turned, so that only one order is ever made. Block b of
 * `outer` * 8 stands in row b / outer of tiles, b % outer of those outside, and exchanges between
 * blocks are slices of whole tiles but for the last three bits.
 */
#include "stack/passes/pieces/pieces.h"

#include "base/units.h"
#include "stack/expand/expand.h"

#include <string.h>

#define BANDS 8                         /* blocks in the rows of a tile */
#define KEYS 0
#define PLACES 1
#define FIXED 2                         /* keys and places stand before what goes along */
#define ARRAYS_MAX (FIXED + PIECES_SORTED_MAX)

enum { BATCH, OUTER, BAND, IN_BLOCK, BLOCK_RANK };

struct long_sort {
    struct graph *g;
    int64_t batch, outer, block;
    int bits, outer_bits, arrays;       /* bits: of a block's number */
    int array[ARRAYS_MAX];              /* [batch, outer, bands, block] each, of 32 bits */
};

static int splat(struct graph *g, int like, int64_t value)
{
    return graph_splat(g, like, (double)value);
}

/* keys that rise as the values do; all bits turned where they are to fall */
static int keys_of(struct graph *g, int a, bool is_falling)
{
    int v = expand_sort_keys(g, a);

    return is_falling ? graph_binary(g, HLO_XOR, v, splat(g, v, -1)) : v;
}

/* the sorted dimension last, the others one; filled up to whole blocks */
static int in_blocks(const struct long_sort *s, int a, int dim, int64_t filler)
{
    struct graph *g = s->g;
    struct shape shape = g->node[a].shape;
    int64_t length = shape.dim[dim], low[2] = {0}, between[2] = {0};
    int64_t high[2] = {0, s->outer * BANDS * s->block - length};
    int order[GRAPH_RANK_MAX], count = 0, zero;

    for (int d = 0; d < shape.rank; d++)
        if (d != dim)
            order[count++] = d;
    order[count] = dim;
    if (dim != shape.rank - 1)
        a = graph_transpose(g, a, order);
    a = graph_reshape(g, a, shape_make(shape.dtype, 2, (const int64_t[]){s->batch, length}));
    zero = graph_constant(g, shape_scalar(shape.dtype), (double)filler);
    a = graph_pad(g, a, zero, low, high, between);
    a = graph_reshape(g, a, shape_make(shape.dtype, BLOCK_RANK, (const int64_t[]){
        s->batch, BANDS, s->outer, s->block}));
    return graph_transpose(g, a, (const int[]){0, 2, 1, 3});
}

/* the first `count` of what in_blocks made, in the shape of the whole */
static int from_blocks(const struct long_sort *s, int a, struct shape to, int dim, int64_t count)
{
    struct graph *g = s->g;
    int back[GRAPH_RANK_MAX], at = 0;
    struct shape apart = {.dtype = g->node[a].shape.dtype, .rank = to.rank};

    a = graph_transpose(g, a, (const int[]){0, 2, 1, 3});
    a = graph_reshape(g, a, shape_make(apart.dtype, 2, (const int64_t[]){
        s->batch, s->outer * BANDS * s->block}));
    a = pieces_slice(g, a, 1, 0, count);
    for (int d = 0; d < to.rank; d++) {
        back[d] = d == dim ? to.rank - 1 : at;
        if (d != dim)
            apart.dim[at++] = to.dim[d];
    }
    apart.dim[at] = count;
    a = graph_reshape(g, a, apart);
    return dim == to.rank - 1 ? a : graph_transpose(g, a, back);
}

/* ----- the network */

/* an s32 of this shape: bit `bit` of the number of each element's block */
static int bit_of_block(const struct long_sort *s, struct shape shape, int bit)
{
    int dim = bit < s->outer_bits ? OUTER : BAND;
    int number;

    shape.dtype = DTYPE_S32;
    number = graph_iota(s->g, shape, dim);
    number = graph_binary(s->g, HLO_SHIFT_RIGHT_LOGICAL, number,
                          splat(s->g, number, bit - (dim == BAND ? s->outer_bits : 0)));
    return graph_binary(s->g, HLO_AND, number, splat(s->g, number, 1));
}

/* keys and places of runs of 2^level blocks that are to fall, or that fall, have all bits turned */
static void turn_falling(struct long_sort *s, int level)
{
    int bit, mask;

    if (level == s->bits)
        return;
    bit = bit_of_block(s, s->g->node[s->array[KEYS]].shape, level);
    mask = graph_unary(s->g, HLO_NEGATE, bit);
    for (int i = 0; i < FIXED; i++)
        s->array[i] = graph_binary(s->g, HLO_XOR, s->array[i], mask);
}

/* the same array as [.., 2, ..] with the bit in a dimension of its own, number *dim */
static struct shape with_bit(const struct long_sort *s, struct shape shape, int bit, int *dim)
{
    bool is_outer = bit < s->outer_bits;
    int at = is_outer ? OUTER : BAND;
    int64_t below = (int64_t)1 << (is_outer ? bit : bit - s->outer_bits);

    memmove(shape.dim + at + 3, shape.dim + at + 1,
            (size_t)(BLOCK_RANK - at - 1) * sizeof(*shape.dim));
    shape.dim[at + 2] = below;
    shape.dim[at] = (is_outer ? s->outer : BANDS) / (2 * below);
    shape.dim[at + 1] = 2;
    shape.rank += 2;
    *dim = at + 1;
    return shape;
}

/* the smaller element of each two blocks that differ in the bit alone goes to the first */
static void exchange(struct long_sort *s, int bit)
{
    struct graph *g = s->g;
    int low[ARRAYS_MAX] = {0}, high[ARRAYS_MAX] = {0}, swaps, ties, dim = 0;

    for (int i = 0; i < s->arrays; i++) {
        struct shape apart = with_bit(s, g->node[s->array[i]].shape, bit, &dim);
        int a = graph_reshape(g, s->array[i], apart);

        low[i] = pieces_slice(g, a, dim, 0, 1);
        high[i] = pieces_slice(g, a, dim, 1, 2);
    }
    ties = graph_compare(g, COMPARE_GT, low[PLACES], high[PLACES]);
    ties = graph_binary(g, HLO_AND, graph_compare(g, COMPARE_EQ, low[KEYS], high[KEYS]), ties);
    swaps = graph_binary(g, HLO_OR, graph_compare(g, COMPARE_GT, low[KEYS], high[KEYS]), ties);
    for (int i = 0; i < s->arrays; i++) {
        const struct shape whole = g->node[s->array[i]].shape;
        int first = graph_select(g, swaps, high[i], low[i]);
        int second = graph_select(g, swaps, low[i], high[i]);

        first = graph_concatenate(g, (int[]){first, second}, 2, dim);
        s->array[i] = graph_reshape(g, first, whole);
    }
}

/* by the places and then, stable, by the keys */
static void sort_blocks(struct long_sort *s)
{
    for (int by = PLACES; by >= KEYS; by--) {
        int list[ARRAYS_MAX], sorted;

        memcpy(list, s->array, sizeof(list));
        list[0] = s->array[by];
        list[by] = s->array[0];
        sorted = graph_sort(s->g, list, s->arrays, IN_BLOCK, COMPARE_LT);
        for (int i = 0; i < s->arrays; i++)
            list[i] = graph_tuple_element(s->g, sorted, i);
        memcpy(s->array, list, sizeof(list));
        s->array[by] = list[0];
        s->array[0] = list[by];
    }
}

static int bits_of(int64_t x)
{
    int bits = 0;

    while ((int64_t)1 << bits < x)
        bits++;
    return bits;
}

/* what goes along in 32 bits, which each converts to and from without loss */
static int widened(struct graph *g, int a)
{
    enum graph_dtype dtype = g->node[a].shape.dtype;

    return dtype == DTYPE_U32 ? graph_bitcast_convert(g, a, DTYPE_S32)
           : graph_convert(g, a, dtype == DTYPE_F32 || dtype == DTYPE_BF16 ? DTYPE_F32 : DTYPE_S32);
}

static int narrowed(struct graph *g, int a, enum graph_dtype dtype)
{
    return dtype == DTYPE_U32 ? graph_bitcast_convert(g, a, dtype) : graph_convert(g, a, dtype);
}

int pieces_sort_block(struct graph *g, int arrays, int64_t block)
{
    const struct shape s = shape_make(DTYPE_S32, BLOCK_RANK, (const int64_t[]){1, 1, BANDS, block});
    int list[ARRAYS_MAX];

    for (int i = 0; i < FIXED + arrays; i++)
        list[i] = graph_parameter(g, s, arena_printf(g->arena, "array.%d", i));
    return graph_sort(g, list, FIXED + arrays, IN_BLOCK, COMPARE_LT);
}

int pieces_sort(struct graph *g, const struct graph_node *n, int64_t block, int *result)
{
    bool is_top = n->op == HLO_TOP_K;
    struct shape shape = g->node[n->operand[0]].shape;
    int dim = is_top ? shape.rank - 1 : n->dim, operands = n->operand_count;
    int64_t length = shape.dim[dim], count = is_top ? n->count : length;
    struct long_sort s = {.g = g, .batch = shape_elems(&shape) / length, .block = block,
                          .arrays = FIXED + operands};
    struct shape places = shape;

    s.outer_bits = bits_of(div_up(length, BANDS * block));
    s.bits = s.outer_bits + bits_of(BANDS);
    s.outer = (int64_t)1 << s.outer_bits;
    places.dtype = DTYPE_S32;
    s.array[KEYS] = in_blocks(&s, keys_of(g, n->operand[0], is_top || n->direction == COMPARE_GT),
                              dim, INT32_MAX);
    s.array[PLACES] = in_blocks(&s, graph_iota(g, places, dim), dim, INT32_MAX);
    for (int i = 0; i < operands; i++)
        s.array[FIXED + i] = in_blocks(&s, widened(g, n->operand[i]), dim, 0);
    for (int level = 0; level <= s.bits; level++) {
        turn_falling(&s, level);
        for (int bit = level - 1; bit >= 0; bit--)
            exchange(&s, bit);
        sort_blocks(&s);
        turn_falling(&s, level);
    }
    for (int i = 0; i < operands; i++) {
        enum graph_dtype dtype = g->node[n->operand[i]].shape.dtype;

        result[i] = narrowed(g, from_blocks(&s, s.array[FIXED + i], shape, dim, count), dtype);
    }
    if (is_top)
        result[1] = from_blocks(&s, s.array[PLACES], shape, dim, count);
    return is_top ? 2 : operands;
}
