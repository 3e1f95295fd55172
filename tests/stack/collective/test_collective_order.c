/* The documented orders of sums, bit by bit, and the bytes that ranks send. */
#include "tests/test.h"

#include "base/units.h"
#include "stack/collective/ring.h"
#include "tests/rigs/collective_rig.h"

/* A few lines that know nothing of plans. */
struct model {
    const struct collective_bench *b;
    const struct collective_outcome *o;
    int members[512], n[4];             /* n: ranks along core, x, y, z */
    int order[4], direction[4], stages; /* torus */
    int64_t at;                         /* byte of the array */
};

static struct model model_of(const struct collective_bench *b, const struct collective_outcome *o)
{
    struct model m = {.b = b, .o = o};

    group_of(b, 0, m.members);
    m.n[0] = b->request.over_chips ? 1 : b->slice.core_count / b->slice.chip_count;
    for (int i = 0; i < 3; i++)
        m.n[i + 1] = b->slice.dim[i];
    return m;
}

static double model_own(const struct model *m, const int c[4])
{
    int rank = c[0] + m->n[0] * (c[1] + m->n[1] * (c[2] + m->n[2] * c[3]));

    return read_elem(m->b, m->o->in[m->members[rank]] + m->at);
}

static double model_add(const struct model *m, double a, double b)
{
    float sum = (float)a + (float)b;

    return (double)(m->b->request.type == COLLECTIVE_F32
                    ? sum : host_bf16_to_f32(host_f32_to_bf16(sum)));
}

static bool is_closed(const struct model *m, int dim)
{
    return dim > 0 && m->b->slice.is_ring[dim - 1];
}

/* place in the ring of coordinate c, and coordinate of a place */
static int model_position(const struct model *m, int dim, int c)
{
    return is_closed(m, dim) ? c : c % 2 ? m->n[dim] - 1 - c / 2 : c / 2;
}

static int model_coordinate(const struct model *m, int dim, int position)
{
    for (int c = 0; c < m->n[dim]; c++)
        if (model_position(m, dim, c) == position)
            return c;
    fail();
    return -1;
}

/* begins with the rank after the block's, ends with the block's own */
static double model_torus(const struct model *m, int stage, const int block[4])
{
    int dim = m->order[stage], n = m->n[dim], own, c[4];
    double sum = 0;

    if (stage < 0)
        return model_own(m, block);
    memcpy(c, block, sizeof(c));
    own = model_position(m, dim, block[dim]);
    for (int k = 1; k <= n; k++) {
        double value;

        c[dim] = model_coordinate(m, dim, ((own + m->direction[stage] * k) % n + n) % n);
        value = stage > 0 ? model_torus(m, stage - 1, c) : model_own(m, c);
        sum = k == 1 ? value : model_add(m, sum, value);
    }
    return sum;
}

/* axis after axis: the upper half of the coordinates onto the lower, until one is left */
static double model_exchange(const struct model *m, int dim)
{
    static int c[4];
    double value[16];
    int left = dim < 0 ? 1 : m->n[dim];

    if (dim < 0)
        return model_own(m, c);
    for (c[dim] = 0; c[dim] < left; c[dim]++)
        value[c[dim]] = model_exchange(m, dim - 1);
    for (; left > 1; left = (left + 1) / 2)
        for (int i = (left + 1) / 2; i < left; i++)
            value[i - (left + 1) / 2] = model_add(m, value[i - (left + 1) / 2], value[i]);
    return value[0];
}

/* own, then the chains that begin here, dim by dim, upwards before downwards, then the own chain */
static double model_tree(const struct model *m, const int root[4], const int c[4])
{
    double sum = model_own(m, c);

    for (int dim = 0; dim < 4; dim++) {
        int n = m->n[dim], up = is_closed(m, dim) ? n / 2 : n - 1 - root[dim];
        int off = (c[dim] - root[dim] + n) % n;

        for (int side = 1; side >= -1; side -= 2) {
            int reach = side > 0 ? up : n - 1 - up, depth = side > 0 ? off : (n - off) % n, next[4];

            if (off > 0 && (side > 0) != (off <= up))
                continue;
            memcpy(next, c, sizeof(next));
            next[dim] = (c[dim] + side + n) % n;
            if (depth < reach)
                sum = model_add(m, sum, model_tree(m, root, next));
        }
        if (off > 0)
            return sum;
    }
    return sum;
}

