/* An operation with a rule: its operands brought to lie as it wants them, its part, sums, moves. */
#include "import/shard/window.h"

#include <string.h>

static bool stands_in(struct hlo_ints list, int64_t dim)
{
    for (int i = 0; i < list.count; i++)
        if (list.item[i] == dim)
            return true;
    return false;
}

/* ----- attributes that speak of sizes */

static struct hlo_ints part_sizes(struct arena *a, struct hlo_ints list, const struct hlo_type *whole,
                                  const struct hlo_type *part)
{
    int64_t *item = arena_copy(a, list.item, (size_t)list.count, sizeof(*item));

    for (int d = 0; d < list.count; d++)
        if (item[d] == whole->dim[d])
            item[d] = part->dim[d];
    return (struct hlo_ints){list.count, item};
}

static void cut_groups(const struct shard_emitter *e, const struct shard_cutting *c,
                       struct hlo_instruction *i)
{
    struct hlo_conv *conv = arena_copy(e->b->module->arena, hlo_detail(i)->conv, 1, sizeof(*conv));
    int64_t parts = shard_axes_size(e->mesh, &c->of_factor[0]);

    if (conv->feature_groups > 1)
        conv->feature_groups /= parts;
    else if (conv->batch_groups > 1)
        conv->batch_groups /= parts;
    hlo_own_detail(e->b->module->arena, i)->conv = conv;
}

static void cut_attributes(struct shard_emitter *e, const struct shard_cutting *c,
                           struct hlo_instruction *i)
{
    const struct hlo_type *whole = c->rule->tensor_count ? c->rule->tensor[0].type : NULL;
    struct arena *a = e->b->module->arena;

    if (i->op == OPCODE_SLICE)
        hlo_own_detail(a, i)->limit = part_sizes(a, hlo_detail(i)->limit, whole,
                                                 hlo_type_of(e->b, c->operand[0]));
    else if (i->op == OPCODE_DYNAMIC_SLICE || i->op == OPCODE_GATHER)
        hlo_own_detail(a, i)->sizes = part_sizes(a, hlo_detail(i)->sizes, whole,
                                                 hlo_type_of(e->b, c->operand[0]));
    else if (i->op == OPCODE_CONVOLUTION)
        cut_groups(e, c, i);
}

static int emit_plain(struct shard_emitter *e, struct shard_cutting *c)
{
    struct hlo_instruction i = *c->n;

    i.type = &c->type;
    if (!shard_keeps_sharding(&i))
        hlo_own_detail(e->b->module->arena, &i)->sharding_count = 0;
    cut_attributes(e, c, &i);
    if (shard_is_window_cut(c))
        return shard_emit_window(e, c, &i);
    return hlo_copy_instruction(e->b, &i, c->operand);
}

/* ----- reductions: a starting value counts once, not once a device */

static bool is_cut(const struct shard_cutting *c, int factor)
{
    return c->of_factor[factor].count > 0;
}

static bool is_sum_cut(const struct shard_cutting *c)
{
    for (int f = 0; f < c->rule->factor_count; f++)
        if (c->rule->factor[f].is_sum && is_cut(c, f))
            return true;
    return false;
}

static int splat_as(struct shard_emitter *e, int scalar, int like)
{
    struct hlo_type t = *hlo_type_of(e->b, like);

    return hlo_splat(e->b, scalar, &t);
}

/* ----- operands */

/* a scalar of operand t that changes no sum */
static int nothing_of(struct shard_emitter *e, const struct shard_cutting *c, int t)
{
    if (c->n->op == OPCODE_REDUCE && c->rule->sum == OPCODE_COUNT)
        return c->operand[c->rule->operand_count / 2 + t];
    return shard_identity(e, c->n->op == OPCODE_REDUCE ? c->rule->sum : OPCODE_ADD,
                          c->rule->tensor[t].type->element);
}

/* what stands behind the end of a dimension that is summed over must not count */
static int mask_operand(struct shard_emitter *e, const struct shard_cutting *c, int t, int x)
{
    const struct shard_tensor *tensor = &c->rule->tensor[t];

    for (int d = 0; d < tensor->type->rank; d++) {
        int f = tensor->dim[d].count == 1 ? tensor->dim[d].factor[0] : -1;
        int64_t size = tensor->type->dim[d];

        if (f < 0 || !is_cut(c, f) || !c->rule->factor[f].is_sum || c->rule->factor[f].is_index ||
            size % shard_axes_size(e->mesh, &c->of_factor[f]) == 0)
            continue;
        x = shard_mask_end(e, x, d, &c->of_factor[f], size, nothing_of(e, c, t));
    }
    return x;
}

