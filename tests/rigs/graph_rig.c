#include "tests/rigs/graph_rig.h"

#include "base/rng.h"
#include "base/units.h"
#include "tests/test.h"

#include <math.h>

void grig_init(struct graph_rig *r)
{
    *r = (struct graph_rig){.mode = INTERP_DOT_F32};
    arena_init(&r->arena);
    graph_init(&r->g, &r->arena, "test");
}

void grig_fini(struct graph_rig *r)
{
    graph_fini(&r->g);
    arena_fini(&r->arena);
}

int grig_parameter(struct graph_rig *r, enum graph_dtype dtype, int rank, const int64_t *dim,
                  const double *values)
{
    int index = r->g.parameter_count;
    struct shape s = shape_make(dtype, rank, dim);
    int64_t elems = shape_elems(&s);
    bool is_unsigned = dtype == DTYPE_U32 || dtype == DTYPE_U8;
    struct rng rng;

    assert_true(index < RIG_PARAMETERS);
    rng_init(&rng, 77 + (uint64_t)index);
    r->value[index] = arena_array(&r->arena, (size_t)elems, sizeof(double));
    for (int64_t i = 0; i < elems; i++)
        r->value[index][i] = values ? values[i]
                             : dtype == DTYPE_PRED ? (double)rng_below(&rng, 2)
                             : (double)rng_below(&rng, 9) - (is_unsigned ? 0.0 : 4.0);
    return graph_parameter(&r->g, s, arena_printf(&r->arena, "p%d", index));
}

int grig_random(struct graph_rig *r, enum graph_dtype dtype, int rank, const int64_t *dim,
               uint64_t seed, double low, double high)
{
    struct shape s = shape_make(dtype, rank, dim);
    int64_t elems = shape_elems(&s);
    double *values = arena_array(&r->arena, (size_t)elems, sizeof(*values));
    struct rng rng;

    rng_init(&rng, seed);
    for (int64_t i = 0; i < elems; i++)
        values[i] = (double)rng_uniform(&rng, (float)low, (float)high);
    return grig_parameter(r, dtype, rank, dim, values);
}

static bool is_double(const struct shape *s, enum interp_dot mode)
{
    return mode == INTERP_WIDE && graph_dtype_is_float(s->dtype);
}

void *grig_pack(struct arena *a, const struct shape *s, enum interp_dot mode, const double *values)
{
    int64_t elems = shape_elems(s);
    void *to = arena_array(a, (size_t)elems, 8);

    for (int64_t i = 0; i < elems; i++) {
        if (is_double(s, mode))
            ((double *)to)[i] = values[i];
        else if (graph_dtype_is_float(s->dtype))
            ((float *)to)[i] = (float)values[i];
        else
            ((uint32_t *)to)[i] = (uint32_t)(int64_t)values[i];
    }
    return to;
}

double *grig_unpack(struct arena *a, const struct shape *s, enum interp_dot mode, const void *data)
{
    int64_t elems = shape_elems(s);
    double *to = arena_array(a, (size_t)elems, sizeof(*to));

    for (int64_t i = 0; i < elems; i++) {
        if (is_double(s, mode))
            to[i] = ((const double *)data)[i];
        else if (graph_dtype_is_float(s->dtype))
            to[i] = (double)((const float *)data)[i];
        else if (s->dtype == DTYPE_U32 || s->dtype == DTYPE_U8)
            to[i] = (double)((const uint32_t *)data)[i];
        else
            to[i] = (double)((const int32_t *)data)[i];
    }
    return to;
}

double *grig_output(struct graph_rig *r, int index)
{
    struct interp_value in[RIG_PARAMETERS], *out;
    struct err e;

    if (graph_verify(&r->g, &e) != 0)
        fail_msg("%s", e.msg);
    for (int i = 0; i < r->g.parameter_count; i++)
        in[i].data = grig_pack(&r->arena, &r->g.node[r->g.parameter[i]].shape, r->mode,
                              r->value[i]);
    out = arena_array(&r->arena, (size_t)r->g.output_count, sizeof(*out));
    if (interp_run(&r->g, r->mode, in, out, &r->arena, &e) != 0)
        fail_msg("%s", e.msg);
    return grig_unpack(&r->arena, &r->g.node[r->g.output[index].node].shape, r->mode,
                      out[index].data);
}

