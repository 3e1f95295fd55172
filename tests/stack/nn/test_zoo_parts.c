/*
 * Is a training step of replicas, each with its part of every variable, the step of one with all?
 *
 * test_zoo_parts [first seed [seeds]] draws more of the small models.
 */
#include "tests/rigs/graph_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include "base/rng.h"
#include "base/units.h"
#include "stack/nn/zoo_impl.h"

#include <math.h>
#include <stdlib.h>

enum { LAYERS = 3, BATCH = 4, PARAMETERS_MAX = 64, REPLICAS_MAX = 16 };

static uint64_t first_seed = 1;
static int seed_count = 6;

/* layers of a size for each, so that variables are cut along rows, columns, as tiles, or not */
struct model {
    int64_t size[LAYERS + 1];
    enum zoo_optimizer optimizer;
    int replicas;
    enum graph_dtype dtype;             /* of products; values stay wide */
};

/* numbers of a step, by parameter, and what it makes of them, by output */
struct step {
    struct graph g;
    struct interp_value in[REPLICAS_MAX][PARAMETERS_MAX], out[REPLICAS_MAX][PARAMETERS_MAX];
};

static void build(struct step *s, const struct model *m, int replicas)
{
    struct zoo_options o = {.dtype = m->dtype, .is_training = true};
    struct zoo z = {.g = &s->g, .o = &o, .optimizer = m->optimizer, .replica_count = replicas,
                    .seed = NODE_NONE};
    int64_t rows = BATCH * m->replicas / replicas;
    struct err e;
    int x;

    graph_init(&s->g, &arena, "step");
    x = graph_parameter(&s->g, shape_make(m->dtype, ZOO_DIMS(rows, m->size[0])), "x");
    for (int i = 0; i < LAYERS; i++) {
        char name[16];

        snprintf(name, sizeof(name), "dense_%d", i);
        x = graph_unary(&s->g, HLO_TANH, zoo_dense(&z, name, x, m->size[i + 1]));
    }
    x = graph_convert(&s->g, nn_multiply(&s->g, x, x), DTYPE_F32);
    x = graph_reduce(&s->g, REDUCE_ADD, x, 3);
    z.loss = nn_scale(&s->g, x, 1.0 / (double)(rows * m->size[LAYERS]));
    if (zoo_train(&z, &e) || graph_verify(&s->g, &e))
        fail_msg("%s", e.msg);
    mem_free(z.variable);
}

static const struct shape *shape_of(const struct step *s, int parameter)
{
    return &s->g.node[s->g.parameter[parameter]].shape;
}

/* where element `i` of replica r's part is in the whole array */
static int64_t place_in_whole(const struct shape *part, const struct shape *whole, int r, int64_t i)
{
    int64_t columns, own, rows, tile;

    if (shape_equal(part, whole))
        return i;
    if (part->rank == whole->rank && part->dim[0] != whole->dim[0])
        return r * shape_elems(part) + i;
    columns = whole->dim[whole->rank - 1];
    own = part->dim[part->rank - 1];
    if (part->rank == whole->rank)
        return i / own * columns + r * own + i % own;
    rows = part->dim[1];
    tile = r * part->dim[0] + i / (rows * 128);
    return (tile / (columns / 128) * rows + i / 128 % rows) * columns + tile % (columns / 128) * 128
           + i % 128;
}

static void fill(struct step *whole, struct step *parts, int replicas, struct rng *rng)
{
    for (int p = 0; p < whole->g.parameter_count; p++) {
        const struct shape *s = shape_of(whole, p), *part = shape_of(parts, p);
        const char *name = whole->g.node[whole->g.parameter[p]].name;
        float low = strlen(name) > 2 && strcmp(name + strlen(name) - 2, "/v") == 0 ? 0 : -0.1f;
        double *value = arena_array(&arena, (size_t)shape_elems(s), sizeof(*value));

        for (int64_t i = 0; i < shape_elems(s); i++)
            value[i] = strcmp(name, "step") == 0 ? 3 : (double)rng_uniform(rng, low, 0.1f);
        whole->in[0][p].data = value;
        for (int r = 0; r < replicas; r++) {
            double *own = arena_array(&arena, (size_t)shape_elems(part), sizeof(*own));

            for (int64_t i = 0; i < shape_elems(part); i++)
                own[i] = value[place_in_whole(part, s, r, i)];
            parts->in[r][p].data = own;
        }
    }
}