/* parts of a block: all first directions of the axes, then the others where axes close */
static int list_parts(struct model *m, int parts[6][2])
{
    int count = 0;

    for (int direction = 1; direction >= -1; direction -= 2)
        for (int dim = 1; dim < 4; dim++)
            if (m->n[dim] > 1 && (direction == 1 || is_closed(m, dim))) {
                parts[count][0] = dim;
                parts[count++][1] = direction;
            }
    return count;
}

static void set_part(struct model *m, int first, int direction)
{
    m->stages = 0;
    if (m->n[0] > 1)
        m->order[m->stages++] = 0;
    for (int i = 0; i < 3; i++) {
        int dim = (first - 1 + i) % 3 + 1;

        if (m->n[dim] > 1)
            m->order[m->stages++] = dim;
    }
    for (int i = 0; i < m->stages; i++)
        m->direction[i] = is_closed(m, m->order[i]) ? direction : 1;
}

static void check_order(struct model *m, double expected)
{
    double result = read_elem(m->b, m->o->out[0] + m->at);

    if (memcmp(&result, &expected, sizeof(result)) != 0)
        fail_msg("byte %lld: %.9g, in the documented order %.9g", (long long)m->at, result,
                 expected);
}

static void check_torus_order(struct model *m)
{
    int parts[6][2], count = list_parts(m, parts);
    int64_t block = 512 * count;

    assert_int_equal(m->b->request.bytes % block, 0);
    for (m->at = 0; m->at < m->b->request.bytes; m->at += 36) {
        int rank = (int)(m->at / block), part = (int)(m->at % block / 512), c[4];

        for (int i = 0; i < 4; i++) {
            c[i] = rank % m->n[i];
            rank /= m->n[i];
        }
        set_part(m, parts[part][0], parts[part][1]);
        check_order(m, model_torus(m, m->stages - 1, c));
    }
}

static void open_order(struct collective_bench *b, size_t g, enum collective_algo algo)
{
    open_bench(b, &collective_grids[g / 2], COLLECTIVE_ALL_REDUCE, algo, 2112);
    b->request.over_chips = g % 2 == 0;
    b->request.type = g % 3 == 0 ? COLLECTIVE_BF16 : COLLECTIVE_F32;
    if (g % 5 == 0)
        b->request.bytes = 1024;                /* whole rows are added together */
}

TEST(torus_sums_in_the_documented_order)
{
    for (size_t g = 0; g < ((size_t)collective_grid_count - 1) * 4; g++) {
        struct collective_bench b;
        struct collective_outcome o;
        struct model m;
        int parts[6][2];

        open_order(&b, g / 2, COLLECTIVE_TORUS);
        m = model_of(&b, NULL);
        b.request.bytes = 512 * list_parts(&m, parts) * rank_count(&b);
        if (g % 2)
            b.chip.vmem_bytes = 48 * KIB;       /* streams */
        make_plan(&b);
        o = run_bench(&b, g + 1);
        m.o = &o;
        check_torus_order(&m);
        close_bench(&b);
    }
}

TEST(ring_sums_in_the_order_of_its_ring)
{
    for (size_t g = 0; g < (size_t)collective_grid_count - 1; g++) {
        struct collective_bench b;
        struct collective_outcome o;
        struct model m;
        int core[512], count;

        open_order(&b, g * 2, COLLECTIVE_BIRING);
        count = rank_count(&b);
        b.request.bytes = 1024 * count;
        b.slice.core_count = b.slice.chip_count;
        if (b.slice.dim[0] == b.slice.chip_count || b.slice.dim[1] == b.slice.chip_count ||
            b.slice.dim[2] == b.slice.chip_count) {     /* a line is torus's folded ring */
            close_bench(&b);
            continue;
        }
        make_plan(&b);
        ring_order(&b.slice, core);
        o = run_bench(&b, g + 1);
        m = model_of(&b, &o);
        for (m.at = 0; m.at < b.request.bytes; m.at += 20) {
            int direction = m.at % 1024 < 512 ? 1 : -1, own = 0;
            double sum = 0;

            while (core[own] != (int)(m.at / 1024))
                own++;
            for (int k = 1; k <= count; k++) {
                int rank = core[((own + direction * k) % count + count) % count];
                double value = read_elem(&b, o.in[rank] + m.at);

                sum = k == 1 ? value : model_add(&m, sum, value);
            }
            check_order(&m, sum);
        }
        close_bench(&b);
    }
}

