/*
 * Builds the programs behind measured rows (cli/hardware/hardware.h), as graphs of basic
 * operations.
 */
#ifndef CLI_HARDWARE_GRAPHS_H
#define CLI_HARDWARE_GRAPHS_H
#include "stack/hlo/graph.h"

/*
 * The order of memory, major first, in which XLA:TPU is taken to lay an argument or result of a
 * program that nobody asks for a layout: that of the last two dimensions with less padding, or
 * another one of all dimensions if it takes at most half of that. Profiles have f32[256,1]{0,1} and
 * f32[1363,128,2]{1,2,0}; rows of (112,8,8) take as long as without padding, rows of 120 heads no
 * longer than their share of 96.
 */
struct hardware_order { int dim[GRAPH_RANK_MAX]; };
struct hardware_order hardware_compact_order(const struct shape *s);
struct shape hardware_in_order(const struct shape *s, const int *order);
/* an argument or a result of the program that lies in its compact order, seen in its own shape */
int hardware_compact_parameter(struct graph *g, struct shape shape, const char *name);
void hardware_compact_output(struct graph *g, int node, const char *name);

/* one program each, bf16 operands and results unless they say otherwise */
struct graph *hardware_gemm(int64_t m, int64_t k, int64_t n, struct arena *a);
struct graph *hardware_ffn_gated(int64_t rows, int64_t hidden, int64_t inter, struct arena *a);
struct graph *hardware_ffn_erf(int64_t rows, int64_t hidden, int64_t inter, struct arena *a);
struct graph *hardware_encoder_attention(int64_t heads, int64_t q_len, int64_t kv_len,
                                         int64_t head_dim, struct arena *a);
struct graph *hardware_batched_dot(int64_t batch, int64_t m, int64_t k, int64_t n,
                                   struct arena *a);
struct graph *hardware_conv(int64_t batch, int64_t height, int64_t width, int64_t in,
                            int64_t out, int64_t kernel, int64_t stride, int64_t pad,
                            struct arena *a);
struct graph *hardware_softmax(int64_t outer, int64_t rows, int64_t columns,
                               enum graph_dtype dtype, struct arena *a);
struct graph *hardware_layer_norm(int64_t rows, int64_t columns, enum graph_dtype dtype,
                                  struct arena *a);
struct graph *hardware_encoder_block(int64_t sequence, int64_t hidden, int64_t heads,
                                     struct arena *a);
struct graph *hardware_self_attention(int64_t heads, int64_t sequence, int64_t hidden,
                                      struct arena *a);
struct graph *hardware_map(const char *op, int64_t elements, struct arena *a);  /* add, exp, read */
struct graph *hardware_chain(const char *op, int64_t elements, int64_t trips, struct arena *a);

/* attention as a custom call; blocks and pages of 0 are what its kernels' authors take. -1: lengths
 * and heads that do not go together */
int attention_graph(const struct graph_attention *request, struct arena *a, struct graph **out,
                    struct err *e);

/* bytes of parameters and outputs of a graph, without padding */
double hardware_graph_bytes(const struct graph *g);
#endif
