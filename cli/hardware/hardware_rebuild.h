/*
 * What the files that rebuild operations of a profile share (hardware_rebuild.c): arrays as the
 * profile tells them, and the graph so far.
 */
#ifndef CLI_HARDWARE_REBUILD_H
#define CLI_HARDWARE_REBUILD_H
#include "cli/hardware/hardware.h"

enum { PROFILE_ARRAYS_MAX = 64 };

struct profile_array {
    struct shape shape;                 /* dimensions as they lie in memory, without ones of 1 */
    struct shape whole;                 /* likewise with them */
    int at[GRAPH_RANK_MAX];             /* dimension i of the text is at[i] of `whole` */
    int text_dim[GRAPH_RANK_MAX];       /* dimension i of `shape` is this one of the text */
    double bytes;
    bool is_mask, is_packed;            /* of predicates, of bits: it chooses */
    bool has_batch_in_lanes;            /* its first dimension in the text is the minor one */
};

struct profile_op {
    struct profile_array result[PROFILE_ARRAYS_MAX], operand[PROFILE_ARRAYS_MAX];
    int result_count, operand_count;
    double bytes;
};

struct rebuild {
    struct graph *g;
    struct profile_op op;
    const char *hlo;
    double touched;                     /* bytes that the profile counts */
    struct shape root;                  /* f32 */
    int value;                          /* so far, in f32 */
    int op_count;
    int64_t images;                     /* of a batch whose images come in pairs of pixels; or 0 */
};

bool profile_drop_ones(struct profile_array *x);        /* false: it has no elements */

/* hardware_rebuild_conv.c: operands `lhs` and `rhs` make `result`, or one of its gradients does */
struct profile_conv {
    int lhs, rhs, result;
    struct graph_window window[2];
    struct graph_conv labels;           /* dimensions of `whole` */
};
bool profile_find_convolution(const struct profile_op *op, double flops, struct profile_conv *c);

/*
 * hardware_rebuild_images.c: a convolution's arrays in the order that its kernel asks for; if
 * `images` is set by it, images have the order of the text, and lie as pairs of pixels beside the
 * program, which reads and writes them by reshapes that move nothing
 */
void profile_lay_images(struct rebuild *r, const struct profile_conv *c);
struct shape profile_image_lies(const struct rebuild *r, const struct shape *image);
int profile_image_read(const struct rebuild *r, int node, const struct shape *image);
int profile_image_write(const struct rebuild *r, int node);

/* hardware_rebuild_move.c: what moves data, gathers and scatters; NULL, or why it is not rebuilt */
bool profile_is_move(const char *category);
const char *profile_rebuild_move(struct rebuild *r, const char *category);
#endif
