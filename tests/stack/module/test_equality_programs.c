/*
 * The examples, and a compiled training step, in every way that must not
 * matter: is each cycle, counter, register and byte the same?
 */
#include "base/units.h"
#include "isa/asm.h"
#include "isa/file.h"
#include "stack/module/module_run.h"
#include "tests/rigs/alike.h"
#include "tests/rigs/mlp.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#define EXPECT "\n// expect: "
#define EXAMPLE_BYTES (1 << 20)         /* of HBM and VMEM that examples are given and write */

/* Memory of every core before a launch, and what the cores run. */
struct image {
    const struct isa_program *program;
    int core_count;                     /* that run it */
    unsigned char *hbm[8];              /* EXAMPLE_BYTES, or what the step uses */
    int64_t hbm_bytes;
    unsigned char *zeros;               /* in VMEM before a launch: padding comes from there */
    int64_t vmem_bytes;
};

static void load(const struct scene *s, struct machine *m)
{
    const struct image *image = s->context;
    struct err e = {.line = 0};
    int count = image->core_count;

    for (int core = 0; core < count; core++) {
        const int32_t ring[4] = {core, count, (core + 1) % count, (core + count - 1) % count};

        if (machine_load(m, core, image->program, &e)
            || machine_smem_write(m, core, 0, ring, sizeof(ring), &e)
            || machine_hbm_write(m, core, 0, image->hbm[core], image->hbm_bytes, &e))
            fail_msg("%s: %s", s->name, e.msg);
        if (image->vmem_bytes && machine_mode(m) != MODE_TIMING
            && machine_vmem_write(m, core, 0, image->zeros, image->vmem_bytes, &e))
            fail_msg("%s: %s", s->name, e.msg);
    }
}

static void assert_alike(const char *name, const struct slice *slice, const struct chip *chip,
                         const struct image *image)
{
    const struct scene s = {
        .name = name, .slice = slice, .chip = chip, .load = load, .context = image, .seed = 1,
        .range_count = 3, .is_large = strstr(name, "matmul_v5e") || strstr(name, "matmul_v6e"),
        .range = {{MEMORY_HBM, 0, image->hbm_bytes}, {MEMORY_VMEM, 0, EXAMPLE_BYTES},
                  {MEMORY_SMEM, 0, 4096}}};
    char what[300];

    if (!alike(&s, what, sizeof(what)))
        fail_msg("%s on %s: %s", name, slice->name, what);
}

static const struct isa_program *assemble(struct arena *a, const char *text)
{
    struct isa_program *p = arena_alloc(a, sizeof(*p));
    struct isa_errors errors = {.count = 0};

    if (isa_assemble(text, strlen(text), "example", a, p, &errors))
        fail_msg("an example does not assemble");
    return p;
}

/* floats between 1 and 2, of which every core has others */
static void give_floats(struct arena *a, struct image *image)
{
    image->hbm_bytes = EXAMPLE_BYTES;
    for (int core = 0; core < image->core_count; core++) {
        uint32_t *word = arena_alloc(a, EXAMPLE_BYTES);

        for (uint32_t i = 0; i < EXAMPLE_BYTES / 4; i++)
            word[i] = 0x3f800000u | ((i + (uint32_t)core) * 2654435761u >> 9);
        image->hbm[core] = (unsigned char *)word;
    }
}

/* on the first chip that the example names */
static void check_example(const char *path)
{
    struct image image = {.core_count = 1};
    const char *expected;
    char name[16], *text;
    struct slice slice;
    struct chip chip;
    struct arena a;
    struct err e = {.line = 0};
    uint8_t *bytes;
    size_t size;

    arena_init(&a);
    if (isa_file_read(path, &a, &bytes, &size, &e))
        fail_msg("%s: %s", path, e.msg);
    text = arena_printf(&a, "%.*s", (int)size, (const char *)bytes);
    expected = strstr(text, EXPECT);
    assert_true(expected && sscanf(expected + strlen(EXPECT), "%15s", name) == 1);
    if (slice_parse(&slice, name, &e) || chip_load_builtin(&chip, slice.chip_name, NULL, &a, &e))
        fail_msg("%s: %s", path, e.msg);
    if (strstr(text, "\n// cores: all\n"))
        image.core_count = slice.core_count;
    image.program = assemble(&a, text);
    give_floats(&a, &image);
    assert_alike(path, &slice, &chip, &image);
    arena_fini(&a);
}

