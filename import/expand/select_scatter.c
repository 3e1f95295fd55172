/*
 * Select-and-scatter of elements that the compiler has none of. The place of each window that the
 * selection takes is found one after the other; then what the sources give, again place by place, is
 * spread to where the windows lie and combined there by the computation.
 */
#include "import/expand/expand.h"
#include "import/expand/site.h"
#include "import/structure/structure.h"

enum { PLACES_MAX = 256, RANKS = 16 };

struct windows {
    struct expand_site *s;
    struct hlo_type result, source;
    int64_t places;
    int64_t at[RANKS];                  /* the place that is looked at */
};

static void go_to(struct windows *w, int64_t place)
{
    for (int d = w->result.rank - 1; d >= 0; d--) {
        w->at[d] = place % hlo_detail(w->s->from)->window[d].size;
        place /= hlo_detail(w->s->from)->window[d].size;
    }
}

/* the element at this place of all windows; outside the array `outside` */
static int element(struct windows *w, int x, int outside)
{
    int64_t low[RANKS], high[RANKS], start[RANKS], limit[RANKS], stride[RANKS];

    for (int d = 0; d < w->result.rank; d++) {
        const struct hlo_window *own = &hlo_detail(w->s->from)->window[d];

        low[d] = own->pad_low;
        high[d] = own->pad_high;
        start[d] = w->at[d];
        limit[d] = start[d] + (w->source.dim[d] - 1) * own->stride + 1;
        stride[d] = own->stride;
    }
    x = hlo_pad(w->s->b, x, outside, low, high, NULL);
    return hlo_slice(w->s->b, x, start, limit, stride);
}

/* what belongs to this place of all windows, where it lies in the array; elsewhere `outside` */
static int back(struct windows *w, int x, int outside)
{
    int64_t low[RANKS], high[RANKS], interior[RANKS];

    for (int d = 0; d < w->result.rank; d++) {
        const struct hlo_window *own = &hlo_detail(w->s->from)->window[d];
        int64_t span = (w->source.dim[d] - 1) * own->stride + 1;

        low[d] = w->at[d] - own->pad_low;
        high[d] = w->result.dim[d] - span - low[d];
        interior[d] = own->stride - 1;
    }
    return hlo_pad(w->s->b, x, outside, low, high, interior);
}

/* s32: which place of each window is taken; what is padded never is */
static int selected(struct windows *w, int none)
{
    struct hlo_builder *b = w->s->b;
    struct hlo_type zero = hlo_scalar_type(w->result.element), inside = w->result;
    int outside = hlo_constant_int(b, &zero, 0), is_inside, best = -1, taken = -1;
    struct hlo_type pred = hlo_scalar_type(ELEMENT_PRED);

    inside = hlo_array_type(b->module->arena, ELEMENT_PRED, inside.rank, inside.dim);
    is_inside = hlo_constant_int(b, &inside, 1);
    for (int64_t place = 0; place < w->places; place++) {
        int x, is_here, keeps, number = ar_int(b, none, place);

        go_to(w, place);
        x = element(w, w->s->operand[0], outside);
        is_here = element(w, is_inside, hlo_constant_int(b, &pred, 0));
        if (best < 0) {
            best = x;
            taken = ar_sel(b, is_here, number, none);
            continue;
        }
        structure_lift(b, hlo_detail(w->s->from)->computation[0], (int[]){best, x}, &keeps, 1);
        keeps = ar_and(b, keeps, ar_ne(b, taken, none));
        is_here = ar_and(b, is_here, ar_not(b, keeps));
        best = ar_sel(b, is_here, x, best);
        taken = ar_sel(b, is_here, number, taken);
    }
    return taken;
}

static int scattered(struct windows *w, int taken)
{
    struct hlo_builder *b = w->s->b;
    struct hlo_type pred = hlo_scalar_type(ELEMENT_PRED);
    int sum = hlo_splat(b, w->s->operand[2], &w->result), no = hlo_constant_int(b, &pred, 0);

    for (int64_t place = 0; place < w->places; place++) {
        int is_taken = ar_eq(b, taken, ar_int(b, taken, place)), x, next;

        go_to(w, place);
        x = back(w, w->s->operand[1], w->s->operand[2]);
        structure_lift(b, hlo_detail(w->s->from)->computation[1], (int[]){sum, x}, &next, 1);
        sum = ar_sel(b, back(w, is_taken, no), next, sum);
    }
    return sum;
}

int expand_select_and_scatter(struct expand_site *s)
{
    struct windows w = {.s = s, .result = *s->from->type, .source = *expand_operand_type(s, 1),
                        .places = 1};
    enum hlo_element part;
    int parts, none;

    if (expand_form_of(w.result.element, &part, &parts) == EXPAND_SAME || parts < 2 ||
        w.result.rank > RANKS || !structure_can_lift(s->old, hlo_detail(s->from)->computation[0]) ||
        !structure_can_lift(s->old, hlo_detail(s->from)->computation[1]) ||
        hlo_type_elements(&w.source) == 0)
        return EXPAND_KEEP;
    for (int d = 0; d < w.result.rank; d++) {
        w.places *= hlo_detail(s->from)->window[d].size;
        if (w.places > PLACES_MAX)
            return expand_refuse(s, "a window of more than %d places of %s", PLACES_MAX,
                                 hlo_element_name(w.result.element));
    }
    none = ar_int_of(s->b, s->operand[1], ELEMENT_S32, -1);
    return scattered(&w, selected(&w, none));
}
