/*
 * Arrays brought to lie otherwise, with as little exchanged as may be: first what can be cut away
 * where it lies, then cuts that go from one dimension to another (all-to-all), parts that only
 * change places (collective-permute), and at last what must be whole (all-gather).
 */
#include "import/shard/emit.h"

#include <string.h>

/* a move on its way: `x` lies as `now` */
struct move {
    struct shard_emitter *e;
    const struct hlo_type *t;
    const struct shard_lay *to;
    struct shard_lay now;
    int x;
};

static int common_axes(const struct shard_axes *a, const struct shard_axes *b)
{
    int n = 0;

    while (n < a->count && n < b->count && a->axis[n] == b->axis[n])
        n++;
    return n;
}

static struct shard_axes axes_from(const struct shard_axes *axes, int first)
{
    struct shard_axes rest = {0};

    for (int i = first; i < axes->count; i++)
        rest.axis[rest.count++] = axes->axis[i];
    return rest;
}

static bool is_even(const struct move *m, int dim)
{
    return m->t->dim[dim] % shard_lay_parts(m->e->mesh, &m->now, dim) == 0 &&
           m->t->dim[dim] % shard_lay_parts(m->e->mesh, m->to, dim) == 0;
}

static bool is_done(const struct move *m, int dim)
{
    struct shard_axes now = shard_lay_axes(&m->now, dim), to = shard_lay_axes(m->to, dim);

    return now.count == to.count && common_axes(&now, &to) == to.count;
}

static void set_axes(struct move *m, int dim, const struct shard_axes *axes, int count)
{
    struct shard_axes first = *axes;

    first.count = count;
    shard_lay_set(&m->now, dim, &first);
}

/* all of a dimension that does not divide, without what fills up its last parts */
static void gather_uneven(struct move *m, int dim)
{
    struct shard_axes now = shard_lay_axes(&m->now, dim);

    m->x = shard_all_gather(m->e, m->x, dim, &now);
    if (hlo_type_of(m->e->b, m->x)->dim[dim] != m->t->dim[dim])
        m->x = hlo_slice_dim(m->e->b, m->x, dim, 0, m->t->dim[dim]);
    set_axes(m, dim, &now, 0);
}

static int pad_to(struct move *m, int dim, int64_t size)
{
    const struct hlo_type *t = hlo_type_of(m->e->b, m->x);
    int64_t low[64] = {0}, high[64] = {0};
    struct hlo_type scalar = hlo_scalar_type(t->element);

    if (t->dim[dim] == size)
        return m->x;
    high[dim] = size - t->dim[dim];
    return hlo_pad(m->e->b, m->x, hlo_constant_int(m->e->b, &scalar, 0), low, high, NULL);
}

/* this device's part along axes that do not cut the array yet */
static void cut(struct move *m, int dim, const struct shard_axes *more)
{
    struct hlo_builder *b = m->e->b;
    int64_t parts = shard_axes_size(m->e->mesh, more), size = hlo_type_of(b, m->x)->dim[dim];
    int64_t part = (size + parts - 1) / parts, sizes[64];
    int start[64], rank = m->t->rank;

    m->x = pad_to(m, dim, part * parts);
    for (int d = 0; d < rank; d++) {
        sizes[d] = d == dim ? part : hlo_type_of(b, m->x)->dim[d];
        start[d] = d == dim ? shard_offset_of(m->e, more, size) : shard_s32(m->e, 0);
    }
    m->x = hlo_dynamic_slice(b, m->x, start, sizes);
    for (int i = 0; i < more->count; i++)
        shard_lay_add(&m->now, dim, more->axis[i]);
}

/* what is wanted more in a dimension, as far as nothing else lies along these axes */
static void cut_more(struct move *m, int dim)
{
    struct shard_axes now = shard_lay_axes(&m->now, dim), to = shard_lay_axes(m->to, dim), more;
    uint32_t used = shard_lay_mask(&m->now);
    int count = 0;

    if (common_axes(&now, &to) < now.count)
        return;
    more = axes_from(&to, now.count);
    while (count < more.count && !(used >> more.axis[count] & 1))
        count++;
    if (count < more.count && !is_even(m, dim))
        return;                         /* parts of such a dimension are made at once */
    more.count = count;
    if (count)
        cut(m, dim, &more);
}

