#include "tests/rigs/train_rig.h"
#include "tests/rigs/chip_set.h"

void train_rig_init(struct train_rig *r, const char *slice_name, const char *set_chip,
                    enum run_mode mode)
{
    struct machine_options options = {.thread_count = 1, .simd = "auto", .mode = mode};
    struct slice slice;
    struct chip chip;
    char *words, *rest, *word;

    memset(r, 0, sizeof(*r));
    arena_init(&r->arena);
    variable_set_init(&r->set, &r->arena);
    r->options = (struct strategy_options){.set = &r->set, .seed = 1};
    if (strcmp(slice_name, "host") == 0)
        return;
    train_rig_must(r, slice_parse(&slice, slice_name, &r->err));
    train_rig_must(r, chip_load_builtin(&chip, slice.chip_name, NULL, &r->arena, &r->err));
    words = arena_strdup(&r->arena, set_chip ? set_chip : "");
    for (word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        train_rig_must(r, chip_set(&chip, word, NULL, &r->arena, &r->err));
    r->machine = machine_create(&slice, &chip, &options, &r->err);
    train_rig_must(r, r->machine ? 0 : -1);
    r->options.machine = r->machine;
}

void train_rig_start(struct train_rig *r)
{
    r->strategy = strategy_create(&r->options, &r->err);
    train_rig_must(r, r->strategy ? 0 : -1);
}

void train_rig_fini(struct train_rig *r)
{
    strategy_destroy(r->strategy);
    if (r->machine)
        machine_destroy(r->machine);
    variable_set_fini(&r->set);
    arena_fini(&r->arena);
}

void train_rig_must(const struct train_rig *r, int status)
{
    if (status)
        fail_msg("%s", r->err.msg);
}

struct shape f32_shape(int rank, const int64_t *dim) { return shape_make(DTYPE_F32, rank, dim); }
