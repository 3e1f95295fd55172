/* Rules of operations that put dimensions elsewhere: broadcast, transpose, reshape. */
#include "import/shard/rule.h"

void shard_rule_broadcast(struct shard_made *m)
{
    struct shard_rule *r = m->rule;
    const struct hlo_type *to = r->tensor[1].type;

    r->is_plain = true;
    for (int d = 0; d < to->rank; d++)
        shard_tie(r, 1, d, shard_add_factor(r, to->dim[d]));
    for (int i = 0; i < hlo_detail(m->i)->dims.count; i++)
        if (r->tensor[0].type->dim[i] == to->dim[hlo_detail(m->i)->dims.item[i]])
            shard_tie(r, 0, i, (int)hlo_detail(m->i)->dims.item[i]);
}

void shard_rule_transpose(struct shard_made *m)
{
    struct shard_rule *r = m->rule;
    const struct hlo_type *to = r->tensor[1].type;

    r->is_plain = true;
    for (int d = 0; d < to->rank; d++) {
        int f = shard_add_factor(r, to->dim[d]);

        shard_tie(r, 1, d, f);
        shard_tie(r, 0, (int)hlo_detail(m->i)->dims.item[d], f);
    }
}

void shard_rule_bitcast_convert(struct shard_made *m)
{
    struct shard_rule *r = m->rule;
    const struct hlo_type *from = r->tensor[0].type, *to = r->tensor[1].type;
    int rank = from->rank < to->rank ? from->rank : to->rank;

    r->is_plain = true;
    for (int d = 0; d < rank; d++) {
        int f = shard_add_factor(r, to->dim[d]);

        shard_tie(r, 0, d, f);
        shard_tie(r, 1, d, f);
    }
}

/* a walk over the dimensions of one side: how much of dimension `dim` is left */
struct walk { const struct hlo_type *type; int tensor, dim; int64_t left; };

static void next_dim(struct walk *w)
{
    while (w->left == 1 && w->dim + 1 < w->type->rank)
        w->left = w->type->dim[++w->dim];
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t c = a % b;

        a = b;
        b = c;
    }
    return a;
}

/*
 * Both sides are walked from the major dimension on. What is left of a dimension of one side
 * divides what is left of the other's: that much is a factor of both. Where it does not, their
 * common divisor is the last factor until both dimensions, and those in them, end together.
 */
void shard_rule_reshape(struct shard_made *m)
{
    struct shard_rule *r = m->rule;
    struct walk x = {r->tensor[0].type, 0, -1, 1}, y = {r->tensor[1].type, 1, -1, 1};

    r->is_plain = true;
    if (hlo_type_elements(x.type) != hlo_type_elements(y.type) || !hlo_type_elements(x.type) ||
        hlo_element_bits(x.type->element) != hlo_element_bits(y.type->element))
        return;
    for (;;) {
        int64_t common;
        int f;

        next_dim(&x);
        next_dim(&y);
        if (x.left == 1 || y.left == 1)
            return;
        common = common_divisor(x.left, y.left);
        if (common > 1) {
            f = shard_add_factor(r, common);
            shard_tie(r, 0, x.dim, f);
            shard_tie(r, 1, y.dim, f);
        }
        if (common != x.left && common != y.left) {
            int64_t a = x.left / common, b = y.left / common;

            while (a != b) {            /* to the next place where both sides end a dimension */
                struct walk *w = a < b ? &x : &y;

                w->left = 1;
                next_dim(w);
                *(a < b ? &a : &b) *= w->left;
            }
            x.left = y.left = 1;
            continue;
        }
        x.left /= common;
        y.left /= common;
    }
}
