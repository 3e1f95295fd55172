/*
 * Inside the kernels of kind "index": kernel_index.c reads the node,
 * index_place.c makes addresses of indices, kernel_index_gather.c,
 * kernel_index_element.c and kernel_index_scatter.c with its like make the code.
 * docs/kernels.md tells the whole.
 *
 * All four operations are one: a *table* (the operand), indexed by vectors of
 * s32 that lie in HBM, and *rows* that go along (the result of a gather, the
 * updates of a scatter). A dynamic slice is a gather with one index vector, a
 * dynamic update a scatter with one.
 */
#ifndef STACK_KERNEL_INDEX_H
#define STACK_KERNEL_INDEX_H
#include "stack/kernels/pipeline/kernel.h"
#include "stack/backend/builder.h"

#define INDEX_GRANULES (ARRAY_TILE_BYTES / ARRAY_GRANULE_BYTES)     /* of a tile: 128 */
#define INDEX_ROW_GRANULES (ARRAY_ROW_BYTES / ARRAY_GRANULE_BYTES)  /* of a row of it: 16 */
#define INDEX_BATCH 8                   /* rows or elements whose indices are read together */

/* Where the coordinate along one dimension of the table comes from. */
struct index_axis {
    int component;                      /* of the index vector, -1: none */
    int rows_dim;                       /* dimension of `rows` whose coordinate is added, -1 */
    int64_t last;                       /* largest start that lies inside */
    bool is_batch;                      /* each place along it has an index of its own */
};

struct index_work {
    const struct kernel_job *job;
    const struct graph_node *node;
    const struct array *table, *result; /* scatter: operand (or NULL: `splat`) and result */
    const struct array *rows;           /* result of a gather, updates of a scatter */
    const struct array *indices;        /* NULL: a scalar for each dimension, in `start` */
    const struct array *start[GRAPH_RANK_MAX];
    const struct graph_trips *trips;    /* tells starts that are no operand's; or NULL */
    int vector_dim, components;         /* of indices; vector_dim -1: none */
    int rows_dim_of[GRAPH_RANK_MAX];    /* by dimension of indices: that of rows, -1 */
    struct index_axis axis[GRAPH_RANK_MAX];
    bool is_scatter, is_clamped;        /* else what lies outside is left out */
    double splat;                       /* the operand's value where table is NULL */
    enum graph_reduce combine;
    bool has_whole_rows;                /* one row of the table is one row of `rows` */

    /* code */
    struct vcode code;
    struct builder m;
    struct isa_operand coordinate[GRAPH_RANK_MAX];      /* of rows; or, where not 0, */
    int64_t coordinate_smem[GRAPH_RANK_MAX];            /* in this word */
    int pack, pack_log2, element_bits;  /* of the table */
    int64_t vmem_next;                  /* next free row */
    int64_t smem_next;                  /* next free byte, */
    int64_t index_smem, window_tiles;   /* where indices are; 0: all of them are there */
    struct isa_operand window[GRAPH_RANK_MAX];          /* first tile there, by component */
    int flag_index;                     /* of their copies; the kernel's own follow */
};

/* Reads the node; -1 with the reason when it is not made. */
int index_read(struct index_work *w, const struct kernel_job *job, struct err *e);
bool index_fits_smem(const struct index_work *w);
bool index_is_known(const struct index_work *w, int k);         /* start k, by w->trips */

/* space x space to the opcode of a copy */
enum isa_opcode index_copy_code(enum array_space from, enum array_space to);

/* index_place.c */
void index_begin(struct index_work *w); /* brings indices to SMEM, as far as they fit */
/* words [component][i]: the index vectors of INDEX_BATCH coordinates along `fast_dim` from
 * coordinate[fast_dim] (a multiple of it) on, into registers that are the caller's */
void index_load_batch(struct index_work *w, int fast_dim, int count,
                      struct isa_operand to[][INDEX_BATCH]);

/* words of SMEM where registers are few: a new one with this value, its byte address */
int64_t index_word(struct index_work *w, int64_t value);
struct isa_operand index_word_get(struct index_work *w, int64_t at);   /* a new register */
void index_word_set(struct index_work *w, int64_t at, struct isa_operand value);

int index_batch(const struct index_work *w);    /* how many at once, by registers */
/* result[]: registers that may take what becomes of the words of each */
void index_batch_registers(struct index_work *w, int count, struct isa_operand to[][INDEX_BATCH],
                           struct isa_operand *result);
int index_no_smem(const struct index_work *w, struct err *e);

struct index_spot {                     /* an element of the table, from its first tile on */
    struct isa_operand tile;            /* without lanes' */
    struct isa_operand sublane, part;   /* part: of the word, 0 where elements are words */
    struct isa_operand lane;
    struct isa_operand is_inside;       /* scatter: predicate register; else absent */
};
/* what row `u` of a batch along fast_dim means, word[component] its index vector */
void index_spot(struct index_work *w, int fast_dim, int u, const struct isa_operand *word,
                int first_pred, struct index_spot *s);
/* where the only index vector of a dynamic slice or update leads, from the nest's coordinates */
void index_only_spot(struct index_work *w, struct index_spot *s);

/* one tile row of the table is so many tiles */
int index_gather_rows(struct index_work *w, struct err *e);
int index_gather_elements(struct index_work *w, struct err *e);
int index_scatter(struct index_work *w, struct err *e);
/* applying all updates in every panel, a block of them fetched ahead; INT64_MAX / 2: no plan fits */
int64_t index_scatter_cycles(struct index_work *w);
bool index_by_windows(const struct index_work *w);
/* the case that needs no cutting: whole tiles; false if it is not that, or indices do not fit */
bool index_is_whole(const struct index_work *w);
bool index_whole_tiles(struct index_work *w);
int64_t index_whole_cycles(const struct index_work *w);

/* dynamic slices and updates of arrays in VMEM, by loads and stores: likewise; of whole tiles only
 * where that takes less time than a copy */
bool index_is_direct(struct index_work *w);
int64_t index_direct_cycles(struct index_work *w);
int index_direct(struct index_work *w, struct err *e);

/* dynamic slices and updates that begin inside tiles: whether it makes this one; its cycles */
bool index_shifts(struct index_work *w);
int64_t index_shift_cycles(struct index_work *w);
int index_shift(struct index_work *w, struct err *e);

void index_copy_operand(struct index_work *w, int flag);

/* loops over the outer dimensions of an array, coordinates in w->coordinate */
struct index_nest { bool is_loop; struct isa_operand counter, flat; };
void index_nest_begin(struct index_work *w, const struct array *a, struct index_nest *n);
void index_nest_end(struct index_work *w, struct index_nest *n);
/* the same by hand: words for the coordinates, and into them those of place `flat` of so many */
int64_t index_outer_places(const struct array *a);
void index_nest_words(struct index_work *w, const struct array *a);
void index_nest_place(struct index_work *w, const struct array *a, struct isa_operand flat);
struct isa_operand index_coordinate(struct index_work *w, int d);
/* the tile that the nest stands at: of the outer dimensions of `a` */
struct isa_operand index_outer_tile(struct index_work *w, const struct array *a);
#endif