double *grig_run(struct graph_rig *r, int node)
{
    graph_output(&r->g, node, arena_printf(&r->arena, "out%d", r->g.output_count), -1);
    return grig_output(r, r->g.output_count - 1);
}

void grig_expect(const double *is, const double *expected, int64_t count, double tolerance)
{
    for (int64_t i = 0; i < count; i++) {
        bool both_nan = isnan(is[i]) && isnan(expected[i]);
        bool is_equal = is[i] == expected[i] && signbit(is[i]) == signbit(expected[i]);

        if (both_nan || is_equal)
            continue;
        if (!(fabs(is[i] - expected[i]) <= tolerance) || tolerance == 0.0)
            fail_msg("element %lld is %.17g, expected %.17g", (long long)i, is[i], expected[i]);
    }
}

/* ---- gradients ---- */

#define STEP 1e-5
#define ALLOWED 2e-8                    /* of values around 1: third derivative h^2 / 6 and noise */

int grig_distinct(struct graph_rig *r, int rank, const int64_t *dim)
{
    struct shape s = shape_make(DTYPE_F32, rank, dim);
    int64_t elems = shape_elems(&s);
    double *values = arena_array(&r->arena, (size_t)elems, sizeof(*values));
    struct rng rng;

    rng_init(&rng, 5 + (uint64_t)r->g.parameter_count);
    for (int64_t i = 0; i < elems; i++)
        values[i] = -1 + 2 * ((double)i + 0.3) / (double)elems;
    for (int64_t i = elems - 1; i > 0; i--) {
        int64_t k = rng_below(&rng, (uint32_t)i + 1);
        double t = values[i];

        values[i] = values[k];
        values[k] = t;
    }
    return grig_parameter(r, DTYPE_F32, rank, dim, values);
}

/* the sum of y times weights that differ from element to element */
static int loss_of(struct graph_rig *r, int y)
{
    struct shape s = r->g.node[y].shape;
    int64_t elems = shape_elems(&s);
    float *weight = arena_array(&r->arena, (size_t)elems, sizeof(*weight));
    int product;

    for (int64_t i = 0; i < elems; i++)
        weight[i] = 1.0f + 0.25f * (float)(i * 7 % 11) - 0.5f * (float)(i % 3);
    product = graph_binary(&r->g, HLO_MULTIPLY, y, graph_literal(&r->g, s, weight));
    return graph_reduce(&r->g, REDUCE_ADD, product, (1u << s.rank) - 1);
}

static double loss_at(struct graph_rig *r, int parameter, int64_t i, double x)
{
    double saved = r->value[parameter][i], loss;

    r->value[parameter][i] = x;
    loss = grig_output(r, 0)[0];
    r->value[parameter][i] = saved;
    return loss;
}

void grig_check_gradients(struct graph_rig *r, int y)
{
    int wrt[RIG_PARAMETERS], gradient[RIG_PARAMETERS], count = 0, loss = loss_of(r, y);
    struct err e;

    for (int p = 0; p < r->g.parameter_count; p++)
        if (graph_dtype_is_float(r->g.node[r->g.parameter[p]].shape.dtype))
            wrt[count++] = r->g.parameter[p];
    if (graph_grad(&r->g, loss, wrt, count, gradient, &e) != 0)
        fail_msg("%s", e.msg);
    graph_output(&r->g, loss, "loss", -1);
    for (int k = 0; k < count; k++) {
        assert_true(shape_equal(&r->g.node[gradient[k]].shape, &r->g.node[wrt[k]].shape));
        graph_output(&r->g, gradient[k], arena_printf(&r->arena, "d%d", k), -1);
    }
    for (int k = 0; k < count; k++) {
        int p = r->g.node[wrt[k]].parameter_index;
        int64_t elems = shape_elems(&r->g.node[wrt[k]].shape);
        const double *is = grig_output(r, 1 + k);

        for (int64_t i = 0; i < elems; i++) {
            double at = r->value[p][i];
            double slope = (loss_at(r, p, i, at + STEP) - loss_at(r, p, i, at - STEP)) / (2 * STEP);

            if (!(fabs(is[i] - slope) <= ALLOWED * (1 + fabs(slope))))
                fail_msg("gradient of parameter %d, element %d: %.12g, slope %.12g", p, (int)i,
                         is[i], slope);
        }
    }
}
