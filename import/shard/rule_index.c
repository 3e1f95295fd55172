/*
 * Rules of gather and scatter. A dimension that windows have whole passes; one that indices point
 * along may be cut where windows have one index of it: each device looks for its own part.
 */
#include "import/shard/rule.h"

static bool stands_in(struct hlo_ints list, int64_t dim)
{
    for (int i = 0; i < list.count; i++)
        if (list.item[i] == dim)
            return true;
    return false;
}

/* dimension number n of `rank` that is not in the list */
static int other_dim(struct hlo_ints list, int rank, int n)
{
    for (int d = 0; d < rank; d++)
        if (!stands_in(list, d) && n-- == 0)
            return d;
    return -1;
}

/* the dimension of gathered slices or updates that goes with a dimension of the indices */
static int batch_dim(const struct hlo_gather *g, int rank, int indices_dim)
{
    return other_dim(g->offset_dims, rank, indices_dim - (indices_dim > g->index_vector_dim));
}

/* what a gather and a scatter have in common: where their arrays stand among the tensors */
struct place {
    int array, indices, slices, result; /* slices: gathered, or updates; result: of a scatter, -1 */
    int64_t window[64];                 /* by dimension of the array: how much of it a slice has */
    int slice_dim[64];                  /* and which dimension of the slices that is, -1: none */
};

static void tie_array(struct shard_rule *r, const struct place *p, int dim, int f)
{
    shard_tie(r, p->array, dim, f);
    if (p->result >= 0)
        shard_tie(r, p->result, dim, f);
}

static void tie_windows(struct shard_rule *r, const struct place *p, const struct hlo_gather *g)
{
    const struct hlo_type *array = r->tensor[p->array].type;

    for (int d = 0; d < array->rank; d++) {
        bool is_whole = p->window[d] == array->dim[d] && p->slice_dim[d] >= 0;
        int f;

        if (stands_in(g->operand_batching, d) || (!is_whole && p->window[d] != 1))
            continue;
        if (!is_whole && !stands_in(g->start_index_map, d))
            continue;
        f = shard_add_factor(r, array->dim[d]);
        tie_array(r, p, d, f);
        if (is_whole) {
            shard_tie(r, p->slices, p->slice_dim[d], f);
        } else {
            r->factor[f].is_index = true;
            r->factor[f].is_sum = p->result < 0;
        }
    }
}

static void tie_batches(struct shard_rule *r, const struct place *p, const struct hlo_gather *g,
                        bool is_sum)
{
    const struct hlo_type *indices = r->tensor[p->indices].type;

    for (int d = 0; d < indices->rank; d++) {
        int f, batch = -1;

        if (d == g->index_vector_dim)
            continue;
        for (int k = 0; k < g->indices_batching.count; k++)
            if (g->indices_batching.item[k] == d)
                batch = (int)g->operand_batching.item[k];
        if (batch < 0 && p->result >= 0 && !is_sum)
            continue;
        f = shard_add_factor(r, indices->dim[d]);
        shard_tie(r, p->indices, d, f);
        shard_tie(r, p->slices, batch_dim(g, r->tensor[p->slices].type->rank, d), f);
        if (batch >= 0)
            tie_array(r, p, batch, f);
        else
            r->factor[f].is_sum = p->result >= 0;
    }
}

/* which dimension of the slices each window dimension of the array is */
static void find_windows(const struct shard_rule *r, struct place *p, const struct hlo_gather *g)
{
    int n = 0;

    for (int d = 0; d < r->tensor[p->array].type->rank; d++) {
        bool is_gone = stands_in(g->collapsed_dims, d) || stands_in(g->operand_batching, d);

        p->slice_dim[d] = is_gone ? -1 : (int)g->offset_dims.item[n++];
        p->window[d] = is_gone ? 1 : r->tensor[p->slices].type->dim[p->slice_dim[d]];
    }
}

void shard_rule_gather(struct shard_made *m)
{
    struct shard_rule *r = m->rule;
    struct place p = {.array = 0, .indices = 1, .slices = 2, .result = -1};

    if (r->tensor[0].type->rank > 64)
        return;
    r->sum = r->tensor[0].type->element == ELEMENT_PRED ? OPCODE_OR : OPCODE_ADD;
    find_windows(r, &p, hlo_detail(m->i)->gather);
    tie_windows(r, &p, hlo_detail(m->i)->gather);
    tie_batches(r, &p, hlo_detail(m->i)->gather, false);
}

/* of one array; a scatter of several at once is done whole */
void shard_rule_scatter(struct shard_made *m)
{
    struct shard_rule *r = m->rule;
    struct place p = {.array = 0, .indices = 1, .slices = 2, .result = 3};

    if (m->i->operand_count != 3 || r->tensor[0].type->rank > 64)
        return;
    r->sum = shard_sum_of(m->module, hlo_detail(m->i)->computation[0]);
    find_windows(r, &p, hlo_detail(m->i)->gather);
    tie_windows(r, &p, hlo_detail(m->i)->gather);
    tie_batches(r, &p, hlo_detail(m->i)->gather, r->sum != OPCODE_COUNT);
}
