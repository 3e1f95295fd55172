/*
 * Loads MNIST-like sets from IDX files, plain or gzip, and checks every header against the bytes
 * that follow.
 */
#include "data/images.h"

#include "base/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define MAGIC_IMAGES 0x00000803u
#define MAGIC_LABELS 0x00000801u
#define CLASS_COUNT 10
#define SIDE_MAX 4096
#define PAYLOAD_MAX (1 << 30)           /* bytes of one file, unpacked */
#define DEFLATE_RATIO_MAX 1032          /* no deflate stream expands further */

struct idx_file {
    char path[256];                     /* as in struct err */
    gzFile gz;
    int64_t offset;                     /* bytes read, unpacked */
    int64_t size_bytes;                 /* on disk */
};

static int open_idx(struct idx_file *f, const char *folder, const char *name, struct err *e)
{
    static const char *const suffixes[] = {"", ".gz"};
    struct stat st;

    memset(f, 0, sizeof(*f));
    for (int i = 0; i < 2; i++) {
        int length = snprintf(f->path, sizeof(f->path), "%s/%s%s", folder, name, suffixes[i]);

        if (length >= (int)sizeof(f->path))
            return err_set(e, "path of the data folder is too long (at most %zu characters)",
                           sizeof(f->path) - 40);
        if (stat(f->path, &st) != 0)
            continue;
        f->gz = S_ISREG(st.st_mode) ? gzopen(f->path, "rb") : NULL;
        if (!f->gz)
            return err_at(e, f->path, 0, 0, "cannot be read");
        gzbuffer(f->gz, 1 << 17);
        f->size_bytes = st.st_size;
        return 0;
    }
    return err_at(e, folder, 0, 0, "no file %s or %s.gz in this folder", name, name);
}

/* what zlib found wrong; a stream that ends early is left to the caller */
static int check_gzip(const struct idx_file *f, struct err *e)
{
    int code;
    const char *why = gzerror(f->gz, &code);

    if (code == Z_OK || code == Z_BUF_ERROR)
        return 0;
    if (strncmp(why, f->path, strlen(f->path)) == 0)
        why += strlen(f->path) + strspn(why + strlen(f->path), ": ");
    return err_at(e, f->path, 0, 0, "damaged gzip data at byte %" PRId64 " (%s)", f->offset, why);
}

/* Nothing may follow; at the end of a gzip stream stand its checksum and length. */
static int read_end(struct idx_file *f, struct err *e)
{
    uint8_t extra;
    int got = gzread(f->gz, &extra, 1), code;

    if (check_gzip(f, e))
        return -1;
    if (got > 0)
        return err_at(e, f->path, 0, 0, "goes on after byte %" PRId64 ", where its header says "
                      "that it ends", f->offset);
    gzerror(f->gz, &code);
    if (code == Z_BUF_ERROR)
        return err_at(e, f->path, 0, 0, "truncated: the gzip data ends before its checksum");
    return 0;
}

static int read_bytes(struct idx_file *f, void *to, int64_t bytes, const char *what,
                      struct err *e)
{
    int64_t have = 0;

    while (have < bytes) {
        int64_t ask = bytes - have < (1 << 24) ? bytes - have : 1 << 24;
        int got = gzread(f->gz, (char *)to + have, (unsigned)ask);

        if (got <= 0)
            break;
        have += got;
    }
    f->offset += have;
    if (have < bytes) {
        if (check_gzip(f, e))
            return -1;
        return err_at(e, f->path, 0, 0,
                      "truncated: ends at byte %" PRId64 ", but %s needs %" PRId64 " bytes",
                      f->offset, what, f->offset - have + bytes);
    }
    return 0;
}