/* axes that end a dimension's list and are wanted next in another's */
static bool exchange(struct move *m, int joined)
{
    struct shard_axes now = shard_lay_axes(&m->now, joined), to = shard_lay_axes(m->to, joined);
    int kept = common_axes(&now, &to);

    for (int from = kept; from < now.count && is_even(m, joined); from++) {
        struct shard_axes tail = axes_from(&now, from);

        for (int d = 0; d < m->t->rank; d++) {
            struct shard_axes there = shard_lay_axes(&m->now, d), want = shard_lay_axes(m->to, d);
            struct shard_axes next = axes_from(&want, there.count);

            if (d == joined || common_axes(&there, &want) < there.count || !is_even(m, d) ||
                common_axes(&tail, &next) < tail.count)
                continue;
            m->x = shard_all_to_all(m->e, m->x, d, joined, &tail);
            set_axes(m, joined, &now, from);
            for (int i = 0; i < tail.count; i++)
                shard_lay_add(&m->now, d, tail.axis[i]);
            return true;
        }
    }
    return false;
}

static bool can_permute(const struct move *m)
{
    for (int d = 0; d < m->t->rank; d++)
        if (!is_even(m, d) || shard_lay_parts(m->e->mesh, &m->now, d) !=
                              shard_lay_parts(m->e->mesh, m->to, d))
            return false;
    return true;
}

static void gather(struct move *m, int dim)
{
    struct shard_axes now = shard_lay_axes(&m->now, dim), to = shard_lay_axes(m->to, dim), rest;
    int kept = common_axes(&now, &to);

    if (kept == now.count)
        return;
    rest = axes_from(&now, kept);
    m->x = shard_all_gather(m->e, m->x, dim, &rest);
    set_axes(m, dim, &now, kept);
}

static void run(struct move *m)
{
    int rank = m->t->rank;

    for (int d = 0; d < rank; d++)
        if (!is_done(m, d) && shard_lay_parts(m->e->mesh, &m->now, d) > 1 && !is_even(m, d))
            gather_uneven(m, d);
    for (int d = 0; d < rank; d++)
        cut_more(m, d);
    for (int d = 0; d < rank; d++)
        while (exchange(m, d))
            ;
    if (can_permute(m)) {
        if (!shard_lay_equal(&m->now, m->to))
            m->x = shard_permute(m->e, m->x, &m->now, m->to);
        m->now = *m->to;
        return;
    }
    for (int d = 0; d < rank; d++)
        gather(m, d);
    for (int d = 0; d < rank; d++)
        cut_more(m, d);
}

int shard_move(struct shard_emitter *e, int x, const struct hlo_type *t,
               const struct shard_lay *from, const struct shard_lay *to)
{
    struct move m = {e, t, to, *from, x};
    int *list = &e->moved_list[x % SHARD_MOVED_LISTS];

    if (shard_lay_equal(from, to))
        return x;
    for (int i = *list; i >= 0; i = e->moved[i].next)
        if (e->moved[i].x == x && shard_lay_equal(&e->moved[i].to, to))
            return e->moved[i].made;
    run(&m);
    MEM_ADD(e->moved, e->moved_count, e->moved_room) =
        (struct shard_moved){.x = x, .made = m.x, .next = *list, .to = *to};
    *list = e->moved_count - 1;
    return m.x;
}

int shard_element(struct shard_emitter *e, int tuple, int index)
{
    const struct hlo_instruction *i =
        &e->b->module->computation[e->b->computation].instruction[tuple];

    return i->op == OPCODE_TUPLE ? i->operand[index] : hlo_tuple_element(e->b, tuple, index);
}

int shard_move_value(struct shard_emitter *e, int x, const struct hlo_type *t,
                     const struct shard_lay *from, const struct shard_lay *to)
{
    int leaves = hlo_type_leaves(t), first = 0, *part;
    bool is_same = true;

    if (!hlo_type_is_tuple(t))
        return shard_move(e, x, t, from, to);
    for (int l = 0; l < leaves; l++)
        is_same &= shard_lay_equal(&from[l], &to[l]);
    if (is_same)
        return x;
    part = arena_array(e->b->module->arena, (size_t)t->part_count, sizeof(*part));
    for (int k = 0; k < t->part_count; k++) {
        part[k] = shard_move_value(e, shard_element(e, x, k), &t->part[k], from + first, to + first);
        first += hlo_type_leaves(&t->part[k]);
    }
    return hlo_tuple(e->b, t->part_count, part);
}
