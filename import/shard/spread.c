/*
 * Cuts spread from what is said of some arrays to all others. Operations that only move or map
 * elements go first: what a product makes of two cuts should not come before what its neighbours
 * have been told. What is cut first stays; an axis cuts an array once.
 */
#include "import/shard/shard_impl.h"

#include <string.h>

enum { SWEEPS_MAX = 64 };

/* cuts that a leaf may take */
struct leaf { struct shard_lay *lay; bool is_fixed; uint32_t open, manual; const struct hlo_type *type; };

static struct leaf leaf_of(const struct shard_state *s, int c, int i, int leaf)
{
    struct shard_place *p = shard_place_of(s, c, i);

    return (struct leaf){&p->lay[leaf], p->is_fixed[leaf], p->open[leaf], p->manual,
                         hlo_type_leaf(s->module->computation[c].instruction[i].type, leaf)};
}

static bool may_cut(const struct leaf *l, int dim)
{
    return !l->is_fixed || (dim < 32 && l->open >> dim & 1);
}

/* one leaf lies as the other, as far as it may; true: it has changed */
static bool copy_lay(const struct shard_state *s, struct leaf from, struct leaf to)
{
    uint32_t used = shard_lay_mask(to.lay) | to.manual;
    bool is_changed = false;

    for (int d = 0; d < to.type->rank && from.lay->count; d++) {
        struct shard_axes want = shard_lay_axes(from.lay, d), have = shard_lay_axes(to.lay, d);
        int64_t parts = shard_axes_size(&s->mesh, &have);

        if (!may_cut(&to, d) || want.count <= have.count ||
            memcmp(want.axis, have.axis, (size_t)have.count * sizeof(*have.axis)))
            continue;
        for (int k = have.count; k < want.count; k++) {
            parts *= s->mesh.size[want.axis[k]];
            if (used >> want.axis[k] & 1 || parts > to.type->dim[d])
                break;
            shard_lay_add(to.lay, d, want.axis[k]);
            used |= 1u << want.axis[k];
            is_changed = true;
        }
    }
    return is_changed;
}

static bool tie_leaves(const struct shard_state *s, struct leaf a, struct leaf b)
{
    bool forward = copy_lay(s, a, b);

    return copy_lay(s, b, a) || forward;
}

/* ----- tuples, loops, conditionals */

static bool tie_values(const struct shard_state *s, int c, int i, int first, int d, int k,
                       int other_first, int leaves)
{
    bool is_changed = false;

    for (int l = 0; l < leaves; l++)
        is_changed |= tie_leaves(s, leaf_of(s, c, i, first + l), leaf_of(s, d, k, other_first + l));
    return is_changed;
}

static int parameter_of(const struct shard_state *s, int computation)
{
    return s->module->computation[computation].parameter[0];
}

static int root_of(const struct shard_state *s, int computation)
{
    return s->module->computation[computation].root;
}

static bool spread_while(const struct shard_state *s, int c, int i,
                         const struct hlo_instruction *n)
{
    int leaves = shard_place_of(s, c, i)->leaves, body = hlo_detail(n)->computation[0];
    int condition = hlo_detail(n)->computation[1], parameter = parameter_of(s, body);

    bool changes = tie_values(s, c, n->operand[0], 0, body, parameter, 0, leaves);

    changes |= tie_values(s, body, parameter, 0, body, root_of(s, body), 0, leaves);
    changes |= tie_values(s, body, parameter, 0, condition, parameter_of(s, condition), 0, leaves);
    changes |= tie_values(s, body, parameter, 0, c, i, 0, leaves);
    return changes;
}

static bool spread_conditional(const struct shard_state *s, int c, int i,
                               const struct hlo_instruction *n)
{
    bool is_changed = false;

    for (int k = 0; k < hlo_detail(n)->computation_count; k++) {
        int branch = hlo_detail(n)->computation[k], parameter = parameter_of(s, branch);

        is_changed |= tie_values(s, c, n->operand[k + 1], 0, branch, parameter, 0,
                                 shard_place_of(s, branch, parameter)->leaves);
        is_changed |= tie_values(s, branch, root_of(s, branch), 0, c, i, 0,
                                 shard_place_of(s, c, i)->leaves);
    }
    return is_changed;
}

