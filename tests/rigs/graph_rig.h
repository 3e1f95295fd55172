/*
 * For tests of graphs: one graph, values of its parameters, and the reference
 * interpreter's results as doubles whatever their type is.
 */
#ifndef TESTS_GRAPH_RIG_H
#define TESTS_GRAPH_RIG_H
#include "stack/hlo/graph_shape.h"
#include "stack/interp/interp.h"

#define RIG_PARAMETERS 32

struct graph_rig {
    struct arena arena;
    struct graph g;
    enum interp_dot mode;
    double *value[RIG_PARAMETERS];      /* of each parameter, element by element */
};

void grig_init(struct graph_rig *r);
void grig_fini(struct graph_rig *r);

#define DIMS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                  (int64_t[]){__VA_ARGS__}
#define RIG_VALUES(...) ((double[]){__VA_ARGS__})

/* a parameter; `values` are copied; NULL: integers -4..4 (0..8 of unsigned, 0..1 of pred) */
int grig_parameter(struct graph_rig *r, enum graph_dtype dtype, int rank, const int64_t *dim,
                  const double *values);
int grig_random(struct graph_rig *r, enum graph_dtype dtype, int rank, const int64_t *dim,
               uint64_t seed, double low, double high);

/* verifies, runs, and gives output `index`; fails the test where that is impossible */
double *grig_output(struct graph_rig *r, int index);
/* the node becomes the next output, the graph is run and this output given */
double *grig_run(struct graph_rig *r, int node);

/* of one parameter element after another: elements of interp_value as this mode wants them */
void *grig_pack(struct arena *a, const struct shape *s, enum interp_dot mode,
               const double *values);
double *grig_unpack(struct arena *a, const struct shape *s, enum interp_dot mode,
                   const void *data);

/* fails unless all `count` elements are as expected, or differ by at most `tolerance` */
void grig_expect(const double *is, const double *expected, int64_t count, double tolerance);

/* for gradients: f32 elements -1..1 far enough apart that no step changes their order */
int grig_distinct(struct graph_rig *r, int rank, const int64_t *dim);

/*
 * Gradients of a weighted sum of node y with respect to every float parameter
 * against central differences; the rig's mode should be INTERP_WIDE and the graph without
 * outputs so far.
 */
void grig_check_gradients(struct graph_rig *r, int y);
#endif
