/*
 * Builds sums in cells eight times as wide from level to level, and writes each cell once it is
 * over.
 */
#include "report/native_trace/ntrace_pyramid.h"

void ntrace_pyramid_init(struct ntrace_pyramid *p, enum ntrace_chunk_kind kind, uint32_t stream,
                         int base, int member_count)
{
    memset(p, 0, sizeof(*p));
    p->base = base;
    p->member_count = member_count;
    for (int i = base; i < NTRACE_LEVEL_MAX; i++) {
        p->level[i].cell = -1;
        p->level[i].out.head = (struct ntrace_chunk_head){
            .kind = (uint8_t)kind, .level = (uint8_t)i, .stream = stream};
    }
}

void ntrace_pyramid_fini(struct ntrace_pyramid *p)
{
    for (int i = p->base; i < NTRACE_LEVEL_MAX; i++) {
        mem_free(p->level[i].value);
        mem_free(p->level[i].mask_before);
        mem_free(p->level[i].out.buf.data);
    }
}

/* most streams never reach the upper levels */
static void make_level(const struct ntrace_pyramid *p, struct ntrace_pyramid_level *l)
{
    if (l->value)
        return;
    l->value = mem_alloc((size_t)p->member_count * sizeof(*l->value));
    l->mask_before =
        mem_alloc((size_t)ntrace_mask_words(p->member_count) * sizeof(*l->mask_before));
}

void ntrace_pyramid_widen(struct ntrace_pyramid *p, struct ntrace_out *out, int member_count)
{
    int before = p->member_count;

    if (member_count <= before)
        return;
    p->member_count = member_count;
    for (int i = p->base; i < NTRACE_LEVEL_MAX; i++) {
        struct ntrace_pyramid_level *l = &p->level[i];
        int64_t *value = l->value;

        if (!value)
            continue;
        ntrace_stream_flush(&l->out, out); /* a chunk has one number of members */
        mem_free(l->mask_before);
        l->value = NULL;
        make_level(p, l);
        memcpy(l->value, value, (size_t)before * sizeof(*value));
        mem_free(value);
    }
}

/* ---- entries ---- */

static void put_values(struct ntrace_pyramid *p, struct ntrace_pyramid_level *l,
                       const int64_t *value)
{
    struct ntrace_buf *b = &l->out.buf;

    for (int word = 0; word < ntrace_mask_words(p->member_count); word++) {
        int first = word * 64, count = p->member_count - first;
        const int64_t *v = value + first;
        uint64_t mask = 0;

        count = count < 64 ? count : 64;
        for (int i = 0; i < count; i++)
            mask |= (uint64_t)(v[i] != 0) << i;
        ntrace_put_varint(b, mask ^ l->mask_before[word]);
        l->mask_before[word] = mask;
        for (; mask; mask &= mask - 1)
            ntrace_put_varint(b, (uint64_t)v[__builtin_ctzll(mask)]);
    }
}

static void begin_entry(struct ntrace_pyramid *p, struct ntrace_out *out, int level, int64_t cell,
                        int64_t count, bool is_filling)
{
    struct ntrace_pyramid_level *l = &p->level[level];
    size_t words = (size_t)ntrace_mask_words(p->member_count);
    int64_t gap;

    if (l->out.buf.size >= CHUNK_PAYLOAD_BYTES)
        ntrace_stream_flush(&l->out, out);
    make_level(p, l);
    ntrace_buf_reserve(&l->out.buf, (words + (size_t)p->member_count + 8) * VARINT_MAX);
    if (l->out.head.count == 0) {
        ntrace_put_varint(&l->out.buf, (uint64_t)p->member_count);
        memset(l->mask_before, 0, words * sizeof(uint64_t));
        l->cell_before = 0;
    }
    gap = cell - l->cell_before;
    ntrace_put_varint(&l->out.buf, ((uint64_t)gap << 1 ^ (uint64_t)(gap >> 63)) << 1
                            | (is_filling ? 1 : 0));
    l->cell_before = cell + count - 1;
    l->written += count;
    ntrace_stream_note(&l->out, cell * ntrace_cell_width(level),
                       (cell + count) * ntrace_cell_width(level));
}

static void write_cell(struct ntrace_pyramid *p, struct ntrace_out *out, int level, int64_t cell,
                       const int64_t *value)
{
    begin_entry(p, out, level, cell, 1, false);
    put_values(p, &p->level[level], value);
}

