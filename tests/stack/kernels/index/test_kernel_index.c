/* Do gathers, scatters and dynamic slices move what the interpreter moves? */
#include "tests/test.h"

#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "stack/kernels/index/index_data.h"
#include "tests/rigs/kernel_rig.h"
#include "tests/rigs/seeds.h"

struct setup {
    struct arena arena;
    struct graph g;
};

static void open_graph(struct setup *s)
{
    arena_init(&s->arena);
    graph_init(&s->g, &s->arena, "body");
}

static void close_graph(struct setup *s)
{
    graph_fini(&s->g);
    arena_fini(&s->arena);
}

static int parameter(struct setup *s, enum graph_dtype dtype, int rank, const int64_t *dim)
{
    char name[8];

    snprintf(name, sizeof(name), "p%d", s->g.parameter_count);
    return graph_parameter(&s->g, shape_make(dtype, rank, dim),
                           arena_strdup(&s->arena, name));
}

static void check(struct setup *s, struct kernel_rig *r, uint64_t seed)
{
    kernel_rig_open(r, &s->g);
    kernel_rig_check(r, seed);
    kernel_rig_close(r);
}

/* rows of a table, by a list of indices */
static void rows(const char *chip, enum graph_dtype dtype, int64_t v, int64_t d, int64_t n)
{
    struct kernel_rig r = {.chip = chip, .values = RIG_HARD, .index_end = v + 9};
    struct graph_gather gather = {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1,
                                  .map_count = 1, .index_vector_dim = 1, .slice_sizes = {1, d}};
    struct setup s;
    int a, indices;

    open_graph(&s);
    a = parameter(&s, dtype, 2, (int64_t[]){v, d});
    indices = parameter(&s, DTYPE_S32, 1, &n);
    graph_output(&s.g, graph_gather(&s.g, a, indices, &gather), "o", -1);
    check(&s, &r, (uint64_t)(v * 31 + d * 7 + n));
    close_graph(&s);
}

TEST(rows_of_a_table_come_for_every_type_and_awkward_sizes)
{
    static const int64_t size[] = {1, 7, 8, 9, 127, 128, 129};

    for (int t = 0; t < DTYPE_COUNT; t++)
        for (int i = 0; i < 7; i++)
            rows(i % 2 ? "v3" : "v6e", (enum graph_dtype)t, size[(i + 3 + t) % 7],
                 size[(i + 5) % 7], size[i]);
    rows("v6e", DTYPE_F32, 1000, 1031, 300);
    rows("v4", DTYPE_BF16, 1000, 1031, 301);
}

/* One form of dimension numbers, on small sizes. */
struct form {
    const char *name;
    int rank, index_rank;
    int64_t dim[4], index[4];
    struct graph_gather d;              /* slice_sizes: of a scatter the update's window */
};

