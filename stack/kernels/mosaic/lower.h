/*
 * Inside the kernels of Pallas: how a Mosaic kernel becomes virtual-register code. docs/mosaic.md.
 *
 * Operations are taken in the kernel's order, each by its row of lower.def. Scalars are computed at
 * once: a scalar is a constant or a word of SMEM of its own, and registers of the block at hand keep
 * what has been read (lower_scalar.c). Vectors are not: an operation on vectors is *pulled*, a tile
 * of 8 rows by 128 lanes at a time, by what needs its result (tile.h). What needs results are
 * *roots*: stores, and values that must stand in memory. Roots over the same rows are emitted as
 * one loop over groups of rows, which the back end pipelines (lower_roots.c).
 */
#ifndef STACK_KERNELS_MOSAIC_LOWER_H
#define STACK_KERNELS_MOSAIC_LOWER_H
#include "stack/backend/builder.h"
#include "stack/hlo/graph.h"
#include "stack/kernels/pipeline/kernel.h"
#include "stack/mosaic/mosaic.h"

#define TILE_ROWS 8
#define TILE_LANES 128
#define LOWER_CACHE_FIRST 12            /* registers of scalars read in a block; below: pointers */
#define LOWER_CACHE_COUNT 14            /* and counters of loops over tiles */
#define LOWER_LOOP_FIRST 26             /* counters of the kernel's own loops, */
#define LOWER_LOOPS_MAX 6               /* one in another */
#define GRANULES_PER_ROW 16             /* of 512 bytes */
#define GRANULE_BYTES 32
#define SPILL_TILES 256                 /* at least; four for each tile across of a wide vector */
#define WIDE_TILES 64
#define LOWER_REGION_SCRATCH 1          /* alias regions: scratch, then a number for each buffer */

/* A word: known, or where it stands in SMEM. */
struct scalar {
    bool is_known;
    int32_t value;
    int smem;                           /* byte address */
};

/* Where elements of an array lie in rows of 512 bytes, or, in SMEM, in words. */
struct tiles {
    enum mosaic_element element;
    int rank;
    int64_t dim[MOSAIC_RANK_MAX];
    int row_dim, lane_dim;              /* along sublanes and lanes; -1: of size 1 */
    bool is_linear;                     /* one dimension, in rows of 128 that follow each other */
    bool is_dense;                      /* few rows an index, without padding (lower_dense.c) */
    int rows;                           /* of a tile: 8, 16 of 16 bits, 32 of 8 */
    int64_t row_step, lane_step;        /* from tile to tile, in rows of 512 bytes */
    int64_t outer_step[MOSAIC_RANK_MAX];
};

/* A reference, or a vector that stands in memory. */
struct place {
    bool is_there;
    enum mosaic_space space;
    struct tiles t;
    int64_t base;                       /* rows; SMEM: bytes; semaphores: number of the flag */
    bool has_offset;
    struct scalar offset;               /* to add to it */
    int region;                         /* of the buffer */
    int buffer;                         /* what it is part of: id of a value, -1 a vector's own */
    /* It may begin within a tile, at a row and a lane that are known, or are so as the kernel runs: */
    int64_t sublane, lane;              /* (0 where late ones stand for them) */
    bool has_late_row, has_late_lane;
    struct scalar late_row, late_lane;  /* then those, below a tile's rows, below 128 */
    int64_t late_multiple;              /* that late_row surely is of */
    struct scalar row_offset;           /* offset to the word that has the row, */
    struct scalar late_word;            /* and which of the word's rows it is */
    struct scalar late_part, late_sublane, late_back;   /* late_row / 8, its rest, 8 less that */
    struct scalar lane_turn;            /* 128 - late_lane */
    int64_t stride;                     /* rows of memory from row to row; 0: 1 */
    bool has_row_size, has_lane_size;   /* it has so many, known as the kernel runs: whole tiles */
    struct scalar row_size, lane_size;
    bool has_half;                      /* the last of its tiles may be a half */
    bool is_spread;                     /* of one lane: it stands in all lanes */
    bool covers_rows, covers_lanes;     /* up to the end of the array: padding behind is its own */
};

