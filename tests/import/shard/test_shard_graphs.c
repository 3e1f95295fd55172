/*
 * Random programs: operations on operations, parameters and arrays between cut at random over a
 * random number of devices. All parts together compute what the whole does.
 */
#include "tests/import/shard/shard_rig.h"

#include <time.h>

enum { TEXT_BYTES = 65536, ARRAYS_MAX = 64, RANK_MAX = 4 };

struct array { int rank; int64_t dim[RANK_MAX]; };
struct graph { struct rng rng; char *text, *to; struct array array[ARRAYS_MAX]; int count, mesh; };

static const struct { int devices, count, size[3]; } meshes[] = {
    {8, 3, {2, 2, 2}}, {8, 2, {2, 4}}, {4, 2, {2, 2}}, {6, 2, {2, 3}}, {2, 1, {2}}, {16, 2, {4, 4}},
};

static int draw(struct graph *g, int end) { return (int)rng_below(&g->rng, (uint32_t)end); }

static void put(struct graph *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct graph *g, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    g->to += vsnprintf(g->to, TEXT_BYTES - (size_t)(g->to - g->text), fmt, args);
    va_end(args);
}

static void put_type(struct graph *g, const struct array *a)
{
    put(g, "f32[");
    for (int d = 0; d < a->rank; d++)
        put(g, "%s%lld", d ? "," : "", (long long)a->dim[d]);
    put(g, "]");
}

/* each axis of the mesh cuts a dimension or none; devices are listed one by one */
static void put_sharding(struct graph *g, int rank)
{
    int axes = meshes[g->mesh].count, dim[3], tile[RANK_MAX + 1] = {0}, order[3], used = 0;

    for (int d = 0; d <= rank; d++)
        tile[d] = 1;
    for (int a = 0; a < axes; a++) {
        dim[a] = draw(g, rank + 1);     /* rank: none */
        tile[dim[a]] *= meshes[g->mesh].size[a];
    }
    for (int d = 0; d <= rank; d++)     /* axes in the order of their dimensions */
        for (int a = 0; a < axes; a++)
            if (dim[a] == d)
                order[used++] = a;
    put(g, "{devices=[");
    for (int d = 0; d < rank + (tile[rank] > 1); d++)
        put(g, "%s%d", d ? "," : "", tile[d]);
    put(g, "]<=[");
    for (int a = 0; a < axes; a++)
        put(g, "%s%d", a ? "," : "", meshes[g->mesh].size[a]);
    put(g, "]T(");
    for (int a = 0; a < axes; a++)
        put(g, "%s%d", a ? "," : "", order[a]);
    put(g, ")%s}", tile[rank] > 1 ? " last_tile_dim_replicate" : "");
}

static void begin(struct graph *g, struct array a)
{
    put(g, "a%d = ", g->count);
    put_type(g, &a);
    put(g, " ");
    g->array[g->count++] = a;
}

static void elementwise(struct graph *g, int x)
{
    int y = x;

    for (int i = 0; i < g->count; i++)
        if (g->array[i].rank == g->array[x].rank &&
            !memcmp(g->array[i].dim, g->array[x].dim, sizeof(g->array[x].dim)) && draw(g, 2))
            y = i;
    begin(g, g->array[x]);
    put(g, "%s(a%d, a%d)\n", draw(g, 2) ? "add" : "multiply", x, y);
}

static void constrain(struct graph *g, int x)
{
    begin(g, g->array[x]);
    put(g, "custom-call(a%d), custom_call_target=\"Sharding\", sharding=", x);
    put_sharding(g, g->array[x].rank);
    put(g, "\n");
}

static void transpose(struct graph *g, int x)
{
    struct array a = g->array[x];
    int order[RANK_MAX];

    for (int d = 0; d < a.rank; d++)
        order[d] = d;
    for (int d = a.rank - 1; d > 0; d--) {
        int k = draw(g, d + 1), was = order[d];

        order[d] = order[k];
        order[k] = was;
    }
    for (int d = 0; d < a.rank; d++)
        a.dim[d] = g->array[x].dim[order[d]];
    begin(g, a);
    put(g, "transpose(a%d), dimensions={", x);
    for (int d = 0; d < a.rank; d++)
        put(g, "%s%d", d ? "," : "", order[d]);
    put(g, "}\n");
}

/* two dimensions become one, or one two */
static void reshape(struct graph *g, int x)
{
    struct array a = g->array[x];
    int d = draw(g, a.rank);

    if (draw(g, 2) && d + 1 < a.rank) {
        a.dim[d] *= a.dim[d + 1];
        for (int k = d + 1; k + 1 < a.rank; k++)
            a.dim[k] = a.dim[k + 1];
        a.dim[--a.rank] = 0;
    } else if (a.rank < RANK_MAX && a.dim[d] % 2 == 0) {
        for (int k = a.rank; k > d + 1; k--)
            a.dim[k] = a.dim[k - 1];
        a.rank++;
        a.dim[d + 1] = a.dim[d] % 4 == 0 && draw(g, 2) ? 4 : 2;
        a.dim[d] /= a.dim[d + 1];
    }
    begin(g, a);
    put(g, "reshape(a%d)\n", x);
}

static void reduce(struct graph *g, int x)
{
    struct array a = g->array[x];
    int d = draw(g, a.rank);

    if (a.rank == 1)
        return;
    for (int k = d; k + 1 < a.rank; k++)
        a.dim[k] = a.dim[k + 1];
    a.dim[--a.rank] = 0;
    begin(g, a);
    put(g, "reduce(a%d, %s), dimensions={%d}, to_apply=%s\n", x, draw(g, 2) ? "zero" : "half", d,
        draw(g, 2) ? "add" : "max");
}