static void run(struct step *s, int replicas)
{
    const struct interp_value *in[REPLICAS_MAX];
    struct interp_value *out[REPLICAS_MAX];
    struct err e;

    for (int r = 0; r < replicas; r++) {
        in[r] = s->in[r];
        out[r] = s->out[r];
    }
    if (interp_run_devices(&s->g, INTERP_WIDE, replicas, in, out, &arena, &e))
        fail_msg("%s", e.msg);
}

/* how many parameters are parts, after all updates have been compared */
static int compare(const struct step *whole, const struct step *parts, int replicas, uint64_t seed)
{
    int cut = 0;

    assert_int_equal(whole->g.output_count, parts->g.output_count);
    for (int o = 0; o < whole->g.output_count; o++) {
        int p = whole->g.output[o].alias_parameter;
        const struct shape *s, *part;

        assert_int_equal(p, parts->g.output[o].alias_parameter);
        if (p < 0)
            continue;
        s = shape_of(whole, p);
        part = shape_of(parts, p);
        cut += !shape_equal(s, part);
        for (int r = 0; r < replicas; r++)
            for (int64_t i = 0; i < shape_elems(part); i++) {
                double is = ((const double *)parts->out[r][o].data)[i];
                int64_t at = place_in_whole(part, s, r, i);
                double expected = ((const double *)whole->out[0][o].data)[at];

                if (!(fabs(is - expected) <= 1e-12 + 1e-9 * fabs(expected)))
                    fail_msg("seed %d: %s, element %d of replica %d is %.17g, not %.17g", (int)seed,
                             whole->g.output[o].name, (int)i, r, is, expected);
            }
    }
    return cut;
}

static int check(const struct model *m, uint64_t seed)
{
    struct step *whole, *parts;
    struct rng rng;
    int cut;

    one_graph_again();
    whole = arena_alloc(&arena, sizeof(*whole));
    parts = arena_alloc(&arena, sizeof(*parts));
    rng_init(&rng, seed);
    build(whole, m, 1);
    build(parts, m, m->replicas);
    fill(whole, parts, m->replicas, &rng);
    run(whole, 1);
    run(parts, m->replicas);
    cut = compare(whole, parts, m->replicas, seed);
    graph_fini(&whole->g);
    graph_fini(&parts->g);
    return cut;
}

TEST(parts_of_any_sizes_are_the_whole_variables)
{
    static const int64_t sizes[] = {8, 10, 16, 24, 64, 128, 256, 384};
    static const int replicas[] = {2, 3, 4, 8, 16};

    for (uint64_t seed = first_seed; seed < first_seed + (uint64_t)seed_count; seed++) {
        struct model m;
        struct rng rng;

        rng_init(&rng, seed);
        for (int i = 0; i <= LAYERS; i++)
            m.size[i] = sizes[rng_below(&rng, COUNT_OF(sizes))];
        m.optimizer = rng_below(&rng, 2) ? ZOO_LAMB : ZOO_ADAM;
        m.replicas = replicas[rng_below(&rng, COUNT_OF(replicas))];
        m.dtype = rng_below(&rng, 2) ? DTYPE_BF16 : DTYPE_F32;
        check(&m, seed);
    }
}

/* a variable that is cut has three parts: its own and those of two slots */
TEST(kernels_are_cut_along_rows_as_tiles_and_along_columns)
{
    const struct model rows = {{64, 16, 10, 10}, ZOO_LAMB, 8, DTYPE_F32};
    const struct model tiles = {{32, 256, 10, 10}, ZOO_LAMB, 8, DTYPE_F32}; /* and the next's rows */
    const struct model columns = {{10, 256, 10, 10}, ZOO_ADAM, 2, DTYPE_F32};   /* and the bias */
    const struct model narrow = {{32, 256, 10, 10}, ZOO_LAMB, 4, DTYPE_BF16};   /* as tiles */
    const struct model wide = {{32, 256, 10, 10}, ZOO_LAMB, 8, DTYPE_BF16};     /* of f32 */

    assert_int_equal(check(&rows, 1), 3);
    assert_int_equal(check(&tiles, 2), 6);
    assert_int_equal(check(&columns, 3), 9);
    assert_int_equal(check(&narrow, 4), 6);
    assert_int_equal(check(&wide, 5), 6);
}

TEST(momentum_keeps_variables_whole)
{
    const struct model m = {{64, 64, 64, 64}, ZOO_MOMENTUM, 8, DTYPE_BF16};

    assert_int_equal(check(&m, 1), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(parts_of_any_sizes_are_the_whole_variables),
        RUN(kernels_are_cut_along_rows_as_tiles_and_along_columns),
        RUN(momentum_keeps_variables_whole),
    };

    first_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    seed_count = argc > 2 ? atoi(argv[2]) : seed_count;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
