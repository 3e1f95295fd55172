/* Breaks files at random and holds readers to their word. */
#include "tests/rigs/broken_bytes.h"

#include "base/rng.h"
#include "tests/rigs/program_files.h"
#include "tests/test.h"

#include <string.h>
#include <time.h>

/* In memory of its own, so that a sanitizer sees who reads behind its end. */
static int read_part(read_bytes_fn *read, const char *data, size_t bytes)
{
    char *part = malloc(bytes + 1);
    struct err e = {.msg = ""};
    int status;

    assert_non_null(part);
    memcpy(part, data, bytes);
    status = read(part, bytes, &e);
    if (status)
        assert_string_not_equal(e.msg, "");
    free(part);
    return status;
}

void check_cut_files(read_bytes_fn *read, const char *path, bool is_refused)
{
    size_t bytes;
    char *data = program_file_read(path, &bytes);

    assert_non_null(data);
    for (size_t n = 0; n < bytes; n++) {
        int status = read_part(read, data, n);

        if (is_refused)
            assert_int_equal(status, -1);
    }
    free(data);
}

void check_changed_files(read_bytes_fn *read, const char *const *path, int count, int rounds)
{
    uint64_t seed = (uint64_t)time(NULL);
    struct rng r;

    printf("seed %llu\n", (unsigned long long)seed);
    rng_init(&r, seed);
    for (int round = 0; round < rounds; round++) {
        size_t bytes;
        char *data = program_file_read(path[round % count], &bytes);

        assert_non_null(data);
        for (int k = 0; k <= round % 3; k++)
            data[rng_below(&r, (uint32_t)bytes)] = (char)rng_below(&r, 256);
        read_part(read, data, bytes);
        free(data);
    }
}
