/*
 * Any text is a config.ini, whose [command] reads back from what is printed of it, or is refused
 * with a message; and any text is a command as a trace holds it, or none.
 */
#include "report/view/command.h"
#include "tests/rigs/round_trip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct command *c, struct arena *a)
{
    const char *text = command_text(c, a);
    struct command again;

    if (!command_parse(text, a, &again))
        fuzz_fail("the text of a command is none", text);
    if (strcmp(command_text(&again, a), text) != 0)
        fuzz_fail("a command prints as two things", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char folder[] = "/tmp/systole-fuzz-XXXXXX", path[64];
    struct err e = {.msg = ""};
    struct command c;
    struct arena a;
    FILE *f;

    if (!path[0] && mkdtemp(folder))
        snprintf(path, sizeof(path), "%s/config.ini", folder);
    arena_init(&a);
    f = fopen(path, "w");
    if (f) {
        fwrite(data, 1, size, f);
        fclose(f);
        if (command_read(folder, &a, &c, &e) == 0)
            check_text(&c, &a);
        else if (!e.msg[0])
            fuzz_fail("a command is refused without a message", "");
        remove(path);
    }
    if (command_parse(memcpy(arena_alloc(&a, size + 1), data, size), &a, &c))
        check_text(&c, &a);
    arena_fini(&a);
    return 0;
}
