/*
 * Elements that a device's part needs and others have. From the device k places further along the
 * dimension each gets one piece: what it needs of that device's part. A piece is a
 * collective-permute, or shares one with others that go from and to other devices.
 */
#include "import/shard/window.h"

#include <string.h>

/* by receiver, -1 where it needs nothing: from whom, where it begins in the sender's part, in the
 * range */
struct piece {
    int64_t count;
    int64_t *sender, *src, *dst;
    bool is_own;                        /* each has it itself */
};

struct fetching {
    struct shard_emitter *e;
    const struct shard_range *r;
    const struct shard_axes *axes;
    int x, dim;
};

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t first_of(const struct shard_range *r, int64_t device)
{
    return r->first + device * r->step;
}

/* elements of the part of device `j` that device `i` needs: [begin, end) */
static bool overlap(const struct shard_range *r, int64_t i, int64_t j, int64_t *begin, int64_t *end)
{
    *begin = larger(first_of(r, i), j * r->part);
    *end = smaller(first_of(r, i) + r->count, (j + 1) * r->part);
    return *begin < smaller(*end, r->size);
}

static int64_t *by_device(const struct shard_range *r, struct arena *a)
{
    return arena_array(a, (size_t)r->parts, sizeof(int64_t));
}

/* A piece is as long for all as for who needs most; what it then holds too much is right, too. */
static void place_piece(const struct shard_range *r, struct piece *p)
{
    int64_t begin, end;

    for (int64_t i = 0; i < r->parts; i++) {
        int64_t j = p->sender[i];

        if (j < 0)
            continue;
        overlap(r, i, j, &begin, &end);
        p->src[i] = smaller(begin - j * r->part, r->part - p->count);
        p->dst[i] = j * r->part + p->src[i] - first_of(r, i);
    }
}

/* from the device `shift` places further */
static struct piece piece_of(const struct shard_range *r, int64_t shift, struct arena *a)
{
    struct piece p = {.is_own = !shift};
    int64_t begin, end;

    p.sender = by_device(r, a);
    p.src = by_device(r, a);
    p.dst = by_device(r, a);
    for (int64_t i = 0; i < r->parts; i++) {
        int64_t j = i + shift;
        bool is_needed = j >= 0 && j < r->parts && overlap(r, i, j, &begin, &end);

        p.sender[i] = is_needed ? j : -1;
        p.src[i] = p.dst[i] = -1;
        if (is_needed)
            p.count = larger(p.count, end - begin);
    }
    return p;
}

/* nobody sends or gets twice */
static bool are_apart(const struct shard_range *r, const struct piece *p, const struct piece *q)
{
    for (int64_t i = 0; i < r->parts; i++)
        for (int64_t k = 0; k < r->parts && p->sender[i] >= 0; k++)
            if (q->sender[k] >= 0 && (i == k || p->sender[i] == q->sender[k]))
                return false;
    return !p->is_own && !q->is_own;
}

static void add_piece(const struct shard_range *r, struct piece *to, const struct piece *more)
{
    to->count = larger(to->count, more->count);
    for (int64_t i = 0; i < r->parts; i++)
        if (more->sender[i] >= 0)
            to->sender[i] = more->sender[i];
}

/* Where ranges lie alike over all parts, so do pieces, and they are joined without any look-up. */
static bool is_alike(const struct shard_range *r)
{
    return r->step == r->part;
}

/* all pieces that anybody needs, by rising shift */
static int find_pieces(const struct shard_range *r, struct piece *piece, struct arena *a)
{
    int count = 0;

    for (int64_t shift = 1 - r->parts; shift < r->parts; shift++) {
        struct piece p = piece_of(r, shift, a);
        int k = 0;

        while (k < count && (is_alike(r) || !are_apart(r, &piece[k], &p)))
            k++;
        if (p.count && k < count && !is_alike(r))
            add_piece(r, &piece[k], &p);
        else if (p.count)
            piece[count++] = p;
    }
    for (int k = 0; k < count; k++)
        place_piece(r, &piece[k]);
    return count;
}

static int64_t exchanged(const struct piece *piece, int count)
{
    int64_t sum = 0;

    for (int k = 0; k < count; k++)
        sum += piece[k].is_own ? 0 : piece[k].count;
    return sum;
}