static void bring_operands(struct shard_emitter *e, const struct shard_cutting *c,
                           const int *operand)
{
    for (int t = 0; t < c->rule->operand_count; t++) {
        const struct shard_place *from = shard_place_of(e->s, e->computation, c->n->operand[t]);
        struct shard_lay want = shard_rule_lay(c->rule, t, c->of_factor);

        c->operand[t] = shard_move(e, operand[t], c->rule->tensor[t].type, &from->lay[0], &want);
    }
    for (int t = 0; t < c->rule->operand_count; t++) {
        if (c->n->op == OPCODE_DOT || c->n->op == OPCODE_CONVOLUTION || c->n->op == OPCODE_REDUCE)
            c->operand[t] = mask_operand(e, c, t, c->operand[t]);
    }
}

/* ----- results */

static struct shard_axes sum_axes(const struct shard_cutting *c)
{
    struct shard_axes axes = {0};

    for (int f = 0; f < c->rule->factor_count; f++)
        for (int i = 0; c->rule->factor[f].is_sum && i < c->of_factor[f].count; i++)
            axes.axis[axes.count++] = c->of_factor[f].axis[i];
    return axes;
}

static int sum_computation(struct shard_emitter *e, const struct shard_cutting *c, int x)
{
    if (c->n->op == OPCODE_REDUCE)
        return hlo_detail(c->n)->computation[0];
    return hlo_scalar_computation(e->b->module, c->rule->sum, hlo_type_of(e->b, x)->element);
}

/* a dimension of which the wanted lay has more axes, all of them to be summed over */
static int scatter_dim(const struct shard_emitter *e, const struct hlo_type *t,
                       const struct shard_lay *now, const struct shard_lay *want,
                       const struct shard_axes *sum, struct shard_axes *more)
{
    for (int d = 0; d < t->rank; d++) {
        struct shard_axes have = shard_lay_axes(now, d), wanted = shard_lay_axes(want, d);
        bool is_good = wanted.count > have.count &&
                       t->dim[d] % shard_axes_size(e->mesh, &wanted) == 0;

        more->count = 0;
        for (int i = 0; i < wanted.count && is_good; i++) {
            if (i < have.count)
                is_good = wanted.axis[i] == have.axis[i];
            else if (shard_axes_mask(sum) >> wanted.axis[i] & 1)
                more->axis[more->count++] = wanted.axis[i];
            else
                break;
        }
        if (is_good && more->count)
            return d;
    }
    return -1;
}

static void remove_axes(struct shard_axes *axes, uint32_t gone)
{
    int kept = 0;

    for (int i = 0; i < axes->count; i++)
        if (!(gone >> axes->axis[i] & 1))
            axes->axis[kept++] = axes->axis[i];
    axes->count = kept;
}

/* parts of sums added up, scattered where the result is wanted so */
static int add_up(struct shard_emitter *e, const struct shard_cutting *c, int x,
                  const struct hlo_type *t, struct shard_lay *now, const struct shard_lay *want)
{
    struct shard_axes sum = sum_axes(c), more;
    int computation, dim;

    if (!sum.count || c->is_summed)
        return x;
    computation = sum_computation(e, c, x);
    while ((dim = scatter_dim(e, t, now, want, &sum, &more)) >= 0) {
        x = shard_reduce_scatter(e, x, dim, &more, computation);
        for (int i = 0; i < more.count; i++)
            shard_lay_add(now, dim, more.axis[i]);
        remove_axes(&sum, shard_axes_mask(&more));
    }
    return sum.count ? shard_all_reduce(e, x, &sum, computation) : x;
}

static int finish(struct shard_emitter *e, const struct shard_cutting *c,
                  const struct shard_place *place, int x)
{
    int count = c->rule->operand_count, leaves = place->leaves, *part;

    part = arena_array(e->b->module->arena, (size_t)leaves, sizeof(*part));
    for (int l = 0; l < leaves; l++) {
        const struct hlo_type *t = c->rule->tensor[count + l].type;
        struct shard_lay now = shard_rule_lay(c->rule, count + l, c->of_factor);

        part[l] = hlo_type_is_tuple(c->n->type) ? hlo_tuple_element(e->b, x, l) : x;
        part[l] = add_up(e, c, part[l], t, &now, &place->lay[l]);
        part[l] = shard_move(e, part[l], t, &now, &place->lay[l]);
    }
    return hlo_type_is_tuple(c->n->type) ? hlo_tuple(e->b, leaves, part) : part[0];
}

/* what each device has made of its part, all of them in a new first dimension */
static int gather_parts(struct shard_emitter *e, int x, const struct shard_axes *axes)
{
    struct hlo_type t = *hlo_type_of(e->b, x);
    int64_t dim[64] = {1};

    memcpy(dim + 1, t.dim, (size_t)t.rank * sizeof(*dim));
    return shard_all_gather(e, hlo_reshape(e->b, x, t.rank + 1, dim), 0, axes);
}