static void write_filling(struct ntrace_pyramid *p, struct ntrace_out *out, int level, int64_t cell,
                          int64_t count, const struct ntrace_filling *f)
{
    struct ntrace_buf *b = &p->level[level].out.buf;

    begin_entry(p, out, level, cell, count, true);
    ntrace_put_varint(b, (uint64_t)count);
    ntrace_put_varint(b, (uint64_t)(cell * ntrace_cell_width(level) - f->at));
    ntrace_put_varint(b, (uint64_t)f->period);
    put_values(p, &p->level[level], f->value);
}

/* ---- upwards ---- */

static void add_to(struct ntrace_pyramid *p, struct ntrace_out *out, int level, int64_t cell,
                   const int64_t *value);

static void close_cell(struct ntrace_pyramid *p, struct ntrace_out *out, int level)
{
    struct ntrace_pyramid_level *l = &p->level[level];
    int64_t cell = l->cell;

    if (cell < 0)
        return;
    write_cell(p, out, level, cell, l->value);
    if (level + 1 < NTRACE_LEVEL_MAX)
        add_to(p, out, level + 1, cell >> 3, l->value);
    memset(l->value, 0, (size_t)p->member_count * sizeof(*l->value));
    l->cell = -1;
}

static void open_cell(struct ntrace_pyramid *p, struct ntrace_out *out, int level, int64_t cell)
{
    if (p->level[level].cell != cell)
        close_cell(p, out, level);
    make_level(p, &p->level[level]);
    p->level[level].cell = cell;
}

static void add_to(struct ntrace_pyramid *p, struct ntrace_out *out, int level, int64_t cell,
                   const int64_t *value)
{
    int64_t *sum;

    open_cell(p, out, level, cell);
    sum = p->level[level].value;
    for (int i = 0; i < p->member_count; i++)
        sum[i] += value[i];
}

void ntrace_pyramid_cell(struct ntrace_pyramid *p, struct ntrace_out *out, int64_t cell,
                         const int64_t *value)
{
    write_cell(p, out, p->base, cell, value);
    add_to(p, out, p->base + 1, cell >> 3, value);
}

/* what a filling has in first..last - 1, which lie in one cell */
static void add_share(struct ntrace_pyramid *p, struct ntrace_out *out, int level, cycle_t first,
                      cycle_t last, const struct ntrace_filling *f)
{
    int64_t *sum;

    if (first >= last)
        return;
    open_cell(p, out, level, first / ntrace_cell_width(level));
    sum = p->level[level].value;
    for (int i = 0; i < p->member_count; i++)
        if (f->value[i])
            sum[i] += ntrace_share_of(f->value[i], last - f->at, f->period)
                      - ntrace_share_of(f->value[i], first - f->at, f->period);
}

/* first..last - 1 are whole cells one level below */
static void fill_level(struct ntrace_pyramid *p, struct ntrace_out *out, int level, cycle_t first,
                       cycle_t last, const struct ntrace_filling *f)
{
    cycle_t width = ntrace_cell_width(level), whole = round_up(first, width);
    cycle_t whole_end = last / width * width;

    if (level >= NTRACE_LEVEL_MAX)
        return;
    if (whole >= whole_end) {
        add_share(p, out, level, first, whole < last ? whole : last, f);
        add_share(p, out, level, whole, last, f);
        return;
    }
    add_share(p, out, level, first, whole, f);
    close_cell(p, out, level);
    write_filling(p, out, level, whole / width, (whole_end - whole) / width, f);
    fill_level(p, out, level + 1, whole, whole_end, f);
    add_share(p, out, level, whole_end, last, f);
}

void ntrace_pyramid_fill(struct ntrace_pyramid *p, struct ntrace_out *out, cycle_t first,
                         cycle_t last, const struct ntrace_filling *f)
{
    cycle_t width = ntrace_cell_width(p->base);

    if (first >= last)
        return;
    write_filling(p, out, p->base, first / width, (last - first) / width, f);
    fill_level(p, out, p->base + 1, first, last, f);
}

/* A level with but one cell is the last: those above would say the same. */
void ntrace_pyramid_flush(struct ntrace_pyramid *p, struct ntrace_out *out, bool is_end)
{
    for (int i = p->base + 1; is_end && i < NTRACE_LEVEL_MAX; i++)
        if (p->level[i - 1].written > 1)
            close_cell(p, out, i);
    for (int i = p->base; i < NTRACE_LEVEL_MAX; i++)
        ntrace_stream_flush(&p->level[i].out, out);
}

/* ---- a window of open cells ---- */

#define WINDOW_CELLS 64
#define LONG_CELLS 32                   /* what is longer goes in as a filling */