/* ----- slices and places that may differ from device to device */

/* a number for each device along the axes, looked up by this device's */
static int look_up(struct fetching *f, const int64_t *item)
{
    struct arena *a = f->e->b->module->arena;
    struct hlo_type t = hlo_array_type(a, ELEMENT_S32, 1, &f->r->parts);
    int32_t *data = arena_array(a, (size_t)f->r->parts, sizeof(*data));
    int index = shard_index_of(f->e, f->axes);

    for (int64_t i = 0; i < f->r->parts; i++)
        data[i] = (int32_t)item[i];
    return hlo_reshape(f->e->b, hlo_dynamic_slice(f->e->b,
                           hlo_constant_literal(f->e->b, hlo_literal_copy(a, &t, data)), &index,
                           (int64_t[]){1}), 0, NULL);
}

static struct hlo_type sized(struct fetching *f, int64_t count)
{
    struct hlo_type t = *hlo_type_of(f->e->b, f->x);
    int64_t *dim = arena_copy(f->e->b->module->arena, t.dim, (size_t)t.rank, sizeof(*dim));

    dim[f->dim] = count;
    t.dim = dim;
    t.layout = NULL;
    return t;
}

static int zeros(struct fetching *f, int64_t count)
{
    struct hlo_type t = sized(f, count), scalar = hlo_scalar_type(t.element);

    return hlo_splat(f->e->b, hlo_constant_int(f->e->b, &scalar, 0), &t);
}

static void starts_at(struct fetching *f, int offset, int *start)
{
    for (int d = 0; d < hlo_type_of(f->e->b, f->x)->rank; d++)
        start[d] = d == f->dim ? offset : shard_s32(f->e, 0);
}

static int slice_at(struct fetching *f, int x, int offset, int64_t count)
{
    struct hlo_type t = sized(f, count);
    int start[64];

    starts_at(f, offset, start);
    return hlo_dynamic_slice(f->e->b, x, start, t.dim);
}

/* ----- pieces */

/* a device that gets it */
static int64_t any_receiver(const struct piece *p)
{
    int64_t i = 0;

    while (p->sender[i] < 0)
        i++;
    return i;
}

static bool is_sent_alike(const struct shard_range *r, const struct piece *p)
{
    for (int64_t i = 0; i < r->parts; i++)
        if (p->sender[i] >= 0 && p->src[i] != p->src[any_receiver(p)])
            return false;
    return true;
}

static int send_piece(struct fetching *f, const struct piece *p)
{
    const struct shard_range *r = f->r;
    int64_t *begin = by_device(r, f->e->b->module->arena);      /* by sender */

    if (p->count == r->part)
        return f->x;
    if (is_sent_alike(r, p))
        return hlo_slice_dim(f->e->b, f->x, f->dim, p->src[any_receiver(p)],
                             p->src[any_receiver(p)] + p->count);
    for (int64_t i = 0; i < r->parts; i++)
        if (p->sender[i] >= 0)
            begin[p->sender[i]] = p->src[i];
    return slice_at(f, f->x, look_up(f, begin), p->count);
}

static int receive_piece(struct fetching *f, const struct piece *p)
{
    int sent = send_piece(f, p);

    return p->is_own ? sent : shard_send(f->e, sent, f->axes, p->sender);
}

/* Where ranges lie alike over all parts, so do pieces, one behind the other; where there are none,
 * nobody has elements that are there. */
static int join_alike(struct fetching *f, const struct piece *piece, int count)
{
    int *part = mem_alloc((size_t)(2 * count + 1) * sizeof(*part)), parts = 0, made;
    int64_t at = 0;

    for (int k = 0; k < count; k++) {
        int64_t place = piece[k].dst[any_receiver(&piece[k])];

        if (place > at)
            part[parts++] = zeros(f, place - at);
        part[parts++] = receive_piece(f, &piece[k]);
        at = place + piece[k].count;
    }
    if (at < f->r->count)
        part[parts++] = zeros(f, f->r->count - at);
    made = parts == 1 ? part[0] : hlo_concatenate(f->e->b, parts, part, f->dim);
    mem_free(part);
    return made;
}

/*
 * Each piece is written where its receiver wants it, into an array with a margin as long as the
 * longest piece at both ends: who wants nothing of a piece has it written into the first margin.
 */
