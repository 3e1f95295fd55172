/*
 * The kernels of a public library of JAX (tokamax) as its plain implementations call them: the
 * graphs that JAX's tracing of these formulas gives, from their arguments. f16 stands for bf16,
 * which has its size: the IR has no other 16-bit floats.
 */
#ifndef CLI_HARDWARE_KERNELS_H
#define CLI_HARDWARE_KERNELS_H
#include "stack/hlo/graph.h"

struct library_attention {
    struct shape q, k, v;               /* [batch, positions, heads, width] */
    double scale;
    bool is_causal, has_residuals;      /* residuals: maxima and sums are results, too */
    bool has_bias, has_mask;            /* [1, heads, q, k] of the type of q; [batch, 1, 1, k] */
};
struct graph *library_attention(const struct library_attention *x, struct arena *a);
/* of q, k, v and the bias, from maxima and sums of the forward pass */
struct graph *library_attention_gradient(const struct library_attention *x, struct arena *a);

/* act(x w0) * (x w1): x [.., k], w [k, 2, n] */
struct graph *library_gated_unit(struct shape x, struct shape w, enum graph_op activation,
                                struct arena *a);
/* sum or mean over rows of -log softmax(x w)[label] */
struct graph *library_cross_entropy(struct shape x, struct shape w, bool is_mean,
                                   bool has_residuals, struct arena *a);
/* mean and variance over one dimension, scale and offset along it */
struct graph *library_normalization(struct shape x, int axis, bool has_residuals, struct arena *a);
/*
 * A ragged product as one of equal groups: [groups, rows of a group, k] by [groups, k, n], n and k
 * the other way round where the weights are transposed; its gradient by the weights contracts the
 * rows. Where the edges of groups lie is not in it: the compiler has no ragged product. As the
 * published peaks of memory prove it of XLA, it is a kernel that leaves f32, rounded by another,
 * and transposed weights are copied first. Residuals are the result once more.
 */
enum library_ragged_form { RAGGED_PLAIN, RAGGED_TRANSPOSED, RAGGED_GRADIENT };
struct library_ragged {
    enum library_ragged_form form;
    int64_t groups, empty_groups;       /* with rows, and without: whose weights nobody reads */
    int64_t rows, k, n;
    bool has_residuals;
};
struct graph *library_ragged_dot(const struct library_ragged *r, struct arena *a);
#endif
