/*
 * A cache of sums per pixel: tiles of columns at widths that are powers of two, the least recently
 * used given up first.
 */
#include "viz/models/columns.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "viz/view/view.h"

#define TILE_COLUMNS 256
#define TILE_MAX 768
#define BUCKETS 1024
#define COARSER_MAX 6                   /* levels above that may stand in for one */

struct tile {
    enum ntrace_series series;
    int index, level;                   /* columns of 2^level cycles */
    int64_t number;                     /* the first column is number * TILE_COLUMNS */
    int64_t used_at;
    struct tile *next;                  /* in its bucket */
    float *mean;                        /* column * members + member */
};

struct columns {
    struct ntrace *run;
    struct tile tile[TILE_MAX];
    int tile_count;
    struct tile *bucket[BUCKETS];
    int64_t uses, made;
    int budget;                         /* tiles that may still be made; -1: any number */
    int64_t late_ns;                    /* 0: never; but one tile is made in any case */
    bool has_made;
    bool is_partial;
    int64_t *sum;                       /* of one tile, as the run gives them */
};

static const int all_members[NTRACE_SERIES_COUNT] = {
    [NTRACE_CORE] = NTRACE_CELL_COUNT, [NTRACE_HBM] = NTRACE_HBM_COUNT,
    [NTRACE_LINK] = NTRACE_LINK_COUNT};

struct columns *columns_create(struct ntrace *run)
{
    struct columns *c = mem_alloc(sizeof(*c));

    c->run = run;
    c->budget = -1;
    c->sum = mem_alloc(sizeof(*c->sum) * TILE_COLUMNS * NTRACE_HBM_COUNT);
    return c;
}

void columns_forget(struct columns *c)
{
    while (c->tile_count)
        mem_free(c->tile[--c->tile_count].mean);
    memset(c->tile, 0, sizeof(c->tile));
    memset(c->bucket, 0, sizeof(c->bucket));
}

void columns_destroy(struct columns *c)
{
    if (!c)
        return;
    columns_forget(c);
    mem_free(c->sum);
    mem_free(c);
}

/* only those that this run has: units and channels come last */
int columns_member_count(const struct columns *c, enum ntrace_series series)
{
    const struct ntrace_info *i = ntrace_info(c->run);
    int count = series == NTRACE_CORE ? NTRACE_CELL_UNIT + i->unit_count
                : series == NTRACE_HBM ? NTRACE_HBM_CHANNEL_BUSY_PS + i->channel_count
                                       : NTRACE_LINK_COUNT;

    return count < all_members[series] ? count : all_members[series];
}

void columns_set_budget(struct columns *c, int tiles)
{
    c->budget = tiles;
    c->late_ns = 0;
    c->is_partial = c->has_made = false;
}

void columns_set_late(struct columns *c, int64_t late_ns)
{
    c->late_ns = late_ns;
}

bool columns_is_partial(const struct columns *c)
{
    return c->is_partial;
}

int64_t columns_tiles_made(const struct columns *c)
{
    return c->made;
}

static struct tile **bucket_of(struct columns *c, enum ntrace_series series, int index, int level,
                               int64_t number)
{
    uint64_t key = (uint64_t)number * 0x9e3779b97f4a7c15u + (uint64_t)index * 0xbf58476d1ce4e5b9u
                   + (uint64_t)level * 31 + (uint64_t)series;

    return &c->bucket[(key ^ key >> 32) % BUCKETS];
}

/* a free place, or that of the tile that was not used for longest */
static struct tile *take_place(struct columns *c)
{
    struct tile *oldest = &c->tile[0], **link;

    if (c->tile_count < TILE_MAX)
        return &c->tile[c->tile_count++];
    for (int i = 1; i < TILE_MAX; i++)
        if (c->tile[i].used_at < oldest->used_at)
            oldest = &c->tile[i];
    link = bucket_of(c, oldest->series, oldest->index, oldest->level, oldest->number);
    while (*link != oldest)
        link = &(*link)->next;
    *link = oldest->next;
    mem_free(oldest->mean);
    return oldest;
}

