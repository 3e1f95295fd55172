/* Attention in basic operations, and as the custom call of a kernel that does the same. */
#include "stack/nn/nn_impl.h"

#include <math.h>

#include "base/units.h"
#include "stack/hlo/rewrite.h"

#define MASKED -2.3819763e38            /* finite, so that no NaN comes of it; fits bf16 */

/* scores [.., query, key]: query t sees keys up to past + t */
static int mask_future(struct graph *g, int scores, int64_t past)
{
    struct shape s = g->node[scores].shape;
    int rows, columns, is_seen;

    s.dtype = DTYPE_S32;
    rows = graph_iota(g, s, s.rank - 2);
    columns = graph_iota(g, s, s.rank - 1);
    if (past)
        rows = graph_binary(g, HLO_ADD, rows, graph_splat(g, rows, (double)past));
    is_seen = graph_compare(g, COMPARE_GE, rows, columns);
    return graph_select(g, is_seen, scores, graph_splat(g, scores, MASKED));
}

static int attend(struct graph *g, int q, int k, int v, bool is_causal, int64_t past,
                  enum graph_dtype scores)
{
    enum graph_dtype dtype = g->node[q].shape.dtype;
    double width = (double)g->node[q].shape.dim[3];
    struct graph_dot score = {.batch_count = 2, .lhs_batch = {0, 2}, .rhs_batch = {0, 2},
                              .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {3}};
    struct graph_dot mix = {.batch_count = 2, .lhs_batch = {0, 1}, .rhs_batch = {0, 2},
                            .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {1}};
    int s = graph_dot_general(g, q, k, &score, scores, PRECISION_DEFAULT);

    s = nn_scale(g, s, 1.0 / sqrt(width));
    if (is_causal)
        s = mask_future(g, s, past);
    s = graph_convert(g, nn_softmax(g, s), dtype);
    s = graph_dot_general(g, s, v, &mix, dtype, PRECISION_DEFAULT);
    return graph_transpose(g, s, (int[]){0, 2, 1, 3});
}

int nn_attention(struct graph *g, int q, int k, int v, bool is_causal)
{
    return attend(g, q, k, v, is_causal, 0, DTYPE_F32);
}

int nn_attention_rounded(struct graph *g, int q, int k, int v, bool is_causal)
{
    return attend(g, q, k, v, is_causal, 0, g->node[q].shape.dtype);
}

/* ---- as a custom call ---- */

static int64_t blocks_of(const struct graph_attention *a) { return div_up(a->q_len, a->block_q); }

/* entries of a sequence in the table: whole blocks of keys */
static int64_t entries_of(const struct graph_attention *a)
{
    return div_up(a->kv_len, a->block_kv) * a->block_kv / a->page_tokens;
}

#define DIMS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                  (const int64_t[]){__VA_ARGS__}

static struct shape bf16(int rank, const int64_t *dim) { return shape_make(DTYPE_BF16, rank, dim); }

int nn_attention_operands(const struct graph_attention *a, struct shape shape[4])
{
    int64_t rows = a->heads_q / a->heads_kv * a->block_q, pages = a->pages, t = a->page_tokens;

    if (a->form == ATTENTION_FLASH) {
        shape[0] = bf16(DIMS(a->sequences * a->heads_q, a->q_len, a->depth));
        shape[1] = shape[2] = bf16(DIMS(a->sequences * a->heads_kv, a->kv_len, a->depth));
        return 3;
    }
    shape[0] = bf16(DIMS(a->sequences, blocks_of(a), a->heads_kv, rows, a->depth));
    shape[2] = shape[3] = shape_make(DTYPE_S32, DIMS(a->sequences * entries_of(a)));
    if (a->form == ATTENTION_RAGGED) {
        shape[1] = bf16(DIMS(pages, t, 2 * a->heads_kv, a->depth));
        return 3;
    }
    shape[1] = shape[2] = bf16(DIMS(a->heads_kv, pages, t, a->depth));
    return 4;
}

static int reshape(struct graph *g, int x, int rank, const int64_t *dim)
{
    return graph_reshape(g, x, bf16(rank, dim));
}

