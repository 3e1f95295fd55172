/*
 * How an operation is cut, axis by axis: along a factor that its result is wanted in and an operand
 * already has, or that is summed over and all operands have; else along what costs least, in bytes
 * that a device exchanges and in work that is done several times.
 */
#include "import/shard/window.h"

#include <string.h>

enum { NONE = -1, WORK_PER_BYTE = 512 };        /* of a product's multiplications */

struct choosing {
    const struct shard_state *s;
    const struct shard_rule *rule;
    int tensors, factors;
    const struct shard_lay **lay;       /* of each tensor, as it is or is wanted */
    struct shard_axes *has;             /* [tensor * factors + factor] */
    int factor_of[SHARD_AXES_MAX];      /* what each axis cuts in the end */
    double work;
};

static bool has_axis(const struct shard_axes *axes, int axis)
{
    return shard_axes_mask(axes) >> axis & 1;
}

static int factor_with(const struct choosing *c, int tensor, int axis)
{
    for (int f = 0; f < c->factors; f++)
        if (has_axis(&c->has[tensor * c->factors + f], axis))
            return f;
    return NONE;
}

static bool stands_in(const struct shard_rule *r, int tensor, int factor)
{
    const struct shard_tensor *t = &r->tensor[tensor];

    for (int d = 0; d < t->type->rank; d++)
        for (int k = 0; k < t->dim[d].count; k++)
            if (t->dim[d].factor[k] == factor)
                return true;
    return false;
}

/* axes that every tensor has in the same factor, or not at all: they go one way together */
static uint32_t axes_like(const struct choosing *c, int axis, uint32_t among)
{
    uint32_t mask = 1u << axis;

    for (int a = axis + 1; a < c->s->mesh.axis_count; a++) {
        bool is_like = among >> a & 1;

        for (int t = 0; t < c->tensors && is_like; t++)
            is_like = factor_with(c, t, a) == factor_with(c, t, axis) &&
                      (shard_lay_mask(c->lay[t]) >> a & 1) ==
                      (shard_lay_mask(c->lay[t]) >> axis & 1);
        mask |= (uint32_t)is_like << a;
    }
    return mask;
}

static double size_of(const struct choosing *c, uint32_t axes)
{
    double size = 1;

    for (int a = 0; a < c->s->mesh.axis_count; a++)
        size *= axes >> a & 1 ? (double)c->s->mesh.size[a] : 1;
    return size;
}

/* of a tensor on one device, were it whole along the axes */
static double bytes_over(const struct choosing *c, int tensor, uint32_t axes)
{
    return (double)hlo_type_bytes(c->rule->tensor[tensor].type) /
           size_of(c, shard_lay_mask(c->lay[tensor]) & ~axes);
}

/* what it costs to take axes from one factor of an operand to another; NONE: whole */
static double cost_of_operand(const struct choosing *c, int tensor, uint32_t axes, int from, int to)
{
    double size = size_of(c, axes), bytes = bytes_over(c, tensor, axes);

    if (!(shard_lay_mask(c->lay[tensor]) & axes) || (from == to && from != NONE))
        return 0;
    return to == NONE ? bytes * (size - 1) / size : bytes / size;
}

static double cost_of(const struct choosing *c, uint32_t axes, int axis, int factor)
{
    double size = size_of(c, axes), cost = factor == NONE ? c->work : c->work / size;
    bool is_sum = factor != NONE && c->rule->factor[factor].is_sum;

    for (int t = 0; t < c->tensors; t++) {
        bool is_cut = shard_lay_mask(c->lay[t]) & axes;
        int has = factor_with(c, t, axis);
        int gets = factor != NONE && stands_in(c->rule, t, factor) ? factor : NONE;

        if (t < c->rule->operand_count)
            cost += cost_of_operand(c, t, axes, has, gets);
        else if (is_sum && gets == NONE)        /* reduce-scatter, or all-reduce */
            cost += bytes_over(c, t, axes) * (size - 1) / size * (is_cut ? 1 : 2);
        else if (gets != NONE && gets != has)
            cost += bytes_over(c, t, axes) * (is_cut ? 1 : size - 1) / size;
    }
    return cost;
}

/* a factor that is summed over, and that all operands are cut along which have it */
static bool is_cut_sum(const struct choosing *c, int factor, int axis)
{
    bool is_there = false;

    if (!c->rule->factor[factor].is_sum || c->rule->factor[factor].is_index)
        return false;
    for (int t = 0; t < c->tensors; t++) {
        if (!stands_in(c->rule, t, factor))
            continue;
        if (factor_with(c, t, axis) != factor)
            return false;
        is_there = true;
    }
    return is_there;
}

static int wanted_factor(const struct choosing *c, int axis)
{
    for (int t = c->rule->operand_count; t < c->tensors; t++) {
        int f = factor_with(c, t, axis);

        for (int k = 0; f != NONE && k < c->rule->operand_count; k++)
            if (factor_with(c, k, axis) == f)
                return f;
    }
    for (int f = 0; f < c->factors; f++)
        if (is_cut_sum(c, f, axis))
            return f;
    return NONE;
}

