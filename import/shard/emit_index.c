/*
 * Gather and scatter along dimensions that are cut. Every device looks for all indices in its own
 * part: what it has not is zero, and the sum over devices is what was gathered; what it has not is
 * not scattered. Where the updates are cut, each device scatters its own into nothing but one, which
 * scatters into the array.
 */
#include "import/shard/emit.h"

enum { RANK_MAX = 64 };

static struct hlo_type with_element(const struct hlo_type *t, enum hlo_element e)
{
    struct hlo_type made = *t;

    made.element = e;
    made.layout = NULL;
    return made;
}

/* indices of a type that has room for what is below zero */
static int signed_indices(struct shard_emitter *e, int x)
{
    enum hlo_element element = hlo_type_of(e->b, x)->element;

    return hlo_convert(e->b, x, element == ELEMENT_S64 || element == ELEMENT_U64 ? ELEMENT_S64 :
                                                                                   ELEMENT_S32);
}

/* a scalar for each component of an index vector, as an array like the indices */
static int spread_components(struct shard_emitter *e, int indices, int64_t vector_dim,
                             const int *component, int count)
{
    struct hlo_type t = *hlo_type_of(e->b, indices);
    int part[RANK_MAX], vector;

    if (vector_dim >= t.rank)
        return hlo_splat(e->b, hlo_convert(e->b, component[0], t.element), &t);
    for (int k = 0; k < count; k++)
        part[k] = hlo_reshape(e->b, hlo_convert(e->b, component[k], t.element), 1, (int64_t[]){1});
    vector = count == 1 ? part[0] : hlo_concatenate(e->b, count, part, 0);
    return hlo_broadcast(e->b, vector, t.rank, t.dim, &vector_dim);
}

/* the array's dimensions behind the components, and what of each this device has */
struct components {
    int count, end[RANK_MAX], first[RANK_MAX], size[RANK_MAX];
};

static void find_components(struct shard_emitter *e, const struct shard_cutting *c,
                            const int64_t *window, struct components *k)
{
    struct hlo_ints map = hlo_detail(c->n)->gather->start_index_map;
    const struct hlo_type *whole = c->rule->tensor[0].type;

    k->count = map.count;
    for (int i = 0; i < map.count; i++) {
        int dim = (int)map.item[i], f = shard_index_factor(c, dim);
        int64_t parts = f < 0 ? 1 : shard_axes_size(e->mesh, &c->of_factor[f]);

        k->end[i] = shard_s32(e, whole->dim[dim] - window[dim]);
        k->first[i] = f < 0 ? shard_s32(e, 0) :
                              shard_offset_of(e, &c->of_factor[f], whole->dim[dim]);
        k->size[i] = shard_s32(e, (whole->dim[dim] + parts - 1) / parts);
    }
}

static int shift(struct shard_emitter *e, const struct shard_cutting *c, int indices,
                 const struct components *k)
{
    return hlo_binary(e->b, OPCODE_SUBTRACT, indices,
                      spread_components(e, indices, hlo_detail(c->n)->gather->index_vector_dim,
                                        k->first, k->count));
}

/* whether all components of an index are in this device's part; without the vector's dimension */
static int find_own(struct shard_emitter *e, const struct shard_cutting *c, int shifted,
                    const struct components *k)
{
    struct hlo_type t = *hlo_type_of(e->b, shifted), yes = hlo_scalar_type(ELEMENT_PRED);
    int64_t vector_dim = hlo_detail(c->n)->gather->index_vector_dim;
    int size = spread_components(e, shifted, vector_dim, k->size, k->count);
    int zero = hlo_constant_int(e->b, &t, 0);
    int is_from = hlo_compare(e->b, HLO_GE, shifted, zero), init;
    int own = hlo_binary(e->b, OPCODE_AND, is_from, hlo_compare(e->b, HLO_LT, shifted, size));

    if (vector_dim >= t.rank)
        return own;
    init = hlo_constant_int(e->b, &yes, 1);
    return hlo_reduce(e->b, own, init, 1, &vector_dim,
                      hlo_scalar_computation(e->b->module, OPCODE_AND, ELEMENT_PRED));
}

/* a predicate of each index, over the slices that are gathered */
static int over_slices(struct shard_emitter *e, const struct shard_cutting *c, int pred)
{
    const struct hlo_ints offset = hlo_detail(c->n)->gather->offset_dims;
    int64_t dims[RANK_MAX];
    int count = 0;

    for (int d = 0, k = 0; d < c->type.rank; d++) {
        if (k < offset.count && offset.item[k] == d)
            k++;
        else
            dims[count++] = d;
    }
    return hlo_broadcast(e->b, pred, c->type.rank, c->type.dim, dims);
}