static uint32_t big_endian(const uint8_t *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static int read_header(struct idx_file *f, uint32_t magic, uint32_t *field, int field_count,
                       struct err *e)
{
    uint8_t raw[16];
    uint32_t found;

    if (read_bytes(f, raw, 4, "the header", e))
        return -1;
    found = big_endian(raw);
    if (found != magic)
        return err_at(e, f->path, 0, 0, "wrong magic number 0x%08" PRIx32 " at byte 0, expected "
                      "0x%08" PRIx32 " (IDX %s)%s", found, magic,
                      magic == MAGIC_IMAGES ? "images" : "labels",
                      found == MAGIC_LABELS ? ": this is a label file" :
                      found == MAGIC_IMAGES ? ": this is an image file" : "");
    if (read_bytes(f, raw, 4 * field_count, "the header", e))
        return -1;
    for (int i = 0; i < field_count; i++)
        field[i] = big_endian(raw + 4 * i);
    return 0;
}

/* What the header promises must fit the file before memory is taken for it. */
static int read_payload(struct idx_file *f, int64_t bytes, uint8_t **to, struct arena *a,
                        struct err *e)
{
    int64_t holds_max = f->size_bytes * (gzdirect(f->gz) ? 1 : DEFLATE_RATIO_MAX);

    if (bytes > PAYLOAD_MAX)
        return err_at(e, f->path, 0, 0, "header promises %" PRId64 " bytes, at most %d are allowed",
                      bytes, PAYLOAD_MAX);
    if (f->offset + bytes > holds_max)
        return err_at(e, f->path, 0, 0, "truncated: header promises %" PRId64 " bytes of data, "
                      "the file of %" PRId64 " bytes cannot hold them", bytes, f->size_bytes);
    *to = arena_alloc(a, (size_t)bytes);
    if (read_bytes(f, *to, bytes, "what the header promises", e))
        return -1;
    return read_end(f, e);
}

static int read_images(struct idx_file *f, struct image_set *d, struct arena *a, struct err *e)
{
    uint32_t field[3];

    if (read_header(f, MAGIC_IMAGES, field, 3, e))
        return -1;
    if (field[0] == 0 || field[0] > PAYLOAD_MAX)
        return err_at(e, f->path, 0, 0, "image count is %" PRIu32 ", allowed are 1..%d", field[0],
                      PAYLOAD_MAX);
    if (field[1] == 0 || field[1] > SIDE_MAX || field[2] == 0 || field[2] > SIDE_MAX)
        return err_at(e, f->path, 0, 0, "images are %" PRIu32 "x%" PRIu32
                      " pixels, allowed are 1..%d each way", field[1], field[2], SIDE_MAX);
    d->count = field[0];
    d->rows = (int)field[1];
    d->columns = (int)field[2];
    d->elems = (int64_t)d->rows * d->columns;
    d->classes = CLASS_COUNT;
    return read_payload(f, d->count * d->elems, &d->pixel, a, e);
}

static int read_labels(struct idx_file *f, const char *images, struct image_set *d,
                       struct arena *a, struct err *e)
{
    uint32_t count = 0;

    if (read_header(f, MAGIC_LABELS, &count, 1, e))
        return -1;
    if (count != d->count)
        return err_at(e, f->path, 0, 0, "%" PRIu32 " labels, but %s has %" PRId64 " images", count,
                      images, d->count);
    if (read_payload(f, count, &d->label, a, e))
        return -1;
    for (int64_t i = 0; i < d->count; i++)
        if (d->label[i] >= CLASS_COUNT)
            return err_at(e, f->path, 0, 0, "label %d at byte %" PRId64 ", allowed are 0..%d",
                          d->label[i], 8 + i, CLASS_COUNT - 1);
    return 0;
}

static int load_set(struct image_set *d, const char *folder, const char *prefix, struct arena *a,
                    struct err *e)
{
    struct idx_file images, labels;
    char name[64];
    int status;

    memset(d, 0, sizeof(*d));
    snprintf(name, sizeof(name), "%s-images-idx3-ubyte", prefix);
    if (open_idx(&images, folder, name, e))
        return -1;
    status = read_images(&images, d, a, e);
    gzclose(images.gz);
    if (status)
        return -1;
    snprintf(name, sizeof(name), "%s-labels-idx1-ubyte", prefix);
    if (open_idx(&labels, folder, name, e))
        return -1;
    status = read_labels(&labels, images.path, d, a, e);
    gzclose(labels.gz);
    return status;
}

int data_load_idx(struct image_set *train, struct image_set *test, const char *path,
                  struct arena *a, struct err *e)
{
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return err_at(e, path, 0, 0, "not a folder; the data folder holds the four IDX files");
    if (load_set(train, path, "train", a, e) || load_set(test, path, "t10k", a, e))
        return -1;
    if (train->rows != test->rows || train->columns != test->columns)
        return err_at(e, path, 0, 0, "test images are %dx%d pixels, training images %dx%d",
                      test->rows, test->columns, train->rows, train->columns);
    return 0;
}

void data_shuffle(uint32_t *order, int64_t count, uint64_t seed, int epoch)
{
    struct rng r;
    uint64_t base;

    rng_init(&r, seed);                 /* so that neighbouring seeds share no epoch */
    base = rng_next(&r);
    rng_init(&r, base + (uint64_t)epoch);
    for (int64_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (int64_t i = count - 1; i > 0; i--) {
        uint32_t j = rng_below(&r, (uint32_t)i + 1);
        uint32_t kept = order[i];

        order[i] = order[j];
        order[j] = kept;
    }
}

void data_batch(const struct image_set *d, const uint32_t *order, int64_t first, int64_t n,
                float *x, int32_t *labels)
{
    float scaled[256];

    for (int i = 0; i < 256; i++)
        scaled[i] = d->is_raw ? (float)i : (float)i / 255.0f;
    for (int64_t i = 0; i < n; i++) {
        uint32_t sample = order[first + i];
        const uint8_t *pixel = d->pixel + sample * d->elems;

        for (int64_t j = 0; j < d->elems; j++)
            x[i * d->elems + j] = scaled[pixel[j]];
        labels[i] = d->label[sample];
    }
}
