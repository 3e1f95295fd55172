#include "tests/rigs/collective_rig.h"

#include "base/rng.h"
#include "base/units.h"
#include "tests/test.h"

const struct collective_grid collective_grids[] = {
    {2, 1, 1, "", 1}, {3, 1, 1, "", 1}, {4, 1, 1, "x", 1}, {5, 1, 1, "x", 1}, {1, 7, 1, "", 2},
    {2, 2, 1, "", 2}, {3, 2, 1, "", 1}, {3, 3, 1, "", 1}, {4, 3, 1, "x", 1}, {4, 4, 1, "xy", 2},
    {2, 2, 2, "", 2}, {2, 3, 4, "z", 1}, {4, 4, 4, "xyz", 1}, {3, 5, 2, "y", 1}, {1, 1, 4, "z", 2},
    {1, 1, 1, "", 2},
};
const int collective_grid_count = COUNT_OF(collective_grids);

void open_bench(struct collective_bench *b, const struct collective_grid *g,
                enum collective_kind kind, enum collective_algo algo, int64_t bytes)
{
    memset(b, 0, sizeof(*b));
    arena_init(&b->arena);
    assert_int_equal(chip_load_builtin(&b->chip, "v4", NULL, NULL, &b->err), 0);
    b->slice = (struct slice){.name = "grid", .chip_name = "v4", .dims = 3,
                              .dim = {g->x, g->y, g->z}, .chip_count = g->x * g->y * g->z};
    b->slice.core_count = b->slice.chip_count * g->cores_per_chip;
    for (int i = 0; i < 3; i++)
        b->slice.is_ring[i] = strchr(g->rings, "xyz"[i]) != NULL;
    b->request = (struct collective_request){.kind = kind, .algo = algo, .bytes = bytes,
        .over_chips = true, .axis = {true, true, true}, .slice = &b->slice, .chip = &b->chip};
}

void close_bench(struct collective_bench *b)
{
    if (b->host)
        host_destroy(b->host);
    arena_fini(&b->arena);
}

void make_plan(struct collective_bench *b)
{
    b->plan = collective_plan_create(&b->request, &b->arena, &b->err);
    if (!b->plan)
        fail_msg("%s", b->err.msg);
    b->host = host_create(b->plan);
}

int group_of(const struct collective_bench *b, int core, int *members)
{
    const struct slice *s = &b->slice;
    int inside = s->core_count / s->chip_count, count = 0, size = b->request.group_size;

    for (int i = 0; b->request.group && i < b->request.group_count * size; i++)
        if (b->request.group[i] == core) {
            for (count = 0; count < size; count++)
                members[count] = b->request.group[i / size * size + count];
            return count;
        }
    for (int other = 0; other < s->core_count; other++) {
        int a = core / inside, c = other / inside;
        bool is_member = !b->request.over_chips || core % inside == other % inside;

        for (int i = 0; i < 3; i++) {
            is_member &= b->request.axis[i] || a % s->dim[i] == c % s->dim[i];
            a /= s->dim[i];
            c /= s->dim[i];
        }
        if (is_member)
            members[count++] = other;
    }
    return count;
}

int64_t elem_bytes(const struct collective_bench *b)
{
    return b->request.type == COLLECTIVE_F32 ? 4 : 2;
}

double read_elem(const struct collective_bench *b, const uint8_t *at)
{
    float value;
    uint16_t half;

    if (b->request.type == COLLECTIVE_F32)
        memcpy(&value, at, sizeof(value));
    else {
        memcpy(&half, at, sizeof(half));
        value = host_bf16_to_f32(half);
    }
    return (double)value;
}

static void fill(const struct collective_bench *b, uint8_t *to, int64_t bytes, struct rng *r)
{
    for (int64_t i = 0; i < bytes; i += elem_bytes(b)) {
        float value = rng_uniform(r, -1, 1);
        uint16_t half = host_f32_to_bf16(value);

        memcpy(to + i, b->request.type == COLLECTIVE_F32 ? (void *)&value : (void *)&half,
               (size_t)elem_bytes(b));
    }
}

struct collective_outcome run_bench(struct collective_bench *b, uint64_t seed)
{
    struct collective_outcome o = {.arrays = collective_arrays_of(b->plan)};
    size_t cores = (size_t)b->slice.core_count;
    const char *wrong;
    struct rng r;

    rng_init(&r, seed);
    o.in = arena_array(&b->arena, cores, sizeof(*o.in));
    o.out = arena_array(&b->arena, cores, sizeof(*o.out));
    for (size_t i = 0; i < cores; i++) {
        uint8_t *in = host_hbm(b->host, (int)i) + o.arrays.in;

        fill(b, in, o.arrays.in_bytes, &r);
        o.in[i] = arena_alloc(&b->arena, (size_t)o.arrays.in_bytes);
        memcpy(o.in[i], in, (size_t)o.arrays.in_bytes);
    }
    wrong = host_run(b->host, seed);
    if (wrong)
        fail_msg("%s", wrong);
    assert_true(host_most_in_flight(b->host) <= b->chip.dma_queue_depth);
    for (size_t i = 0; i < cores; i++)
        o.out[i] = host_hbm(b->host, (int)i) + o.arrays.out;
    return o;
}

int rank_count(const struct collective_bench *b)
{
    return b->slice.chip_count * (b->request.over_chips ? 1 : b->slice.core_count /
                                                              b->slice.chip_count);
}
