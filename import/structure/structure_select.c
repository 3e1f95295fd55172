/*
 * Select-and-scatter with any computations: which element of each window is chosen is found by going
 * over the window's places, each place being a strided slice of the operand; then, place by place
 * again, what the source has for the windows that have chosen it is scattered there.
 */
#include "import/structure/structure_impl.h"

#define PLACES_MAX 1024                 /* of a window */

struct choice {
    struct hlo_builder *b;
    const struct hlo_instruction *from;
    int rank;
    int64_t place[STRUCTURE_RANK_MAX];  /* within the window */
    int64_t dim[STRUCTURE_RANK_MAX];    /* of the operand */
    int64_t windows[STRUCTURE_RANK_MAX];        /* how many there are */
};

static bool next_place(struct choice *c)
{
    for (int d = c->rank - 1; d >= 0; d--) {
        if (++c->place[d] < hlo_detail(c->from)->window[d].size)
            return true;
        c->place[d] = 0;
    }
    return false;
}

/* for each window its element at the place; `outside` where it lies in the padding */
static int at_place(struct choice *c, int x, int outside)
{
    int64_t low[STRUCTURE_RANK_MAX], high[STRUCTURE_RANK_MAX], none[STRUCTURE_RANK_MAX];
    int64_t start[STRUCTURE_RANK_MAX], limit[STRUCTURE_RANK_MAX], stride[STRUCTURE_RANK_MAX];

    for (int d = 0; d < c->rank; d++) {
        const struct hlo_window *w = &hlo_detail(c->from)->window[d];

        low[d] = w->pad_low;
        high[d] = w->pad_high;
        none[d] = 0;
        start[d] = c->place[d];
        stride[d] = w->stride;
        limit[d] = start[d] + (c->windows[d] - 1) * w->stride + 1;
    }
    return hlo_slice(c->b, hlo_pad(c->b, x, outside, low, high, none), start, limit, stride);
}

/* the other way: of each window one element, to where the place is in an array like the operand */
static int to_place(struct choice *c, int x, int elsewhere)
{
    int64_t low[STRUCTURE_RANK_MAX], high[STRUCTURE_RANK_MAX], between[STRUCTURE_RANK_MAX];

    for (int d = 0; d < c->rank; d++) {
        const struct hlo_window *w = &hlo_detail(c->from)->window[d];
        int64_t first = c->place[d] - w->pad_low, reach = (c->windows[d] - 1) * w->stride + 1;

        low[d] = first;
        high[d] = c->dim[d] - first - reach;
        between[d] = w->stride - 1;
    }
    return hlo_pad(c->b, x, elsewhere, low, high, between);
}

/* s32 by window: the number of the place that is chosen */
static int choose(struct choice *c, int operand)
{
    struct hlo_builder *b = c->b;
    struct hlo_type word = hlo_scalar_type(ELEMENT_S32), flag = hlo_scalar_type(ELEMENT_PRED);
    struct hlo_type t = *hlo_type_of(b, operand), scalar = hlo_scalar_type(t.element), places;
    struct hlo_type inside = hlo_array_type(b->module->arena, ELEMENT_PRED, t.rank, t.dim);
    int zero = hlo_constant(b, &scalar, 0.0), no = hlo_constant_int(b, &flag, 0);
    int all = hlo_constant_int(b, &inside, 1), value = -1, chosen = -1, is_there = -1;
    int number = 0;

    places = hlo_array_type(b->module->arena, word.element, c->rank, c->windows);
    do {
        int x = at_place(c, operand, zero), is_in = at_place(c, all, no), keeps;
        int own = hlo_constant_int(b, &places, number++);

        if (chosen < 0) {
            value = x;
            chosen = own;
            is_there = is_in;
            continue;
        }
        structure_lift(b, hlo_detail(c->from)->computation[0], (int[]){value, x}, &keeps, 1);
        keeps = hlo_binary(b, OPCODE_AND, keeps, is_there);     /* padding is never chosen */
        keeps = hlo_binary(b, OPCODE_OR, keeps, hlo_unary(b, OPCODE_NOT, is_in));
        value = hlo_select(b, keeps, value, x);
        chosen = hlo_select(b, keeps, chosen, own);
        is_there = hlo_binary(b, OPCODE_OR, is_there, is_in);
    } while (next_place(c));
    return chosen;
}

static int scatter(struct choice *c, int chosen, int source, int init)
{
    struct hlo_builder *b = c->b;
    struct hlo_type flag = hlo_scalar_type(ELEMENT_PRED);
    struct hlo_type places = *hlo_type_of(b, chosen);
    int no = hlo_constant_int(b, &flag, 0), number = 0;
    int sum = hlo_splat(b, init, c->from->type);

    do {
        int own = hlo_constant_int(b, &places, number++);
        int is_own = to_place(c, hlo_compare(b, HLO_EQ, chosen, own), no);
        int argument[2] = {sum, to_place(c, source, init)}, combined;

        structure_lift(b, hlo_detail(c->from)->computation[1], argument, &combined, 1);
        sum = hlo_select(b, is_own, combined, sum);
    } while (next_place(c));
    return sum;
}

int structure_select_and_scatter(struct hlo_rewrite *rewrite, struct hlo_builder *b,
                                 const struct hlo_instruction *from, const int *operand)
{
    struct choice c = {.b = b, .from = from, .rank = hlo_detail(from)->window_count};
    struct hlo_type t = *hlo_type_of(b, operand[0]), windows = *hlo_type_of(b, operand[1]);
    enum hlo_direction direction;
    int64_t places = 1;

    (void)rewrite;
    if (c.rank > STRUCTURE_RANK_MAX ||
        (structure_selects(b->module, hlo_detail(from)->computation[0], &direction) &&
         structure_combines(b->module, hlo_detail(from)->computation[1], 0) == OPCODE_ADD))
        return -1;
    for (int d = 0; d < c.rank; d++) {
        c.dim[d] = t.dim[d];
        c.windows[d] = windows.dim[d];
        places *= hlo_detail(from)->window[d].size;
        if (places > PLACES_MAX || t.dim[d] == 0)
            return -1;
    }
    if (!structure_can_lift(b->module, hlo_detail(from)->computation[0]) ||
        !structure_can_lift(b->module, hlo_detail(from)->computation[1]))
        return -1;
    return scatter(&c, choose(&c, operand[0]), operand[1], operand[2]);
}