struct root {                           /* what a loop over tiles makes */
    const struct mosaic_op *op;         /* a store, or */
    const struct mosaic_value *value;   /* the value that goes */
    struct place to;
    const struct mosaic_value *mask;
    bool is_value;                      /* `to` stands for the value from then on */
    bool is_wanted;                     /* there, whoever else reads it */
    bool adds;                          /* to what stands there */
    bool is_pulled_only;                /* for others of the loop, before memory is written */
};

#define TURNED_MAX 4
struct turned {                         /* a left operand, rows and columns exchanged */
    const struct mosaic_value *value;
    struct place place;
    int at, epoch;
};

#define FOREVER INT32_MAX
struct taken { int64_t row, rows; int until; };         /* free behind operation `until` */

#define ROOTS_MAX 24
#define MADE_MAX 256
#define MADE_SCOPES_MAX 64

struct lower {
    const struct kernel_job *job;
    const struct mosaic_kernel *k;
    const struct chip *chip;
    struct arena *a;
    struct vcode code;
    struct builder m;                   /* registers of the cache take turns in it */
    struct err *err;
    bool is_failed;

    struct scalar *scalar;              /* by value; scalar_of reads it */
    bool *is_late;                      /* by value: a float that the vector unit makes when needed */
    struct place *place;                /* by value: references, and vectors in memory */
    struct place *sum;                  /* by value: a product that is added to something */
    uint8_t *sum_parts;                 /* of it: sums that follow each other, to be added up */
    struct pulled **pulled;             /* by value: a product that loops multiply (product.h) */
    struct place *range;                /* by value: memory that a load with strides takes it of, */
    struct scalar *turn;                /* by value: what a tile of a rotated vector is rotated by */
    int *move_run;                      /* row tiles of a moved vector that are made alike; 0: all */
    int *last_use;                      /* by value: number of the last operation that reads it */
    int *needed_until;                  /* the same of the root that it goes into at last, */
    int *read_whole;                    /* and of what reads it without rounding it to bf16 */
    int at;                             /* number of the operation at hand */

    /* memory: all that a kernel takes */
    int64_t spill_tiles;                /* from job->vmem_row on, for registers */
    uint8_t *depends;                   /* by value: tile_depends.c */
    bool *only_packed;                  /* by value of bf16: who reads it rounds it */
    const struct mosaic_value **live;   /* vectors that have been made and are read later */
    int live_count;
    struct taken *taken;                /* VMEM, from job->vmem_row on, in the order of rows */
    int taken_count;
    size_t taken_capacity;
    struct kernel_buffer *buffer;       /* all that was ever taken */
    int buffer_count;
    size_t buffer_capacity;
    int until;                          /* given to what is taken: FOREVER, or an operation's */
    int64_t peak_rows;
    struct vcode_room *room;            /* by region: what was taken for it */
    int room_count;
    size_t room_capacity;
    int next_smem, smem_end;
    int next_flag;
    struct place core_table;            /* of devices in SMEM, where a table says their cores */
    int barrier_flag;                   /* of the semaphore that a collective id stands for; 0: none */
    int next_region;
    struct scalar random;               /* key of the next tile of random bits, a word of its own */
    bool is_seeded;
    struct scalar step[MOSAIC_RANK_MAX];        /* of the grid */
    struct scalar bound[MOSAIC_RANK_MAX];
    int64_t first_step[MOSAIC_RANK_MAX];        /* of this core, */
    int64_t end_step[MOSAIC_RANK_MAX];          /* and behind its last; 0: the bound */
    const struct array *bounds[MOSAIC_RANK_MAX];        /* of the grid, the call's first operands */
    const struct array **operand;       /* of the call, behind the bounds, then results */

    struct made {                       /* scalars computed before, as far as the code around sees */
        int code;                       /* of Mosaic's operation */
        struct scalar a, b, result;
    } made[MADE_MAX];
    int made_count, made_scope[MADE_SCOPES_MAX], made_scopes;

