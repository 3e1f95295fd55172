/* Parts of the generator; private to random_hlo*.c. */
#ifndef TESTS_RANDOM_HLO_IMPL_H
#define TESTS_RANDOM_HLO_IMPL_H
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/graph_shape.h"
#include "tests/generate/random_hlo.h"

#define RH_EXACT (1 << 22)              /* integers up to here in f32, with room to add */
#define RH_EXACT_BF16 256
#define RH_POOL_MAX 600
#define RH_INDEX_PREFIX "index"         /* of names of parameters that are indices */

#define RH_TYPE(t) (1u << (t))
#define RH_FLOATS (RH_TYPE(DTYPE_F32) | RH_TYPE(DTYPE_BF16))
#define RH_BYTES (RH_TYPE(DTYPE_S8) | RH_TYPE(DTYPE_U8))
#define RH_INTEGERS (RH_BYTES | RH_TYPE(DTYPE_S32) | RH_TYPE(DTYPE_U32))
#define RH_NUMBERS (RH_FLOATS | RH_INTEGERS)
#define RH_ANY (RH_NUMBERS | RH_TYPE(DTYPE_PRED))

struct rh_pick {
    int node;
    double bound;                       /* of the absolute value */
};

struct rh {
    struct graph *g;
    struct rng rng;
    unsigned dtypes;
    int64_t elems_max;
    unsigned groups;
    int depth;                          /* of computations in each other */
    struct rh_pick pool[RH_POOL_MAX];
    int count;
};

static inline int rh_below(struct rh *m, int64_t end)
{
    return (int)rng_below(&m->rng, (uint32_t)end);
}

static inline struct shape rh_shape(const struct rh *m, int node)
{
    return m->g->node[node].shape;
}

/* a result; nodes whose bound their type does not hold exactly are dropped */
void rh_add(struct rh *m, int node, double bound);
bool rh_fits(enum graph_dtype t, double bound);

/* an earlier value of one of these types and lowest..highest dimensions, or a new parameter */
struct rh_pick rh_find(struct rh *m, unsigned types, int lowest, int highest);
/* one of this very shape */
struct rh_pick rh_like(struct rh *m, struct shape s);
struct rh_pick rh_parameter(struct rh *m, struct shape s);
double rh_parameter_bound(enum graph_dtype t);
/* s32 whose values lie in -2 .. bound + 1: sometimes outside of 0 .. bound - 1 */
int rh_index(struct rh *m, int rank, const int64_t *dim, int64_t bound);

/* awkward sizes; shapes of at most elems_max elements */
int64_t rh_size(struct rh *m, int64_t most);
struct shape rh_random_shape(struct rh *m, enum graph_dtype t, int rank);
enum graph_dtype rh_type(struct rh *m, unsigned types);     /* DTYPE_COUNT: none allowed */

/* random order of 0..count-1 */
void rh_permute(struct rh *m, int *order, int count);

/* an operation of the groups; a draw that finds nothing exact adds nothing */
void rh_make(struct rh *m);

void rh_elementwise(struct rh *m);
void rh_move(struct rh *m);
void rh_dot(struct rh *m);
void rh_conv(struct rh *m);
void rh_reduce(struct rh *m);
void rh_window(struct rh *m);
void rh_indexed(struct rh *m);
void rh_sorted(struct rh *m);
void rh_bits(struct rh *m);
void rh_loop(struct rh *m);
void rh_flow(struct rh *m);
#endif