static const struct form forms[] = {
    {"embedding", 2, 3, {37, 130}, {3, 11, 1},
     {.offset_count = 1, .offset_dims = {2}, .collapsed_count = 1, .map_count = 1,
      .index_vector_dim = 2, .slice_sizes = {1, 130}}},
    {"by three coordinates", 3, 4, {5, 9, 140}, {2, 3, 7, 3},
     {.collapsed_count = 3, .collapsed_dims = {0, 1, 2}, .map_count = 3,
      .start_index_map = {0, 1, 2}, .index_vector_dim = 3, .slice_sizes = {1, 1, 1}}},
    {"by three, vector outside", 3, 4, {5, 9, 140}, {3, 2, 9, 130},
     {.collapsed_count = 3, .collapsed_dims = {0, 1, 2}, .map_count = 3,
      .start_index_map = {0, 1, 2}, .index_vector_dim = 0, .slice_sizes = {1, 1, 1}}},
    {"along the last dimension", 2, 2, {13, 300}, {13, 1},
     {.collapsed_count = 1, .collapsed_dims = {1}, .map_count = 1, .start_index_map = {1},
      .index_vector_dim = 2, .batching_count = 1, .slice_sizes = {1, 1}}},
    {"several along the last", 2, 3, {13, 300}, {13, 129, 1},
     {.collapsed_count = 1, .collapsed_dims = {1}, .map_count = 1, .start_index_map = {1},
      .index_vector_dim = 2, .batching_count = 1, .slice_sizes = {1, 1}}},
    {"two batch dimensions", 3, 4, {3, 10, 140}, {3, 10, 5, 1},
     {.collapsed_count = 1, .collapsed_dims = {2}, .map_count = 1, .start_index_map = {2},
      .index_vector_dim = 3, .batching_count = 2, .operand_batching = {0, 1},
      .indices_batching = {0, 1}, .slice_sizes = {1, 1, 1}}},
    {"columns", 2, 1, {9, 200}, {1},
     {.offset_count = 1, .offset_dims = {0}, .collapsed_count = 1, .collapsed_dims = {1},
      .map_count = 1, .start_index_map = {1}, .slice_sizes = {9, 1}}},
    {"many columns", 2, 2, {9, 200}, {1, 33},
     {.offset_count = 1, .offset_dims = {0}, .collapsed_count = 1, .collapsed_dims = {1},
      .map_count = 1, .start_index_map = {1}, .slice_sizes = {9, 1}}},
    {"columns of two dimensions", 3, 2, {3, 9, 200}, {1, 5},
     {.offset_count = 2, .offset_dims = {0, 1}, .collapsed_count = 1, .collapsed_dims = {2},
      .map_count = 1, .start_index_map = {2}, .slice_sizes = {3, 9, 1}}},
    {"one number of a vector", 1, 2, {700}, {5, 1},
     {.collapsed_count = 1, .map_count = 1, .index_vector_dim = 1, .slice_sizes = {1}}},
    {"many of a vector", 1, 1, {700}, {1500},
     {.collapsed_count = 1, .map_count = 1, .index_vector_dim = 1, .slice_sizes = {1}}},
    {"blocks inside", 2, 2, {40, 300}, {4, 2},
     {.offset_count = 2, .offset_dims = {1, 2}, .map_count = 2, .start_index_map = {0, 1},
      .index_vector_dim = 1, .slice_sizes = {5, 70}}},
    {"many dimensions", 4, 4, {2, 3, 20, 9}, {2, 3, 5, 2},
     {.offset_count = 1, .offset_dims = {3}, .collapsed_count = 1, .collapsed_dims = {2},
      .map_count = 1, .start_index_map = {2}, .index_vector_dim = 4, .batching_count = 2,
      .operand_batching = {0, 1}, .indices_batching = {0, 1}, .slice_sizes = {1, 1, 1, 9}}},
    {"windows of many dimensions", 4, 3, {6, 7, 20, 30}, {3, 4, 3},
     {.offset_count = 2, .offset_dims = {2, 3}, .collapsed_count = 2, .collapsed_dims = {0, 1},
      .map_count = 3, .start_index_map = {0, 1, 2}, .index_vector_dim = 2,
      .slice_sizes = {1, 1, 6, 11}}},
    {"rows of batches", 3, 3, {4, 30, 128}, {4, 20, 1},
     {.offset_count = 1, .offset_dims = {2}, .collapsed_count = 1, .collapsed_dims = {1},
      .map_count = 1, .start_index_map = {1}, .index_vector_dim = 2, .batching_count = 1,
      .slice_sizes = {1, 1, 128}}},
};

/* in and a little out of range, both sides, with many equal */
static void *indices_of(struct setup *s, int64_t count, int64_t end, uint64_t seed)
{
    int32_t *data = arena_array(&s->arena, (size_t)count, sizeof(*data));
    struct rng r;

    rng_init(&r, seed);
    for (int64_t i = 0; i < count; i++)
        data[i] = (int32_t)(rng_next(&r) % (uint64_t)(end + 6)) - 3;
    return data;
}

static int64_t product(const int64_t *dim, int rank)
{
    int64_t n = 1;

    for (int i = 0; i < rank; i++)
        n *= dim[i];
    return n;
}

/* in_vmem: bit 0, table and result lie there */
static void gather_form(const struct form *f, const char *chip, enum graph_dtype dtype,
                        const char *set, uint32_t in_vmem, const int *order)
{
    struct kernel_rig r = {.chip = chip, .values = RIG_HARD, .set = set,
                           .operands_in_vmem = in_vmem, .operand_order = {order},
                           .results_in_vmem = in_vmem};
    struct setup s;
    int a, indices;

    open_graph(&s);
    a = parameter(&s, dtype, f->rank, f->dim);
    indices = parameter(&s, DTYPE_S32, f->index_rank, f->index);
    r.input[1] = indices_of(&s, product(f->index, f->index_rank),
                            f->dim[f->d.start_index_map[0]], 5);
    graph_output(&s.g, graph_gather(&s.g, a, indices, &f->d), f->name, -1);
    check(&s, &r, 11);
    close_graph(&s);
}

