/*
 * Operations cut along dimensions of which a part needs some of its neighbours': its operands are
 * fetched, and it does with them what it does whole, without padding at its ends.
 */
#include "import/shard/window.h"

#include <string.h>

static const struct shard_window *window_at(const struct shard_cutting *c, int t, int d)
{
    const struct shard_dim *dim = &c->rule->tensor[t].dim[d];

    return dim->window && c->of_factor[dim->factor[0]].count ? dim->window : NULL;
}

bool shard_is_window_cut(const struct shard_cutting *c)
{
    for (int f = 0; f < c->rule->factor_count; f++)
        if (c->rule->factor[f].is_window && c->of_factor[f].count)
            return true;
    return false;
}

static struct shard_range range_at(struct shard_emitter *e, const struct shard_cutting *c, int t,
                                   int d, const struct shard_axes **axes)
{
    const struct shard_tensor *tensor = &c->rule->tensor[t];
    int factor = tensor->dim[d].factor[0];

    *axes = &c->of_factor[factor];
    return shard_range_of(tensor->dim[d].window, tensor->type->dim[d],
                          shard_factor_extent(c->rule, factor), shard_axes_size(e->mesh, *axes));
}

/* what stands where an operand has no element; -1: whatever may, for no index of the result that
 * is there is made of it */
static int fill_of(struct shard_emitter *e, const struct shard_cutting *c, int t)
{
    struct hlo_type scalar = hlo_scalar_type(c->rule->tensor[t].type->element);

    switch (c->n->op) {
    case OPCODE_CONVOLUTION: return hlo_constant_int(e->b, &scalar, 0);
    case OPCODE_PAD: return c->operand[1];
    case OPCODE_REDUCE_WINDOW: return c->operand[c->n->operand_count / 2 + t];
    default: return -1;
    }
}

static int64_t *own_list(struct shard_emitter *e, struct hlo_ints *list, int count, int64_t value)
{
    int64_t *item = arena_array(e->b->module->arena, (size_t)count, sizeof(*item));

    for (int k = 0; k < count; k++)
        item[k] = list->count ? list->item[k] : value;
    *list = (struct hlo_ints){count, item};
    return item;
}

static int window_of_dim(const struct shard_cutting *c, int d)
{
    struct hlo_ints spatial;

    if (c->n->op != OPCODE_CONVOLUTION)
        return d;
    spatial = hlo_detail(c->n)->conv->in_spatial;
    for (int k = 0; k < spatial.count; k++)
        if (spatial.item[k] == d)
            return k;
    return -1;
}

/* the operation's attributes where operand dimension `d` is what was fetched */
static void set_attributes(struct shard_emitter *e, const struct shard_cutting *c,
                           struct hlo_instruction *i, int d, const struct shard_range *r)
{
    int rank = c->rule->tensor[0].type->rank, w = window_of_dim(c, d);
    struct hlo_detail *detail = hlo_own_detail(e->b->module->arena, i);
    struct hlo_window *window;

    if (i->op == OPCODE_SLICE) {
        own_list(e, &detail->start, rank, 0)[d] = 0;
        own_list(e, &detail->limit, rank, 0)[d] = r->count;
    } else if (i->op == OPCODE_PAD) {
        own_list(e, &detail->low, rank, 0)[d] = r->low;
        own_list(e, &detail->high, rank, 0)[d] = r->high;
    } else if (i->op == OPCODE_REDUCE_WINDOW || i->op == OPCODE_CONVOLUTION) {
        window = arena_copy(e->b->module->arena, detail->window, (size_t)detail->window_count,
                            sizeof(*window));
        window[w].pad_low = r->low;
        window[w].pad_high = r->high;
        detail->window = window;
    }
}

/* places of a window that are cut: those that the kernel's part has */
static void set_window_sizes(struct shard_emitter *e, const struct shard_cutting *c,
                             struct hlo_instruction *i)
{
    struct hlo_detail *detail = hlo_own_detail(e->b->module->arena, i);
    struct hlo_window *window = arena_copy(e->b->module->arena, detail->window,
                                           (size_t)detail->window_count, sizeof(*window));

    for (int w = 0; w < detail->window_count; w++)
        window[w].size = hlo_type_of(e->b, c->operand[1])->dim[detail->conv->kernel_spatial.item[w]];
    detail->window = window;
}

/* ----- concatenate: each operand reaches over the whole part; which one is seen goes by the index */

static int fetch_piece(struct shard_emitter *e, const struct shard_cutting *c, int t, int dim,
                       int64_t offset, const struct shard_axes *axes)
{
    const struct hlo_type *type = c->rule->tensor[t].type;
    struct shard_window w = {.step = 1, .offset = -offset, .reach = 1, .base = 1};
    struct shard_range r = shard_range_of(&w, type->dim[dim], c->n->type->dim[dim],
                                          shard_axes_size(e->mesh, axes));

    return shard_fetch(e, c->operand[t], dim, axes, &r, !window_at(c, t, dim), -1);
}

static int emit_concatenate(struct shard_emitter *e, const struct shard_cutting *c)
{
    int dim = (int)hlo_detail(c->n)->dims.item[0], made = -1, index = -1;
    int factor = c->rule->tensor[c->rule->operand_count].dim[dim].factor[0];
    const struct shard_axes *axes = &c->of_factor[factor];
    struct hlo_type at = c->type;
    int64_t offset = 0;

    at.element = ELEMENT_S32;
    at.layout = NULL;
    for (int t = 0; t < c->rule->operand_count; t++) {
        int64_t size = c->rule->tensor[t].type->dim[dim];
        int piece = size ? fetch_piece(e, c, t, dim, offset, axes) : -1;

        if (size && made >= 0) {
            struct hlo_type bound = at;

            if (index < 0) {
                index = hlo_iota(e->b, &at, dim);
                index = hlo_binary(e->b, OPCODE_ADD, index,
                                   hlo_splat(e->b, shard_offset_of(e, axes, c->n->type->dim[dim]),
                                             &bound));
            }
            made = hlo_select(e->b, hlo_compare(e->b, HLO_LT, index,
                                                hlo_splat(e->b, shard_s32(e, offset), &bound)),
                              made, piece);
        } else if (size) {
            made = piece;
        }
        offset += size;
    }
    return made;
}

int shard_emit_window(struct shard_emitter *e, struct shard_cutting *c, struct hlo_instruction *i)
{
    int array_count = c->n->op == OPCODE_REDUCE_WINDOW ? c->n->operand_count / 2 : 1;

    if (c->n->op == OPCODE_CONCATENATE)
        return emit_concatenate(e, c);
    for (int t = 0; t < array_count; t++)
        for (int d = 0; d < c->rule->tensor[t].type->rank; d++) {
            const struct shard_axes *axes;
            struct shard_range r;

            if (!window_at(c, t, d))
                continue;
            r = range_at(e, c, t, d, &axes);
            c->operand[t] = shard_fetch(e, c->operand[t], d, axes, &r, false, fill_of(e, c, t));
            set_attributes(e, c, i, d, &r);
        }
    if (c->n->op == OPCODE_CONVOLUTION)
        set_window_sizes(e, c, i);
    return hlo_copy_instruction(e->b, i, c->operand);
}