TEST(exchange_and_tree_sum_in_the_documented_order)
{
    for (size_t g = 0; g < ((size_t)collective_grid_count - 1) * 4; g++) {
        struct collective_bench b;
        struct collective_outcome o;
        struct model m;
        int root[4], rank;

        open_order(&b, g / 2, g % 2 ? COLLECTIVE_TREE : COLLECTIVE_EXCHANGE);
        b.request.root = rank = (int)(g * 5) % rank_count(&b);
        make_plan(&b);
        o = run_bench(&b, g + 1);
        m = model_of(&b, &o);
        for (int i = 0; i < 4; i++) {
            root[i] = rank % m.n[i];
            rank /= m.n[i];
        }
        for (m.at = 0; m.at < b.request.bytes; m.at += 12)
            check_order(&m, g % 2 ? model_tree(&m, root, root) : model_exchange(&m, 3));
        close_bench(&b);
    }
}

/* what all ranks of group 0 send, in bytes */
static int64_t sent_by_all(const struct collective_bench *b)
{
    int members[512], count = group_of(b, 0, members);
    int64_t sent = 0;

    for (int i = 0; i < count; i++)
        sent += host_sent_bytes(b->host, members[i]);
    return sent;
}

TEST(ranks_send_no_more_bytes_than_the_algorithm_needs)
{
    static const struct { enum collective_kind kind; enum collective_algo algo; bool each; }
    rows[] = {
        {COLLECTIVE_ALL_REDUCE, COLLECTIVE_RING, true},
        {COLLECTIVE_ALL_REDUCE, COLLECTIVE_BIRING, true},
        {COLLECTIVE_ALL_REDUCE, COLLECTIVE_TORUS, true},
        {COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_TORUS, true},
        {COLLECTIVE_ALL_GATHER, COLLECTIVE_TORUS, true},
        {COLLECTIVE_ALL_TO_ALL, COLLECTIVE_DIRECT, true},
        {COLLECTIVE_ALL_REDUCE, COLLECTIVE_TREE, false},
        {COLLECTIVE_BROADCAST, COLLECTIVE_TREE, false},
        {COLLECTIVE_BROADCAST, COLLECTIVE_DIRECT, false},
    };

    for (size_t g = 0; g < (size_t)collective_grid_count; g++)
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            struct collective_bench b;
            int ranks;
            int64_t expected;

            open_bench(&b, &collective_grids[g], rows[i].kind, rows[i].algo, 0);
            b.request.over_chips = g % 2 == 0;
            ranks = rank_count(&b);
            b.request.bytes = (int64_t)ranks * 736;
            make_plan(&b);
            run_bench(&b, 7);
            /* a reduction or a copy of everything passes each rank but one once */
            expected = (ranks - 1) * (rows[i].each ? 736 : b.request.bytes);
            expected *= rows[i].kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
            if (rows[i].each)
                for (int core = 0; core < b.slice.core_count; core++)
                    assert_int_equal(host_sent_bytes(b.host, core), expected);
            else
                assert_int_equal(sent_by_all(&b), expected);
            close_bench(&b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torus_sums_in_the_documented_order),
        cmocka_unit_test(ring_sums_in_the_order_of_its_ring),
        cmocka_unit_test(exchange_and_tree_sum_in_the_documented_order),
        cmocka_unit_test(ranks_send_no_more_bytes_than_the_algorithm_needs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