TEST(gathers_of_every_form_agree)
{
    static const enum graph_dtype type[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S8, DTYPE_S32};
    static const char *const chip[] = {"v3", "v6e", "v5e", "v7x"};

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        for (int t = 0; t < 4; t++)
            gather_form(&forms[i], chip[(i + (size_t)t) % 4], type[t], NULL, (uint32_t)t & 1,
                        NULL);
}

TEST(gathers_from_other_layouts_agree)
{
    static const int turned[] = {0, 1}, turned3[] = {1, 2, 0}, turned4[] = {1, 3, 0, 2};

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (forms[i].rank > 1)
            gather_form(&forms[i], "v5e", i % 2 ? DTYPE_BF16 : DTYPE_F32, NULL, 0,
                        forms[i].rank == 2 ? turned : forms[i].rank == 3 ? turned3 : turned4);
}

TEST(indices_that_do_not_fit_smem_come_in_windows)
{
    static const struct form many = {
        "long", 1, 1, {700}, {20000},
        {.collapsed_count = 1, .map_count = 1, .index_vector_dim = 1, .slice_sizes = {1}}};
    static const struct form three = {
        "three", 2, 3, {5, 140}, {2, 40, 300},
        {.collapsed_count = 2, .collapsed_dims = {0, 1}, .map_count = 2,
         .start_index_map = {0, 1}, .index_vector_dim = 0, .slice_sizes = {1, 1}}};

    gather_form(&many, "v3", DTYPE_F32, NULL, 0, NULL);
    gather_form(&three, "v3", DTYPE_BF16, NULL, 0, NULL);
}

static void slice(const char *chip, enum graph_dtype dtype, int rank, const int64_t *dim,
                  const int64_t *sizes, const int32_t *start)
{
    struct kernel_rig r = {.chip = chip, .values = RIG_HARD};
    struct setup s;
    int a, at[4];

    open_graph(&s);
    a = parameter(&s, dtype, rank, dim);
    for (int d = 0; d < rank; d++) {
        at[d] = parameter(&s, DTYPE_S32, 0, NULL);
        r.input[1 + d] = &start[d];
    }
    graph_output(&s.g, graph_dynamic_slice(&s.g, a, at, sizes), "o", -1);
    check(&s, &r, 3);
    close_graph(&s);
}

TEST(dynamic_slices_begin_where_they_are_told_or_at_the_edge)
{
    static const int32_t starts[][3] = {{0, 0, 0}, {2, 5, 131}, {-4, 100, 7}, {1, 1, 250}};
    static const int64_t dim[] = {4, 21, 300};
    static const int64_t sizes[][3] = {{1, 21, 300}, {2, 21, 300}, {1, 9, 300}, {1, 8, 130},
                                       {4, 1, 300}, {1, 1, 1}, {4, 21, 300}};

    for (int t = 0; t < 3; t++)
        for (int i = 0; i < 7; i++)
            slice(i & 1 ? "v3" : "v6e", (enum graph_dtype[]){DTYPE_F32, DTYPE_BF16, DTYPE_PRED}[t],
                  3, dim, sizes[i], starts[(i + t) % 4]);
    slice("v4", DTYPE_S32, 1, (int64_t[]){1000}, (int64_t[]){300}, (int32_t[]){333});
    slice("v4", DTYPE_BF16, 1, (int64_t[]){5000}, (int64_t[]){2048}, (int32_t[]){1001});
}

/* and so of the updates of a scatter with these dimension numbers */
static struct shape shape_of_gather(const struct form *f, enum graph_dtype dtype)
{
    struct setup s;
    struct shape shape;
    int a;

    open_graph(&s);
    a = parameter(&s, dtype, f->rank, f->dim);
    a = graph_gather(&s.g, a, parameter(&s, DTYPE_S32, f->index_rank, f->index), &f->d);
    shape = s.g.node[a].shape;
    close_graph(&s);
    return shape;
}