/* a reduction by a computation that no collective knows: once over the part, once over the parts */
static int fold_parts(struct shard_emitter *e, struct shard_cutting *c,
                      const struct shard_place *place)
{
    int arrays = c->rule->operand_count / 2, x = emit_plain(e, c);
    struct shard_axes axes = sum_axes(c);
    struct hlo_instruction again = *c->n;
    int64_t first = 0;

    for (int k = 0; k < arrays; k++) {
        int part = hlo_type_is_tuple(c->n->type) ? hlo_tuple_element(e->b, x, k) : x;

        c->operand[k] = gather_parts(e, part, &axes);
    }
    again.type = &c->type;
    again.label = 0;
    again.detail = HLO_COPIED_DETAIL(&again);
    again.detail->dims = (struct hlo_ints){1, &first};
    again.detail->sharding_count = 0;
    c->is_summed = true;
    return finish(e, c, place, hlo_copy_instruction(e->b, &again, c->operand));
}

static int emit_reduce(struct shard_emitter *e, struct shard_cutting *c,
                       const struct shard_place *place)
{
    int init = c->operand[c->rule->operand_count / 2], x;

    if (is_sum_cut(c) && c->rule->sum == OPCODE_COUNT)
        return fold_parts(e, c, place);
    if (!is_sum_cut(c) || shard_sum_is_idempotent(c->rule->sum))
        return finish(e, c, place, emit_plain(e, c));
    c->operand[1] = shard_identity(e, c->rule->sum, hlo_type_of(e->b, init)->element);
    x = finish(e, c, place, emit_plain(e, c));
    if (e->b->module->computation[e->b->computation].instruction[init].op == OPCODE_CONSTANT) {
        const struct hlo_instruction *i =
            &e->b->module->computation[e->b->computation].instruction[init];
        const struct hlo_instruction *identity =
            &e->b->module->computation[e->b->computation].instruction[c->operand[1]];

        if (i->literal->data && !memcmp(i->literal->data, identity->literal->data,
                                        hlo_element_bytes(i->type->element)))
            return x;
    }
    return hlo_binary(e->b, c->rule->sum, x, splat_as(e, init, x));
}

/* tuples of parts, as whole ones */
static struct hlo_type part_type(struct shard_emitter *e, const struct shard_cutting *c)
{
    int leaves = c->rule->tensor_count - c->rule->operand_count;
    struct shard_lay *lay = mem_alloc((size_t)leaves * sizeof(*lay));
    struct hlo_type t;

    for (int l = 0; l < leaves; l++)
        lay[l] = shard_rule_lay(c->rule, c->rule->operand_count + l, c->of_factor);
    t = shard_local_tuple(e->mesh, lay, c->n->type, e->b->module->arena);
    mem_free(lay);
    return t;
}

static bool is_constraint(const struct hlo_instruction *n)
{
    return shard_is_identity_call(n) && (!strcmp(hlo_detail(n)->target, "Sharding") ||
                                         strstr(hlo_detail(n)->target, "FuncResultSharding"));
}

static bool is_index_cut(const struct shard_cutting *c)
{
    for (int f = 0; f < c->rule->factor_count; f++)
        if (c->rule->factor[f].is_index && is_cut(c, f))
            return true;
    return false;
}

int shard_emit_rule(struct shard_emitter *e, const struct hlo_instruction *n,
                    const struct shard_place *place, const int *operand)
{
    const struct shard_rule *r = place->rule;
    struct shard_axes *of_factor = mem_alloc((size_t)r->factor_count * sizeof(*of_factor));
    struct shard_cutting c = {.n = n, .rule = r, .of_factor = of_factor};
    int made;

    shard_choose(e->s, e->computation, n, place, of_factor);
    c.operand = arena_array(e->b->module->arena, (size_t)n->operand_count, sizeof(*c.operand));
    c.type = part_type(e, &c);
    bring_operands(e, &c, operand);
    if (is_constraint(n))
        made = finish(e, &c, place, c.operand[0]);
    else if (n->op == OPCODE_REDUCE)
        made = emit_reduce(e, &c, place);
    else if (n->op == OPCODE_GATHER && is_index_cut(&c))
        made = finish(e, &c, place, shard_emit_gather(e, &c));
    else if (n->op == OPCODE_SCATTER && (is_index_cut(&c) || is_sum_cut(&c)))
        made = finish(e, &c, place, shard_emit_scatter(e, &c));
    else
        made = finish(e, &c, place, emit_plain(e, &c));
    mem_free(of_factor);
    return made;
}

int shard_index_factor(const struct shard_cutting *c, int dim)
{
    const struct shard_dim *d = &c->rule->tensor[0].dim[dim];
    int f = d->count == 1 ? d->factor[0] : -1;

    return f >= 0 && c->rule->factor[f].is_index && is_cut(c, f) &&
           stands_in(hlo_detail(c->n)->gather->start_index_map, dim) ? f : -1;
}
