/*
 * Reading cells: a chunk's entries are listed once, sorted by cell; values stay
 * as they are written and are decoded when they are added.
 */
#include "report/native_trace/ntrace_sums.h"

#include <stdlib.h>

struct entry {
    int64_t cell, end;                  /* cells cell..end - 1; a filling may have several */
    int64_t end_so_far;                 /* the largest end of all entries up to here */
    int64_t offset;                     /* filling: first cycle - at */
    int64_t period;                     /* of a filling, else 0 */
    uint32_t values;                    /* of the payload: where they stand */
    uint32_t mask;                      /* index of its first mask */
};

struct cell_index {
    int member_count;
    size_t count;
    struct entry *entry;
    uint64_t *mask;
};

static bool skip_values(struct ntrace_cursor *c, int words, uint64_t *mask)
{
    for (int word = 0; word < words; word++) {
        mask[word] ^= ntrace_get_varint(c);
        for (uint64_t left = mask[word]; left && !c->is_bad; left &= left - 1)
            ntrace_get_within(c, (int64_t)ntrace_get_varint(c), 0, INT64_MAX);
    }
    return !c->is_bad;
}

static bool get_entry(struct ntrace_cursor *c, const uint8_t *start, int level, int64_t *before,
                      struct entry *e)
{
    uint64_t code = ntrace_get_varint(c);
    int64_t gap = (int64_t)(code >> 2 ^ (0 - (code >> 1 & 1))), most = NTRACE_TIME_MOST >> 9;

    *e = (struct entry){
        .cell = ntrace_get_within(c, *before + ntrace_get_within(c, gap, -most, most), 0, most)};
    e->end = e->cell + 1;
    if (code & 1) {
        e->end = e->cell + ntrace_get_within(c, (int64_t)ntrace_get_varint(c), 1, most);
        e->offset = ntrace_get_within(c, (int64_t)ntrace_get_varint(c), 0, NTRACE_TIME_MOST);
        e->period = ntrace_get_within(c, (int64_t)ntrace_get_varint(c), 1, NTRACE_TIME_MOST);
    }
    ntrace_get_within(c, e->end, 0, NTRACE_TIME_MOST / ntrace_cell_width(level));
    *before = e->end - 1;
    e->values = (uint32_t)(c->at - start);
    return !c->is_bad;
}

static int compare_entries(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;

    if (a->cell != b->cell)
        return a->cell < b->cell ? -1 : 1;
    return a->values < b->values ? -1 : a->values > b->values;
}

/* masks are checked against the number of members; at least a byte per word of each entry */
static bool list_entries(const struct ntrace_chunk *c, const struct ntrace_loaded *l,
                         struct cell_index *x)
{
    struct ntrace_cursor in = {.at = l->data, .end = l->data + c->head.bytes};
    size_t entries = 0, masks = 0;
    int64_t before = 0;
    int words;

    x->member_count =
        (int)ntrace_get_within(&in, (int64_t)ntrace_get_varint(&in), 1, CELL_MEMBERS_MOST);
    words = ntrace_mask_words(x->member_count);
    while (in.at != in.end && !in.is_bad) {
        uint64_t *mask;
        int last = x->member_count % 64;

        x->entry = mem_grow(x->entry, &entries, x->count + 1, sizeof(*x->entry));
        x->mask = mem_grow(x->mask, &masks, (x->count + 1) * (size_t)words, sizeof(*x->mask));
        mask = x->mask + x->count * (size_t)words;
        if (x->count)
            memcpy(mask, mask - words, (size_t)words * sizeof(*mask));
        if (!get_entry(&in, l->data, c->head.level, &before, &x->entry[x->count]))
            break;
        x->entry[x->count].mask = (uint32_t)(x->count * (size_t)words);
        if (!skip_values(&in, words, mask) || (last && mask[words - 1] >> last))
            break;
        x->count++;
    }
    return !in.is_bad && in.at == in.end;
}

static void forget_index(void *index)
{
    struct cell_index *x = index;

    mem_free(x->entry);
    mem_free(x->mask);
    mem_free(x);
}

static const struct cell_index *index_of(struct ntrace *t, struct ntrace_loaded *l)
{
    struct cell_index *x = l->index;
    int64_t end = 0;
    bool is_good;

    if (x)
        return x;
    x = mem_alloc(sizeof(*x));
    is_good = list_entries(l->chunk, l, x);
    if (x->count)
        qsort(x->entry, x->count, sizeof(*x->entry), compare_entries);
    for (size_t i = 0; i < x->count; i++)
        x->entry[i].end_so_far = end = later(end, x->entry[i].end);
    ntrace_keep_index(t, l, x, forget_index,
                      x->count * (sizeof(*x->entry)
                                  + (size_t)ntrace_mask_words(x->member_count) * sizeof(*x->mask)));
    if (!is_good)
        ntrace_tell_bad(t, l->chunk, "its cells make no sense");
    return x;
}

