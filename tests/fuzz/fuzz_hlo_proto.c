/*
 * Any bytes are a program as HloModuleProto, or give an error; a program that holds the rules can be
 * written and read again.
 */
#include "import/hlo_proto/hlo_proto.h"
#include "tests/rigs/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct hlo_computation *c)
{
    for (int i = 0; i < c->count; i++) {
        for (int k = 0; k < c->instruction[i].operand_count; k++) {
            if (c->instruction[i].operand[k] < 0 || c->instruction[i].operand[k] >= i)
                fuzz_fail("an operand that does not stand before", hlo_name(&c->instruction[i]));
        }
    }
}

static void check_written(const struct hlo_module *m, struct arena *a)
{
    struct err e = {.msg = ""};
    struct hlo_module again;
    unsigned char *bytes;
    size_t count;

    if (hlo_proto_write(m, &bytes, &count, &e)) {
        if (!e.msg[0])
            fuzz_fail("not written without a message", "");
        return;
    }
    if (hlo_proto_read(&again, bytes, count, "written", a, &e))
        fuzz_fail("what was written is not read", e.msg);
    hlo_module_fini(&again);
    mem_free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {.msg = ""};
    struct hlo_module m;
    struct arena a;

    arena_init(&a);
    if (hlo_proto_read(&m, data, size, "input", &a, &e) == 0) {
        for (int i = 0; i < m.computation_count; i++)
            check(&m.computation[i]);
        if (hlo_verify(&m, &e) == 0)
            check_written(&m, &a);
        else if (!e.msg[0])
            fuzz_fail("refused without a message", "");
    } else if (!e.msg[0]) {
        fuzz_fail("refused without a message", "");
    }
    hlo_module_fini(&m);
    arena_fini(&a);
    return 0;
}