/* slices of x along `dim`, one for each index, where x had that dimension */
static int take(struct graph *g, int x, int dim, int indices)
{
    struct shape s = g->node[x].shape;
    struct graph_gather how = {.collapsed_count = 1, .collapsed_dims = {dim}, .map_count = 1,
                               .start_index_map = {dim}, .index_vector_dim = 1};

    for (int d = 0; d < s.rank; d++) {
        how.slice_sizes[d] = d == dim ? 1 : s.dim[d];
        if (d != dim)
            how.offset_dims[how.offset_count++] = d;
    }
    return graph_gather(g, x, indices, &how);
}

/* [sequences, heads of k, keys, depth]; part 0: keys, 1: values */
static int keys_of(struct graph *g, const struct graph_attention *a, const int *operand, int part)
{
    int64_t s = a->sequences, h = a->heads_kv, d = a->depth, keys;
    int x;

    if (a->form == ATTENTION_FLASH)
        return reshape(g, operand[1 + part], DIMS(s, h, a->kv_len, d));
    keys = entries_of(a) * a->page_tokens;
    if (a->form == ATTENTION_PAGED) {
        x = reshape(g, take(g, operand[1 + part], 1, operand[3]), DIMS(h, s, keys, d));
        return graph_transpose(g, x, (int[]){1, 0, 2, 3});
    }
    x = reshape(g, take(g, operand[1], 0, operand[2]), DIMS(s, keys, h, 2, d));
    x = graph_slice(g, x, (int64_t[]){0, 0, 0, part, 0}, (int64_t[]){s, keys, h, part + 1, d},
                    NULL);
    return graph_transpose(g, reshape(g, x, DIMS(s, keys, h, d)), (int[]){0, 2, 1, 3});
}

/* [heads of q of all sequences, keys, 1, depth] */
static int for_each_query_head(struct graph *g, const struct graph_attention *a, int x)
{
    int64_t keys = g->node[x].shape.dim[2];

    x = graph_broadcast(g, x, bf16(DIMS(a->sequences, a->heads_kv, a->heads_q / a->heads_kv, keys,
                                        a->depth)), (int[]){0, 1, 3, 4});
    return reshape(g, x, DIMS(a->sequences * a->heads_q, keys, 1, a->depth));
}

/* over pages: [.., blocks, heads of k, group x block, ..] to heads of q and positions, and back */
static int turn_queries(struct graph *g, const struct graph_attention *a, int x, bool is_back)
{
    int64_t s = a->sequences, h = a->heads_kv, group = a->heads_q / h, blocks = blocks_of(a);

    if (a->form != ATTENTION_FLASH && !is_back)
        x = graph_transpose(g, reshape(g, x, DIMS(s, blocks, h, group, a->block_q, a->depth)),
                            (int[]){0, 2, 3, 1, 4, 5});
    else if (a->form != ATTENTION_FLASH)
        return graph_transpose(g, reshape(g, x, DIMS(s, h, group, blocks, a->block_q, a->depth)),
                               (int[]){0, 3, 1, 2, 4, 5});
    return reshape(g, x, DIMS(s * a->heads_q, blocks * a->block_q, 1, a->depth));
}

static struct graph *computation(struct graph *g, const struct graph_attention *a)
{
    struct graph *body = arena_alloc(g->arena, sizeof(*body));
    int operand[4], count, q, k, v, o;
    struct shape shape[4];

    graph_init(body, g->arena, graph_attention_name(a->form));
    count = nn_attention_operands(a, shape);
    for (int i = 0; i < count; i++)
        operand[i] = graph_parameter(body, shape[i], arena_printf(g->arena, "operand.%d", i));
    q = turn_queries(body, a, operand[0], false);
    k = for_each_query_head(body, a, keys_of(body, a, operand, 0));
    v = for_each_query_head(body, a, keys_of(body, a, operand, 1));
    o = attend(body, q, k, v, a->form != ATTENTION_FLASH || a->is_causal, a->kv_len - a->q_len,
               DTYPE_F32);
    o = graph_reshape(body, turn_queries(body, a, o, true), shape[0]);
    graph_output(body, o, "o", -1);
    graph_freeze(body);
    return body;
}

int nn_attention_call(struct graph *g, const int *operand, const struct graph_attention *a)
{
    struct shape shape[4];

    return graph_custom_call(g, operand, nn_attention_operands(a, shape), computation(g, a), a);
}
