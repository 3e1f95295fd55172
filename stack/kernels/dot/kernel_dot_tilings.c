/*
 * Which tilings a product has: all that fit are weighed by the cost model.
 *
 * As XLA does it: steps of at most 1024 rows and 1024 columns, 2048 of an operand
 * that lies in vector memory, whose windows and sums take at most what resident
 * operands leave of it (docs/accuracy.md has the evidence).
 */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/dot/kernel_dot_grid.h"

#define TILE 128
#define SIDE_MAX_XLA 1024
#define SIDE_RESIDENT_XLA 2048          /* of an operand in vector memory */
#define WINDOW_ROWS_XLA (KERNEL_VMEM_BYTES / ARRAY_ROW_BYTES)
#define DEPTH_TILES_MAX 128
#define ROWS_MAX 16384
#define BATCH_STEPS_MAX 4096
#define BATCH_UNITS_MAX 32              /* batches of a step come in such numbers */

struct search {
    const struct kernel_job *job;
    struct kernel_job scoped;           /* with what windows may take */
    const struct dot_problem *p;
    struct tiling *list;
    int count, max;
    bool takes_small;                   /* depths and rows that are tried only if no other fits */
};

static void keep(struct search *s, const struct tiling *t)
{
    int at = s->count;

    while (at > 0 && s->list[at - 1].predicted_cycles > t->predicted_cycles)
        at--;
    if (at == s->max)
        return;
    if (s->count < s->max)
        s->count++;
    memmove(&s->list[at + 1], &s->list[at], (size_t)(s->count - 1 - at) * sizeof(*s->list));
    s->list[at] = *t;
}

static void try_one(struct search *s, struct tiling t)
{
    struct kernel_cost cost;
    struct dot_grid g;
    struct err e;

    if (dot_grid_make(&g, s->p, &s->scoped, &t, &e))
        return;
    dot_grid_cost(&g, &cost);
    t.predicted_cycles = cost.total_cycles;
    keep(s, &t);
}

/* blocks of one size, of at most `most`, that cover `total` */
static int64_t equal_share(int64_t total, int64_t most)
{
    return div_up(total, div_up(total, most));
}

static void try_orders(struct search *s, struct tiling t)
{
    /* XLA is not seen to begin with parts of operands */
    t.size[DOT_PARTS] = s->job->codegen == CODEGEN_BEST;
    try_one(s, t);
    t.size[DOT_COLUMNS_OUTSIDE] = 1;
    if (t.size[DOT_BM] < s->p->m && t.size[DOT_BN] < s->p->n)
        try_one(s, t);
}

static struct tiling blocks(int64_t bm, int64_t bk, int64_t bn, int64_t width,
                            enum dot_share share)
{
    return (struct tiling){.count = DOT_SIZES, .size = {bm, bk, bn, width, share, 0, 1}};
}

static void try_depths(struct search *s, int64_t bm, int64_t bn, int64_t width,
                       enum dot_share share)
{
    int64_t depth = div_up(s->p->k, TILE);

    for (int64_t d = 1; d <= depth; d++)
        if (depth % d == 0 && (depth / d == 1 || d % 2 == 0 || depth % 2 || s->takes_small)
            && d <= DEPTH_TILES_MAX)
            try_orders(s, blocks(bm, d * TILE, bn, width, share));
}

/* rows or columns of a step, at most */
static int64_t side_of(const struct search *s, const struct array *operand, int64_t most)
{
    if (s->job->codegen != CODEGEN_XLA)
        return most;
    return operand->space == SPACE_VMEM ? SIDE_RESIDENT_XLA : SIDE_MAX_XLA;
}

static void try_columns(struct search *s, int64_t bm, enum dot_share share)
{
    const struct chip *chip = s->job->chip;
    int halves = dot_halves(chip);
    int64_t tiles = div_up(s->p->n, TILE), last = 0;
    int units = (int)chip->mxu_count / (share == SHARE_DEPTH ? DOT_SPLITS : 1);
    int most = share == SHARE_ROWS ? halves : halves * units;
    int64_t side = side_of(s, s->p->rhs.array, tiles * TILE) / TILE;

    for (int width = most; width >= 1 && width >= most / 2; width--)
        for (int64_t n = 1; n <= 64; n *= 2) {
            int64_t columns = equal_share(div_up(tiles, width), n) * width;

            if (columns > tiles)
                columns -= width;
            if (columns < 1 || columns > side || columns == last)
                continue;
            last = columns;
            try_depths(s, bm, columns * TILE, width, share);
        }
    if (tiles < most / 2)
        try_depths(s, bm, tiles * TILE, tiles, share);
}

