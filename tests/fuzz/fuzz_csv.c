/*
 * Any text is a table whose fields are texts and numbers of their range, and rows of another
 * simulator's memory, or is refused with a message.
 */
#include "base/csv.h"
#include "cli/memory/mem.h"
#include "tests/rigs/round_trip.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_table(const uint8_t *data, size_t size, const char *heading, struct arena *a)
{
    char *text = memcpy(arena_alloc(a, size + 1), data, size);
    struct err e = {.msg = ""};
    double value;
    struct csv c;

    if (csv_parse(&c, "input", text, heading, a, &e)) {
        if (!e.msg[0])
            fuzz_fail("a table is refused without a message", "");
        return;
    }
    for (int row = 0; row < c.row_count; row++)
        for (int column = 0; column < c.heading.field_count; column++) {
            e.msg[0] = '\0';
            if (csv_number(&c, row, column, -5.0, 5.0, &value, &e)) {
                if (!e.msg[0])
                    fuzz_fail("a number is refused without a message", csv_text(&c, row, column));
            } else if (value < -5.0 || value > 5.0) {
                fuzz_fail("a number is out of its range", csv_text(&c, row, column));
            }
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *out;
    struct err e = {.msg = ""};
    struct arena a;
    int missed;

    if (!out)
        out = fopen("/dev/null", "w");
    arena_init(&a);
    read_table(data, size, NULL, &a);
    read_table(data, size, "Rank", &a);
    if (mem_reference(fuzz_file(data, size), NULL, 0, out, &missed, &e) && !e.msg[0])
        fuzz_fail("rows of a memory are refused without a message", "");
    arena_fini(&a);
    return 0;
}
