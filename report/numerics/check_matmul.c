/*
 * Products of matrices on the matrix unit: a program as the compiler would make
 * it, blocks of the array's rows one after the other, added by the vector unit.
 *
 * Of a 256-wide array all rows are used and the lower half of the columns.
 */
#include "report/numerics/check_internal.h"

#include "base/units.h"

#include <inttypes.h>
#include <string.h>

#define HALF 128                        /* lanes: columns of weights, k of a left-hand tile */
#define TILE_ROWS 8

/* where things lie in VMEM, in rows; part i of the operands is i * part_rows further on */
struct layout {
    const struct check_type *type;
    int64_t blocks, halves;             /* of the contraction; 128 lanes of k in a block */
    int64_t column_tiles;               /* of the result */
    int64_t step;                       /* rows of matrices in a tile */
    int64_t half_rows;                  /* of VMEM: the left side's rows in 128 lanes of k */
    int64_t b, block_rows;              /* weights (the left side is at 0), of one block */
    int64_t part_rows, out;
};

static struct layout layout_of(const struct check *c, const struct check_product *p,
                               const struct check_matrices *x)
{
    struct layout l = {.type = check_find_type(p->storage),
                       .blocks = div_up(x->k, c->chip.mxu_size),
                       .halves = c->chip.mxu_size / HALF, .column_tiles = div_up(x->n, HALF)};

    l.step = TILE_ROWS * l.type->per_word;
    l.half_rows = x->m / l.type->per_word;
    l.block_rows = c->chip.mxu_size / l.type->per_word;
    l.b = l.half_rows * l.halves * l.blocks;
    l.part_rows = l.b + l.blocks * l.column_tiles * l.block_rows;
    l.out = p->part_count * l.part_rows;
    return l;
}

/* row r of a matrix that begins at row `base` of VMEM, packed along the sublanes */
static void put(uint32_t *words, const struct layout *l, int64_t base, int64_t r, int64_t lane,
                uint32_t code)
{
    int per_word = l->type->per_word;

    words[(base + r / per_word) * CHECK_LANE_COUNT + lane] |= code
                                                              << (r % per_word * 32 / per_word);
}

/* by 128 lanes of k: rows of a; by column tile: rows of b */
static uint32_t *lay_out(const struct check_matrices *x, const struct layout *l, struct check *c)
{
    uint32_t *words = arena_array(&c->scratch, (size_t)l->part_rows * CHECK_LANE_COUNT, 4);

    for (int64_t i = 0; i < x->m; i++)
        for (int64_t k = 0; k < x->k; k++)
            put(words, l, k / HALF * l->half_rows, i, k % HALF, x->a[i * x->k + k]);
    for (int64_t k = 0; k < x->k; k++)
        for (int64_t n = 0; n < x->n; n++)
            put(words, l, l->b + n / HALF * l->blocks * l->block_rows, k, n % HALF,
                x->b[k * x->n + n]);
    return words;
}

/* remainders of rounding to bf16; the matrix unit rounds each to its part */
static void print_split(struct check_text *t, const struct layout *l, int part_count)
{
    int label = check_loop_begin(t, 0, 0);

    fprintf(t->to, "{ v0 = vld [vmem:s0] }\n");
    for (int part = 1; part < part_count; part++)
        fprintf(t->to, "{ v1 = vpack.c.bf16 v0, v0 }\n{ v1 = vunpack.c.l.bf16 v1 }\n"
                "{ v0 = vsub.f32 v0, v1 }\n{ vst [vmem:s0 + %" PRId64 "] v0 }\n",
                part * l->part_rows);
    check_loop_end(t, label, 0, TILE_ROWS, l->part_rows);
}

/*
 * 8 rows of results: from the FIFO or accumulator `group`; a 256-wide array
 * gives a second tile, which nobody wants.
 */
static void print_pop(struct check_text *t, const struct check *c, const struct layout *l,
                      int64_t group)
{
    const char *type = l->type->is_integer ? "s32" : "f32";
    char from[32] = "mrf";

    if (c->chip.mxu_accumulators)
        snprintf(from, sizeof(from), "mrb[%" PRId64 "]", group);
    fprintf(t->to, "{ v1 = vpop.%s.%s.mxu0 }\n", type, from);
    if (l->halves > 1)
        fprintf(t->to, "{ v2 = vpop.%s.%s.mxu0 }\n", type, from);
}

static void print_weights(struct check_text *t, const struct layout *l, int64_t offset)
{
    const char *name = l->type->name;

    for (int64_t row = l->block_rows - TILE_ROWS; row >= 0; row -= TILE_ROWS)
        fprintf(t->to, "{ v0 = vld [vmem:s1 + %" PRId64 "] }\n{ vmatpush%s%s.msra.mxu0 v0 }\n",
                offset + row, strcmp(name, "f32") ? "." : "", strcmp(name, "f32") ? name : "");
}

