/*
 * Any bytes in a file are a program, of a form that the reader finds out, gzipped or not, or give an
 * error; gzipped they are what they are without, unless they are a gzip themselves.
 */
#define _GNU_SOURCE                     /* memfd_create */
#include "import/read/read.h"
#include "tests/rigs/round_trip.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PATH_BYTES 32

/* a file that only this process sees; its path goes to `path` */
static int as_file(const uint8_t *data, size_t size, bool is_packed, char *path)
{
    int fd = memfd_create("fuzz", 0);
    gzFile packed;

    if (fd < 0)
        fuzz_fail("no file in memory", "");
    snprintf(path, PATH_BYTES, "/proc/self/fd/%d", fd);
    if (is_packed) {
        packed = gzopen(path, "wb1");
        if (!packed || gzwrite(packed, data, (unsigned)size) != (int)size || gzclose(packed) != Z_OK)
            fuzz_fail("not packed", path);
    } else if (write(fd, data, size) != (ssize_t)size) {
        fuzz_fail("not written", path);
    }
    return fd;
}

/* whether it is a program */
static bool is_read(const uint8_t *data, size_t size, bool is_packed)
{
    struct err e = {.msg = ""};
    char path[PATH_BYTES];
    struct hlo_module *m;
    struct arena a;
    bool is_program;
    int fd = as_file(data, size, is_packed, path);

    arena_init(&a);
    m = program_read(path, &a, &e);
    is_program = m != NULL;
    if (!m && !e.msg[0])
        fuzz_fail("refused without a message", path);
    program_free(m);
    arena_fini(&a);
    close(fd);
    return is_program;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool is_gzip = size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
    bool is_program = is_read(data, size, false);

    if (!is_gzip && is_read(data, size, true) != is_program)
        fuzz_fail("packed it is something else", "");
    return 0;
}