/* steps of about equally many batches; the last one may overlap the one before */
static void try_batches(struct search *s, int64_t bm, int64_t width, enum dot_share share)
{
    int64_t all = dot_batch_count(s->p), last = 0;
    int64_t at_once = share == SHARE_BATCHES ? s->job->chip->mxu_count : 1;
    struct tiling t = blocks(bm, round_up(s->p->k, TILE), width * TILE, width, share);

    for (int64_t steps = 1; steps < all && steps <= BATCH_STEPS_MAX; steps += 1 + steps / 4)
        for (int64_t unit = at_once; unit <= BATCH_UNITS_MAX * at_once; unit *= 2) {
            t.size[DOT_BATCHES] = round_up(div_up(all, steps), unit);
            if (t.size[DOT_BATCHES] == last || t.size[DOT_BATCHES] > all
                || t.size[DOT_BATCHES] < 2)
                continue;
            last = t.size[DOT_BATCHES];
            try_orders(s, t);
        }
    t.size[DOT_BATCHES] = all - all % at_once;
    if (t.size[DOT_BATCHES] > 1)
        try_orders(s, t);
}

static void try_widths(struct search *s, int64_t bm)
{
    int64_t tiles = div_up(s->p->n, TILE);

    for (enum dot_share share = SHARE_COLUMNS; share < DOT_SHARES; share++) {
        int64_t most = dot_halves(s->job->chip);

        if (share == SHARE_ROWS || share == SHARE_DEPTH || dot_batch_count(s->p) == 1)
            continue;
        if (share == SHARE_COLUMNS)
            most *= s->job->chip->mxu_count;
        most = most < tiles ? most : tiles;
        for (int64_t width = most; width >= 1 && width >= most / 2; width--)
            try_batches(s, bm, width, share);
    }
}

static void try_rows(struct search *s)
{
    const struct dot_problem *p = s->p;
    int64_t groups = div_up(p->m, p->group_rows), units = s->job->chip->mxu_count, last = 0;
    int64_t side = side_of(s, p->lhs.array, ROWS_MAX);

    int64_t least = s->takes_small ? p->group_rows : side / 64 < 64 ? side / 64 : 64;

    for (int64_t rows = side; rows >= least; rows /= 2) {
        int64_t share = equal_share(groups, div_up(rows, p->group_rows));

        if (share == last)
            continue;
        last = share;
        try_columns(s, share * p->group_rows, SHARE_COLUMNS);
        try_widths(s, share * p->group_rows);
        share = round_up(share, units);
        if (units > 1 && share <= groups)
            try_columns(s, share * p->group_rows, SHARE_ROWS);
        if (units >= DOT_SPLITS)
            try_columns(s, last * p->group_rows, SHARE_DEPTH);
    }
    if (s->count == 0)
        try_columns(s, groups * p->group_rows, SHARE_COLUMNS);
}

static void try_all(struct search *s)
{
    const struct kernel_job *job = s->job;

    if (job->codegen == CODEGEN_XLA && s->scoped.vmem_rows > WINDOW_ROWS_XLA)
        s->scoped.vmem_rows = WINDOW_ROWS_XLA;
    try_rows(s);
    if (s->count == 0 && s->scoped.vmem_rows < job->vmem_rows) {
        s->scoped = *job;
        try_rows(s);
    }
    if (s->count == 0) {
        s->takes_small = true;
        try_rows(s);
    }
}

int dot_tilings(const struct kernel_job *job, struct tiling *list, int max)
{
    struct search s = {.job = job, .scoped = *job, .list = list, .max = max};

    for (int choice = 0; choice < CHOICE_COUNT && s.count == 0; choice++) {
        struct dot_fused_loops t;
        struct err e;

        s.scoped = *job;
        s.takes_small = false;
        s.p = &t.problem;
        if (dot_open(&t, job, (enum dot_choice)choice, &e) == 0)
            try_all(&s);
        dot_close(&t);
    }
    return s.count;
}
