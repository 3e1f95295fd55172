/*
 * Any bytes are the sweep.json of a sweep, which goes on, or refuse it with a message and stay as
 * they are; and any text is what a point is varied over, or is refused.
 */
#include "cli/sweep/sweep.h"
#include "tests/rigs/round_trip.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/systole-fuzz-XXXXXX", path[64];

static void put(const uint8_t *data, size_t size)
{
    FILE *f = fopen(path, "w");

    if (!f || fwrite(data, 1, size, f) != size)
        fuzz_fail("no file", path);
    fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char run[] = "run", program[] = "none.tasm";
    char *command[] = {run, program};
    struct sweep s = {.out = folder, .jobs = 1, .command = command, .command_count = 2};
    struct err e = {.msg = ""};

    if (!path[0] && mkdtemp(folder))
        snprintf(path, sizeof(path), "%s/sweep.json", folder);
    arena_init(&s.arena);
    put(data, size);
    if (sweep_open(&s, &e) && !e.msg[0])
        fuzz_fail("a sweep is refused without a message", "");
    sweep_close(&s);
    e.msg[0] = '\0';
    if ((sweep_parse_vary(&s, memcpy(arena_alloc(&s.arena, size + 1), data, size), &e) ||
         sweep_make_points(&s, &e)) && !e.msg[0])
        fuzz_fail("what is varied is refused without a message", "");
    arena_fini(&s.arena);
    return 0;
}
