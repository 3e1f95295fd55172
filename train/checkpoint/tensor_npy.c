/* Copies one tensor to or from a .npy file block by block, bf16 by way of f32. */
#include "train/checkpoint/tensor_npy.h"

#include "base/floats.h"
#include "base/outfile.h"
#include "data/npy.h"
#include "data/stream.h"

#include <inttypes.h>
#include <string.h>

#define FILE_BYTES_MAX ((int64_t)1 << 40)

static const struct {
    const char *type;                   /* NULL: none */
    int bytes;
} types[ST_DTYPE_COUNT] = {
    [ST_F32] = {"f4", 4}, [ST_BF16] = {"f4", 4}, [ST_F16] = {"f2", 2}, [ST_I32] = {"i4", 4},
    [ST_U32] = {"u4", 4}, [ST_I16] = {"i2", 2}, [ST_U16] = {"u2", 2}, [ST_I8] = {"i1", 1},
    [ST_U8] = {"u1", 1}, [ST_BOOL] = {"b1", 1},
};

static struct safetensor like(const struct checkpoint_tensor *t)
{
    struct safetensor s = {.name = t->name, .dtype = t->dtype, .rank = t->rank};

    memcpy(s.dim, t->dim, sizeof(s.dim));
    return s;
}

static int check_type(const struct safetensor *s, struct err *e)
{
    char text[96];

    if (types[s->dtype].type)
        return 0;
    return err_set(e, "tensor \"%.80s\" is %s; .npy files are written and read of F32, BF16, F16, "
                   "I32, U32, I16, U16, I8, U8 and BOOL", s->name,
                   safetensor_print(s, text, sizeof(text)));
}

static int64_t part_of(int64_t all, int64_t first)
{
    return all - first < CHECKPOINT_BLOCK_BYTES ? all - first : CHECKPOINT_BLOCK_BYTES;
}

/* `wide` has room for the bytes as they go out, twice those of bf16 */
static int copy_out(const struct checkpoint_tensor *t, int64_t all, FILE *to, char *block,
                    uint32_t *wide, struct err *e)
{
    for (int64_t first = 0; first < all; first += CHECKPOINT_BLOCK_BYTES) {
        int64_t bytes = part_of(all, first);

        if (t->read(t->context, first, block, bytes, e))
            return -1;
        for (int64_t i = 0; t->dtype == ST_BF16 && i < bytes / 2; i++)
            wide[i] = (uint32_t)((const uint16_t *)(const void *)block)[i] << 16;
        if (t->dtype == ST_BF16)
            fwrite(wide, 1, (size_t)bytes * 2, to);
        else
            fwrite(block, 1, (size_t)bytes, to);
    }
    return 0;
}

int tensor_to_npy(const struct checkpoint_tensor *t, const char *path, struct err *e)
{
    struct safetensor s = like(t);
    struct npy_array array = {.rank = t->rank};
    struct outfile f;
    char *block;
    uint32_t *wide;
    int status;

    if (check_type(&s, e) || outfile_begin(&f, path, e))
        return -1;
    snprintf(array.type, sizeof(array.type), "%s", types[t->dtype].type);
    array.elem_bytes = types[t->dtype].bytes;
    memcpy(array.side, t->dim, (size_t)t->rank * sizeof(*t->dim));
    npy_write_header(f.to, &array);
    block = mem_alloc(CHECKPOINT_BLOCK_BYTES);
    wide = mem_alloc(2 * CHECKPOINT_BLOCK_BYTES);
    status = copy_out(t, safetensor_bytes(&s), f.to, block, wide, e);
    mem_free(block);
    mem_free(wide);
    if (status) {
        outfile_abandon(&f);
        return -1;
    }
    return outfile_commit(&f, e);
}

/* ---- in ---- */

static int check_array(const struct npy_array *a, const struct safetensor *s, const char *path,
                       struct err *e)
{
    char shape[200] = "", want[96];

    for (int i = 0; i < a->rank; i++)
        snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape), "%s%" PRId64, i ? "," : "",
                 a->side[i]);
    if ((a->type[0] == 'f') == (types[s->dtype].type[0] == 'f') && a->rank == s->rank &&
        memcmp(a->side, s->dim, (size_t)a->rank * sizeof(a->side[0])) == 0)
        return 0;
    return err_at(e, path, 0, 0, "is an array %s[%s], tensor \"%.80s\" is %s", a->type, shape,
                  s->name, safetensor_print(s, want, sizeof(want)));
}

static int copy_in(const struct checkpoint_tensor *t, int64_t all, const char *from,
                   struct err *e)
{
    uint16_t *half = mem_alloc(CHECKPOINT_BLOCK_BYTES);
    int status = 0;

    for (int64_t first = 0; first < all && status == 0; first += CHECKPOINT_BLOCK_BYTES) {
        int64_t bytes = part_of(all, first);

        for (int64_t i = 0; t->dtype == ST_BF16 && i < bytes / 2; i++) {
            uint32_t bits;

            memcpy(&bits, from + 2 * first + 4 * i, sizeof(bits));
            /* what came from bf16 goes back as it was, subnormal numbers and all */
            half[i] = bits & 0xffff ? bf16_from_f32_bits(bits) : (uint16_t)(bits >> 16);
        }
        status = t->write(t->context, first, t->dtype == ST_BF16 ? (const void *)half
                          : from + first, bytes, e);
    }
    mem_free(half);
    return status;
}

int tensor_from_npy(const struct checkpoint_tensor *t, const char *path, struct err *e)
{
    struct safetensor s = like(t);
    struct npy_array array = {.rank = 0};
    struct arena a;
    const unsigned char *bytes;
    struct stream *file;
    int64_t size;
    int status = -1;

    if (check_type(&s, e))
        return -1;
    file = stream_open(path, DATA_COMPRESSION_AUTO, e);
    if (!file)
        return -1;
    arena_init(&a);
    size = stream_whole(file, FILE_BYTES_MAX, &bytes, e);
    if (size >= 0 && npy_parse_array(bytes, (size_t)size, path, &array, e) == 0 &&
        check_array(&array, &s, path, e) == 0 &&
        npy_take(&array, types[s.dtype].type, path, &a, e) == 0)
        status = copy_in(t, safetensor_bytes(&s), array.data, e);
    arena_fini(&a);
    stream_close(file);
    return status;
}
