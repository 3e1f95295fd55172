/*
 * Programs that others have written for several devices, where they are: those with values compute
 * them, the large ones are cut in time and exchange what their layers must.
 */
#include "tests/import/shard/shard_rig.h"

#include <time.h>

#include "import/read/read.h"
#include "train/checkpoint/safetensors.h"

enum { PATH_BYTES = 500 };

static const char *sample(char path[PATH_BYTES], const char *folder, const char *name)
{
    const char *shared = getenv("SYSTOLE_SHARED");

    snprintf(path, PATH_BYTES, "%s/samples/%s/%s", shared ? shared : "../shared", folder, name);
    return path;
}

static bool is_there(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    FILE *f = fopen(sample(path, folder, name), "rb");

    if (f)
        fclose(f);
    return f != NULL;
}

static void read_sample(struct shard_rig *r, const char *path)
{
    memset(r, 0, sizeof(*r));
    arena_init(&r->arena);
    r->whole = program_read(path, &r->arena, &r->e);
    if (!r->whole)
        fail_msg("%s: %d:%d: %s", path, r->e.line, r->e.col, r->e.msg);
}

static void end_sample(struct shard_rig *r)
{
    hlo_module_fini(&r->part);
    program_free(r->whole);
    arena_fini(&r->arena);
}

/* array number i of a file, which is named by its number */
static void load(struct shard_rig *r, const struct safetensors *s, int i, const struct hlo_type *t,
                 struct eval_array *to)
{
    char name[16];
    int tensor;

    snprintf(name, sizeof(name), "%d", i);
    tensor = safetensors_find(s, name, &r->e);
    if (tensor < 0)
        fail_msg("%s", r->e.msg);
    to->type = *t;
    to->data = arena_alloc(&r->arena, hlo_type_bytes(t) + 1);
    if (safetensors_read(s, tensor, 0, to->data, (int64_t)hlo_type_bytes(t), &r->e))
        fail_msg("%s", r->e.msg);
}

static struct eval_array *load_all(struct shard_rig *r, const char *folder, const char *file,
                                   const struct shard_leaf *leaf, int count)
{
    struct eval_array *made = arena_array(&r->arena, (size_t)count + 1, sizeof(*made));
    const char *path = arena_printf(&r->arena, "%s/%s", folder, file);
    struct safetensors s;
    FILE *f = safetensors_file(path, &r->e);

    if (!f || safetensors_of(&s, f, path, &r->e))
        fail_msg("%s", r->e.msg);
    for (int i = 0; i < count; i++)
        load(r, &s, i, &leaf[i].whole, &made[i]);
    safetensors_close(&s);
    return made;
}

static void check_values(const char *name, const char *file)
{
    char folder[PATH_BYTES], path[PATH_BYTES + 50];
    struct shard_rig r;
    struct eval_array *want, *got;

    snprintf(path, sizeof(path), "%s/%s", sample(folder, "programs/jax", name), file);
    read_sample(&r, path);
    if (rig_cut(&r))
        fail_msg("%s: %s", path, r.e.msg);
    want = load_all(&r, folder, "outputs.safetensors", r.boundary.result, r.boundary.result_count);
    got = rig_run_part(&r, load_all(&r, folder, "inputs.safetensors", r.boundary.parameter,
                                    r.boundary.parameter_count));
    for (int i = 0; i < r.boundary.result_count; i++)
        if (!(rig_distance(&want[i], &got[i]) <= 2e-5))
            fail_msg("%s: result %d differs by %g", path, i, rig_distance(&want[i], &got[i]));
    end_sample(&r);
}

TEST(programs_of_eight_devices_compute_what_they_do_elsewhere)
{
    static const char *const names[] = {
        "pmap_batchnorm_train", "shard_embedding_vocab_parallel", "shard_map_collectives_zoo",
        "shard_map_pipeline_ppermute_train", "shard_map_ring_attention",
        "shard_mlp_data_parallel_train", "shard_transformer_fsdp_tp_train",
    };

    if (!is_there("programs/jax", "index.csv"))
        SKIP("no programs of JAX");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        check_values(names[i], "program.mlir.gz");
}

/* seconds that it takes to cut a program */
static double cut_sample(struct shard_rig *r, const char *name)
{
    char path[PATH_BYTES];
    clock_t start;

    read_sample(r, sample(path, "hlo", name));
    assert_true(shard_is_wanted(r->whole));
    start = clock();
    if (rig_cut(r))
        fail_msg("%s: %s", path, r->e.msg);
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static int computation_named(const struct hlo_module *m, const char *name)
{
    for (int c = 0; c < m->computation_count; c++)
        if (!strncmp(m->computation[c].name, name, strlen(name)))
            return c;
    fail_msg("no computation %s", name);
    return -1;
}

TEST(fully_sharded_llama_gathers_seven_weights_a_layer)
{
    struct shard_rig r;
    int forward, backward;

    if (!is_there("hlo", "rocm_llama3_8b_train.hlo"))
        SKIP("no programs of HLO");
    assert_true(cut_sample(&r, "rocm_llama3_8b_train.hlo") < 10);
    forward = computation_named(&r.part, "region_0.");
    backward = computation_named(&r.part, "region_15.");
    assert_int_equal(shard_count_of(&r.count, OPCODE_ALL_GATHER, forward), 7);
    assert_int_equal(shard_count_of(&r.count, OPCODE_ALL_REDUCE, forward), 0);
    assert_int_equal(shard_count_of(&r.count, OPCODE_ALL_GATHER, backward), 7);
    assert_int_equal(shard_count_of(&r.count, OPCODE_REDUCE_SCATTER, backward), 7);
    assert_int_equal(shard_count_of(&r.count, OPCODE_ALL_REDUCE, backward), 2);        /* norms */
    end_sample(&r);
}

TEST(large_programs_are_cut_in_time)
{
    static const char *const names[] = {
        "xla_nv_maxtext_1n1g_jit_train_step_before_optimization.hlo", "xla_sharded_computation.hlo",
    };
    struct shard_rig r;

    if (!is_there("hlo", "index.csv"))
        SKIP("no programs of HLO");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        assert_true(cut_sample(&r, names[i]) < 10);
        end_sample(&r);
    }
}

TEST(programs_that_are_cut_already_are_left_alone)
{
    char path[PATH_BYTES];
    struct shard_rig r;

    if (!is_there("hlo", "index.csv"))
        SKIP("no programs of HLO");
    read_sample(&r, sample(path, "hlo", "xla_hlo_llama31_70b_bf16_16x8.hlo"));
    assert_false(shard_is_wanted(r.whole));
    program_free(r.whole);
    arena_fini(&r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_eight_devices_compute_what_they_do_elsewhere),
        cmocka_unit_test(fully_sharded_llama_gathers_seven_weights_a_layer),
        cmocka_unit_test(large_programs_are_cut_in_time),
        cmocka_unit_test(programs_that_are_cut_already_are_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