/* ---- adding up ---- */

struct adding {
    const struct ntrace_cell_source *source;
    cycle_t width, from, end;
    cycle_t run_end;                    /* the cell that it lies in ends there */
    int64_t *to;
};

/* what of a value lies in from..end - 1 */
static int64_t part_of(const struct adding *a, const struct entry *e, int64_t value)
{
    cycle_t start = e->cell * a->width, first = later(a->from, start) - start;
    cycle_t end = e->end * a->width, width = a->width, last;

    if (end > a->run_end && start < a->run_end) {
        end = a->run_end;
        width = end - start;
    }
    last = later((a->end < end ? a->end : end) - start, first);
    if (e->period)
        return ntrace_share_of(value, e->offset + last, e->period)
               - ntrace_share_of(value, e->offset + first, e->period);
    if (first >= width)
        return 0;
    return first == 0 && last == width
           ? value : ntrace_share_of(value, last, width) - ntrace_share_of(value, first, width);
}

static void add_entry(const struct adding *a, const struct ntrace_loaded *l,
                      const struct cell_index *x, const struct entry *e)
{
    struct ntrace_cursor in = {.at = l->data + e->values, .end = l->data + l->chunk->head.bytes};

    for (int word = 0; word < ntrace_mask_words(x->member_count); word++) {
        ntrace_get_varint(&in);         /* the mask's difference */
        for (uint64_t left = x->mask[e->mask + (size_t)word]; left; left &= left - 1) {
            int member = word * 64 + __builtin_ctzll(left);
            int64_t value = (int64_t)ntrace_get_varint(&in);
            int to = a->source->map ? a->source->map(a->source->context, member) : member;

            if (to >= 0 && to < a->source->count)
                a->to[to] += part_of(a, e, value);
        }
    }
}

static void add_chunk(struct ntrace *t, const struct adding *a, struct ntrace_chunk *c)
{
    struct ntrace_loaded *l = ntrace_use(t, c);
    const struct cell_index *x;
    size_t low = 0, high;

    if (!l)
        return;
    x = index_of(t, l);
    for (high = x->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        bool is_before = x->entry[middle].end_so_far * a->width <= a->from;

        *(is_before ? &low : &high) = is_before ? middle + 1 : middle;
    }
    for (; low < x->count && x->entry[low].cell * a->width < a->end; low++)
        if (x->entry[low].end * a->width > a->from)
            add_entry(a, l, x, &x->entry[low]);
    ntrace_unuse(t, l);
}

/* cells of one level; borders inside a cell share it out */
static void add_level(struct ntrace *t, const struct ntrace_cell_source *s, int level, cycle_t from,
                      cycle_t end, int64_t *to)
{
    const struct ntrace_group *g = ntrace_group(t, s->kind, level, s->stream);
    struct adding a = {.source = s, .width = ntrace_cell_width(level), .from = from, .end = end,
                       .run_end = t->info.cycles, .to = to};

    if (!g || from >= end)
        return;
    for (size_t i = ntrace_first_chunk(g, from + 1);
         i < g->count && g->chunk[i]->head.first < end; i++)
        if (g->chunk[i]->head.last > from)
            add_chunk(t, &a, g->chunk[i]);
}

/* whole cells of `level`; where there are coarser ones, and that far, those */
static void add_whole(struct ntrace *t, const struct ntrace_cell_source *s, int level, cycle_t from,
                      cycle_t end, int64_t *to)
{
    const struct ntrace_group *above = level + 1 < NTRACE_LEVEL_MAX
                                ? ntrace_group(t, s->kind, level + 1, s->stream) : NULL;
    cycle_t width = ntrace_cell_width(level + 1), whole = round_up(from, width), whole_end;
    cycle_t known = above ? above->chunk[above->count - 1]->last_so_far : 0;

    whole_end = (end < known ? end : known) / width * width;
    if (whole >= whole_end) {
        add_level(t, s, level, from, end, to);
        return;
    }
    add_level(t, s, level, from, whole, to);
    add_whole(t, s, level + 1, whole, whole_end, to);
    add_level(t, s, level, whole_end, end, to);
}

void ntrace_cells_sum(struct ntrace *t, const struct ntrace_cell_source *s, int finest,
                      cycle_t from, cycle_t end, int64_t *to)
{
    cycle_t width = ntrace_cell_width(finest), whole, whole_end;

    from = later(from, 0);
    end = end < NTRACE_TIME_MOST / 2 ? end : NTRACE_TIME_MOST / 2;
    if (from >= end)
        return;
    whole = round_up(from, width);
    whole_end = end / width * width;
    if (whole > whole_end) {
        add_level(t, s, finest, from, end, to);
        return;
    }
    add_level(t, s, finest, from, whole, to);
    add_whole(t, s, finest, whole, whole_end, to);
    add_level(t, s, finest, whole_end, end, to);
}