TEST(examples_are_alike_in_all_ways)
{
    static const char *const paths[] = {
        "examples/01_vector_add.tasm", "examples/02_mxu_tile.tasm",
        "examples/03_double_buffered_matmul.tasm", "examples/04_pipelined_matmul_v3.tasm",
        "examples/04_pipelined_matmul_v5e.tasm", "examples/04_pipelined_matmul_v6e.tasm",
        "examples/05_transpose.tasm", "examples/06_cross_lane_softmax.tasm",
        "examples/07_two_core_exchange.tasm", "examples/08_branch_delay.tasm"};

    for (size_t i = 0; i < COUNT_OF(paths); i++)
        check_example(paths[i]);
}

/* values of any kind for every parameter of a step, on every core */
static void write_parameters(struct rig *r, const struct module *step)
{
    for (int core = 0; core < r->slice.core_count; core++)
        for (int i = 0; i < step->graph.parameter_count; i++) {
            const struct shape *s = &step->parameter[i]->shape;
            int64_t elems = shape_elems(s);
            void *data = mem_alloc((size_t)elems * 4);

            for (int64_t k = 0; k < elems; k++)
                if (s->dtype == DTYPE_F32)
                    ((float *)data)[k] = (float)((k + i) * 37 % 101) / 101.0f;
                else
                    ((int32_t *)data)[k] = (int32_t)(k % 10);
            if (module_load(step, r->m, core, &r->err)
                || module_write(step, r->m, core, i, data, &r->err))
                fail_msg("%s", r->err.msg);
            mem_free(data);
        }
}

static void take_image(struct rig *r, const struct module *step, struct image *image)
{
    *image = (struct image){.program = &step->linked[0].program, .core_count = r->slice.core_count,
                            .hbm_bytes = round_up(step->hbm_bytes, 4096)};
    for (int k = 0; k < step->kernel_count; k++)
        image->vmem_bytes = later(image->vmem_bytes,
                                  step->kernel[k].segment->cost.vmem_rows * ARRAY_ROW_BYTES);
    image->zeros = arena_alloc(&r->arena, (size_t)image->vmem_bytes);
    for (int core = 0; core < image->core_count; core++) {
        image->hbm[core] = arena_alloc(&r->arena, (size_t)image->hbm_bytes);
        if (machine_hbm_read(r->m, core, 0, image->hbm[core], image->hbm_bytes, &r->err))
            fail_msg("%s", r->err.msg);
    }
}

/* the step of a strategy's training, its variables next to its other arrays */
TEST(a_compiled_training_step_is_alike_in_all_ways)
{
    struct module_settings settings = {.codegen = CODEGEN_XLA, .replica_count = 8};
    struct module step;
    struct image image;
    struct mlp m;
    struct rig r;

    rig_open(&r, "v3-8", NULL);
    mlp_init_small(&m, r.m);
    if (mlp_start(&m))
        fail_msg("%s", m.err.msg);
    settings.chip = &r.chip;
    settings.slice = &r.slice;
    if (module_compile(strategy_program_graph(fit_program(m.fit, 1, &m.err)), &settings, &r.arena,
                       &step, &r.err))
        fail_msg("%s", r.err.msg);
    write_parameters(&r, &step);
    take_image(&r, &step, &image);
    assert_alike("training step", &r.slice, &r.chip, &image);
    mlp_fini(&m);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_alike_in_all_ways),
        cmocka_unit_test(a_compiled_training_step_is_alike_in_all_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
