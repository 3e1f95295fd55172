/*
 * Any text is StableHLO or gives an error. What is read, holds the rules and can be printed is read
 * again, and is printed the same, in the form that the size of the input says.
 */
#include "base/text.h"
#include "import/stablehlo/stablehlo.h"
#include "tests/rigs/round_trip.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* NULL: it is refused with a message */
static char *print(const struct hlo_module *m, bool is_general, size_t *bytes)
{
    const struct mlir_print_options o = {.is_general = is_general};
    struct err e = {.msg = ""};
    char *text;
    FILE *to = text_memory(&text, bytes);
    int status = stablehlo_print(m, to, &o, &e);

    text_memory_end(to, &text);
    if (!status)
        return text;
    if (!e.msg[0])
        fuzz_fail("a module is not printed, without an error", "");
    free(text);
    return NULL;
}

static void check_printed(const struct hlo_module *m, bool is_general)
{
    size_t bytes, again_bytes;
    char *text = print(m, is_general, &bytes);
    struct err e = {.msg = ""};
    struct arena a;

    if (!text)
        return;
    arena_init(&a);
    struct hlo_module *again = stablehlo_read_text(text, bytes, "printed", &a, &e);
    if (!again)
        fuzz_fail("what is printed is refused", e.msg);
    char *printed = print(again, is_general, &again_bytes);
    if (!printed || bytes != again_bytes || memcmp(text, printed, bytes))
        fuzz_fail("printed again it is another text", text);
    hlo_module_fini(again);
    arena_fini(&a);
    free(text);
    free(printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {.msg = ""};
    struct arena a;

    arena_init(&a);
    struct hlo_module *m = stablehlo_read_text((const char *)data, size, "input", &a, &e);
    if (!m && !e.msg[0])
        fuzz_fail("a text is refused without an error", "");
    for (; m; m = m->next) {
        e.msg[0] = 0;
        if (!hlo_verify(m, &e))
            check_printed(m, size & 1);
        else if (!e.msg[0])
            fuzz_fail("a module breaks rules without an error", "");
        hlo_module_fini(m);
    }
    arena_fini(&a);
    return 0;
}