static int join_anywhere(struct fetching *f, const struct piece *piece, int count)
{
    int64_t margin = 0, *place = mem_alloc((size_t)f->r->parts * sizeof(*place));
    int start[64], made;

    for (int k = 0; k < count; k++)
        margin = larger(margin, piece[k].count);
    made = zeros(f, f->r->count + 2 * margin);
    for (int k = 0; k < count; k++) {
        int part = receive_piece(f, &piece[k]);

        for (int64_t i = 0; i < f->r->parts; i++)
            place[i] = piece[k].sender[i] < 0 ? 0 : margin + piece[k].dst[i];
        starts_at(f, look_up(f, place), start);
        made = hlo_dynamic_update_slice(f->e->b, made, part, start);
    }
    mem_free(place);
    return hlo_slice_dim(f->e->b, made, f->dim, margin, margin + f->r->count);
}

/* ----- all of it at once */

/* index of the range's first element: first + device * step */
static int begin_of(struct fetching *f, int64_t more)
{
    struct hlo_builder *b = f->e->b;
    int index = shard_index_of(f->e, f->axes);
    int scaled = hlo_binary(b, OPCODE_MULTIPLY, index, shard_s32(f->e, f->r->step));

    return hlo_binary(b, OPCODE_ADD, scaled, shard_s32(f->e, f->r->first + more));
}

/* out of an array of all elements, with zeros around it as far as anybody needs */
static int slice_whole(struct fetching *f, int x)
{
    const struct shard_range *r = f->r;
    int64_t size = hlo_type_of(f->e->b, x)->dim[f->dim], last = first_of(r, r->parts - 1);
    int64_t low[64] = {0}, high[64] = {0};
    struct hlo_type scalar = hlo_scalar_type(hlo_type_of(f->e->b, x)->element);

    low[f->dim] = larger(0, -smaller(r->first, last));
    high[f->dim] = larger(0, larger(r->first, last) + r->count - size);
    if (low[f->dim] || high[f->dim])
        x = hlo_pad(f->e->b, x, hlo_constant_int(f->e->b, &scalar, 0), low, high, NULL);
    return slice_at(f, x, begin_of(f, low[f->dim]), r->count);
}

/* whether any device has places in its range that no element has */
static bool reaches_out(const struct shard_range *r)
{
    int64_t last = first_of(r, r->parts - 1);

    return smaller(r->first, last) < 0 || larger(r->first, last) + r->count > r->size;
}

static int fill_outside(struct fetching *f, int x, int fill)
{
    struct hlo_builder *b = f->e->b;
    struct hlo_type t = *hlo_type_of(b, x), at = t;
    int index, first, inside;

    at.element = ELEMENT_S32;
    at.layout = t.layout = NULL;
    index = hlo_iota(b, &at, f->dim);
    index = hlo_binary(b, OPCODE_ADD, index, hlo_splat(b, begin_of(f, 0), &at));
    first = hlo_compare(b, HLO_GE, index, hlo_splat(b, shard_s32(f->e, 0), &at));
    inside = hlo_binary(b, OPCODE_AND, first,
                        hlo_compare(b, HLO_LT, index,
                                    hlo_splat(b, shard_s32(f->e, f->r->size), &at)));
    return hlo_select(b, inside, x, hlo_splat(b, fill, &t));
}

int shard_fetch(struct shard_emitter *e, int x, int dim, const struct shard_axes *axes,
                const struct shard_range *r, bool is_whole, int fill)
{
    struct fetching f = {e, r, axes, x, dim};
    struct piece *piece = mem_alloc((size_t)(2 * r->parts) * sizeof(*piece));
    int count = is_whole ? 0 : find_pieces(r, piece, e->b->module->arena), made;

    if (is_whole)
        made = slice_whole(&f, x);
    else if (exchanged(piece, count) >= (r->parts - 1) * r->part)
        made = slice_whole(&f, shard_all_gather(e, x, dim, axes));
    else if (is_alike(r))
        made = join_alike(&f, piece, count);
    else
        made = join_anywhere(&f, piece, count);
    mem_free(piece);
    return fill >= 0 && reaches_out(r) ? fill_outside(&f, made, fill) : made;
}
