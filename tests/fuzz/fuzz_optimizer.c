/* Any text is an optimizer, which goes with two variables or says why not, or is refused. */
#include "keras/optimizer/optimizer.h"
#include "tests/rigs/round_trip.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct variable_set set;
    struct optimizer o;
    struct arena a;
    struct err e = {.msg = ""};
    int trainable[2];

    arena_init(&a);
    variable_set_init(&set, &a);
    for (int i = 0; i < 2; i++)
        trainable[i] = variable_add(&set, &(struct variable){
            .name = i ? "layer/bias" : "layer/kernel", .is_trainable = true, .of = -1,
            .shard_dim = -1, .shape = shape_make(DTYPE_F32, 2, (const int64_t[]){3, 5})});
    if (optimizer_parse(&o, memcpy(arena_alloc(&a, size + 1), data, size), &a, &e) != 0) {
        if (!e.msg[0])
            fuzz_fail("an optimizer is refused without a message", "");
    } else {
        e.msg[0] = '\0';
        if (optimizer_build(&o, &set, trainable, 2, &e) && !e.msg[0])
            fuzz_fail("an optimizer cannot be built, without a message", "");
    }
    variable_set_fini(&set);
    arena_fini(&a);
    return 0;
}