    /* scalars that registers hold in the block at hand */
    int cache[LOWER_CACHE_COUNT];       /* SMEM address, -1: none */
    int64_t cache_used[LOWER_CACHE_COUNT], cache_uses;  /* who was used last keeps its register */
    int next_pred;
    int loop_depth;

    /* lower_same.c: what need not be turned again */
    int *written;                       /* by region: operation that has written there last */
    size_t written_capacity;
    int epoch;                          /* goes on with whatever may write without being noted */
    struct turned turned[TURNED_MAX];
    int turned_count;
    int block_end;                      /* number of the last operation of the block at hand */

    struct root root[ROOTS_MAX];        /* not emitted yet */
    int root_count;
};

/* code put from now on is for this operation of the kernel; what was for before, to go back to it */
static inline uint16_t pallas_origin(struct vcode *c, const struct mosaic_op *op)
{
    uint16_t before = c->origin;

    c->origin = op && op->number <= UINT16_MAX ? (uint16_t)op->number : 0;
    return before;
}

/* ----- failures: the first one stands */
int pallas_fail(struct lower *l, const struct mosaic_op *op, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ----- scalars */
static inline struct scalar scalar_known(int64_t x)
{
    return (struct scalar){.is_known = true, .value = (int32_t)x};
}
void scalar_forget(struct lower *l);                    /* a new block: no register holds anything */
struct isa_operand scalar_use(struct lower *l, struct scalar s);
/* a register for a result, out of the turn: of what was used before, the last few stay */
int scalar_register(struct lower *l);
int scalar_pred(struct lower *l);       /* a predicate register, out of the turn */
struct scalar scalar_keep(struct lower *l, struct isa_operand in);      /* a word of its own */
struct scalar scalar_word(struct lower *l);             /* one that is written later */
void scalar_write(struct lower *l, struct scalar to, struct scalar from);
/* at the end: words that only the registers of their block have passed on are not stored */
void scalar_drop_unread(struct lower *l);
struct scalar scalar_add(struct lower *l, struct scalar a, struct scalar b);
struct scalar scalar_sub(struct lower *l, struct scalar a, struct scalar b);
struct scalar scalar_mul(struct lower *l, struct scalar a, int64_t by);
struct scalar scalar_of(struct lower *l, const struct mosaic_value *v);
/*
 * What is computed between the two is not there behind them: code that may be left out. A loop's body
 * sees nothing of what was computed before it, for it may write the words that it was computed of.
 */
void scalar_scope_begin(struct lower *l);
void scalar_scope_end(struct lower *l);
void scalar_forget_made(struct lower *l);
/* a predicate register that is true where s is (or is not) 0 */
int scalar_test(struct lower *l, struct scalar s, bool is_zero);
struct scalar scalar_remainder(struct lower *l, struct scalar a, int64_t by);   /* 0 .. by - 1 */
int64_t scalar_multiple(struct lower *l, const struct mosaic_value *v); /* that it surely is of */

/* ----- blocks */
void pallas_begin_block(struct lower *l);
int pallas_block(struct lower *l, const struct mosaic_block *b);
int pallas_count_ops(const struct mosaic_block *b);     /* with those of its regions */
/* code that runs where `s` is not 0; what it was known to be decides at once: 0 never, 1 always */
size_t pallas_if_begin(struct lower *l, struct scalar s);
void pallas_if_end(struct lower *l, size_t skip);
int pallas_loop_begin(struct lower *l);                  /* its counter */
/* goes on while a < b */
void pallas_loop_end(struct lower *l, int counter, struct scalar a, struct scalar b);

/* ----- memory */
/* what nobody reads any more is free; not while roots wait */
void pallas_release(struct lower *l);
/* what was taken last is this, for tables of memory */
void pallas_buffer_is(struct lower *l, enum kernel_buffer_kind kind, const char *name, int copies);
/* what is taken is of this value; NULL: it stays */
void pallas_take_for(struct lower *l, const struct mosaic_value *v);
int64_t pallas_rows(struct lower *l, int64_t rows, const struct mosaic_op *op, const char *what);
/* the same for a region, of which it is noted: others may have had these rows */
int64_t pallas_rows_of(struct lower *l, int region, int64_t rows, const struct mosaic_op *op,
                       const char *what);
bool pallas_has_room(const struct lower *l, int64_t rows);
void tiles_of(struct tiles *t, const struct mosaic_type *type);         /* row-major, whole tiles */
void tiles_linear(struct tiles *t);     /* those of memory: one dimension lies in rows of 128 */
int64_t tiles_rows(const struct tiles *t);              /* VMEM rows of all of it */
struct place place_new(struct lower *l, const struct mosaic_type *type, const struct mosaic_op *op,
                       const char *what);
struct scalar place_row(struct lower *l, const struct place *p);        /* its first row */
struct scalar place_shifted(struct lower *l, struct scalar s, int by);  /* to the right */
struct scalar place_masked(struct lower *l, struct scalar s, int64_t mask);
/* a buffer for what `v` is, in the space of its type */
int place_open(struct lower *l, const struct mosaic_op *op, const struct mosaic_value *v,
               const char *what);
/* the same memory seen with other dimensions; false: its rows and lanes are others then */
bool place_reshape(const struct place *p, const struct mosaic_type *type, struct place *to);
/* p from an index on, with the sizes of `size`; NULL: its own. -1: where no tile begins */
int place_slice(struct lower *l, const struct mosaic_op *op, const struct place *p,
                const struct mosaic_value *const *index, const int64_t *size, struct place *to);
/* a tile of the vector is one of memory: what reads memory by itself can have it */
bool place_is_plain(const struct place *p);
/*
 * lower_dense.c: whether a scratch buffer lies without padding between its indices; its steps, and rows
 * that it then takes; what it is seen as, false where it is no such buffer or rows end within tiles
 */
bool dense_can_be(const struct lower *l, const struct mosaic_value *v);
int64_t dense_tiles(struct tiles *t);
bool dense_reshape(const struct place *p, const struct mosaic_type *type, struct place *to);
/* it has one lane, so that all of them may hold what that one does: `is_spread` */
bool place_is_column(const struct place *p);
/* a buffer of two dimensions and 32 bits that is loaded and stored, and nothing else */
bool place_only_loops_use(const struct mosaic_kernel *k, const struct mosaic_value *ref);
/* its last two dimensions lie along rows and lanes, as those of a vector do */
bool place_is_native(const struct place *p);
/* one row of a place, by its index in all dimensions but that along lanes */
struct place place_row_of(const struct place *p, const int64_t *index);
/* a vector into memory row by row (lower_rows.c), with strides by dimension */
int pallas_store_rows(struct lower *l, const struct mosaic_op *op, const struct place *to,
                      const int64_t *stride);
/* eight rows at a time, where each is a row of its own index of memory; 1: they are not */
int pallas_store_apart(struct lower *l, const struct mosaic_op *op, const struct place *to);
/* it begins at this index of a dimension, which is surely a multiple of `multiple` */
int place_move(struct lower *l, const struct mosaic_op *op, struct place *p, int dim,
               struct scalar index, int64_t multiple);
int pallas_copy(struct lower *l, const struct mosaic_op *op, const struct place *from,
               const struct place *to, struct scalar flag, int64_t *granules);
enum isa_opcode pallas_copy_code(enum mosaic_space from, enum mosaic_space to);

/* ----- arrays in SMEM: a word for each element (lower_words.c) */
/* words from index to index, rows of more than one beginning at multiples of `unit` words */
void words_steps(struct tiles *t, int64_t unit);
int words_open(struct lower *l, const struct mosaic_op *op, const struct mosaic_type *t,
               struct place *p);
int64_t words_granules(const struct tiles *t);          /* that a copy of them moves */
/* pallas_copy where one of the two is in SMEM */
int words_copy(struct lower *l, const struct mosaic_op *op, const struct place *from,
               const struct place *to, struct scalar flag, int64_t *granules);

/* rows and lanes of a place change places */
int transpose_place(struct lower *l, const struct mosaic_op *op, const struct place *from,
                    const struct mosaic_type *type, struct place *to);

/* the value stands in memory of its own, put together of what is in this place (tile_moves.c) */
int moved_from(struct lower *l, const struct mosaic_value *v, const struct place *from);

/* ----- vectors that lie along rows (lower_columns.c) */
bool value_is_column(const struct lower *l, const struct mosaic_value *v);
/* it stands in memory along lanes from now on */
int column_turn(struct lower *l, const struct mosaic_value *v);
/* likewise those that the operation does not take as columns */
int column_settle(struct lower *l, const struct mosaic_op *op);

/* ----- what has been made before (lower_same.c) */
void same_note_write(struct lower *l, int region);
/* where the value stands turned already; false: nowhere */
bool same_turned(struct lower *l, const struct mosaic_value *v, struct place *to);
void same_take_turned(struct lower *l, const struct mosaic_value *v);       /* as pallas_take_for */
void same_keep_turned(struct lower *l, const struct mosaic_value *v, const struct place *place);

/* ----- floats that only the vector unit has (lower_cells.c) */
/* a word of SMEM that need not be there; it takes a tile of VMEM */
bool cell_can_be(const struct lower *l, const struct mosaic_value *v);
int cell_open(struct lower *l, const struct mosaic_op *op, const struct mosaic_value *v);
int cell_load(struct lower *l, const struct mosaic_op *op);
int cell_store(struct lower *l, const struct mosaic_op *op);
int cell_extract(struct lower *l, const struct mosaic_op *op, const struct place *from);
/* one of them is wanted by the scalar unit after all */
void cell_to_scalar(struct lower *l, const struct mosaic_value *v);

/* ----- roots */
bool root_same_place(const struct place *a, const struct place *b);
int root_add(struct lower *l, const struct root *r);
int root_flush(struct lower *l);
/* values that are read later and come out of this buffer (-1: any) go into memory first */
int root_save(struct lower *l, int buffer);
/* and those that read this value as it lies now: it is about to lie otherwise */
int root_save_over(struct lower *l, const struct mosaic_value *v);
/* the value stands in memory, now */
int root_materialize(struct lower *l, const struct mosaic_value *v, struct place *p);
bool value_reads(struct lower *l, const struct mosaic_value *v, int region);
bool value_moves_within(struct lower *l, const struct mosaic_value *v, const struct place *to);
/* matrix units that the products under a value take (product.h), beside those of all roots */
int root_units(struct lower *l, const struct mosaic_value *v, bool with_roots);
/* it does so in memory of its own, in rows and lanes of its last two dimensions */
int root_own(struct lower *l, const struct mosaic_value *v);
int root_keep(struct lower *l, const struct mosaic_value *v);   /* likewise, when roots are flushed */
/* it stands in memory now, and no root that waits will change it */
bool root_is_settled(struct lower *l, const struct mosaic_value *v, struct place *p);
/* zeros that wait to be stored in all of a buffer that nobody reads till then: they wait no more */
bool root_take_zeros(struct lower *l, const struct place *to, struct root *zeros);
/* products under a value stand in memory from now on */
int root_settle_products(struct lower *l, const struct mosaic_value *v);

/* ----- what a row of lower.def names */
typedef int pallas_run(struct lower *l, const struct mosaic_op *op);
#define LOWER(id, run, tile, op) pallas_run pallas_##run;
#include "stack/kernels/mosaic/lower.def"

/* notes of the finished bundles: lines of the source */
void pallas_note_lines(const struct lower *l, struct isa_program *p);

/* ----- other devices (lower_peers.c) */
void peers_meet(struct lower *l);       /* before a kernel that reaches others */
/* the core that an operation's groups of device and core name, in *core; false: its own */
bool peers_core(struct lower *l, const struct mosaic_op *op, int device_group, struct scalar *core);

/* ----- around the kernel */
int grid_emit(struct lower *l);
int64_t grid_steps(const struct mosaic_kernel *k);
/* the dimension that two cores share, parallel and of an even number of steps; -1: none */
int grid_shared(const struct mosaic_kernel *k);
#endif