static void broadcast(struct graph *g, int x)
{
    struct array a = g->array[x];
    int d = draw(g, a.rank + 1);

    if (a.rank == RANK_MAX)
        return;
    for (int k = a.rank; k > d; k--)
        a.dim[k] = a.dim[k - 1];
    a.dim[d] = 1 + draw(g, 8);
    a.rank++;
    begin(g, a);
    put(g, "broadcast(a%d), dimensions={", x);
    for (int k = 0, out = 0; k < a.rank; k++)
        if (k != d)
            put(g, "%s%d", out++ ? "," : "", k);
    put(g, "}\n");
}

/* with itself or another along dimensions of one size, and tanh, so that numbers stay small */
static void dot(struct graph *g, int x)
{
    int y = draw(g, g->count), dx = draw(g, g->array[x].rank), dy = -1;
    const struct array *a = &g->array[x], *b = &g->array[y];
    struct array c = {0};

    for (int d = 0; d < b->rank; d++)
        if (b->dim[d] == a->dim[dx])
            dy = d;
    if (dy < 0 || a->rank + b->rank - 2 > RANK_MAX || a->rank + b->rank < 3)
        return;
    for (int d = 0; d < a->rank; d++)
        if (d != dx)
            c.dim[c.rank++] = a->dim[d];
    for (int d = 0; d < b->rank; d++)
        if (d != dy)
            c.dim[c.rank++] = b->dim[d];
    begin(g, c);
    put(g, "dot(a%d, a%d), lhs_contracting_dims={%d}, rhs_contracting_dims={%d}\n", x, y, dx, dy);
    begin(g, c);
    put(g, "tanh(a%d)\n", g->count - 2);
}

static void slice(struct graph *g, int x)
{
    struct array a = g->array[x];
    int d = draw(g, a.rank);
    int64_t from = draw(g, (int)a.dim[d]);

    a.dim[d] -= from;
    begin(g, a);
    put(g, "slice(a%d), slice={", x);
    for (int k = 0; k < a.rank; k++)
        put(g, "%s[%lld:%lld]", k ? ", " : "", (long long)(k == d ? from : 0),
            (long long)g->array[x].dim[k]);
    put(g, "}\n");
}

static void concatenate(struct graph *g, int x)
{
    struct array a = g->array[x];
    int d = draw(g, a.rank);

    if (a.dim[d] > 16)
        return;
    a.dim[d] *= 2;
    begin(g, a);
    put(g, "concatenate(a%d, a%d), dimensions={%d}\n", x, x, d);
}

static void sort(struct graph *g, int x)
{
    begin(g, g->array[x]);
    put(g, "sort(a%d), dimensions={%d}, is_stable=true, to_apply=less\n", x,
        draw(g, g->array[x].rank));
}

static int64_t elements(const struct array *a)
{
    int64_t n = 1;

    for (int d = 0; d < a->rank; d++)
        n *= a->dim[d];
    return n;
}

static void generate(struct graph *g, char *text, uint64_t seed)
{
    static void (*const made[])(struct graph *, int) = {
        elementwise, elementwise, constrain, transpose, reshape, reduce, broadcast, dot, dot, slice,
        concatenate, sort,
    };
    static const int64_t sizes[] = {2, 3, 4, 4, 6, 8, 8, 12};
    int parameters, length;

    *g = (struct graph){.text = text, .to = text};
    rng_init(&g->rng, seed);
    g->mesh = draw(g, sizeof(meshes) / sizeof(*meshes));
    put(g, "HloModule test, num_partitions=%d\n", meshes[g->mesh].devices);
    put(g, "add { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] add(x, y) }\n"
        "max { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] maximum(x, y) }\n"
        "less { x = f32[] parameter(0)\n y = f32[] parameter(1)\n"
        "ROOT z = pred[] compare(x, y), direction=LT }\n"
        "ENTRY main { zero = f32[] constant(0)\n half = f32[] constant(0.5)\n");
    parameters = 2 + draw(g, 3);
    for (int k = 0; k < parameters; k++) {
        struct array a = {.rank = 1 + draw(g, 3)};

        for (int d = 0; d < a.rank; d++)
            a.dim[d] = sizes[draw(g, sizeof(sizes) / sizeof(*sizes))];
        begin(g, a);
        put(g, "parameter(%d), sharding=", k);
        put_sharding(g, a.rank);
        put(g, "\n");
    }
    length = 4 + draw(g, 30);
    while (g->count < length) {
        int x = draw(g, 3) ? g->count - 1 : draw(g, g->count);

        if (elements(&g->array[x]) < 4096)
            made[draw(g, sizeof(made) / sizeof(*made))](g, x);
        else
            reduce(g, x);
    }
    put(g, "ROOT results = (");
    put_type(g, &g->array[g->count - 1]);
    put(g, ", ");
    put_type(g, &g->array[g->count / 2]);
    put(g, ") tuple(a%d, a%d), sharding={", g->count - 1, g->count / 2);
    put_sharding(g, g->array[g->count - 1].rank);
    put(g, ", {replicated}} }\n");
}

TEST(random_programs_cut_anywhere_compute_what_whole_ones_do)
{
    const char *said = getenv("SEED");
    uint64_t seed = said ? strtoull(said, NULL, 10) : (uint64_t)time(NULL);
    char *text = mem_alloc(TEXT_BYTES);

    for (int n = 0; n < (test_is_long() ? 5000 : 150); n++) {
        struct shard_rig r;
        struct graph g;

        generate(&g, text, seed + (uint64_t)n);
        rig_check(&r, text, seed + (uint64_t)n, 1e-3);
        rig_end(&r);
    }
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_cut_anywhere_compute_what_whole_ones_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
