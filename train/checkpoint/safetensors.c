/* Parses and checks the JSON header of a safetensors file, and reads parts of its tensors. */
#include "train/checkpoint/safetensors.h"

#include "base/text.h"
#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LENGTH_BYTES 8
#define METADATA "__metadata__"
#define SHOWN 80                        /* characters of a name in a message */

static const struct {
    const char *name;
    int bytes;
} dtypes[ST_DTYPE_COUNT] = {
    [ST_F64] = {"F64", 8}, [ST_F32] = {"F32", 4}, [ST_F16] = {"F16", 2}, [ST_BF16] = {"BF16", 2},
    [ST_F8_E5M2] = {"F8_E5M2", 1}, [ST_F8_E4M3] = {"F8_E4M3", 1}, [ST_I64] = {"I64", 8},
    [ST_I32] = {"I32", 4}, [ST_I16] = {"I16", 2}, [ST_I8] = {"I8", 1}, [ST_U64] = {"U64", 8},
    [ST_U32] = {"U32", 4}, [ST_U16] = {"U16", 2}, [ST_U8] = {"U8", 1}, [ST_BOOL] = {"BOOL", 1},
    [ST_C64] = {"C64", 8},
};

const char *safetensors_dtype_name(enum safetensors_dtype t)
{
    return dtypes[t].name;
}

char *safetensor_print(const struct safetensor *t, char *buf, size_t buf_bytes)
{
    size_t used = (size_t)snprintf(buf, buf_bytes, "%s[", dtypes[t->dtype].name);

    for (int i = 0; i < t->rank && used < buf_bytes; i++)
        used += (size_t)snprintf(buf + used, buf_bytes - used, "%s%" PRId64, i ? "," : "",
                                 t->dim[i]);
    if (used < buf_bytes)
        snprintf(buf + used, buf_bytes - used, "]");
    return buf;
}

int64_t safetensor_bytes(const struct safetensor *t)
{
    int64_t bytes = dtypes[t->dtype].bytes;

    for (int i = 0; i < t->rank; i++)
        bytes *= t->dim[i];
    return bytes;
}

/* ---- the header ---- */

