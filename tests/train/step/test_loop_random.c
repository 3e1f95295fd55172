/* Random fusions on several chips against the interpreter, bit for bit: sums are exact. */
#include "tests/test.h"

#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/kernel_rig.h"

#define VALUES 40
#define SPACE_ELEMS 40000
#define SPACE_TILES 200                 /* padded */

struct maker {
    struct rng r;
    struct arena arena;
    struct graph g;
    int rank, order[4], value[VALUES], count;
    int64_t dim[4];
    uint32_t mask[VALUES];              /* dimensions of the space that a value has */
    const int *orders[KERNEL_RIG_ARRAYS];
    bool is_narrow;                     /* one tile of lanes, mostly columns and sums over lanes */
};

static uint32_t below(struct maker *m, uint32_t end) { return rng_below(&m->r, end); }

static struct shape shape_on(const struct maker *m, uint32_t mask, enum graph_dtype t)
{
    struct shape s = {.dtype = t};

    for (int d = 0; d < m->rank; d++)
        if (mask >> d & 1)
            s.dim[s.rank++] = m->dim[d];
    return s;
}

static void pick_space(struct maker *m)
{
    static const int64_t sizes[] = {1, 2, 3, 7, 8, 9, 13, 31, 40, 127, 128, 129, 251, 256, 1000};
    int64_t elems;

    do {
        m->rank = 1 + (int)below(m, 4);
        elems = 1;
        for (int d = 0; d < m->rank; d++) {
            m->dim[d] = sizes[below(m, COUNT_OF(sizes))];
            elems *= m->dim[d];
            m->order[d] = m->rank - 1 - d;
        }
    } while (elems > SPACE_ELEMS || elems / m->dim[m->rank - 1] > SPACE_TILES * 8);
    for (int d = 0; d < m->rank && below(m, 2); d++) {
        int k = (int)below(m, (uint32_t)m->rank), t = m->order[d];

        m->order[d] = m->order[k];
        m->order[k] = t;
    }
}

static void pick_narrow_space(struct maker *m)
{
    static const int64_t rows[] = {128, 128, 256, 384, 40}, lanes[] = {7, 100, 128, 128};

    m->rank = 2 + (int)below(m, 2);
    m->dim[0] = 1 + below(m, 9);
    m->dim[m->rank - 2] = rows[below(m, COUNT_OF(rows))];
    m->dim[m->rank - 1] = lanes[below(m, COUNT_OF(lanes))];
    for (int d = 0; d < m->rank; d++)
        m->order[d] = m->rank - 1 - d;
}

/* the order of the space for arrays that have all of it, row-major for others */
static const int *order_of(struct maker *m, uint32_t mask)
{
    return mask == (1u << m->rank) - 1 ? m->order : NULL;
}

static void add(struct maker *m, int node, uint32_t mask)
{
    if (m->count == VALUES)
        return;
    m->value[m->count] = node;
    m->mask[m->count++] = mask;
}

/* values stay between -64 and 64, whole */
static int bounded(struct maker *m, int x)
{
    struct graph *g = &m->g;

    x = graph_binary(g, HLO_MAXIMUM, x, graph_splat(g, x, -64));
    return graph_binary(g, HLO_MINIMUM, x, graph_splat(g, x, 64));
}

/* slices begin at a whole tile, if lanes and rows are the last dimensions, as they are here */
static bool may_be_slice(const struct maker *m, uint32_t mask)
{
    bool is_plain = m->rank < 2 || (m->order[0] == m->rank - 1 && m->order[1] == m->rank - 2);

    return (is_plain && mask == (1u << m->rank) - 1) || __builtin_popcount(mask) == 1;
}

/* an array that is larger than `s` on all sides, and the slice of it */
static int sliced_parameter(struct maker *m, struct shape s)
{
    int64_t start[GRAPH_RANK_MAX], limit[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX];
    int64_t tile_rows = 32 / array_element_bytes(s.dtype);
    struct shape whole = s;

    for (int d = 0; d < s.rank; d++) {
        int64_t unit = m->rank == 1 ? tile_rows * 128 : d == s.rank - 1 ? 128
                       : d == s.rank - 2 ? tile_rows : 1;

        start[d] = unit * below(m, 3);
        stride[d] = d < s.rank - 2 ? 1 + below(m, 2) : 1;
        limit[d] = start[d] + (s.dim[d] - 1) * stride[d] + 1;
        whole.dim[d] = limit[d] + below(m, 20);
    }
    return graph_slice(&m->g, graph_parameter(&m->g, whole, "whole"), start, limit, stride);
}

static void add_parameter(struct maker *m, uint32_t mask)
{
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_F32, DTYPE_BF16, DTYPE_S32,
                                             DTYPE_S8, DTYPE_U8, DTYPE_PRED};
    enum graph_dtype t = types[below(m, COUNT_OF(types))];
    int x = may_be_slice(m, mask) && below(m, 3) == 0
                ? sliced_parameter(m, shape_on(m, mask, t))
                : graph_parameter(&m->g, shape_on(m, mask, t), "p");

    m->orders[m->g.parameter_count - 1] = order_of(m, mask);
    add(m, graph_convert(&m->g, x, DTYPE_F32), mask);
}

static int pick(struct maker *m)
{
    return (int)below(m, (uint32_t)m->count);
}

static int spread(struct maker *m, int v, uint32_t mask)
{
    int dims[4], count = 0, at = 0;

    if (m->mask[v] == mask)
        return m->value[v];
    for (int d = 0; d < m->rank; d++) {
        if (m->mask[v] >> d & 1)
            dims[count++] = at;
        at += (int)(mask >> d & 1);
    }
    return graph_broadcast(&m->g, m->value[v], shape_on(m, mask, DTYPE_F32), dims);
}

