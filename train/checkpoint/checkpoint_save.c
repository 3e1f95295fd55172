/*
 * Writing: the header with room for the checksums, the tensors block by block, then the
 * checksums into that room; sync, rename, sync of the folder.
 */
#include "base/archive.h"
#include "base/outfile.h"
#include "train/checkpoint/checkpoint_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define PATH_BYTES 4096
#define COPY_BYTES 4096

struct writer {
    struct arena arena;
    const struct checkpoint_tensor *from;
    struct safetensor *tensor;
    int count;
    struct safetensors_pair *pair;
    int pair_count;
    int64_t *value_offset;              /* in the file, by pair */
    char *crc;                          /* digits of every block's checksum */
    int64_t crc_count;
};

static char *hex_of(struct arena *a, const void *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    char *text = arena_alloc(a, 2 * size + 1);

    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[((const unsigned char *)bytes)[i] >> 4];
        text[2 * i + 1] = digits[((const unsigned char *)bytes)[i] & 15];
    }
    return text;
}

static void add_pair(struct writer *w, const char *key, const char *value)
{
    w->pair[w->pair_count++] = (struct safetensors_pair){key, value};
}

static char *zeros(struct arena *a, int64_t count)
{
    char *text = arena_alloc(a, (size_t)count + 1);

    memset(text, '0', (size_t)count);
    return text;
}

/* checksums first: they are found again by their number */
enum { PAIR_HEADER_CRC, PAIR_DATA_CRC };

static int describe(struct writer *w, const struct checkpoint_state *s, struct err *e)
{
    struct arena *a = &w->arena;
    int64_t most = 7 + (int64_t)s->extra_count;

    w->pair = arena_array(a, (size_t)most, sizeof(*w->pair));
    w->value_offset = arena_array(a, (size_t)most, sizeof(*w->value_offset));
    w->crc = zeros(a, w->crc_count * CRC_DIGITS);
    add_pair(w, KEY_HEADER_CRC, zeros(a, CRC_DIGITS));
    add_pair(w, KEY_DATA_CRC, w->crc);
    add_pair(w, KEY_VERSION, CHECKPOINT_VERSION);
    add_pair(w, KEY_STEP, arena_printf(a, "%" PRId64, s->step));
    add_pair(w, KEY_EPOCH, arena_printf(a, "%" PRId64, s->epoch));
    add_pair(w, KEY_SEED, arena_printf(a, "%" PRIu64, s->seed));
    if (s->data_position)
        add_pair(w, KEY_POSITION, hex_of(a, s->data_position, s->data_position_bytes));
    for (int i = 0; i < s->extra_count; i++) {
        if (strncmp(s->extra[i].key, KEY_PREFIX, strlen(KEY_PREFIX)) == 0)
            return err_set(e, "key \"%.80s\": those that begin with \"" KEY_PREFIX
                           "\" are the checkpoint's own", s->extra[i].key);
        add_pair(w, s->extra[i].key, s->extra[i].value);
    }
    return 0;
}

static void list_tensors(struct writer *w, const struct checkpoint_tensor *from, int count)
{
    w->from = from;
    w->count = count;
    w->tensor = arena_array(&w->arena, (size_t)count, sizeof(*w->tensor));
    for (int i = 0; i < count; i++) {
        struct safetensor *t = &w->tensor[i];

        *t = (struct safetensor){.name = from[i].name, .dtype = from[i].dtype,
                                 .rank = from[i].rank};
        memcpy(t->dim, from[i].dim, sizeof(t->dim));
        w->crc_count += checkpoint_block_count(safetensor_bytes(t));
    }
}

static void set_digits(char *to, uint32_t crc)
{
    char text[CRC_DIGITS + 1];

    snprintf(text, sizeof(text), "%08" PRIx32, crc);
    memcpy(to, text, CRC_DIGITS);
}

static int write_tensors(struct writer *w, FILE *to, struct err *e)
{
    unsigned char *block = mem_alloc(CHECKPOINT_BLOCK_BYTES);
    int64_t number = 0;
    int status = 0;

    for (int i = 0; i < w->count && status == 0; i++) {
        int64_t all = safetensor_bytes(&w->tensor[i]);

        for (int64_t first = 0; first < all && status == 0; first += CHECKPOINT_BLOCK_BYTES) {
            int64_t left = all - first;
            int64_t bytes = left < CHECKPOINT_BLOCK_BYTES ? left : CHECKPOINT_BLOCK_BYTES;

            status = w->from[i].read(w->from[i].context, first, block, bytes, e);
            if (status)
                break;
            set_digits(w->crc + number++ * CRC_DIGITS,
                       (uint32_t)crc32_z(0, block, (size_t)bytes));
            if (fwrite(block, 1, (size_t)bytes, to) != (size_t)bytes)
                break;                  /* the commit says why */
        }
    }
    mem_free(block);
    return status;
}

