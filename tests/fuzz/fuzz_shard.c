/*
 * Any program that keeps the rules is cut for its devices, or gives an error; what it becomes keeps
 * the rules, too.
 */
#include "import/hlo_text/hlo_text.h"
#include "import/shard/shard.h"
#include "tests/rigs/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct hlo_module *m, struct arena *a)
{
    struct shard_boundary boundary;
    struct hlo_module made;
    struct err e = {.msg = ""};

    if (shard_program(m, &(struct shard_options){0}, &made, a, &boundary, &e)) {
        if (!e.msg[0])
            fuzz_fail("refused without a message", "");
        return;
    }
    if (hlo_verify(&made, &e))
        fuzz_fail("what was cut breaks a rule", e.msg);
    hlo_module_fini(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {.msg = ""};
    struct hlo_module *m;
    struct arena a;

    arena_init(&a);
    m = hlo_text_read((const char *)data, size, "input", &a, &e);
    if (m && m->entry >= 0 && m->partition_count <= 64 && !hlo_verify(m, &e))
        check(m, &a);
    hlo_text_fini(m);
    arena_fini(&a);
    return 0;
}