/* how: 0 to another place, 1 in place, 2 into one number everywhere */
static void scatter_form(const struct form *f, const char *chip, enum graph_dtype dtype,
                         enum graph_reduce kind, const char *set, int how)
{
    struct kernel_rig r = {.chip = chip, .values = kind == REDUCE_REPLACE ? RIG_HARD : RIG_WHOLE,
                           .set = set, .alias = {how == 1}};
    struct shape shape = shape_of_gather(f, dtype);
    struct setup s;
    int a, indices, updates, result;

    open_graph(&s);
    a = how == 2 ? graph_constant(&s.g, shape_make(dtype, f->rank, f->dim), 3)
                 : parameter(&s, dtype, f->rank, f->dim);
    indices = parameter(&s, DTYPE_S32, f->index_rank, f->index);
    updates = graph_parameter(&s.g, shape, "updates");
    r.input[how == 2 ? 0 : 1] = indices_of(&s, product(f->index, f->index_rank),
                                           f->dim[f->d.start_index_map[0]], 5);
    result = graph_scatter(&s.g, kind, a, indices, updates, &f->d);
    graph_output(&s.g, result, f->name, how == 1 ? 0 : -1);
    check(&s, &r, 12);
    close_graph(&s);
}

TEST(scatters_of_every_form_agree)
{
    static const enum graph_dtype type[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S8, DTYPE_S32};
    static const enum graph_reduce kind[] = {REDUCE_ADD, REDUCE_REPLACE, REDUCE_MAX, REDUCE_MIN};
    static const char *const chip[] = {"v3", "v6e", "v5e", "v7x"};

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        for (int t = 0; t < 4; t++)
            scatter_form(&forms[i], chip[(i + (size_t)t) % 4], type[t],
                         kind[(i + (size_t)t) % 4], NULL, (int)(i + (size_t)t) % 3);
}

TEST(scatters_larger_than_vmem_go_panel_by_panel)
{
    static const struct form table = {
        "table", 2, 2, {600, 300}, {100, 1},
        {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1, .map_count = 1,
         .index_vector_dim = 1, .slice_sizes = {1, 300}}};

    for (int how = 0; how < 3; how++) {
        scatter_form(&table, "v3", DTYPE_F32, REDUCE_ADD, "vmem.bytes=524288", how);
        scatter_form(&table, "v3", DTYPE_BF16, REDUCE_ADD, "vmem.bytes=524288", how);
        scatter_form(&forms[1], "v3", DTYPE_F32, REDUCE_ADD, "vmem.bytes=262144", how);
    }
}

/* rows wait for nobody, elements for their loads, each alone; all panels for copies */
TEST(predicted_cycles_of_scatters_follow_the_simulator)
{
    static const struct form list[] = {
        {"rows", 2, 2, {2000, 60}, {900, 1},
         {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1, .map_count = 1,
          .index_vector_dim = 1, .slice_sizes = {1, 60}}},
        {"long rows", 2, 2, {600, 3000}, {200, 1},
         {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1, .map_count = 1,
          .index_vector_dim = 1, .slice_sizes = {1, 3000}}},
        {"elements", 1, 2, {700}, {1500, 1},
         {.collapsed_count = 1, .map_count = 1, .index_vector_dim = 1, .slice_sizes = {1}}},
        {"elements by two coordinates", 2, 2, {90, 300}, {700, 2},
         {.collapsed_count = 2, .collapsed_dims = {0, 1}, .map_count = 2,
          .start_index_map = {0, 1}, .index_vector_dim = 1, .slice_sizes = {1, 1}}}};
    static const char *const chip[] = {"v3", "v5e", "v6e"};

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        for (int c = 0; c < 3; c++) {
            struct kernel_rig r = {.chip = chip[c], .values = RIG_WHOLE};
            const struct form *f = &list[i];
            struct shape shape = shape_of_gather(f, DTYPE_F32);
            int64_t predicted;
            struct setup s;
            int a, indices;

            open_graph(&s);
            a = parameter(&s, DTYPE_F32, f->rank, f->dim);
            indices = parameter(&s, DTYPE_S32, f->index_rank, f->index);
            r.input[1] = indices_of(&s, product(f->index, f->index_rank), f->dim[0], 5);
            a = graph_scatter(&s.g, REDUCE_ADD, a, indices,
                              graph_parameter(&s.g, shape, "updates"), &f->d);
            graph_output(&s.g, a, f->name, -1);
            kernel_rig_open(&r, &s.g);
            kernel_rig_check(&r, 12);
            predicted = r.segment.cost.total_cycles;
            if (3 * r.cycles < 2 * predicted || 3 * r.cycles > 4 * predicted)
                fail_msg("%s on %s: %lld cycles, %lld predicted", f->name, chip[c],
                         (long long)r.cycles, (long long)predicted);
            kernel_rig_close(&r);
            close_graph(&s);
        }
}

