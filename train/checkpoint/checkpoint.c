/* Reads checkpoints: everything is checked before a value leaves. */
#include "train/checkpoint/checkpoint.h"

#include "base/text.h"
#include "train/checkpoint/checkpoint_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define CRC_POLYNOMIAL 0xedb88320u      /* zlib's, bits reversed */

static int memory_read(void *context, int64_t first, void *to, int64_t bytes, struct err *e)
{
    (void)e;
    memcpy(to, (const char *)context + first, (size_t)bytes);
    return 0;
}

static int memory_write(void *context, int64_t first, const void *from, int64_t bytes,
                        struct err *e)
{
    (void)e;
    memcpy((char *)context + first, from, (size_t)bytes);
    return 0;
}

struct checkpoint_tensor checkpoint_memory(const char *name, enum safetensors_dtype dtype,
                                           int rank, const int64_t *dim, void *data)
{
    struct checkpoint_tensor t = {.name = name, .dtype = dtype, .rank = rank,
                                  .read = memory_read, .write = memory_write, .context = data};

    for (int i = 0; i < rank; i++)
        t.dim[i] = dim[i];
    return t;
}

/* ---- metadata ---- */

static int parse_digits(const char *text, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < CRC_DIGITS; i++) {
        const char *digit = text[i] ? strchr("0123456789abcdef", text[i]) : NULL;

        if (!digit)
            return -1;
        *value = *value << 4 | (uint32_t)(digit - "0123456789abcdef");
    }
    return 0;
}

static int parse_crcs(struct checkpoint *c, struct err *e)
{
    const char *text = safetensors_value(&c->file, KEY_DATA_CRC);
    int64_t count = 0;

    c->first_crc = arena_array(&c->file.arena, (size_t)c->file.tensor_count + 1,
                               sizeof(*c->first_crc));
    for (int i = 0; i < c->file.tensor_count; i++) {
        c->first_crc[i] = count;
        count += checkpoint_block_count(safetensor_bytes(&c->file.tensor[i]));
    }
    if (!text || strlen(text) != (size_t)count * CRC_DIGITS)
        return err_at(e, c->file.path, 0, 0, "the checksums of its %" PRId64
                      " blocks are not all there", count);
    c->crc = arena_array(&c->file.arena, (size_t)count, sizeof(*c->crc));
    for (int64_t i = 0; i < count; i++)
        if (parse_digits(text + i * CRC_DIGITS, &c->crc[i]))
            return err_at(e, c->file.path, 0, 0, "checksum %" PRId64 " is no number", i);
    return 0;
}

static int parse_number(const struct checkpoint *c, const char *key, uint64_t most,
                        uint64_t *value, struct err *e)
{
    const char *text = safetensors_value(&c->file, key);
    char *end = NULL;

    errno = 0;
    *value = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (end && *end == '\0' && errno == 0 && *value <= most)
        return 0;
    return err_at(e, c->file.path, 0, 0, "\"%s\" is %s%.40s, allowed are 0..%" PRIu64, key,
                  text ? "" : "not there", text ? text : "", most);
}

static int parse_position(struct checkpoint *c, struct err *e)
{
    static const char digits[] = "0123456789abcdef";
    const char *text = safetensors_value(&c->file, KEY_POSITION);
    size_t length = text ? strlen(text) : 0;
    unsigned char *to;

    if (!text)
        return 0;
    to = arena_alloc(&c->file.arena, length / 2 + 1);
    for (size_t i = 0; i < length; i++) {
        const char *digit = strchr(digits, text[i]);

        if (!digit || length % 2)
            return err_at(e, c->file.path, 0, 0, "\"" KEY_POSITION "\" is no list of bytes");
        to[i / 2] = (unsigned char)(to[i / 2] << 4 | (digit - digits));
    }
    c->state.data_position = to;
    c->state.data_position_bytes = length / 2;
    return 0;
}