static void add_binary(struct maker *m)
{
    static const enum graph_op ops[] = {HLO_ADD, HLO_SUBTRACT, HLO_MULTIPLY, HLO_MAXIMUM,
                                        HLO_MINIMUM};
    int a = pick(m), b = pick(m), x, y, z;
    uint32_t mask = m->mask[a] | m->mask[b];

    x = spread(m, a, mask);
    y = spread(m, b, mask);
    if (below(m, 3) == 0) {
        z = graph_compare(&m->g, (enum graph_compare)below(m, 6), x, y);
        add(m, graph_select(&m->g, z, x, graph_unary(&m->g, HLO_NEGATE, y)), mask);
    } else {
        add(m, bounded(m, graph_binary(&m->g, ops[below(m, COUNT_OF(ops))], x, y)), mask);
    }
}

static void add_reduction(struct maker *m)
{
    int v = pick(m), x;
    uint32_t mask = m->mask[v], own = 0, kept = 0;
    enum graph_reduce kind = (enum graph_reduce)below(m, 3);
    int at = 0, reduced = 0;

    bool over_lanes = m->is_narrow && below(m, 4) > 0;

    for (int d = 0; d < m->rank; d++) {
        if (!(mask >> d & 1))
            continue;
        if (over_lanes ? d == m->rank - 1 : below(m, 2) > 0) {
            own |= 1u << at;
            reduced++;
        } else {
            kept |= 1u << d;
        }
        at++;
    }
    if (reduced == 0)
        return;
    if (reduced == 1 && below(m, 3) == 0)
        kind = below(m, 2) ? REDUCE_ARGMAX : REDUCE_ARGMIN;
    x = graph_reduce(&m->g, kind, m->value[v], own);
    add(m, bounded(m, graph_convert(&m->g, x, DTYPE_F32)), kept);
}

static void add_iota(struct maker *m)
{
    uint32_t mask = (1u << m->rank) - 1;
    struct shape s = shape_on(m, mask, below(m, 2) ? DTYPE_F32 : DTYPE_S32);
    int x = graph_iota(&m->g, s, (int)below(m, (uint32_t)m->rank));

    add(m, bounded(m, graph_convert(&m->g, x, DTYPE_F32)), mask);
}

static void make_body(struct maker *m)
{
    uint32_t full;
    int steps;

    (m->is_narrow ? pick_narrow_space : pick_space)(m);
    full = (1u << m->rank) - 1;
    add_parameter(m, full);
    for (int i = (int)below(m, 4); i > 0; i--)
        add_parameter(m, below(m, 2)                     ? full
                         : m->is_narrow && below(m, 4) ? full & ~(1u << (m->rank - 1))
                                                       : below(m, full + 1));
    for (steps = (m->is_narrow ? 5 : 2) + (int)below(m, 7); steps > 0; steps--) {
        uint32_t what = below(m, 8);

        if (what < 5)
            add_binary(m);
        else if (what < 7)
            add_reduction(m);
        else
            add_iota(m);
    }
}

static void make_outputs(struct maker *m, struct kernel_rig *r)
{
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S32, DTYPE_S8};

    for (int i = 1 + (int)below(m, 3); i > 0; i--) {
        int v = i == 1 ? m->count - 1 : pick(m);
        enum graph_dtype t = types[below(m, COUNT_OF(types))];
        int x = graph_convert(&m->g, m->value[v], t);

        r->result_order[m->g.output_count] = order_of(m, m->mask[v]);
        graph_output(&m->g, x, "out", -1);
    }
}

static bool check_random(uint64_t seed, bool is_narrow)
{
    static const char *const chips[] = {"v3", "v6e", "v5e", "v2", "v7x", "v4"};
    struct maker m = {.is_narrow = is_narrow};
    struct kernel_rig r = {.chip = chips[seed % COUNT_OF(chips)], .may_refuse = true,
                           .any_zero = true, .spoils_padding = true};

    rng_init(&m.r, seed);
    arena_init(&m.arena);
    graph_init(&m.g, &m.arena, "random");
    make_body(&m);
    make_outputs(&m, &r);
    for (int i = 0; i < m.g.parameter_count; i++)
        r.operand_order[i] = m.orders[i];
    r.operands_in_vmem = below(&m, 2) ? below(&m, 16) : 0;
    r.results_in_vmem = below(&m, 2) ? below(&m, 4) : 0;
    if (below(&m, 2))
        r.vmem_rows = 2048 + below(&m, 4096);
    kernel_rig_open(&r, &m.g);
    if (!r.refusal[0])
        kernel_rig_check(&r, seed);
    else
        print_message("seed %llu: %s\n", (unsigned long long)seed, r.refusal);
    kernel_rig_close(&r);
    graph_fini(&m.g);
    arena_fini(&m.arena);
    return !r.refusal[0];
}

static void check_many(bool is_narrow)
{
    uint64_t end = test_is_long() ? 4000 : 300, made = 0;

    for (uint64_t seed = 1; seed <= end; seed++)
        made += check_random(seed, is_narrow);
    print_message("%llu of %llu made\n", (unsigned long long)made, (unsigned long long)end);
    assert_true(made >= end * 9 / 10);
}

TEST(random_fusions_have_the_bits_of_the_interpreter)
{
    check_many(false);
}

/* where sums stay in registers, and columns go as rows */
TEST(random_fusions_of_one_tile_of_lanes_do_too)
{
    check_many(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_fusions_have_the_bits_of_the_interpreter),
        cmocka_unit_test(random_fusions_of_one_tile_of_lanes_do_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
