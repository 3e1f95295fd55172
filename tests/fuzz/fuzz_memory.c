/* Any text is a configuration of systole mem, whose setup prints, or is refused with a message. */
#include "cli/common/options.h"
#include "cli/memory/mem.h"
#include "tests/rigs/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cli_list none;
    static FILE *out;
    struct mem_setup s;
    struct arena a;
    struct err e = {.msg = ""};

    if (!out)
        out = fopen("/dev/null", "w");
    arena_init(&a);
    if (mem_setup_file(&s, fuzz_file(data, size), &none, &a, &e) == 0)
        mem_print_setup(&s, out);
    else if (!e.msg[0])
        fuzz_fail("a configuration is refused without a message", "");
    arena_fini(&a);
    return 0;
}