static bool spread_tuple(const struct shard_state *s, int c, int i,
                         const struct hlo_instruction *n)
{
    bool is_changed = false;
    int first = 0;

    for (int k = 0; k < n->operand_count; k++) {
        int leaves = shard_place_of(s, c, n->operand[k])->leaves;

        is_changed |= tie_values(s, c, n->operand[k], 0, c, i, first, leaves);
        first += leaves;
    }
    return is_changed;
}

static bool spread_structure(const struct shard_state *s, int c, int i,
                             const struct hlo_instruction *n)
{
    switch (n->op) {
    case OPCODE_WHILE: return spread_while(s, c, i, n);
    case OPCODE_CONDITIONAL: return spread_conditional(s, c, i, n);
    case OPCODE_TUPLE: return spread_tuple(s, c, i, n);
    case OPCODE_GET_TUPLE_ELEMENT: {
        const struct hlo_type *tuple = s->module->computation[c].instruction[n->operand[0]].type;

        return tie_values(s, c, n->operand[0], shard_first_leaf(tuple, (int)n->index), c, i, 0,
                          shard_place_of(s, c, i)->leaves);
    }
    default:                            /* the first operand as it is */
        return tie_values(s, c, n->operand[0], 0, c, i, 0, shard_place_of(s, c, i)->leaves);
    }
}

/* ----- operations with rules */

struct spreading {
    const struct shard_rule *rule;
    struct shard_axes best[SHARD_FACTORS_MAX], one[SHARD_FACTORS_MAX];
    int order[SHARD_FACTORS_MAX];             /* factors of leading dimensions of the result first */
};

static struct leaf tensor_leaf(const struct shard_state *s, int c, int i,
                               const struct shard_rule *r, int t)
{
    const struct hlo_instruction *n = &s->module->computation[c].instruction[i];

    if (t < r->operand_count)
        return leaf_of(s, c, n->operand[t], 0);
    return leaf_of(s, c, i, t - r->operand_count);
}

static void find_best(const struct shard_state *s, int c, int i, struct spreading *sp)
{
    const struct shard_rule *r = sp->rule;

    for (int f = 0; f < r->factor_count; f++)
        sp->best[f].count = 0;
    for (int t = r->tensor_count - 1; t >= 0; t--) {
        struct leaf l = tensor_leaf(s, c, i, r, t);

        if (!l.lay->count)
            continue;
        shard_rule_project(&s->mesh, r, t, l.lay, sp->one);
        for (int f = 0; f < r->factor_count; f++)
            if (sp->one[f].count > sp->best[f].count)
                sp->best[f] = sp->one[f];
    }
}

static int order_factors(struct spreading *sp)
{
    const struct shard_rule *r = sp->rule;
    bool is_in[SHARD_FACTORS_MAX] = {false};
    int count = 0;

    for (int t = r->operand_count; t < r->tensor_count; t++)
        for (int d = 0; d < r->tensor[t].type->rank; d++)
            for (int k = 0; k < r->tensor[t].dim[d].count; k++) {
                int f = r->tensor[t].dim[d].factor[k];

                if (!is_in[f])
                    sp->order[count++] = f;
                is_in[f] = true;
            }
    for (int f = 0; f < r->factor_count; f++)
        if (!is_in[f])
            sp->order[count++] = f;
    return count;
}

static int dim_of_factor(const struct shard_tensor *t, int f)
{
    for (int d = 0; d < t->type->rank; d++)
        for (int k = 0; k < t->dim[d].count; k++)
            if (t->dim[d].factor[k] == f)
                return d;
    return -1;
}

/* of_factor, but each factor cut only where those before it in its dimensions are cut wholly */
static bool is_chain_whole(const struct shard_state *s, const struct shard_rule *r,
                           const struct shard_tensor *t, const struct shard_axes *of_factor)
{
    for (int d = 0; d < t->type->rank; d++) {
        bool is_whole = true;

        for (int k = 0; k < t->dim[d].count; k++) {
            int f = t->dim[d].factor[k];

            if (!is_whole && of_factor[f].count)
                return false;
            is_whole &= shard_axes_size(&s->mesh, &of_factor[f]) == r->factor[f].size;
        }
    }
    return true;
}

