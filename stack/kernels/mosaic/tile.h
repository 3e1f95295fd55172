/*
 * Values of vectors tile by tile: a register of 8 rows by 128 lanes of 32 bits, pulled out of what
 * computes it.
 *
 * The rows of a vector count through its outer dimensions: a *row tile* is 8 rows, and of a vector
 * [4, 20, 300] there are 4 times 3, with 3 tiles of lanes each. Narrow types are unpacked when they
 * are loaded and packed when they are stored; bf16 is f32 in registers, rounded where arithmetic
 * made it; i1 is a mask.
 *
 * A loop runs over row tiles, `step` of them in an iteration; at->row is that of its first
 * iteration. What cannot go on from one row tile to the next in equal steps says so by `run`: so
 * many follow each other evenly, and the loop becomes several (lower_roots.c). The code of an
 * iteration is written twice: first to nowhere, to learn what it asks for (pointers, scalars, run).
 */
#ifndef STACK_KERNELS_MOSAIC_TILE_H
#define STACK_KERNELS_MOSAIC_TILE_H
#include "stack/kernels/loop/fused_impl.h"
#include "stack/kernels/mosaic/lower.h"

#define TILE_POINTERS_MAX 11            /* scalar registers of a loop; where they do not suffice, */
#define CROWDED_POINTERS_MAX 7          /* so many addresses, then steps that others share */

struct tile_at {
    int64_t row, lane;
    bool all_rows, all_lanes;           /* of a vector with one row (lane): it in all of them */
};

struct tile_pointer {                   /* a register that goes on with the loop */
    bool has_offset;
    int smem;                           /* of the offset */
    int32_t value;                      /* that is known */
    int64_t step;                       /* per iteration; 0 of a plain scalar */
    bool is_number;                     /* read by others than loads and stores */
    int reg;
};

struct tile_memo {
    int id;
    struct tile_at at;
    opnd out;
    const struct mosaic_value *value;
    int wanted_at;                      /* struct tiler's as it was made */
};
struct tile_loaded { int64_t key[6]; int reg; };

#define TILE_PRODUCTS_MAX 16
#define TILE_SPILLS_MAX 64

struct tile_product {                   /* that the loop multiplies */
    const struct pulled *pulled;
    int arrays, first_unit, units;      /* of weights, in so many units */
};

struct tiler {
    struct lower *l;
    struct vcode *c;                    /* the kernel's, or one that is thrown away */
    bool is_moving;                     /* a loop of more than one iteration */
    int64_t step;                       /* row tiles of an iteration */
    int64_t run;                        /* row tiles that follow each other evenly, at most */
    int parts;                          /* row tiles in a tile of the narrowest type met */
    struct tile_pointer pointer[TILE_POINTERS_MAX];
    int pointer_count;
    bool is_crowded, is_too_small;      /* more addresses than registers; it has turned out so */
    struct tile_memo *memo;
    size_t memo_count, memo_capacity;
    struct tile_loaded *loaded;
    size_t loaded_count, loaded_capacity;
    struct tile_product product[TILE_PRODUCTS_MAX];
    int product_count, units_used;
    bool has_latched, marks_latches;    /* product.h: pulled_latch */
    uint32_t arrays_met;
    int64_t all;                        /* row tiles of all its loops */
    int64_t ops_written, rows_written;  /* operations that so many row tiles have become */
    struct lives *lives;                /* tile_lives.c; NULL: nothing waits in memory */
    struct place spill[TILE_SPILLS_MAX];
    int spill_count, spills_taken;      /* of this iteration; that have a place */
    int wanted_at;                      /* cycle of the iteration from which masks are wanted */
    int next_unit;
    int lane_index, row_index;          /* registers of this iteration; -1: not made */
    int depth;
    /* the code of row tiles `row` to row + parts - 1 */
    bool (*body)(struct tiler *t, int64_t row, int64_t parts);
    void *user;
    bool hoists;                        /* what all its iterations share is made before it */
    bool is_failed;
};

/* A tile of a value; of i1 a mask register. false: failed. */
bool tile_pull(struct tiler *t, const struct mosaic_value *v, const struct tile_at *at, opnd *out);
bool tile_mask(struct tiler *t, const struct mosaic_value *v, const struct tile_at *at, int *mask);
/* the same, wanted once a and b are there: no mask is kept for long */
bool tile_mask_beside(struct tiler *t, const struct mosaic_value *v, const struct tile_at *at,
                      const opnd *a, const opnd *b, int *mask);