static int copy_with(struct shard_emitter *e, struct shard_cutting *c, struct hlo_instruction *i)
{
    i->type = &c->type;
    hlo_own_detail(e->b->module->arena, i)->sharding_count = 0;
    return hlo_copy_instruction(e->b, i, c->operand);
}

int shard_emit_gather(struct shard_emitter *e, struct shard_cutting *c)
{
    struct hlo_instruction i = *c->n;
    const struct hlo_type *whole = c->rule->tensor[0].type;
    struct hlo_type part = *hlo_type_of(e->b, c->operand[0]);
    int64_t *sizes = arena_copy(e->b->module->arena, hlo_detail(&i)->sizes.item,
                                (size_t)hlo_detail(&i)->sizes.count, sizeof(*sizes));
    struct hlo_type t = with_element(&c->type, c->type.element);
    struct components k;
    int indices = signed_indices(e, c->operand[1]), own, zero, gathered;

    for (int d = 0; d < hlo_detail(&i)->sizes.count; d++)
        if (sizes[d] == whole->dim[d] && shard_index_factor(c, d) < 0)
            sizes[d] = part.dim[d];
    find_components(e, c, hlo_detail(&i)->sizes.item, &k);
    hlo_own_detail(e->b->module->arena, &i)->sizes.item = sizes;
    zero = hlo_constant_int(e->b, &(struct hlo_type){.element = hlo_type_of(e->b, indices)->element},
                            0);
    zero = hlo_splat(e->b, zero, hlo_type_of(e->b, indices));
    indices = hlo_clamp(
        e->b, zero, indices,
        spread_components(e, indices, hlo_detail(&i)->gather->index_vector_dim, k.end, k.count));
    c->operand[1] = shift(e, c, indices, &k);
    own = over_slices(e, c, find_own(e, c, c->operand[1], &k));
    gathered = copy_with(e, c, &i);
    return hlo_select(e->b, own, gathered, hlo_constant_int(e->b, &t, 0));
}

/* the array on one device of those that have parts of the updates, what sums begin with on others */
static int first_only(struct shard_emitter *e, const struct shard_cutting *c, int x)
{
    struct shard_axes sum = {0};
    struct hlo_type t = *hlo_type_of(e->b, x), pred;
    int is_first;

    for (int f = 0; f < c->rule->factor_count; f++)
        for (int i = 0; c->rule->factor[f].is_sum && i < c->of_factor[f].count; i++)
            sum.axis[sum.count++] = c->of_factor[f].axis[i];
    if (!sum.count || shard_sum_is_idempotent(c->rule->sum))
        return x;
    pred = with_element(&t, ELEMENT_PRED);
    is_first = shard_index_of(e, &sum);
    is_first = hlo_compare(e->b, HLO_EQ, is_first, shard_s32(e, 0));
    is_first = hlo_splat(e->b, is_first, &pred);
    return hlo_select(e->b, is_first, x,
                      hlo_splat(e->b, shard_identity(e, c->rule->sum, t.element), &t));
}

/* an update of what stands behind the end is none: padding of uneven parts */
static int drop_padding(struct shard_emitter *e, const struct shard_cutting *c, int indices)
{
    const struct shard_tensor *t = &c->rule->tensor[1];

    for (int d = 0; d < t->type->rank; d++) {
        int f = t->dim[d].count == 1 ? t->dim[d].factor[0] : -1;
        struct hlo_type scalar = hlo_scalar_type(hlo_type_of(e->b, indices)->element);

        if (f >= 0 && c->rule->factor[f].is_sum && c->of_factor[f].count &&
            t->type->dim[d] % shard_axes_size(e->mesh, &c->of_factor[f]))
            indices = shard_mask_end(e, indices, d, &c->of_factor[f], t->type->dim[d],
                                     hlo_constant_int(e->b, &scalar, -1));
    }
    return indices;
}

int shard_emit_scatter(struct shard_emitter *e, struct shard_cutting *c)
{
    struct hlo_instruction i = *c->n;
    struct components k;
    int64_t window[RANK_MAX];
    int indices = signed_indices(e, c->operand[1]);

    for (int d = 0; d < c->rule->tensor[0].type->rank; d++)
        window[d] = 1;
    find_components(e, c, window, &k);
    c->operand[1] = drop_padding(e, c, shift(e, c, indices, &k));
    c->operand[0] = first_only(e, c, c->operand[0]);
    return copy_with(e, c, &i);
}
