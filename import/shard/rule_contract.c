/* Rules of operations that sum: dot, convolution, reduce; and batch norms, which go by feature. */
#include "import/shard/rule.h"

static bool stands_in(struct hlo_ints list, int64_t dim)
{
    for (int i = 0; i < list.count; i++)
        if (list.item[i] == dim)
            return true;
    return false;
}

static int sum_factor(struct shard_rule *r, int64_t size)
{
    int f = shard_add_factor(r, size);

    r->factor[f].is_sum = true;
    return f;
}

/* batch dimensions, free ones of the left side, free ones of the right side */
void shard_rule_dot(struct shard_made *m)
{
    struct shard_rule *r = m->rule;
    const struct hlo_dot *d = hlo_detail(m->i)->dot;
    int out = 0;

    r->sum = OPCODE_ADD;
    for (int k = 0; k < d->lhs_batch.count; k++) {
        int f = shard_add_factor(r, r->tensor[0].type->dim[d->lhs_batch.item[k]]);

        shard_tie(r, 0, (int)d->lhs_batch.item[k], f);
        shard_tie(r, 1, (int)d->rhs_batch.item[k], f);
        shard_tie(r, 2, out++, f);
    }
    for (int side = 0; side < 2; side++) {
        const struct hlo_type *t = r->tensor[side].type;

        for (int k = 0; k < t->rank; k++) {
            int f;

            if (stands_in(side ? d->rhs_batch : d->lhs_batch, k) ||
                stands_in(side ? d->rhs_contract : d->lhs_contract, k))
                continue;
            f = shard_add_factor(r, t->dim[k]);
            shard_tie(r, side, k, f);
            shard_tie(r, 2, out++, f);
        }
    }
    for (int k = 0; k < d->lhs_contract.count; k++) {
        int f = sum_factor(r, r->tensor[0].type->dim[d->lhs_contract.item[k]]);

        shard_tie(r, 0, (int)d->lhs_contract.item[k], f);
        shard_tie(r, 1, (int)d->rhs_contract.item[k], f);
    }
}

/* groups are the major part of the dimensions that they go over */
void shard_rule_convolution(struct shard_made *m)
{
    enum { INPUT, KERNEL, OUTPUT };
    struct shard_rule *r = m->rule;
    const struct hlo_conv *c = hlo_detail(m->i)->conv;
    int64_t batch = r->tensor[OUTPUT].type->dim[c->out_batch];
    int64_t groups = c->feature_groups > 1 ? c->feature_groups : c->batch_groups;
    int f;

    if (m->i->operand_count != 2 || (c->feature_groups > 1 && c->batch_groups > 1))
        return;
    r->sum = OPCODE_ADD;
    if (groups > 1) {
        f = shard_add_factor(r, groups);
        shard_tie(r, INPUT, (int)(c->feature_groups > 1 ? c->in_feature : c->in_batch), f);
        shard_tie(r, KERNEL, (int)c->kernel_out, f);
        shard_tie(r, OUTPUT, (int)c->out_feature, f);
    }
    f = shard_add_factor(r, batch);
    shard_tie(r, INPUT, (int)c->in_batch, f);
    shard_tie(r, OUTPUT, (int)c->out_batch, f);
    f = shard_add_factor(r, r->tensor[KERNEL].type->dim[c->kernel_out] / (groups > 1 ? groups : 1));
    shard_tie(r, KERNEL, (int)c->kernel_out, f);
    shard_tie(r, OUTPUT, (int)c->out_feature, f);
    f = sum_factor(r, r->tensor[KERNEL].type->dim[c->kernel_in]);
    shard_tie(r, INPUT, (int)c->in_feature, f);
    shard_tie(r, KERNEL, (int)c->kernel_in, f);
    shard_tie_spatial(m);
}

static const enum hlo_opcode sums[] = {OPCODE_ADD, OPCODE_MULTIPLY, OPCODE_MAXIMUM, OPCODE_MINIMUM,
                                       OPCODE_AND, OPCODE_OR, OPCODE_XOR};

enum hlo_opcode shard_sum_of(const struct hlo_module *m, int computation)
{
    const struct hlo_computation *c = &m->computation[computation];
    const struct hlo_instruction *root = &c->instruction[c->root], *x, *y;

    if (c->parameter_count != 2 || root->operand_count != 2)
        return OPCODE_COUNT;
    x = &c->instruction[root->operand[0]];
    y = &c->instruction[root->operand[1]];
    if (x->op != OPCODE_PARAMETER || y->op != OPCODE_PARAMETER || x->index == y->index)
        return OPCODE_COUNT;
    for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
        if (root->op == sums[i])
            return sums[i];
    return OPCODE_COUNT;
}

bool shard_sum_is_idempotent(enum hlo_opcode sum)
{
    return sum == OPCODE_MAXIMUM || sum == OPCODE_MINIMUM || sum == OPCODE_AND || sum == OPCODE_OR;
}

/* Arrays, as many starting values, as many results. What is no known sum, as an argmax, is folded again
 * over what the devices have made of their parts. */
void shard_rule_reduce(struct shard_made *m)
{
    struct shard_rule *r = m->rule;
    const struct hlo_type *from = r->tensor[0].type;
    int arrays = r->operand_count / 2, out = 0;

    r->sum = arrays == 1 ? shard_sum_of(m->module, hlo_detail(m->i)->computation[0]) : OPCODE_COUNT;
    for (int d = 0; d < from->rank; d++) {
        bool is_kept = !stands_in(hlo_detail(m->i)->dims, d);
        int f = is_kept ? shard_add_factor(r, from->dim[d]) : sum_factor(r, from->dim[d]);
        for (int k = 0; k < arrays; k++) {
            shard_tie(r, k, d, f);
            if (is_kept)
                shard_tie(r, r->operand_count + k, out, f);
        }
        out += is_kept;
    }
}

void shard_rule_batch_norm(struct shard_made *m)
{
    struct shard_rule *r = m->rule;
    int dim = (int)m->i->index, f = shard_add_factor(r, r->tensor[0].type->dim[dim]);

    for (int t = 0; t < r->tensor_count; t++)
        shard_tie(r, t, r->tensor[t].type->rank == 1 && r->tensor[0].type->rank > 1 ? 0 : dim, f);
}