bool tile_fail(struct tiler *t, const struct mosaic_op *op, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* a float that stands in a tile (lower_cells.c); false: it does not */
bool cell_pull(struct tiler *t, const struct mosaic_value *v, opnd *out);

/* by what its tiles differ */
enum { TILE_ROWS_DIFFER = 1, TILE_LANES_DIFFER = 2 };
unsigned tile_depends(const struct lower *l, const struct mosaic_value *v);

/* The register that begins with the offset and goes on by `step`; one that is asked for again is the
 * same. A known one that stays is an immediate, or NONE for 0. */
struct isa_operand tile_address(struct tiler *t, bool has_offset, struct scalar offset,
                                int64_t step);
/* register that holds a scalar, or an immediate */
opnd tile_scalar(struct tiler *t, struct scalar s);
/* a word that begins as `from` and goes on by `step` from row tile to row tile of the loop */
opnd tile_counter(struct tiler *t, struct scalar from, int64_t step);
/* at most so many row tiles follow each other evenly */
void tile_limit(struct tiler *t, int64_t run);
int tile_unit(struct tiler *t);         /* the next cross-lane unit */

/* rows of a vector in its layout (1 where none are along sublanes), lanes likewise */
int64_t tile_row_count(const struct lower *l, const struct mosaic_value *v);
int64_t tile_lane_count(const struct lower *l, const struct mosaic_value *v);
int64_t tile_rows_down(const struct lower *l, const struct mosaic_value *v);    /* row tiles, all */
int64_t tile_lanes_across(const struct lower *l, const struct mosaic_value *v);
int64_t tile_down(const struct lower *l, const struct mosaic_value *v); /* of one outer index */

/*
 * Tiles that are mere loads of memory that the loop does not write are read again by who asks next:
 * behind a sum along lanes, which takes long, they would keep registers for as long. Of a row of many
 * tiles so is what little work makes of loads: a bf16 as f32, its difference from the row's mean.
 */
void tile_forget_loads(struct tiler *t, int64_t tiles);
opnd tile_load(struct tiler *t, const struct place *p, const struct tile_at *at);
/* a tile as it lies in memory, of all its rows */
int tile_load_packed(struct tiler *t, const struct place *p, const struct tile_at *at);
int64_t tile_down_of(const struct place *p);            /* row tiles of one outer index */
void tile_forget_region(struct tiler *t, int region);   /* what was loaded of it: it is written */
/* what stands for a tile in this iteration; ids below 0 are not those of values */
bool tile_remembers(const struct tiler *t, int id, const struct tile_at *at, opnd *out);
void tile_remember(struct tiler *t, int id, const struct tile_at *at, opnd v);
/* Stores `parts` row tiles from at->row on, as a tile of the type has them; `mask`, or -1, by part */
bool tile_store(struct tiler *t, const struct mosaic_op *op, const struct place *p,
                const struct tile_at *at, const opnd *value, int parts, const int *mask);

/* what is the same in all iterations goes before the loop, which block number `loop` is */
void tile_hoist(struct tiler *t, size_t loop);
/* the body over row tiles 0 to all - 1, `work` of which the body's tiles are; -1: failed */
int tile_loop(struct tiler *t, int64_t all, int64_t work);

/*
 * Two operands of an operation: one that would wait long for the other, in registers, waits in memory.
 */
void tile_meet(struct tiler *t, const struct tile_at *at, opnd *a, opnd *b);
void tile_lives_begin(struct tiler *t);                 /* of an iteration */
/* about the cycle of the iteration in which both are there, and whether two such lie far apart */
int tile_lives_ready(struct tiler *t, const opnd *a, const opnd *b);
bool tile_lives_far(int one, int other);
void tile_lives_fini(struct tiler *t);

/* operations' own: the functions that lower.def names */
typedef bool tile_make(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at,
                       opnd *out);
#define LOWER(id, run, tile, op) tile_make tile_##tile;
#include "stack/kernels/mosaic/lower.def"

/* the one dimension outside of rows and lanes that a reduction goes along; -1: it goes along others */
int tile_outer_reduced(const struct mosaic_op *op);

/* its result's tiles are those of an operand: no element goes to another sublane or lane */
bool tile_is_plain(const struct lower *l, const struct mosaic_op *op);

/* Which dimensions of an operation's result lie along rows and lanes; false: they do not go together
 * with its operands'. */
struct tile_layout { int row_dim, lane_dim; bool is_free; };
struct tile_layout tile_layout_of(const struct lower *l, const struct mosaic_value *v);

/* an operation on floats, of registers */
opnd tile_arithmetic(struct vcode *c, const struct mosaic_op *op, opnd a, opnd b);

/* as 8 bits have it, in a register of f32 */
opnd tile_round_fp8(struct tiler *t, enum mosaic_element e, opnd x);

/* two values combined by a reduction's kind; its neutral element */
opnd tile_combine(struct tiler *t, const char *kind, enum mosaic_element e, opnd a, opnd b);
/* the lanes of a register that a reduction's operand has come to, in all of them */
bool tile_across_lanes(struct tiler *t, const struct mosaic_op *op, opnd v, opnd *out);
opnd tile_integers_across(struct tiler *t, const struct mosaic_op *op, enum graph_reduce kind,
                          opnd x);
bool tile_neutral(const char *kind, enum mosaic_element e, opnd *out);
/* mask of the lanes below `count`, of the rows below `count` */
int tile_lane_mask(struct tiler *t, int64_t count);
int tile_row_mask(struct tiler *t, int64_t count);
/* an element's row, counted from the loop's first iteration */
opnd tile_row_index(struct tiler *t);
#endif
