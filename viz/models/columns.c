/* Sums per pixel, out of tiles of columns at widths that are powers of two. */
#include "viz/models/columns.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"

#define TILE_COLUMNS 256
#define COARSER_MAX 6                   /* levels above that may stand in for one */

static const int all_members[NTRACE_SERIES_COUNT] = {
    [NTRACE_CORE] = NTRACE_CELL_COUNT, [NTRACE_HBM] = NTRACE_HBM_COUNT,
    [NTRACE_LINK] = NTRACE_LINK_COUNT};

/* only those that this run has: units and channels come last */
int columns_member_count(const struct tiles *c, enum ntrace_series series)
{
    const struct ntrace_info *i = ntrace_info(c->run);
    int count = series == NTRACE_CORE ? NTRACE_CELL_UNIT + i->unit_count
                : series == NTRACE_HBM ? NTRACE_HBM_CHANNEL_BUSY_PS + i->channel_count
                                       : NTRACE_LINK_COUNT;

    return count < all_members[series] ? count : all_members[series];
}

/* content: column * members + member */
static void make_tile(struct tiles *c, struct tile *t)
{
    enum ntrace_series series = (enum ntrace_series)t->key.series;
    int members = columns_member_count(c, series), all = all_members[series];
    cycle_t width = (cycle_t)1 << t->key.level;
    float scale = 1.0f / (float)width, *mean;
    int64_t *sum = mem_alloc(sizeof(*sum) * (size_t)all * TILE_COLUMNS);

    ntrace_cells(c->run, series, t->key.index, t->key.number * TILE_COLUMNS * width, width,
                 TILE_COLUMNS, sum);
    t->content = mean = mem_alloc(sizeof(*mean) * (size_t)members * TILE_COLUMNS);
    for (int i = 0; i < TILE_COLUMNS; i++)
        for (int j = 0; j < members; j++)
            mean[i * members + j] = (float)sum[i * all + j] * scale;
    mem_free(sum);
}

/* NULL where none is there and none may be made */
static const float *tile_of(struct tiles *c, enum ntrace_series series, int index, int level,
                            int64_t number)
{
    bool is_new;
    struct tile *t = tiles_take(c, (struct tile_key){(int)series, index, level, number}, &is_new);

    if (t && is_new)
        make_tile(c, t);
    return t ? t->content : NULL;
}

/* means of column `k` of `level`, from the nearest coarser tile that is there; or NULL */
static const float *coarse_mean(struct tiles *c, enum ntrace_series series, int index, int level,
                                int64_t k, int members)
{
    for (int up = 1; up <= COARSER_MAX; up++) {
        struct tile *t = tiles_find(c, (struct tile_key){(int)series, index, level + up,
                                                         (k >> up) / TILE_COLUMNS});

        if (t)
            return (const float *)t->content + ((k >> up) % TILE_COLUMNS) * members;
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

void columns_fill(struct tiles *c, enum ntrace_series series, int index, double from,
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
