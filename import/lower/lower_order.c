/*
 * How arrays of the boundary lie. Row-major they are cut into tiles of 8 rows of 128, so the kernels
 * of PyTorch's convolutions, [outputs, inputs, 3, 3], would be mostly padding. An array that takes
 * eight times as much so as with its two longest dimensions last is turned; the compiler's own layouts
 * begin from there. With less padding (images of 28 x 28: 5.2 times) it takes longer to turn an array
 * than to read what it is padded with. Equal types are turned alike, so a result still fits its
 * parameter's place.
 */
#include "import/lower/lower_impl.h"

#include "stack/hlo/array.h"

#include <string.h>

enum { TURNED_BYTES_MIN = 1 << 20, TURNED_GAIN_MIN = 8 };

static struct shape in_order(const struct shape *s, const int *order)
{
    struct shape turned = *s;

    for (int d = 0; d < s->rank; d++)
        turned.dim[d] = s->dim[order[d]];
    return turned;
}

/* in HBM, row-major */
static int64_t padded_bytes(const struct shape *s)
{
    struct array a;

    array_init(&a, "", s, NULL);
    return a.bytes;
}

/* the longest of the first `last` + 1 dimensions goes behind the others of them */
static void move_longest(const struct shape *s, int last, int *order)
{
    int longest = 0, kept;

    for (int d = 1; d <= last; d++)
        longest = s->dim[order[d]] >= s->dim[order[longest]] ? d : longest;
    kept = order[longest];
    for (int d = longest; d < last; d++)
        order[d] = order[d + 1];
    order[last] = kept;
}

/* rank 0: it stays as it is */
static void choose(const struct shape *s, struct lowered_order *o)
{
    struct shape turned;

    *o = (struct lowered_order){.rank = 0};
    if (s->rank < 3 || padded_bytes(s) < TURNED_BYTES_MIN)
        return;
    for (int d = 0; d < s->rank; d++) {
        o->order[d] = d;
        o->dim[d] = s->dim[d];
    }
    move_longest(s, s->rank - 1, o->order);
    move_longest(s, s->rank - 2, o->order);
    turned = in_order(s, o->order);
    if (padded_bytes(s) >= TURNED_GAIN_MIN * padded_bytes(&turned))
        o->rank = s->rank;
}

/* as its compiler had it, of a program that is kept as it is */
static void keep(const struct shape *s, const struct hlo_layout *layout, struct lowered_order *o)
{
    *o = (struct lowered_order){.rank = 0};
    if (!layout || layout->minor_to_major.count != s->rank)
        return;
    for (int d = 0; d < s->rank; d++) {
        o->order[d] = (int)layout->minor_to_major.item[s->rank - 1 - d];
        o->dim[d] = s->dim[d];
        o->rank = o->order[d] != d ? s->rank : o->rank;
    }
}

static void find_order(const struct lower *l, const struct shape *s, const struct hlo_type *t,
                       struct lowered_order *o)
{
    if (l->settings->kept)
        keep(s, t->layout, o);
    else
        choose(s, o);
}

int lower_parameter_in_order(const struct lower *l, struct graph *g, struct shape shape,
                             const struct hlo_type *t, const char *name, struct lowered_order *o)
{
    int back[GRAPH_RANK_MAX], node;

    find_order(l, &shape, t, o);
    if (!o->rank)
        return graph_parameter(g, shape, name);
    for (int d = 0; d < shape.rank; d++)
        back[o->order[d]] = d;
    node = graph_parameter(g, in_order(&shape, o->order), name);
    return graph_transpose(g, node, back);
}

int lower_result_in_order(const struct lower *l, struct graph *g, int node,
                          const struct hlo_type *t, struct lowered_order *o)
{
    find_order(l, &g->node[node].shape, t, o);
    return o->rank ? graph_transpose(g, node, o->order) : node;
}
