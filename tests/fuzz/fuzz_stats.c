/*
 * Any text is a run's stats.json, of which a view is made and what it was is told, or is refused
 * with a message.
 */
#include "report/view/run_folder.h"
#include "report/view/view.h"
#include "tests/rigs/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct report_view view;
    struct run_folder r;
    struct chip chip;
    struct arena a;
    struct err e = {.msg = ""};
    char text[200];

    arena_init(&a);
    if (run_folder_open(&r, fuzz_file(data, size), &a, &e) == 0) {
        run_folder_describe(&r, text, sizeof(text));
        e.msg[0] = '\0';
        if (run_folder_chip(&r, &a, &chip, &e) && !e.msg[0])
            fuzz_fail("a chip is refused without a message", "");
        e.msg[0] = '\0';
        if (run_folder_view(&r, &a, &view, &e) && !e.msg[0])
            fuzz_fail("a view is refused without a message", "");
    } else if (!e.msg[0]) {
        fuzz_fail("a run is refused without a message", "");
    }
    run_folder_close(&r);
    arena_fini(&a);
    return 0;
}
