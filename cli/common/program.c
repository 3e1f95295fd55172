/*
 * Loads a program from assembly text or an object file, and tells the two apart by the first
 * bytes.
 */
#include "cli/common/program.h"

#include <string.h>

#include "cli/common/fail.h"
#include "isa/asm.h"
#include "isa/file.h"
#include "isa/object.h"

static bool has_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path), end = strlen(suffix);

    return length >= end && strcmp(path + length - end, suffix) == 0;
}

int cli_load_program(const char *path, struct arena *a, struct isa_program *out)
{
    struct isa_errors errors;
    struct err e;
    uint8_t *bytes;
    size_t size;

    if (isa_file_read(path, a, &bytes, &size, &e))
        return cli_fail(&e);
    if (isa_object_is(bytes, size))
        return isa_object_parse(bytes, size, path, a, out, &e) ? cli_fail(&e) : 0;
    if (isa_assemble((const char *)bytes, size, path, a, out, &errors) == 0)
        return 0;
    if (has_suffix(path, ".json")) {
        err_set(&e, "%s: is JSON, no program in assembly; systole train, summary and compile take "
                "Keras models", path);
        return cli_fail(&e);
    }
    isa_errors_print(&errors, (const char *)bytes, size, stderr);
    return EXIT_USER_ERROR;
}
