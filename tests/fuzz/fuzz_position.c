/*
 * Any bytes are the position of a pipeline with a stage of each kind that keeps one, from which it
 * goes on to its end, or are refused with a message. So are those of a cache's file.
 */
#include "data/dataset.h"
#include "tests/rigs/round_trip.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ELEMENTS_MAX 1000               /* a range of 40, twice */

static void run_out(struct data_iterator *it)
{
    struct data_element *x;
    struct err e = {.msg = ""};
    int status = 1;

    for (int i = 0; it && status > 0; i++) {
        status = data_iterator_next(it, &x, &e);
        if (status > 0)
            element_release(x);
        if (i > ELEMENTS_MAX)
            fuzz_fail("a pipeline has no end", "");
    }
    if (status < 0 && !e.msg[0])
        fuzz_fail("a pipeline fails without a message", "");
    data_iterator_destroy(it);
}

static struct dataset *pipeline(void)
{
    struct err e;
    struct dataset *d = dataset_range(0, 40, 1, &e);

    d = d ? dataset_shuffle(d, 7, 3, true, &e) : NULL;
    d = d ? dataset_repeat(d, 2, &e) : NULL;
    d = d ? dataset_batch(d, 3, false, &e) : NULL;
    d = d ? dataset_prefetch(d, 2, &e) : NULL;
    return d;
}

static void try_cache(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/systole-fuzz-XXXXXX";
    int fd = mkstemp(path);
    struct err e = {.msg = ""};
    struct dataset *d;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        fuzz_fail("no file", path);
    close(fd);
    d = dataset_cache_file(dataset_range(0, 40, 1, &e), path, &e);
    if (d) {
        struct data_iterator *it = dataset_iterate(d, 0, &e);

        if (!it && !e.msg[0])
            fuzz_fail("a cache is refused without a message", "");
        run_out(it);
        dataset_release(d);
    } else if (!e.msg[0]) {
        fuzz_fail("a cache is refused without a message", "");
    }
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct dataset *d;
    struct err e = {.msg = ""};
    struct data_iterator *it;

    if (!d && !(d = pipeline()))
        fuzz_fail("no pipeline", "");
    it = dataset_resume(d, data, size, &e);
    if (!it && !e.msg[0])
        fuzz_fail("a position is refused without a message", "");
    run_out(it);
    try_cache(data, size);
    return 0;
}
