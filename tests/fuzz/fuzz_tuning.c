/* Any text is a tuning cache, which saved and loaded again saves the same, or is refused. */
#include "base/arena.h"
#include "stack/module/tuning.h"
#include "tests/rigs/round_trip.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* the text that `t` saves as, of `a` */
static char *saved(const struct tuning *t, struct arena *a)
{
    char path[] = "/tmp/systole-fuzz-XXXXXX", *text = arena_alloc(a, 1 << 20);
    int fd = mkstemp(path);
    struct err e;
    FILE *f;

    if (fd < 0 || tuning_save(t, path, &e))
        fuzz_fail("a cache cannot be saved", "");
    close(fd);
    f = fopen(path, "r");
    if (f) {
        text[fread(text, 1, (1 << 20) - 1, f)] = '\0';
        fclose(f);
    }
    unlink(path);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tuning *t = tuning_create(), *again = tuning_create();
    struct err e = {.msg = ""};
    struct arena a;
    char *first;

    arena_init(&a);
    if (tuning_load(t, fuzz_file(data, size), &e) == 0) {
        first = saved(t, &a);
        if (tuning_load(again, fuzz_file(first, strlen(first)), &e))
            fuzz_fail("what a cache saves is refused", e.msg);
        if (strcmp(saved(again, &a), first) != 0)
            fuzz_fail("a cache saves as two things", first);
    } else if (!e.msg[0]) {
        fuzz_fail("a cache is refused without a message", "");
    }
    tuning_destroy(t);
    tuning_destroy(again);
    arena_fini(&a);
    return 0;
}
