/*
 * Rules of dimensions whose parts need some of their neighbours': slices, pads, what is reversed or
 * laid end to end, windows that slide.
 */
#include "import/shard/rule.h"

/* a factor of the result's dimension, which the operand goes along by a window */
static void tie_window(struct shard_made *m, int dim, struct shard_window w)
{
    struct shard_rule *r = m->rule;
    int f;

    if (!r->tensor[0].type->dim[dim] || !r->tensor[r->operand_count].type->dim[dim])
        return;
    f = shard_add_factor(r, r->tensor[r->operand_count].type->dim[dim]);
    shard_tie(r, r->operand_count, dim, f);
    shard_tie_window(r, 0, dim, f, w);
}

static void tie_same(struct shard_made *m, int dim)
{
    struct shard_rule *r = m->rule;
    int f = shard_add_factor(r, r->tensor[0].type->dim[dim]);

    shard_tie(r, 0, dim, f);
    shard_tie(r, r->operand_count, dim, f);
}

void shard_rule_slice(struct shard_made *m)
{
    const struct hlo_detail *d = hlo_detail(m->i);
    const struct shard_tensor *t = m->rule->tensor;

    for (int k = 0; k < t[0].type->rank; k++) {
        if (t[0].type->dim[k] == t[1].type->dim[k])
            tie_same(m, k);
        else
            tie_window(m, k, (struct shard_window){.step = d->stride.item ? d->stride.item[k] : 1,
                                                   .offset = d->start.item[k],
                                                   .reach = 1, .base = 1});
    }
}

void shard_rule_pad(struct shard_made *m)
{
    const struct hlo_detail *d = hlo_detail(m->i);

    for (int k = 0; k < m->rule->tensor[0].type->rank; k++) {
        if (!d->low.item[k] && !d->high.item[k] && !d->interior.item[k])
            tie_same(m, k);
        else
            tie_window(m, k, (struct shard_window){.step = 1, .offset = -d->low.item[k],
                                                   .reach = 1,
                                                   .base = d->interior.item[k] + 1});
    }
}

static bool stands_in(struct hlo_ints list, int64_t dim)
{
    for (int i = 0; i < list.count; i++)
        if (list.item[i] == dim)
            return true;
    return false;
}

void shard_rule_reverse(struct shard_made *m)
{
    const struct hlo_type *t = m->rule->tensor[0].type;

    for (int k = 0; k < t->rank; k++) {
        if (!stands_in(hlo_detail(m->i)->dims, k))
            tie_same(m, k);
        else
            tie_window(m, k, (struct shard_window){.step = -1, .offset = t->dim[k] - 1,
                                                   .reach = 1, .base = 1});
    }
}

static int64_t largest_operand(const struct shard_rule *r, int dim)
{
    int64_t most = 0;

    for (int t = 0; t < r->operand_count; t++)
        if (r->tensor[t].type->dim[dim] > most)
            most = r->tensor[t].type->dim[dim];
    return most;
}

/* Pieces that are small beside others are whole everywhere: a factor is not to have more parts than
 * the smallest of its dimensions has indices. */
static void tie_pieces(struct shard_made *m, int dim)
{
    struct shard_rule *r = m->rule;
    int64_t most = largest_operand(r, dim), offset = 0;
    int f = most ? shard_add_factor(r, r->tensor[r->operand_count].type->dim[dim]) : -1;

    if (!most)
        return;
    shard_tie(r, r->operand_count, dim, f);
    for (int t = 0; t < r->operand_count; t++) {
        int64_t size = r->tensor[t].type->dim[dim];

        if (size * 2 >= most)
            shard_tie_window(r, t, dim, f, (struct shard_window){.step = 1, .offset = -offset,
                                                                 .reach = 1, .base = 1});
        offset += size;
    }
}

void shard_rule_concatenate(struct shard_made *m)
{
    struct shard_rule *r = m->rule;
    const struct hlo_type *to = r->tensor[r->operand_count].type;

    for (int k = 0; k < to->rank; k++) {
        int f;

        if (stands_in(hlo_detail(m->i)->dims, k)) {
            tie_pieces(m, k);
            continue;
        }
        f = shard_add_factor(r, to->dim[k]);
        for (int t = 0; t < r->tensor_count; t++)
            shard_tie(r, t, k, f);
    }
}

/* ----- windows that slide */

static bool is_pointwise(const struct hlo_window *w)
{
    return w->size == 1 && w->stride == 1 && !w->pad_low && !w->pad_high && w->base_dilation == 1;
}

static struct shard_window window_of(const struct hlo_window *w)
{
    return (struct shard_window){.step = w->stride, .offset = -w->pad_low,
                                 .reach = (w->size - 1) * w->window_dilation + 1,
                                 .base = w->base_dilation};
}

/* arrays, as many starting values, as many results */
void shard_rule_windows(struct shard_made *m)
{
    struct shard_rule *r = m->rule;
    int arrays = r->operand_count / 2;

    for (int d = 0; d < r->tensor[0].type->rank; d++) {
        const struct hlo_window *w = &hlo_detail(m->i)->window[d];
        int f;

        if (!r->tensor[0].type->dim[d] || !r->tensor[r->operand_count].type->dim[d])
            continue;
        f = shard_add_factor(r, r->tensor[r->operand_count].type->dim[d]);
        for (int k = 0; k < arrays; k++) {
            shard_tie(r, r->operand_count + k, d, f);
            if (is_pointwise(w))
                shard_tie(r, k, d, f);
            else
                shard_tie_window(r, k, d, f, window_of(w));
        }
    }
}

/*
 * A dimension that windows slide along is cut by where they stand; where there are more places in a
 * window than windows, as in the gradient of a kernel, by those, and the parts are summed up.
 */
void shard_tie_spatial(struct shard_made *m)
{
    enum { INPUT, KERNEL, OUTPUT };
    struct shard_rule *r = m->rule;
    const struct hlo_conv *c = hlo_detail(m->i)->conv;

    for (int k = 0; k < hlo_detail(m->i)->window_count; k++) {
        const struct hlo_window *w = &hlo_detail(m->i)->window[k];
        int in = (int)c->in_spatial.item[k], out = (int)c->out_spatial.item[k];
        int64_t windows = r->tensor[OUTPUT].type->dim[out];
        int f;

        if (!windows || !w->size || !r->tensor[INPUT].type->dim[in] ||
            (w->size > windows && w->is_reversed))
            continue;
        f = shard_add_factor(r, w->size > windows ? w->size : windows);
        if (w->size > windows) {
            r->factor[f].is_sum = true;
            shard_tie(r, KERNEL, (int)c->kernel_spatial.item[k], f);
            shard_tie_window(r, INPUT, in, f,
                             (struct shard_window){.step = w->window_dilation,
                                                   .offset = -w->pad_low,
                                                   .reach = (windows - 1) * w->stride + 1,
                                                   .base = w->base_dilation});
        } else if (is_pointwise(w)) {
            shard_tie(r, OUTPUT, out, f);
            shard_tie(r, INPUT, in, f);
        } else {
            shard_tie(r, OUTPUT, out, f);
            shard_tie_window(r, INPUT, in, f, window_of(w));
        }
    }
}
