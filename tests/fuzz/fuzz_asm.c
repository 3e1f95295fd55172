/*
 * Any text assembles or gives errors; what assembles prints as text of the
 * same program and passes through the checks of every chip.
 */
#include "isa/asm.h"
#include "tests/rigs/round_trip.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct isa_errors errors;
    struct isa_program p;
    struct arena a;

    arena_init(&a);
    if (isa_assemble((const char *)data, size, "input", &a, &p, &errors)) {
        char *shown = NULL;
        size_t shown_size = 0;
        FILE *f = open_memstream(&shown, &shown_size);

        isa_errors_print(&errors, (const char *)data, size, f);
        fclose(f);
        if (errors.count < 1 || shown_size == 0)
            fuzz_fail("a text is refused without an error", "");
        free(shown);
    } else {
        check_printing(&p, SAME_NOTES);
        check_on_all_chips(&p);
    }
    arena_fini(&a);
    return 0;
}