/* more cuts of one factor in one tensor, which lies over `mine` as yet */
static bool extend(const struct shard_state *s, const struct spreading *sp, int t,
                   const struct leaf *l, struct shard_axes *mine, int f)
{
    const struct shard_axes *best = &sp->best[f];
    int dim = dim_of_factor(&sp->rule->tensor[t], f), had = mine[f].count;
    uint32_t used = shard_lay_mask(l->lay) | l->manual;

    if (dim < 0 || !may_cut(l, dim) || best->count <= had ||
        memcmp(best->axis, mine[f].axis, (size_t)had * sizeof(*best->axis)))
        return false;
    for (int g = 0; g < sp->rule->factor_count; g++)
        used |= shard_axes_mask(&mine[g]);
    while (mine[f].count < best->count && !(used >> best->axis[mine[f].count] & 1)) {
        mine[f].axis[mine[f].count] = best->axis[mine[f].count];
        mine[f].count++;
    }
    if (!is_chain_whole(s, sp->rule, &sp->rule->tensor[t], mine))
        mine[f].count = had;
    return mine[f].count > had;
}

static bool spread_rule(const struct shard_state *s, int c, int i, const struct shard_rule *r)
{
    struct spreading sp;
    bool is_changed = false;
    int count;

    sp.rule = r;
    find_best(s, c, i, &sp);
    count = order_factors(&sp);
    for (int t = 0; t < r->tensor_count; t++) {
        struct leaf l = tensor_leaf(s, c, i, r, t);
        bool is_longer = false;

        if (!shard_rule_project(&s->mesh, r, t, l.lay, sp.one))
            continue;                   /* cuts that this operation knows nothing of stay */
        for (int k = 0; k < count; k++)
            is_longer |= extend(s, &sp, t, &l, sp.one, sp.order[k]);
        if (is_longer)
            *l.lay = shard_rule_lay(r, t, sp.one);
        is_changed |= is_longer;
    }
    return is_changed;
}

static bool spread_instruction(const struct shard_state *s, int c, int i, bool is_plain_only)
{
    const struct hlo_instruction *n = &s->module->computation[c].instruction[i];
    const struct shard_rule *r = shard_place_of(s, c, i)->rule;

    if (shard_is_structure(n->op))
        return spread_structure(s, c, i, n);
    return r && (r->is_plain || !is_plain_only) && spread_rule(s, c, i, r);
}

static bool sweep(const struct shard_state *s, bool is_plain_only, bool is_backward)
{
    bool is_changed = false;

    for (int c = 0; c < s->module->computation_count; c++) {
        int count = s->module->computation[c].count;

        for (int k = 0; k < count && s->computation[c].is_cut; k++)
            is_changed |= spread_instruction(s, c, is_backward ? count - 1 - k : k, is_plain_only);
    }
    return is_changed;
}

/* ----- what must agree in the end */

static void set_lays(const struct shard_state *s, int c, int i, const struct shard_place *like)
{
    memcpy(shard_place_of(s, c, i)->lay, like->lay, (size_t)like->leaves * sizeof(*like->lay));
}

static void settle(const struct shard_state *s, int c, int i, const struct hlo_instruction *n)
{
    if (n->op == OPCODE_WHILE) {
        const struct shard_place *state = shard_place_of(
            s, hlo_detail(n)->computation[0], parameter_of(s, hlo_detail(n)->computation[0]));

        set_lays(s, hlo_detail(n)->computation[0], root_of(s, hlo_detail(n)->computation[0]),
                 state);
        set_lays(s, hlo_detail(n)->computation[1], parameter_of(s, hlo_detail(n)->computation[1]),
                 state);
        set_lays(s, c, i, state);
    } else if (n->op == OPCODE_CONDITIONAL) {
        for (int k = 0; k < hlo_detail(n)->computation_count; k++)
            set_lays(s, hlo_detail(n)->computation[k], root_of(s, hlo_detail(n)->computation[k]),
                     shard_place_of(s, c, i));
    }
}

void shard_spread(struct shard_state *s)
{
    for (int is_plain_only = 1; is_plain_only >= 0; is_plain_only--)
        for (int n = 0; n < SWEEPS_MAX; n++) {
            bool changes = sweep(s, is_plain_only, false);

            changes |= sweep(s, is_plain_only, true);
            if (!changes)
                break;
        }
    for (int c = 0; c < s->module->computation_count; c++)
        for (int i = 0; i < s->module->computation[c].count && s->computation[c].is_cut; i++)
            settle(s, c, i, &s->module->computation[c].instruction[i]);
}