static void take_extra(struct checkpoint *c)
{
    struct safetensors_pair *extra = arena_array(&c->file.arena, (size_t)c->file.pair_count + 1,
                                                 sizeof(*extra));

    for (int i = 0; i < c->file.pair_count; i++)
        if (strncmp(c->file.pair[i].key, KEY_PREFIX, strlen(KEY_PREFIX)) != 0)
            extra[c->state.extra_count++] = c->file.pair[i];
    c->state.extra = extra;
}

/* where the digits of the header's own checksum stand, or NULL */
static char *own_digits(char *header)
{
    char *at = strstr(header, "\"" KEY_HEADER_CRC "\":\"");

    return at ? at + strlen("\"" KEY_HEADER_CRC "\":\"") : NULL;
}

static int check_header(const struct checkpoint *c, struct err *e)
{
    size_t size = (size_t)c->file.data_offset;
    char *header = mem_alloc(size + 1), *digits;
    uint32_t kept = 0, is;
    int status = 0;

    if (fseeko(c->file.from, 0, SEEK_SET) != 0 || fread(header, 1, size, c->file.from) != size)
        status = err_at(e, c->file.path, 0, 0, "the header cannot be read again");
    digits = status ? NULL : own_digits(header + 8);
    if (status == 0 && (!digits || parse_digits(digits, &kept)))
        status = err_at(e, c->file.path, 0, 0, "the header has no checksum");
    if (status == 0) {
        memset(digits, '0', CRC_DIGITS);
        is = (uint32_t)crc32_z(0, (const unsigned char *)header, size);
        if (is != kept)
            status = err_at(e, c->file.path, 0, 0, "the header, bytes 0 to %zu, is damaged: "
                            "checksum %08" PRIx32 ", the file says %08" PRIx32, size, is, kept);
    }
    mem_free(header);
    return status;
}

static int parse_state(struct checkpoint *c, struct err *e)
{
    const char *version = safetensors_value(&c->file, KEY_VERSION);
    uint64_t step, epoch;

    if (!version)
        return err_at(e, c->file.path, 0, 0, "is a safetensors file, but no checkpoint: \""
                      KEY_VERSION "\" is missing");
    if (strcmp(version, CHECKPOINT_VERSION) != 0)
        return err_at(e, c->file.path, 0, 0, "is a checkpoint of version %.20s, this program "
                      "reads version " CHECKPOINT_VERSION, version);
    if (check_header(c, e) || parse_crcs(c, e) ||
        parse_number(c, KEY_STEP, INT64_MAX, &step, e) ||
        parse_number(c, KEY_EPOCH, INT64_MAX, &epoch, e) ||
        parse_number(c, KEY_SEED, UINT64_MAX, &c->state.seed, e) || parse_position(c, e))
        return -1;
    c->state.step = (int64_t)step;
    c->state.epoch = (int64_t)epoch;
    take_extra(c);
    return 0;
}

int checkpoint_of(struct checkpoint *c, FILE *from, const char *path, struct err *e)
{
    memset(c, 0, sizeof(*c));
    if (safetensors_of(&c->file, from, path, e))
        return -1;
    if (parse_state(c, e) == 0)
        return 0;
    safetensors_close(&c->file);
    return -1;
}

int checkpoint_open(struct checkpoint *c, const char *path, struct err *e)
{
    FILE *from = safetensors_file(path, e);

    return from ? checkpoint_of(c, from, path, e) : -1;
}

void checkpoint_close(struct checkpoint *c)
{
    safetensors_close(&c->file);
}

/* ---- elements ---- */

/*
 * The bit whose flip alone turns one checksum into the other, counted from the block's end; -1:
 * there is none. Behind a flipped bit the difference goes through the polynomial bit by bit.
 */
static int64_t find_flipped_bit(uint32_t difference, int64_t bytes)
{
    uint32_t d = CRC_POLYNOMIAL;        /* of the last bit */

    for (int64_t i = 0; i < 8 * bytes; i++) {
        if (d == difference)
            return i;
        d = d >> 1 ^ (d & 1 ? CRC_POLYNOMIAL : 0);
    }
    return -1;
}

