/*
 * Any text is HLO or gives an error. What is read is printed in some form, which the size of the
 * input says; that is read again, holds the same rules, and is printed the same.
 */
#include "base/text.h"
#include "import/hlo_text/hlo_text.h"
#include "tests/rigs/round_trip.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *print(const struct hlo_module *m, const struct hlo_text_options *o, size_t *bytes)
{
    char *text;
    FILE *to = text_memory(&text, bytes);

    for (; m; m = m->next)
        hlo_text_print(m, to, o);
    text_memory_end(to, &text);
    return text;
}

static bool is_verified(const struct hlo_module *m, struct err *e)
{
    e->msg[0] = 0;
    for (; m; m = m->next) {
        if (hlo_verify(m, e)) {
            if (!e->msg[0])
                fuzz_fail("a module is refused without an error", "");
            return false;
        }
    }
    return true;
}

static void check_printed(const struct hlo_module *m, const struct hlo_text_options *o)
{
    size_t bytes, again_bytes;
    char *text = print(m, o, &bytes), *printed;
    struct hlo_module *again;
    struct arena a;
    struct err e;

    arena_init(&a);
    again = hlo_text_read(text, bytes, "printed", &a, &e);
    if (!again || e.msg[0])
        fuzz_fail("what is printed is refused", e.msg);
    if (!is_verified(again, &e))
        fuzz_fail("what is printed breaks rules", e.msg);
    printed = print(again, o, &again_bytes);
    if (bytes != again_bytes || memcmp(text, printed, bytes) != 0)
        fuzz_fail("printed again it is another text", text);
    hlo_text_fini(again);
    arena_fini(&a);
    free(text);
    free(printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hlo_text_options o = {size & 1, size & 2, size & 4};
    struct hlo_module *m;
    struct arena a;
    struct err e;

    arena_init(&a);
    m = hlo_text_read((const char *)data, size, "input", &a, &e);
    if (!m && !e.msg[0])
        fuzz_fail("a text is refused without an error", "");
    if (m && !e.msg[0] && is_verified(m, &e))
        check_printed(m, &o);
    hlo_text_fini(m);
    arena_fini(&a);
    return 0;
}