static int fail(const struct safetensors *s, const char *name, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static int fail(const struct safetensors *s, const char *name, struct err *e, const char *fmt, ...)
{
    char msg[400];
    va_list ap;

    va_start(ap, fmt);
    text_print_args(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    return err_at(e, s->path, 0, 0, "tensor \"%.*s\": %s", SHOWN, name, msg);
}

static int parse_dtype(const struct safetensors *s, const json_t *value, struct safetensor *t,
                       struct err *e)
{
    const char *name = json_string_value(value);
    char near[TEXT_NEAR_BYTES];
    int i;

    if (!name)
        return fail(s, t->name, e, "has no \"dtype\" that is a string");
    i = text_find(name, &dtypes[0].name, sizeof(*dtypes), ST_DTYPE_COUNT, near);
    if (i < 0)
        return fail(s, t->name, e, "unknown dtype \"%.*s\"%s", SHOWN, name, near);
    t->dtype = (enum safetensors_dtype)i;
    return 0;
}

/* Sizes whose product of bytes does not fit 2^62 belong to no file. */
static int parse_shape(const struct safetensors *s, const json_t *value, struct safetensor *t,
                       struct err *e)
{
    int64_t bytes = dtypes[t->dtype].bytes;

    if (!json_is_array(value))
        return fail(s, t->name, e, "has no \"shape\" that is a list");
    if (json_array_size(value) > SAFETENSORS_RANK_MAX)
        return fail(s, t->name, e, "%zu dimensions, at most %d are allowed",
                    json_array_size(value), SAFETENSORS_RANK_MAX);
    t->rank = (int)json_array_size(value);
    for (int i = 0; i < t->rank; i++) {
        const json_t *size = json_array_get(value, (size_t)i);

        t->dim[i] = json_integer_value(size);
        if (!json_is_integer(size) || t->dim[i] < 0)
            return fail(s, t->name, e, "dimension %d is no whole number of 0 or more", i);
        if (t->dim[i] > 0 && bytes > (INT64_MAX / 2) / t->dim[i])
            return fail(s, t->name, e, "dimension %d is %" PRId64 ": too many elements", i,
                        t->dim[i]);
        bytes *= t->dim[i];
    }
    return 0;
}

static int parse_offsets(const struct safetensors *s, const json_t *value, struct safetensor *t,
                         struct err *e)
{
    const json_t *begin = json_array_get(value, 0), *end = json_array_get(value, 1);
    char shape[96];

    if (!json_is_integer(begin) || !json_is_integer(end) || json_array_size(value) != 2)
        return fail(s, t->name, e, "has no \"data_offsets\" of two whole numbers");
    t->begin = json_integer_value(begin);
    t->end = json_integer_value(end);
    if (t->begin < 0 || t->end < t->begin || t->end > s->data_bytes)
        return fail(s, t->name, e, "its data is from byte %" PRId64 " to %" PRId64
                    ", the file has data from byte 0 to %" PRId64, t->begin, t->end,
                    s->data_bytes);
    if (t->end - t->begin != safetensor_bytes(t))
        return fail(s, t->name, e, "%s needs %" PRId64 " bytes, its data from byte %" PRId64
                    " to %" PRId64 " has %" PRId64, safetensor_print(t, shape, sizeof(shape)),
                    safetensor_bytes(t), t->begin, t->end, t->end - t->begin);
    return 0;
}

static int parse_tensor(struct safetensors *s, const char *name, const json_t *value,
                        struct safetensor *t, struct err *e)
{
    t->name = arena_strdup(&s->arena, name);
    if (!json_is_object(value))
        return fail(s, name, e, "is described by something else than an object");
    if (parse_dtype(s, json_object_get(value, "dtype"), t, e) ||
        parse_shape(s, json_object_get(value, "shape"), t, e))
        return -1;
    return parse_offsets(s, json_object_get(value, "data_offsets"), t, e);
}

static int parse_metadata(struct safetensors *s, json_t *value, struct err *e)
{
    const char *key;
    json_t *text;

    if (!json_is_object(value))
        return err_at(e, s->path, 0, 0, "header: \"" METADATA "\" is no object");
    s->pair = arena_array(&s->arena, json_object_size(value), sizeof(*s->pair));
    json_object_foreach(value, key, text) {
        if (!json_is_string(text))
            return err_at(e, s->path, 0, 0, "header: \"%.*s\" of \"" METADATA "\" is no string",
                          SHOWN, key);
        s->pair[s->pair_count].key = arena_strdup(&s->arena, key);
        s->pair[s->pair_count++].value = arena_strdup(&s->arena, json_string_value(text));
    }
    return 0;
}

static int by_data(const void *a, const void *b)
{
    const struct safetensor *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Each must begin where the one before ends, the first at 0, the last one end with the file. */
static int check_cover(const struct safetensors *s, struct err *e)
{
    int64_t covered = 0;

    for (int i = 0; i < s->tensor_count; i++) {
        const struct safetensor *t = &s->tensor[i];

        if (t->begin < covered)
            return fail(s, t->name, e, "its data from byte %" PRId64 " to %" PRId64
                        " overlaps that of \"%.*s\", which ends at %" PRId64, t->begin, t->end,
                        SHOWN, s->tensor[i - 1].name, covered);
        if (t->begin > covered)
            return fail(s, t->name, e, "its data begins at byte %" PRId64 ", but from byte %"
                        PRId64 " on there is data of no tensor", t->begin, covered);
        covered = t->end;
    }
    if (covered < s->data_bytes)
        return err_at(e, s->path, 0, 0, "from byte %" PRId64 " to %" PRId64
                      " of the data it belongs to no tensor", covered, s->data_bytes);
    return 0;
}

static int parse_all(struct safetensors *s, json_t *root, struct err *e)
{
    const char *name;
    json_t *value;

    if (!json_is_object(root))
        return err_at(e, s->path, 0, 0, "header: no JSON object");
    s->tensor = arena_array(&s->arena, json_object_size(root), sizeof(*s->tensor));
    json_object_foreach(root, name, value) {
        if (strcmp(name, METADATA) == 0) {
            if (parse_metadata(s, value, e))
                return -1;
        } else if (parse_tensor(s, name, value, &s->tensor[s->tensor_count++], e)) {
            return -1;
        }
    }
    if (s->tensor_count > 0)
        qsort(s->tensor, (size_t)s->tensor_count, sizeof(*s->tensor), by_data);
    return check_cover(s, e);
}

static int parse_header(struct safetensors *s, const char *text, size_t size, struct err *e)
{
    json_error_t why;
    json_t *root;
    int status;

    if (size == 0 || text[0] != '{')
        return err_at(e, s->path, 0, 0, "header: byte 8 is no '{'");
    root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (!root)
        return err_at(e, s->path, 0, 0, "header: %s, at byte %d", why.text,
                      LENGTH_BYTES + why.position);
    status = parse_all(s, root, e);
    json_decref(root);
    return status;
}

/* ---- the file ---- */

static int file_size(const struct safetensors *s, int64_t *size, struct err *e)
{
    if (fseeko(s->from, 0, SEEK_END) != 0 || (*size = ftello(s->from)) < 0 ||
        fseeko(s->from, 0, SEEK_SET) != 0)
        return err_at(e, s->path, 0, 0, "cannot be read: %s", strerror(errno));
    return 0;
}

/* the size of the header by the file's first bytes, which the file then has */
static int read_length(struct safetensors *s, int64_t size, int64_t *length, struct err *e)
{
    unsigned char raw[LENGTH_BYTES];
    uint64_t value = 0;

    if (size < LENGTH_BYTES || fread(raw, 1, LENGTH_BYTES, s->from) != LENGTH_BYTES)
        return err_at(e, s->path, 0, 0, "truncated: %d bytes for the size of the header, the file "
                      "has %" PRId64, LENGTH_BYTES, size);
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        value = value << 8 | raw[i];
    if (value > SAFETENSORS_HEADER_MAX)
        return err_at(e, s->path, 0, 0, "header of %" PRIu64 " bytes, at most %d are allowed",
                      value, SAFETENSORS_HEADER_MAX);
    if ((int64_t)value > size - LENGTH_BYTES)
        return err_at(e, s->path, 0, 0, "truncated: header of %" PRIu64 " bytes, the file has %"
                      PRId64 " behind byte %d", value, size - LENGTH_BYTES, LENGTH_BYTES);
    *length = (int64_t)value;
    return 0;
}

static int load(struct safetensors *s, struct err *e)
{
    int64_t size = 0, length = 0;
    char *text;
    int status;

    if (file_size(s, &size, e) || read_length(s, size, &length, e))
        return -1;
    s->data_offset = LENGTH_BYTES + length;
    s->data_bytes = size - s->data_offset;
    text = mem_alloc((size_t)length + 1);
    if (fread(text, 1, (size_t)length, s->from) != (size_t)length)
        status = err_at(e, s->path, 0, 0, "the header cannot be read: %s", strerror(errno));
    else
        status = parse_header(s, text, (size_t)length, e);
    mem_free(text);
    return status;
}

int safetensors_of(struct safetensors *s, FILE *from, const char *path, struct err *e)
{
    *s = (struct safetensors){.from = from};
    arena_init(&s->arena);
    s->path = arena_strdup(&s->arena, path);
    if (load(s, e) == 0)
        return 0;
    safetensors_close(s);
    return -1;
}

FILE *safetensors_file(const char *path, struct err *e)
{
    FILE *from = fopen(path, "rb");
    struct stat st;

    if (!from) {
        err_at(e, path, 0, 0, "cannot be read: %s", strerror(errno));
        return NULL;
    }
    if (fstat(fileno(from), &st) == 0 && S_ISREG(st.st_mode))
        return from;
    fclose(from);
    err_at(e, path, 0, 0, "is no regular file");
    return NULL;
}

void safetensors_close(struct safetensors *s)
{
    fclose(s->from);
    arena_fini(&s->arena);
}

int safetensors_find(const struct safetensors *s, const char *name, struct err *e)
{
    char near[TEXT_NEAR_BYTES];
    const char *const *first = s->tensor_count ? &s->tensor->name : NULL;
    int i = text_find(name, first, sizeof(*s->tensor), (size_t)s->tensor_count, near);

    return i >= 0 ? i : err_at(e, s->path, 0, 0, "has no tensor \"%.*s\"%s", SHOWN, name, near);
}

const char *safetensors_value(const struct safetensors *s, const char *key)
{
    for (int i = 0; i < s->pair_count; i++)
        if (strcmp(s->pair[i].key, key) == 0)
            return s->pair[i].value;
    return NULL;
}

int safetensors_read(const struct safetensors *s, int i, int64_t first, void *to, int64_t bytes,
                     struct err *e)
{
    const struct safetensor *t = &s->tensor[i];
    int64_t at = s->data_offset + t->begin + first;

    assert(first >= 0 && bytes >= 0 && first + bytes <= t->end - t->begin);
    errno = 0;
    if (fseeko(s->from, (off_t)at, SEEK_SET) == 0 &&
        fread(to, 1, (size_t)bytes, s->from) == (size_t)bytes)
        return 0;
    return fail(s, t->name, e, "bytes %" PRId64 " to %" PRId64 " of the file cannot be read: %s",
                at, at + bytes, errno ? strerror(errno) : "it has become shorter");
}
