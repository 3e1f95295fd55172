/* Makes indices up for runs without data: uniform, by Zipf's law, or from a file. */
#include "stack/kernels/index/index_data.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"

void index_data_parse(struct index_data *d, const char *text)
{
    d->path = text;
    d->kind = !strcmp(text, "uniform") ? INDEX_UNIFORM : !strcmp(text, "zipf") ? INDEX_ZIPF
                                                                               : INDEX_FILE;
}

/* the inverse of the continuous law 1 / x on 1..end + 1; then spread over the table */
static int64_t zipf(struct rng *r, int64_t end)
{
    double u = (double)(rng_next(r) >> 11) / 9007199254740992.0;
    int64_t rank = (int64_t)exp(u * log((double)end + 1)) - 1;

    rank = rank < 0 ? 0 : rank >= end ? end - 1 : rank;
    return (int64_t)((uint64_t)rank * 2654435761u % (uint64_t)end);
}

static int fill_from_file(const char *path, int64_t end, int32_t *to, int64_t count,
                          struct err *e)
{
    FILE *f = fopen(path, "r");
    int64_t got = 0, read = 0;
    long long x;
    int status = 0, matched;

    if (!f)
        return err_set(e, "cannot read indices from %s: %s", path, strerror(errno));
    while (got < count && !status) {
        matched = fscanf(f, "%lld", &x);
        if (matched == 1 && x >= 0 && x < end) {
            to[got++] = (int32_t)x;
            read++;
        } else if (matched == EOF && read) {
            rewind(f);
        } else {
            status = matched == 1 ? err_set(e, "%s: index %lld is not in 0..%lld", path, x,
                                            (long long)end - 1)
                                  : err_set(e, "%s: %lld is no index of the table", path,
                                            (long long)read + 1);
        }
    }
    fclose(f);
    return status;
}

/* a step that has no factor in common with `end` */
static int64_t page(int64_t i, int64_t end) { return i * (end % 7919 ? 7919 : 7907) % end; }

static int64_t one(const struct index_data *d, struct rng *r, int64_t i, int64_t end)
{
    switch (d->kind) {
    case INDEX_ZIPF: return zipf(r, end);
    case INDEX_PAGES: return page(i, end);
    default: return (int64_t)(rng_next(r) % (uint64_t)end);
    }
}

int index_data_fill(const struct index_data *d, int64_t end, uint64_t seed, int32_t *to,
                    int64_t count, struct err *e)
{
    struct rng r;

    if (d->kind == INDEX_FILE)
        return fill_from_file(d->path, end, to, count, e);
    rng_init(&r, seed);
    for (int64_t i = 0; i < count; i++)
        to[i] = (int32_t)one(d, &r, i, end);
    return 0;
}