static void update(const char *chip, enum graph_dtype dtype, int rank, const int64_t *dim,
                   const int64_t *sizes, const int32_t *start, bool is_in_place)
{
    struct kernel_rig r = {.chip = chip, .values = RIG_HARD, .alias = {is_in_place}};
    struct setup s;
    int a, b, at[4];

    open_graph(&s);
    a = parameter(&s, dtype, rank, dim);
    b = parameter(&s, dtype, rank, sizes);
    for (int d = 0; d < rank; d++) {
        at[d] = parameter(&s, DTYPE_S32, 0, NULL);
        r.input[2 + d] = &start[d];
    }
    graph_output(&s.g, graph_dynamic_update_slice(&s.g, a, b, at), "o", -1);
    check(&s, &r, 3);
    close_graph(&s);
}

TEST(dynamic_updates_land_where_they_are_told_or_at_the_edge)
{
    static const int32_t starts[][3] = {{0, 0, 0}, {2, 5, 131}, {-4, 100, 7}, {1, 1, 250}};
    static const int64_t dim[] = {4, 21, 300};
    static const int64_t sizes[][3] = {{1, 21, 300}, {2, 21, 300}, {1, 9, 300}, {1, 8, 130},
                                       {4, 1, 300}, {1, 1, 1}, {4, 21, 300}};

    for (int t = 0; t < 3; t++)
        for (int i = 0; i < 7; i++)
            update(i & 1 ? "v3" : "v6e",
                   (enum graph_dtype[]){DTYPE_F32, DTYPE_BF16, DTYPE_PRED}[t], 3, dim, sizes[i],
                   starts[(i + t) % 4], i & 1);
    update("v4", DTYPE_S32, 1, (int64_t[]){1000}, (int64_t[]){300}, (int32_t[]){333}, false);
    update("v4", DTYPE_BF16, 1, (int64_t[]){5000}, (int64_t[]){2048}, (int32_t[]){1001}, true);
}

/*
 * a slice or an update of any type and size, at any place, on a chip with much memory or little; of
 * so many matrices at most
 */
