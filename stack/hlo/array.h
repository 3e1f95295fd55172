/*
 * Where the elements of an array lie in HBM or VMEM.
 *
 * The order of dimensions is HLO's minor_to_major. The minor dimension runs
 * along lanes, the one before it along rows; both are cut into tiles of 128
 * lanes by 8 rows of 32-bit, 16 of 16-bit, 32 of 8-bit elements: XLA's
 * T(8,128), T(16,128)(2,1), T(32,128)(4,1). Rows of one word of a packed tile
 * are neighbours: word i of a bf16 tile holds rows 2i (low half) and 2i + 1,
 * of an 8-bit tile rows 4i (low byte) to 4i + 3, as vpack.c and vunpack.c have
 * them. Every tile is one register, 4 KiB; tiles stand in row-major order of
 * (outer dimensions, tile row, tile column).
 *
 * Arrays of rank 0 and 1 are *linear*: element i in row i / 128, lane i % 128,
 * of one column of tiles. A row of f32 is 512 bytes, one row of VMEM, so that
 * a load with sublane stride 0 spreads 128 elements over 8 sublanes.
 *
 * Padding holds anything; kernels that would combine it into a result mask it.
 * pred is 8-bit 0 or 1; f32, s32, u32 have 4 bytes, bf16 two, s8, u8, pred one.
 */
#ifndef STACK_ARRAY_H
#define STACK_ARRAY_H
#include "stack/hlo/graph.h"

#define ARRAY_TILE_BYTES 4096
#define ARRAY_LANES 128
#define ARRAY_ROW_BYTES 512             /* vld and vst count VMEM in these */
#define ARRAY_GRANULE_BYTES 32          /* DMA counts in these */

/* as descriptors of copies count them (docs/memory.md) */
enum array_space { SPACE_HBM, SPACE_VMEM, SPACE_CMEM = 3 };

struct array {
    const char *name;                   /* for listings and messages */
    struct shape shape;
    int order[GRAPH_RANK_MAX];          /* dimensions, minor first */
    enum array_space space;
    int64_t address;                    /* bytes in that space, a multiple of a tile */
    bool is_fixed;                      /* no kernel writes it: its values are known in any mode */

    /* derived by array_init */
    int element_bytes, tile_rows;       /* 4, 2, 1; 8, 16, 32 */
    bool is_linear;
    int outer_count;                    /* dimensions outside tiles, */
    int outer_dim[GRAPH_RANK_MAX];      /* the most major first */
    int row_dim, lane_dim;              /* -1: none (linear arrays) */
    int64_t rows, lanes;                /* logical sizes of those two; linear: as laid out */
    int64_t tiles_down, tiles_across;   /* of one index of the outer dimensions */
    int64_t tile_count;                 /* of all of them */
    int64_t bytes;                      /* tile_count tiles */
};

/* order NULL: row-major, the last dimension minor. Space HBM, address 0. */
void array_init(struct array *a, const char *name, const struct shape *shape, const int *order);

int array_element_bytes(enum graph_dtype dtype);

/* bytes that hold elements, without padding */
int64_t array_payload_bytes(const struct array *a);

/* tile (from the array's first) and element of it (sublane, half or byte, lane) of an index */
struct array_place { int64_t tile; int sublane, part, lane; };
struct array_place array_place_of(const struct array *a, const int64_t *index);

/*
 * Bytes that lie together of each of `parts` equal parts along a dimension: of elements in its
 * order, one part's behind the other's, over and over in rounds of all parts. 0: parts do not
 * end where tiles or rows do.
 */
int64_t array_part_bytes(const struct array *a, int dim, int64_t parts);

/*
 * The first dimension of such an array, row-major, of which `parts` equal parts end where its tiles
 * do: of f32 rows by 8 x parts, columns by 128 x parts, dimensions outside of these by parts. -1:
 * there is none.
 */
int array_dim_of_parts(const struct shape *s, int64_t parts);

/* tiles between neighbours along logical dimension `dim`, which is an outer one */
int64_t array_outer_stride(const struct array *a, int dim);

/*
 * Dense row-major elements of 4 bytes (as in stack/interp/interp.h) to tiles and back.
 * pack rounds f32 values to bf16 (to nearest even); padding becomes zero.
 */
void array_pack(const struct array *a, const void *dense, void *tiles);
void array_unpack(const struct array *a, const void *tiles, void *dense);

/* "bf16[64,128]{1,0:T(16,128)(2,1)S(1)}", as XLA prints layouts */
char *array_print(const struct array *a, char *buf, size_t buf_bytes);
#endif
