/*
 * Any text is a chip's file or is refused with a message; of a chip that is taken every value prints
 * as text that gives the chip back.
 */
#include "sim/chip/chip.h"
#include "tests/rigs/chip_set.h"
#include "tests/rigs/round_trip.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[CHIP_TEXT_BYTES], again[CHIP_TEXT_BYTES];
    struct chip chip;
    struct arena a;
    struct err e = {.msg = ""};

    arena_init(&a);
    if (chip_load_file(&chip, fuzz_file(data, size), NULL, &a, &e) != 0) {
        if (!e.msg[0])
            fuzz_fail("a chip is refused without a message", "");
    } else {
        for (size_t i = 0; i < chip_param_count; i++) {
            chip_print_param(&chip, i, text, sizeof(text));
            chip_print_param(&chip, i, again, sizeof(again));
            if (strcmp(text, again) != 0 || !text[0])
                fuzz_fail("a value prints as nothing, or as two things", text);
        }
    }
    arena_fini(&a);
    return 0;
}