static void draw_slice(struct rng *rng, bool is_update, uint32_t matrices, bool is_in_vmem)
{
    static const char *const chips[] = {"v2", "v3", "v4", "v5e", "v6e", "v7x", "tiny"};
    int rank = matrices > 4 ? 3 + (int)rng_below(rng, 2) : 1 + (int)rng_below(rng, 4), at[4];
    enum graph_dtype dtype = (enum graph_dtype)rng_below(rng, 2 * DTYPE_COUNT);
    struct kernel_rig r = {.chip = chips[rng_below(rng, COUNT_OF(chips))], .values = RIG_HARD,
                           .set = rng_below(rng, 3) ? NULL : "vmem.bytes=393216",
                           .alias = {is_update && rng_below(rng, 2)},
                           .may_refuse = true};
    int64_t dim[4], sizes[4];
    int32_t start[4];
    struct setup s;
    int a, b = NODE_NONE, result;
    uint32_t outer = matrices > 4 ? 2 : 1;
    bool is_part = false;

    r.operands_in_vmem = rng_below(rng, 4);
    r.results_in_vmem = r.alias[0] ? r.operands_in_vmem & 1 : rng_below(rng, 2);
    if (is_in_vmem)                     /* starts, too */
        r.operands_in_vmem = r.results_in_vmem = ~0u;
    dtype = dtype < DTYPE_COUNT ? dtype : DTYPE_F32;
    /* of those that index_shift.c makes: the kernel of elements reads what it then leaves out */
    r.checks_accesses = rank > 1 && strcmp(r.chip, "tiny") != 0;
    for (int d = 0; d < rank; d++) {
        dim[d] = 1 + rng_below(rng, d == rank - 1 ? 600 / outer : d == rank - 2 ? 60 / outer :
                                    d == rank - 3 ? matrices : 4 / outer);
        sizes[d] = rng_below(rng, 3) ? 1 + rng_below(rng, (uint32_t)dim[d]) : dim[d];
        start[d] = (int32_t)rng_below(rng, (uint32_t)dim[d] + 20) - 10;
        is_part |= sizes[d] < dim[d];
    }
    if (!is_part)                       /* the whole: nothing moves */
        return;
    open_graph(&s);
    a = parameter(&s, dtype, rank, dim);
    if (is_update)
        b = parameter(&s, dtype, rank, sizes);
    for (int d = 0; d < rank; d++) {
        at[d] = parameter(&s, DTYPE_S32, 0, NULL);
        r.input[1 + is_update + d] = &start[d];
    }
    result = is_update ? graph_dynamic_update_slice(&s.g, a, b, at)
                       : graph_dynamic_slice(&s.g, a, at, sizes);
    graph_output(&s.g, result, "o", -1);
    kernel_rig_open(&r, &s.g);
    if (!*r.refusal)                    /* for want of memory */
        kernel_rig_check(&r, rng_next(rng));
    kernel_rig_close(&r);
    close_graph(&s);
}

TEST(drawn_slices_and_updates_move_what_the_interpreter_moves)
{
    struct rng rng;

    for (uint64_t seed = 0; seed < 120; seed++) {
        rng_init(&rng, seed);
        draw_slice(&rng, seed & 1, 4, false);
    }
}

/* a step of time or a position of a cache: groups of matrices, whose last one overlaps another */
TEST(drawn_slices_and_updates_of_many_matrices)
{
    struct rng rng;

    for (uint64_t seed = 1000; seed < 1080; seed++) {
        rng_init(&rng, seed);
        draw_slice(&rng, seed & 1, 90, false);
    }
}

/* on a chip with little memory */
static void long_rows(enum graph_dtype dtype, const int64_t *dim, const int64_t *sizes,
                      const int32_t *start, bool is_update)
{
    struct kernel_rig r = {.chip = "v5e", .values = RIG_HARD, .set = "vmem.bytes=393216",
                           .checks_accesses = true};
    struct setup s;
    int a, b = NODE_NONE, at[2];

    open_graph(&s);
    a = parameter(&s, dtype, 2, dim);
    if (is_update)
        b = parameter(&s, dtype, 2, sizes);
    for (int d = 0; d < 2; d++) {
        at[d] = parameter(&s, DTYPE_S32, 0, NULL);
        r.input[1 + is_update + d] = &start[d];
    }
    graph_output(&s.g, is_update ? graph_dynamic_update_slice(&s.g, a, b, at)
                                 : graph_dynamic_slice(&s.g, a, at, sizes), "o", -1);
    check(&s, &r, (uint64_t)(dim[1] * 31 + dim[0]));
    close_graph(&s);
}

/* no copy, and nothing outside the arrays is touched */
TEST(drawn_slices_and_updates_in_vmem)
{
    int count = seeds_count(160);
    struct rng rng;

    seeds_print(count);
    for (int i = 0; i < count; i++) {
        rng_init(&rng, seeds_at(i));
        draw_slice(&rng, i & 1, i & 2 ? 20 : 4, true);
    }
}

/* a strip of them, with a column more and without, is more than a core takes at once */
TEST(drawn_slices_and_updates_of_long_rows)
{
    static const enum graph_dtype dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S8};
    int count = seeds_count(24);
    struct rng rng;

    seeds_print(count);
    for (int i = 0; i < count; i++) {
        int64_t dim[2], sizes[2];
        int32_t start[2];

        rng_init(&rng, seeds_at(i));
        dim[0] = 1 + rng_below(&rng, 20);
        dim[1] = 6000 + rng_below(&rng, 20000);
        sizes[0] = 1 + rng_below(&rng, (uint32_t)dim[0]);
        sizes[1] = dim[1] - (rng_below(&rng, 2) ? rng_below(&rng, 3000) : 0);
        for (int d = 0; d < 2; d++)
            start[d] = (int32_t)rng_below(&rng, (uint32_t)(dim[d] - sizes[d]) + 10) - 5;
        long_rows(dtypes[rng_below(&rng, 3)], dim, sizes, start, i & 1);
    }
}

