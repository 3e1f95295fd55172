/* Writes the header of a safetensors file, padded so that the tensors behind it are aligned. */
#include "train/checkpoint/safetensors.h"

#include "base/archive.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES 8
#define ALIGN 8                         /* the data begins at a multiple of it */

static void put(struct bytes *to, const char *text)
{
    bytes_append(to, text, strlen(text));
}

static int put_string(struct bytes *to, const char *text, struct err *e)
{
    json_t *value = json_string(text);
    char *quoted = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;

    json_decref(value);
    if (!quoted)
        return err_set(e, "\"%.80s\" is no UTF-8 text", text);
    put(to, quoted);
    free(quoted);
    return 0;
}

static void put_list(struct bytes *to, const int64_t *number, int count)
{
    char text[32];

    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof(text), "%s%" PRId64, i ? "," : "[", number[i]);
        put(to, text);
    }
    put(to, count ? "]" : "[]");
}

static int put_tensor(struct bytes *to, const struct safetensor *t, struct err *e)
{
    const int64_t place[2] = {t->begin, t->end};

    if (put_string(to, t->name, e))
        return -1;
    put(to, ":{\"dtype\":\"");
    put(to, safetensors_dtype_name(t->dtype));
    put(to, "\",\"shape\":");
    put_list(to, t->dim, t->rank);
    put(to, ",\"data_offsets\":");
    put_list(to, place, 2);
    put(to, "}");
    return 0;
}

static int put_metadata(struct bytes *to, const struct safetensors_pair *pair, int count,
                        int64_t *value_offset, struct err *e)
{
    put(to, "\"__metadata__\":{");
    for (int i = 0; i < count; i++) {
        if (i)
            put(to, ",");
        if (put_string(to, pair[i].key, e))
            return -1;
        put(to, ":");
        if (value_offset)
            value_offset[i] = LENGTH_BYTES + (int64_t)to->size + 1;
        if (put_string(to, pair[i].value, e))
            return -1;
    }
    put(to, "}");
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_names(const struct safetensor *tensor, int count, struct err *e)
{
    const char **name = mem_alloc((size_t)count * sizeof(*name));
    int status = 0;

    for (int i = 0; i < count; i++)
        name[i] = tensor[i].name;
    if (count > 0)
        qsort(name, (size_t)count, sizeof(*name), by_name);
    for (int i = 0; i < count && status == 0; i++) {
        if (!*name[i] || strcmp(name[i], "__metadata__") == 0)
            status = err_set(e, "a tensor cannot have the name \"%s\"", name[i]);
        else if (i > 0 && strcmp(name[i], name[i - 1]) == 0)
            status = err_set(e, "two tensors have the name \"%.80s\"", name[i]);
    }
    mem_free(name);
    return status;
}

static int put_header(struct bytes *to, struct safetensor *tensor, int tensor_count,
                      const struct safetensors_pair *pair, int pair_count, int64_t *value_offset,
                      struct err *e)
{
    int64_t at = 0;

    put(to, "{");
    if (pair_count > 0 && put_metadata(to, pair, pair_count, value_offset, e))
        return -1;
    for (int i = 0; i < tensor_count; i++) {
        tensor[i].begin = at;
        tensor[i].end = at += safetensor_bytes(&tensor[i]);
        if (i || pair_count > 0)
            put(to, ",");
        if (put_tensor(to, &tensor[i], e))
            return -1;
    }
    put(to, "}");
    while ((LENGTH_BYTES + to->size) % ALIGN)
        put(to, " ");
    if (to->size > SAFETENSORS_HEADER_MAX)
        return err_set(e, "header of %zu bytes for %d tensors, at most %d are allowed", to->size,
                       tensor_count, SAFETENSORS_HEADER_MAX);
    return 0;
}

int64_t safetensors_write_header(FILE *to, struct safetensor *tensor, int tensor_count,
                                 const struct safetensors_pair *pair, int pair_count,
                                 int64_t *value_offset, struct err *e)
{
    unsigned char length[LENGTH_BYTES];
    struct bytes header = {0};
    int64_t size = -1;

    if (check_names(tensor, tensor_count, e) == 0 &&
        put_header(&header, tensor, tensor_count, pair, pair_count, value_offset, e) == 0) {
        size = LENGTH_BYTES + (int64_t)header.size;
        for (int i = 0; i < LENGTH_BYTES; i++)
            length[i] = (unsigned char)((uint64_t)header.size >> 8 * i);
        fwrite(length, 1, LENGTH_BYTES, to);
        fwrite(header.data, 1, header.size, to);
    }
    mem_free(header.data);
    return size;
}