/* of the first `size` bytes of the file as it stands; -1 with errno when they cannot be read */
static int crc_of_header(FILE *file, int64_t size, uint32_t *crc)
{
    unsigned char part[COPY_BYTES];

    *crc = 0;

    for (int64_t at = 0; at < size; at += COPY_BYTES) {
        size_t bytes = size - at < COPY_BYTES ? (size_t)(size - at) : COPY_BYTES;

        errno = 0;
        if (fread(part, 1, bytes, file) != bytes)
            return -1;
        *crc = (uint32_t)crc32_z(*crc, part, bytes);
    }
    return 0;
}

/* The checksum of the header is of all of it, but for its own digits. */
static int fill_in(struct writer *w, struct outfile *f, int64_t header_bytes, struct err *e)
{
    char digits[CRC_DIGITS];
    FILE *again;
    uint32_t crc;
    int status;

    if (fseeko(f->to, (off_t)w->value_offset[PAIR_DATA_CRC], SEEK_SET) != 0)
        return err_set(e, "cannot write %s: %s", f->path, strerror(errno));
    fwrite(w->crc, 1, (size_t)w->crc_count * CRC_DIGITS, f->to);
    if (fflush(f->to) != 0)
        return 0;                       /* the commit says why */
    again = fopen(f->temp_path, "rb");
    status = again ? crc_of_header(again, header_bytes, &crc) : -1;
    if (status)
        err_set(e, "cannot read %s again: %s", f->temp_path, strerror(errno ? errno : EIO));
    if (again)
        fclose(again);
    if (status)
        return -1;
    set_digits(digits, crc);
    if (fseeko(f->to, (off_t)w->value_offset[PAIR_HEADER_CRC], SEEK_SET) != 0)
        return err_set(e, "cannot write %s: %s", f->path, strerror(errno));
    fwrite(digits, 1, CRC_DIGITS, f->to);
    return 0;
}

static int write_all(struct writer *w, struct outfile *f, struct err *e)
{
    int64_t header_bytes = safetensors_write_header(f->to, w->tensor, w->count, w->pair,
                                                    w->pair_count, w->value_offset, e);

    if (header_bytes < 0 || write_tensors(w, f->to, e))
        return -1;
    if (ferror(f->to))
        return 0;                       /* the commit says why */
    return fill_in(w, f, header_bytes, e);
}

static void remove_old(const char *folder, int keep)
{
    char path[PATH_BYTES];
    struct err ignored;
    int64_t count, *step = checkpoint_list(folder, &count, &ignored);

    for (int64_t i = keep; keep > 0 && i < count; i++)
        unlink(checkpoint_path(folder, step[i], path, sizeof(path)));
    mem_free(step);
    outfile_clean(folder);
}

static int save(struct writer *w, const char *path, struct err *e)
{
    struct outfile f;

    if (outfile_begin(&f, path, e))
        return -1;
    if (write_all(w, &f, e)) {
        outfile_abandon(&f);
        return -1;
    }
    return outfile_commit(&f, e);
}

int checkpoint_save(const char *folder, const struct checkpoint_tensor *tensor, int count,
                    const struct checkpoint_state *state, int keep, struct err *e)
{
    struct writer w = {.count = 0};
    char path[PATH_BYTES];
    int status;

    if (strlen(folder) > PATH_BYTES - 64)
        return err_set(e, "the path of the folder of checkpoints is too long (at most %d bytes)",
                       PATH_BYTES - 64);
    if (state->step < 0 || state->epoch < 0 || keep < 0)
        return err_set(e, "step %" PRId64 ", epoch %" PRId64 ", %d to keep: none is negative",
                       state->step, state->epoch, keep);
    if (checkpoint_check_own(folder, state->step, e) || checkpoint_make_folder(folder, e))
        return -1;
    arena_init(&w.arena);
    list_tensors(&w, tensor, count);
    status = describe(&w, state, e);
    if (status == 0)
        status = save(&w, checkpoint_path(folder, state->step, path, sizeof(path)), e);
    arena_fini(&w.arena);
    if (status)
        return -1;
    remove_old(folder, keep);
    return 0;
}