TEST(made_up_indices_are_in_range_and_of_their_law)
{
    struct index_data uniform, zipf, file;
    static int32_t x[10000];
    int64_t first = 0, sum = 0;
    struct err e;
    FILE *f = fopen("build/index_data.txt", "w");

    index_data_parse(&uniform, "uniform");
    index_data_parse(&zipf, "zipf");
    index_data_parse(&file, "build/index_data.txt");
    assert_int_equal(index_data_fill(&uniform, 1000, 1, x, 10000, &e), 0);
    for (int i = 0; i < 10000; i++) {
        assert_in_range(x[i], 0, 999);
        sum += x[i];
    }
    assert_in_range(sum / 10000, 485, 515);     /* 5 standard errors of 2.9 */
    assert_int_equal(index_data_fill(&zipf, 1000, 1, x, 10000, &e), 0);
    for (int i = 0; i < 10000; i++)
        first += x[i] == 0;
    /* the law 1 / x gives the first of n log 2 / log (n + 1) of all: 1003 of 10000, +- 30 */
    assert_in_range(first, 850, 1150);
    assert_non_null(f);
    fprintf(f, "3 1\n4\n");
    fclose(f);
    assert_int_equal(index_data_fill(&file, 5, 1, x, 5, &e), 0);
    assert_int_equal(x[3], 3);
    assert_int_equal(x[4], 1);
    assert_int_equal(index_data_fill(&file, 4, 1, x, 5, &e), -1);
    assert_string_equal(e.msg, "build/index_data.txt: index 4 is not in 0..3");
    index_data_parse(&file, "build/no/such");
    assert_int_equal(index_data_fill(&file, 4, 1, x, 5, &e), -1);
    assert_non_null(strstr(e.msg, "cannot read indices from build/no/such: No such file"));
    remove("build/index_data.txt");
}

TEST(a_fusion_with_something_else_in_it_is_refused)
{
    struct kernel_rig r = {.chip = "v3", .may_refuse = true};
    struct graph_gather d = {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1,
                             .map_count = 1, .index_vector_dim = 1, .slice_sizes = {1, 9}};
    struct setup s;
    int a, i;

    open_graph(&s);
    a = parameter(&s, DTYPE_F32, 2, (int64_t[]){5, 9});
    i = parameter(&s, DTYPE_S32, 1, (int64_t[]){4});
    a = graph_gather(&s.g, a, i, &d);
    graph_output(&s.g, graph_unary(&s.g, HLO_NEGATE, a), "o", -1);
    kernel_rig_open(&r, &s.g);
    assert_non_null(strstr(r.refusal, "something comes after it in its fusion"));
    kernel_rig_close(&r);
    close_graph(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_a_table_come_for_every_type_and_awkward_sizes),
        cmocka_unit_test(gathers_of_every_form_agree),
        cmocka_unit_test(gathers_from_other_layouts_agree),
        cmocka_unit_test(indices_that_do_not_fit_smem_come_in_windows),
        cmocka_unit_test(dynamic_slices_begin_where_they_are_told_or_at_the_edge),
        cmocka_unit_test(scatters_of_every_form_agree),
        cmocka_unit_test(scatters_larger_than_vmem_go_panel_by_panel),
        cmocka_unit_test(predicted_cycles_of_scatters_follow_the_simulator),
        cmocka_unit_test(dynamic_updates_land_where_they_are_told_or_at_the_edge),
        cmocka_unit_test(drawn_slices_and_updates_move_what_the_interpreter_moves),
        cmocka_unit_test(drawn_slices_and_updates_of_many_matrices),
        cmocka_unit_test(drawn_slices_and_updates_in_vmem),
        cmocka_unit_test(drawn_slices_and_updates_of_long_rows),
        cmocka_unit_test(made_up_indices_are_in_range_and_of_their_law),
        cmocka_unit_test(a_fusion_with_something_else_in_it_is_refused),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