static int cheapest_factor(const struct choosing *c, uint32_t axes, int axis)
{
    int best = NONE;
    double least = cost_of(c, axes, axis, NONE);

    for (int f = 0; f < c->factors; f++) {
        bool is_there = false;

        for (int t = 0; t < c->tensors; t++)
            is_there |= has_axis(&c->has[t * c->factors + f], axis);
        if (is_there && cost_of(c, axes, axis, f) < least) {
            least = cost_of(c, axes, axis, f);
            best = f;
        }
    }
    return best;
}

/* what all axes that cut anything are for */
static void choose_factors(struct choosing *c, uint32_t used)
{
    for (int a = 0; a < c->s->mesh.axis_count; a++) {
        uint32_t axes = used >> a & 1 ? axes_like(c, a, used) : 0;
        int factor = axes ? wanted_factor(c, a) : NONE;

        if (axes && factor == NONE)
            factor = cheapest_factor(c, axes, a);
        for (int b = 0; b < c->s->mesh.axis_count; b++)
            if (axes >> b & 1)
                c->factor_of[b] = factor;
        used &= ~axes;
    }
}

/* axes of each factor, in the order in which the tensors have them, results before operands */
static void order_axes(const struct choosing *c, struct shard_axes *of_factor)
{
    uint32_t met = 0;

    for (int f = 0; f < c->factors; f++)
        of_factor[f].count = 0;
    for (int k = 0; k < c->tensors; k++) {
        int t = (k + c->rule->operand_count) % c->tensors;

        for (int f = 0; f < c->factors; f++) {
            const struct shard_axes *axes = &c->has[t * c->factors + f];

            for (int i = 0; i < axes->count; i++)
                if (c->factor_of[axes->axis[i]] == f && !(met >> axes->axis[i] & 1)) {
                    of_factor[f].axis[of_factor[f].count++] = axes->axis[i];
                    met |= 1u << axes->axis[i];
                }
        }
    }
}

/* last axes go until the parts of each factor are equal, or not more than its indices, and windows
 * reach no further than a neighbour */
static void trim(const struct choosing *c, struct shard_axes *of_factor)
{
    for (int f = 0; f < c->factors; f++) {
        const struct shard_factor *factor = &c->rule->factor[f];

        for (; of_factor[f].count; of_factor[f].count--) {
            int64_t parts = shard_axes_size(&c->s->mesh, &of_factor[f]);

            if ((factor->is_exact ? factor->size % parts == 0 : parts <= factor->size) &&
                shard_windows_fit(c->rule, f, parts))
                break;
        }
    }
}

/* in a dimension of several factors only those behind wholly cut ones can be cut */
static bool trim_chains(const struct choosing *c, struct shard_axes *of_factor)
{
    bool is_changed = false;

    for (int t = 0; t < c->tensors; t++)
        for (int d = 0; d < c->rule->tensor[t].type->rank; d++) {
            const struct shard_dim *dim = &c->rule->tensor[t].dim[d];
            bool is_whole = true;

            for (int k = 0; k < dim->count; k++) {
                struct shard_axes *axes = &of_factor[dim->factor[k]];

                if (!is_whole && axes->count) {
                    axes->count = 0;
                    is_changed = true;
                }
                is_whole &= shard_axes_size(&c->s->mesh, axes) ==
                            c->rule->factor[dim->factor[k]].size;
            }
        }
    return is_changed;
}

/* what the operation does, in bytes that could be exchanged meanwhile */
static double work_of(const struct shard_rule *r, const struct hlo_instruction *n)
{
    double work = 1;

    if (n->op != OPCODE_DOT && n->op != OPCODE_CONVOLUTION)
        return (double)hlo_type_bytes(r->tensor[r->tensor_count - 1].type) / 8;
    for (int f = 0; f < r->factor_count; f++)
        work *= (double)r->factor[f].size;
    for (int w = 0; w < hlo_detail(n)->window_count; w++)
        work *= (double)hlo_detail(n)->window[w].size;
    return work / WORK_PER_BYTE;
}

void shard_choose(const struct shard_state *s, int computation, const struct hlo_instruction *n,
                  const struct shard_place *place, struct shard_axes *of_factor)
{
    const struct shard_rule *r = place->rule;
    struct choosing c = {.s = s, .rule = r, .tensors = r->tensor_count, .factors = r->factor_count};
    uint32_t used = 0;

    c.lay = mem_alloc((size_t)c.tensors * sizeof(*c.lay));
    c.has = mem_alloc((size_t)(c.tensors * c.factors) * sizeof(*c.has));
    c.work = work_of(r, n);
    for (int t = 0; t < c.tensors; t++) {
        c.lay[t] = t < r->operand_count ? &shard_place_of(s, computation, n->operand[t])->lay[0] :
                                          &place->lay[t - r->operand_count];
        shard_rule_project(&s->mesh, r, t, c.lay[t], &c.has[t * c.factors]);
        used |= shard_lay_mask(c.lay[t]);
    }
    for (int a = 0; a < s->mesh.axis_count; a++)
        c.factor_of[a] = NONE;
    choose_factors(&c, used);
    order_axes(&c, of_factor);
    do
        trim(&c, of_factor);
    while (trim_chains(&c, of_factor));
    mem_free(c.lay);
    mem_free(c.has);
}
