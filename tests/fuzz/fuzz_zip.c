/* Any bytes are a zip archive whose members are whole, or are refused with a message. */
#include "files/zipfile.h"
#include "tests/rigs/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {.msg = ""};
    char text[80];
    struct zipfile z;
    struct arena a;
    size_t bytes;
    uint8_t *member;

    arena_init(&a);
    if (zipfile_open(&z, data, size, "input", &a, &e) != 0) {
        if (!e.msg[0])
            fuzz_fail("refused without a message", "");
        arena_fini(&a);
        return 0;
    }
    zipfile_print(&z, text, sizeof(text));
    for (int i = 0; i < z.count; i++) {
        e.msg[0] = '\0';
        if (zipfile_read(&z, i, &a, &member, &bytes, &e) == 0 ? member[bytes] : !e.msg[0])
            fuzz_fail("a member has no end, or is refused without a message", z.name[i]);
    }
    zipfile_close(&z);
    arena_fini(&a);
    return 0;
}