static int blame(const struct checkpoint *c, int i, int64_t first, int64_t bytes, uint32_t is,
                 uint32_t kept, struct err *e)
{
    const struct safetensor *t = &c->file.tensor[i];
    int64_t at = c->file.data_offset + t->begin + first;
    int64_t bit = find_flipped_bit(is ^ kept, bytes);

    if (bit >= 0)
        return err_at(e, c->file.path, 0, 0, "tensor \"%.80s\" is damaged: one bit of its byte %"
                      PRId64 " (%" PRId64 " of the file) has changed", t->name,
                      first + bytes - 1 - bit / 8, at + bytes - 1 - bit / 8);
    return err_at(e, c->file.path, 0, 0, "tensor \"%.80s\" is damaged between its bytes %" PRId64
                  " and %" PRId64 " (%" PRId64 " and %" PRId64 " of the file)", t->name, first,
                  first + bytes, at, at + bytes);
}

/* Reads tensor i block by block; `to` (may be NULL) gets what has been checked. */
static int read_tensor(const struct checkpoint *c, int i, const struct checkpoint_tensor *to,
                       unsigned char *block, struct err *e)
{
    int64_t all = safetensor_bytes(&c->file.tensor[i]);

    for (int64_t first = 0; first < all; first += CHECKPOINT_BLOCK_BYTES) {
        int64_t left = all - first;
        int64_t bytes = left < CHECKPOINT_BLOCK_BYTES ? left : CHECKPOINT_BLOCK_BYTES;
        uint32_t kept = c->crc[c->first_crc[i] + first / CHECKPOINT_BLOCK_BYTES], is;

        if (safetensors_read(&c->file, i, first, block, bytes, e))
            return -1;
        is = (uint32_t)crc32_z(0, block, (size_t)bytes);
        if (is != kept)
            return blame(c, i, first, bytes, is, kept, e);
        if (to && to->write(to->context, first, block, bytes, e))
            return -1;
    }
    return 0;
}

int checkpoint_verify(const struct checkpoint *c, struct err *e)
{
    unsigned char *block = mem_alloc(CHECKPOINT_BLOCK_BYTES);
    int status = 0;

    for (int i = 0; i < c->file.tensor_count && status == 0; i++)
        status = read_tensor(c, i, NULL, block, e);
    mem_free(block);
    return status;
}

static int check_like(const struct checkpoint *c, int i, const struct checkpoint_tensor *want,
                      struct err *e)
{
    const struct safetensor *t = &c->file.tensor[i];
    struct safetensor other = {.dtype = want->dtype, .rank = want->rank};
    char is[96], as[96];

    memcpy(other.dim, want->dim, sizeof(other.dim));
    if (t->dtype == other.dtype && t->rank == other.rank &&
        memcmp(t->dim, other.dim, (size_t)t->rank * sizeof(t->dim[0])) == 0)
        return 0;
    return err_at(e, c->file.path, 0, 0, "tensor \"%.80s\" is %s, needed is %s", t->name,
                  safetensor_print(t, is, sizeof(is)), safetensor_print(&other, as, sizeof(as)));
}

static int match(const struct checkpoint *c, const struct checkpoint_tensor *tensor, int count,
                 int *number, struct err *e)
{
    for (int i = 0; i < count; i++) {
        number[i] = safetensors_find(&c->file, tensor[i].name, e);
        if (number[i] < 0 || check_like(c, number[i], &tensor[i], e))
            return -1;
    }
    return 0;
}

int checkpoint_restore(const struct checkpoint *c, const struct checkpoint_tensor *tensor,
                       int count, struct err *e)
{
    int *number = mem_alloc((size_t)count * sizeof(*number));
    unsigned char *block = mem_alloc(CHECKPOINT_BLOCK_BYTES);
    int status = match(c, tensor, count, number, e);

    for (int i = 0; i < count && status == 0; i++)
        status = read_tensor(c, number[i], NULL, block, e);
    for (int i = 0; i < count && status == 0; i++)
        status = read_tensor(c, number[i], &tensor[i], block, e);
    mem_free(block);
    mem_free(number);
    return status;
}