static void make_tile(struct columns *c, struct tile *t)
{
    int members = columns_member_count(c, t->series), all = all_members[t->series];
    cycle_t width = (cycle_t)1 << t->level;
    float scale = 1.0f / (float)width;

    memset(c->sum, 0, sizeof(*c->sum) * (size_t)all * TILE_COLUMNS);
    ntrace_cells(c->run, t->series, t->index, t->number * TILE_COLUMNS * width, width,
                 TILE_COLUMNS, c->sum);
    t->mean = mem_alloc(sizeof(*t->mean) * (size_t)members * TILE_COLUMNS);
    for (int i = 0; i < TILE_COLUMNS; i++)
        for (int j = 0; j < members; j++)
            t->mean[i * members + j] = (float)c->sum[i * all + j] * scale;
    c->made++;
}

static struct tile *find_tile(struct columns *c, enum ntrace_series series, int index, int level,
                              int64_t number)
{
    struct tile *t = *bucket_of(c, series, index, level, number);

    while (t && (t->number != number || t->level != level || t->index != index
                 || t->series != series))
        t = t->next;
    return t;
}

/* NULL where none is there and none may be made */
static const float *tile_of(struct columns *c, enum ntrace_series series, int index, int level,
                            int64_t number)
{
    struct tile **b = bucket_of(c, series, index, level, number);
    struct tile *t = find_tile(c, series, index, level, number);

    if (!t && (!c->budget || (c->has_made && view_is_late(c->late_ns)))) {
        c->is_partial = true;
        return NULL;
    }
    if (!t) {
        c->budget -= c->budget > 0;
        t = take_place(c);
        b = bucket_of(c, series, index, level, number);
        *t = (struct tile){.series = series, .index = index, .level = level, .number = number,
                           .next = *b};
        *b = t;
        make_tile(c, t);
        c->has_made = true;
    }
    t->used_at = ++c->uses;
    return t->mean;
}

/* means of column `k` of `level`, from the nearest coarser tile that is there; or NULL */
static const float *coarse_mean(struct columns *c, enum ntrace_series series, int index, int level,
                                int64_t k, int members)
{
    for (int up = 1; up <= COARSER_MAX; up++) {
        struct tile *t = find_tile(c, series, index, level + up, (k >> up) / TILE_COLUMNS);

        if (t)
            return t->mean + ((k >> up) % TILE_COLUMNS) * members;
    }
    return NULL;
}

static int level_of(double cycles_per_pixel)
{
    int level = 0;

    while (level < 40 && ldexp(1, level + 1) <= cycles_per_pixel)
        level++;
    return level;
}

void columns_fill(struct columns *c, enum ntrace_series series, int index, double from,
                  double cycles_per_pixel, int width, float *to)
{
    int level = level_of(cycles_per_pixel), members = columns_member_count(c, series);
    double columns_per_pixel = ldexp(cycles_per_pixel, -level), first = ldexp(from, -level);
    int64_t end_column = (ntrace_info(c->run)->cycles >> level) + 1, last = -1;
    const float *mean = NULL, *one;

    for (int i = 0; i < width; i++) {
        int64_t a = (int64_t)floor(first + i * columns_per_pixel);
        int64_t b = (int64_t)floor(first + (i + 1) * columns_per_pixel);
        float *sum = to + (size_t)i * (size_t)members;

        if (b <= a)
            b = a + 1;                  /* columns wider than pixels: below two cycles a pixel */
        memset(sum, 0, sizeof(*sum) * (size_t)members);
        for (int64_t k = a < 0 ? 0 : a; k < b && k < end_column; k++) {
            if (k / TILE_COLUMNS != last) {
                last = k / TILE_COLUMNS;
                mean = tile_of(c, series, index, level, last);
            }
            one = mean ? mean + k % TILE_COLUMNS * members
                       : coarse_mean(c, series, index, level, k, members);
            for (int j = 0; one && j < members; j++)
                sum[j] += one[j];
        }
        for (int j = 0; b - a > 1 && j < members; j++)
            sum[j] /= (float)(b - a);
    }
}