void ntrace_spread_out_init(struct ntrace_spread_out *s, enum ntrace_chunk_kind kind,
                            uint32_t stream, int member_count)
{
    *s = (struct ntrace_spread_out){.first = 0};
    ntrace_pyramid_init(&s->pyramid, kind, stream, 0, member_count);
}

void ntrace_spread_out_fini(struct ntrace_spread_out *s)
{
    ntrace_pyramid_fini(&s->pyramid);
    mem_free(s->value);
    mem_free(s->is_open);
}

static int64_t *cell_values(const struct ntrace_spread_out *s, int64_t cell)
{
    return s->value + (size_t)(cell % WINDOW_CELLS) * (size_t)s->pyramid.member_count;
}

/* cells before `first` are over */
static void move_window(struct ntrace_spread_out *s, struct ntrace_out *out, int64_t first)
{
    int64_t end = first < s->first + WINDOW_CELLS ? first : s->first + WINDOW_CELLS;

    for (int64_t cell = s->first; cell < end; cell++) {
        int64_t *value = cell_values(s, cell);

        if (!s->is_open[cell % WINDOW_CELLS])
            continue;
        ntrace_pyramid_cell(&s->pyramid, out, cell, value);
        memset(value, 0, (size_t)s->pyramid.member_count * sizeof(*value));
        s->is_open[cell % WINDOW_CELLS] = false;
    }
    s->first = first;
}

/* most lie in one cell, and need no shares */
static inline void add_values(const struct ntrace_spread *what, cycle_t first, cycle_t last,
                              int64_t *value)
{
    bool is_whole = first == what->start && last == what->end;

    for (int i = 0; i < what->count; i++)
        value[what->member[i]] += is_whole ? what->value[i]
            : ntrace_share_of(what->value[i], last - what->start, what->end - what->start)
              - ntrace_share_of(what->value[i], first - what->start, what->end - what->start);
}

/* the cell is over: a part of its own */
static void add_late(struct ntrace_spread_out *s, struct ntrace_out *out,
                     const struct ntrace_spread *what, cycle_t first, cycle_t last)
{
    int64_t value[DMA_CELL_COUNT + NTRACE_HBM_COUNT] = {0};

    add_values(what, first, last, value);
    ntrace_pyramid_cell(&s->pyramid, out, first / NTRACE_CELL_CYCLES, value);
}

static void add_part(struct ntrace_spread_out *s, struct ntrace_out *out,
                     const struct ntrace_spread *what, cycle_t first, cycle_t last)
{
    int64_t cell = first / NTRACE_CELL_CYCLES;

    if (cell < s->first) {
        add_late(s, out, what, first, last);
        return;
    }
    if (cell >= s->first + WINDOW_CELLS)
        move_window(s, out, cell - WINDOW_CELLS / 2);
    add_values(what, first, last, cell_values(s, cell));
    s->is_open[cell % WINDOW_CELLS] = true;
}

static void fill_cells(struct ntrace_spread_out *s, struct ntrace_out *out,
                       const struct ntrace_spread *what, cycle_t first, cycle_t last)
{
    int64_t value[DMA_CELL_COUNT + NTRACE_HBM_COUNT] = {0};

    for (int i = 0; i < what->count; i++)
        value[what->member[i]] += what->value[i];
    ntrace_pyramid_fill(&s->pyramid, out, first, last,
                        &(struct ntrace_filling){what->start, what->end - what->start, value});
}

void ntrace_spread_out_add(struct ntrace_spread_out *s, struct ntrace_out *out,
                           const struct ntrace_spread *what)
{
    cycle_t whole = round_up(what->start, NTRACE_CELL_CYCLES), at, next;
    cycle_t whole_end = what->end / NTRACE_CELL_CYCLES * NTRACE_CELL_CYCLES;
    bool is_long = whole_end - whole >= LONG_CELLS * NTRACE_CELL_CYCLES;

    if (!s->value) {
        s->value = mem_alloc(WINDOW_CELLS * (size_t)s->pyramid.member_count * sizeof(int64_t));
        s->is_open = mem_alloc(WINDOW_CELLS * sizeof(bool));
    }
    for (at = what->start; at < what->end; at = next) {
        next = round_up(at + 1, NTRACE_CELL_CYCLES);
        next = next < what->end ? next : what->end;
        if (is_long && at == whole) {
            next = whole_end;
            fill_cells(s, out, what, at, next);
        } else {
            add_part(s, out, what, at, next);
        }
    }
}

void ntrace_spread_out_flush(struct ntrace_spread_out *s, struct ntrace_out *out, bool is_end)
{
    if (s->value && is_end)
        move_window(s, out, s->first + WINDOW_CELLS);
    ntrace_pyramid_flush(&s->pyramid, out, is_end);
}