/* a tile of the left side, and with a 256-wide array that of the upper half of k before it */
static void print_left(struct check_text *t, const struct check *c, const struct layout *l,
                       int64_t offset, bool is_first)
{
    const char *name = l->type->name;

    if (l->halves > 1)
        fprintf(t->to, "{ v1 = vld [vmem:s0 + %" PRId64 "] }\n{ vmatprep.mubr.%s.mxu0 v1 }\n",
                offset + l->half_rows, name);
    fprintf(t->to, "{ v0 = vld [vmem:s0 + %" PRId64 "] }\n{ vmatmul%s.%s%s.gmra%s.mxu0 v0 }\n",
            offset, l->halves > 1 ? ".mubr" : "", name, is_first ? ".vlgmr.msra" : "",
            c->chip.mxu_accumulators ? ".mrb[0]" : "");
}

/* weights of one block at s1, its left side at s0; `a` and `b` are offsets of their parts */
static void print_block(struct check_text *t, const struct check *c, const struct layout *l,
                        int64_t a, int64_t b, int64_t out, bool is_first)
{
    print_weights(t, l, b);
    for (int64_t row = 0; row < l->half_rows; row += TILE_ROWS) {
        print_left(t, c, l, a + row, row == 0);
        for (int64_t group = 0; group < l->type->per_word; group++) {
            int64_t to = out + row * l->type->per_word + group * TILE_ROWS;

            print_pop(t, c, l, group);
            if (!is_first)
                fprintf(t->to, "{ v2 = vld [vmem:%" PRId64 "] }\n{ v1 = vadd.%s v2, v1 }\n", to,
                        l->type->is_integer ? "s32" : "f32");
            fprintf(t->to, "{ vst [vmem:%" PRId64 "] v1 }\n", to);
        }
    }
}

/* all blocks of one pass for one column tile; the very first starts the sum */
static void print_pass(struct check_text *t, const struct check *c, const struct layout *l,
                       int64_t m, int64_t column, int64_t a, int64_t b, bool is_first)
{
    int64_t first = l->b + column * l->blocks * l->block_rows, out = l->out + column * m;
    int64_t end = first + l->blocks * l->block_rows, step = l->half_rows * l->halves;
    int label;

    fprintf(t->to, "{ s0 = smov 0 }\n");
    if (is_first) {
        fprintf(t->to, "{ s1 = smov %" PRId64 " }\n", first);
        print_block(t, c, l, a, b, out, true);
        fprintf(t->to, "{ s0 = smov %" PRId64 " }\n", step);
        first += l->block_rows;
    }
    if (first >= end)
        return;
    label = check_loop_begin(t, 1, first);
    print_block(t, c, l, a, b, out, false);
    fprintf(t->to, "{ s0 = sadd.s32 s0, %" PRId64 " }\n", step);
    check_loop_end(t, label, 1, l->block_rows, end);
}

static void print_product(struct check_text *t, const struct check *c,
                          const struct check_product *p, const struct layout *l, int64_t m)
{
    if (p->part_count > 1)
        print_split(t, l, p->part_count);
    for (int64_t column = 0; column < l->column_tiles; column++)
        for (int pass = 0; pass < p->pass_count; pass++)
            print_pass(t, c, l, m, column, p->pass[pass].lhs * l->part_rows,
                       p->pass[pass].rhs * l->part_rows, pass == 0);
}

static int read_result(struct check *c, const struct layout *l, struct check_matrices *x,
                       struct err *e)
{
    int64_t count = x->m * l->column_tiles * CHECK_LANE_COUNT;
    uint32_t *words = arena_array(&c->scratch, (size_t)count, sizeof(*words));

    if (check_vmem_read(c, l->out, words, count, e))
        return -1;
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t n = 0; n < x->n; n++)
            x->out[i * x->n + n] = words[(n / HALF * x->m + i) * CHECK_LANE_COUNT + n % HALF];
    return 0;
}

bool check_fits(const struct check *c, const struct check_product *p,
                const struct check_matrices *x)
{
    struct layout l = layout_of(c, p, x);

    return l.out + x->m * l.column_tiles <= check_vmem_rows(c);
}

int check_multiply(struct check *c, const struct check_product *p, struct check_matrices *x,
                   struct err *e)
{
    struct layout l = layout_of(c, p, x);
    struct check_text t;

    if (check_vmem_write(c, 0, lay_out(x, &l, c), l.part_rows * CHECK_LANE_COUNT, e))
        return -1;
    check_text_open(&t, c);
    print_product(&t, c, p, &l, x->m);
    if (check_text_run(&t, c, e))
        return -1;
    return read_result(c, &l, x, e);
}
