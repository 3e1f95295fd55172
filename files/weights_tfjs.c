/*
 * Weights of TensorFlow.js: a list in model.json, whose numbers lie one behind the other in the
 * shards that it names, files in the same folder.
 */
#include "files/weights_impl.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/floats.h"
#include "isa/file.h"

#define WEIGHTS_MAX 20000

struct shards {
    struct weights_reader *r;
    const uint8_t *bytes;               /* of all shards of a group */
    size_t size, at;
};

/* shards are found beside the file and nowhere else */
static bool is_plain(const char *path)
{
    return path && *path && *path != '/' && strlen(path) < 1000 && !strstr(path, "..");
}

static int read_shards(struct shards *s, const json_t *paths)
{
    struct weights_reader *r = s->r;
    const char *slash = strrchr(r->path, '/');
    int folder = slash ? (int)(slash - r->path) + 1 : 0;
    struct bytes all = {0};
    size_t i;
    json_t *v;

    json_array_foreach(paths, i, v) {
        const char *name = json_string_value(v);
        uint8_t *bytes;
        size_t size;

        if (!is_plain(name)) {
            mem_free(all.data);
            return err_at(r->err, r->path, 0, 0, "\"paths\" of its weights names what is no file "
                          "beside it");
        }
        if (isa_file_read(arena_printf(r->arena, "%.*s%s", folder, r->path, name), r->arena,
                          &bytes, &size, r->err) != 0) {
            mem_free(all.data);
            return -1;
        }
        bytes_append(&all, bytes, size);
    }
    s->bytes = arena_take(r->arena, all.data, all.size, 1);
    s->size = all.size;
    s->at = 0;
    return 0;
}

static const struct kind { const char *name; size_t bytes; } kinds[] = {
    {"float32", 4}, {"int32", 4}, {"float16", 2}, {"uint8", 1}, {"uint16", 2}, {"bool", 1},
};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; name && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(name, kinds[i].name) == 0)
            return &kinds[i];
    return NULL;
}

static float number_at(const struct kind *k, const uint8_t *from)
{
    uint32_t bits = 0;
    float value;

    memcpy(&bits, from, k->bytes);      /* little-endian, as the host */
    if (strcmp(k->name, "float16") == 0)
        return f32_from_f16((uint16_t)bits);
    if (strcmp(k->name, "float32") != 0)
        return (float)(int32_t)bits;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* whole numbers that stand for others: value = number scale + min */
struct quantization {
    const struct kind *kind;
    double scale, min;
    bool is_scaled;
};

static int read_quantization(struct shards *s, const json_t *weight, const char *name,
                             struct quantization *q)
{
    const json_t *v = json_object_get(weight, "quantization");
    const char *dtype = json_string_value(json_object_get(v ? v : weight, "dtype"));

    *q = (struct quantization){.kind = find_kind(dtype)};
    if (!q->kind)
        return err_at(s->r->err, s->r->path, 0, 0, "weight \"%s\" is of type %s; known are "
                      "float32, float16, int32, uint16, uint8 and bool", name,
                      dtype ? dtype : "none");
    q->is_scaled = json_object_get(v, "scale") != NULL;
    if (q->is_scaled) {
        q->scale = json_number_value(json_object_get(v, "scale"));
        q->min = json_number_value(json_object_get(v, "min"));
    }
    return 0;
}

static int read_shape(struct shards *s, const json_t *weight, struct weights_array *to,
                      size_t *elems)
{
    const json_t *shape = json_object_get(weight, "shape");
    int64_t *dim = arena_array(s->r->arena, H5_RANK_MAX, sizeof(*dim));

    *elems = 1;
    to->rank = (int)json_array_size(shape);
    to->dim = dim;
    if (!json_is_array(shape) || json_array_size(shape) > H5_RANK_MAX)
        return err_at(s->r->err, s->r->path, 0, 0, "weight \"%s\" has no \"shape\" of up to %d "
                      "dimensions", to->name, H5_RANK_MAX);
    for (int i = 0; i < to->rank; i++) {
        dim[i] = json_integer_value(json_array_get(shape, (size_t)i));
        if (dim[i] < 0 || (dim[i] && *elems > s->size / (size_t)dim[i]))
            return err_at(s->r->err, s->r->path, 0, 0, "weight \"%s\" is larger than its shards",
                          to->name);
        *elems *= (size_t)dim[i];
    }
    return 0;
}

static int read_weight(struct shards *s, const json_t *weight, struct weights_array *to)
{
    const char *name = json_string_value(json_object_get(weight, "name"));
    struct quantization q;
    size_t elems;
    float *value;

    to->name = name ? arena_strdup(s->r->arena, name) : "";
    if (read_quantization(s, weight, to->name, &q) != 0 || read_shape(s, weight, to, &elems) != 0)
        return -1;
    if (elems * q.kind->bytes > s->size - s->at)
        return err_at(s->r->err, s->r->path, 0, 0, "weight \"%s\" ends behind its shards, which "
                      "have %zu bytes", to->name, s->size);
    value = arena_array(s->r->arena, elems + 1, sizeof(*value));
    for (size_t i = 0; i < elems; i++) {
        value[i] = number_at(q.kind, s->bytes + s->at + i * q.kind->bytes);
        if (q.is_scaled)
            value[i] = (float)((double)value[i] * q.scale + q.min);
    }
    s->at += elems * q.kind->bytes;
    to->value = value;
    return 0;
}

/*
 * How much of all names is the whole model's: Keras 3 writes "sequential/dense/kernel" of a
 * Sequential. 0 where they differ or are the model's layers'.
 */
static size_t common_length(const struct weights_reader *r, const struct weights_array *list,
                            int count)
{
    size_t length = count ? strcspn(list[0].name, "/") : 0;

    if (length == 0 || weights_is_layer(r, list[0].name, length))
        return 0;
    for (int i = 0; i < count; i++)
        if (strncmp(list[i].name, list[0].name, length) != 0 || list[i].name[length] != '/' ||
            !strchr(list[i].name + length + 1, '/'))
            return 0;
    return length + 1;
}

/* which layer it is of: by what stands before the next slash of its name */
static int layer_of(struct weights_reader *r, struct weights_layer *layer, int *count,
                    const char *name)
{
    size_t length = strcspn(name, "/");

    for (int i = 0; i < *count; i++)
        if (strncmp(layer[i].name, name, length) == 0 && !layer[i].name[length])
            return i;
    layer[*count].name = arena_printf(r->arena, "%.*s", (int)length, name);
    return (*count)++;
}

static int sort_by_layer(struct weights_reader *r, struct weights_array *list, int count)
{
    struct weights_layer *layer = arena_array(r->arena, (size_t)count + 1, sizeof(*layer));
    struct weights_array *array = arena_array(r->arena, (size_t)count + 1, sizeof(*array));
    int *of = arena_array(r->arena, (size_t)count + 1, sizeof(*of)), layers = 0;
    size_t skip = common_length(r, list, count);

    for (int i = 0; i < count; i++)
        of[i] = layer_of(r, layer, &layers, list[i].name + skip);
    for (int k = 0; k < layers; k++)
        if (!weights_is_layer(r, layer[k].name, strlen(layer[k].name)))
            return weights_of_list(r, list, count);
    for (int k = 0; k < layers; k++) {
        layer[k].array = array;
        for (int i = 0; i < count; i++)
            if (of[i] == k)
                array[layer[k].count++] = list[i];
        array += layer[k].count;
    }
    return weights_of_layers(r, layer, layers);
}

static int read_group(struct weights_reader *r, const json_t *group, struct weights_array **list,
                      size_t *capacity, int *count)
{
    struct shards s = {.r = r};
    size_t i;
    json_t *v;

    if (read_shards(&s, json_object_get(group, "paths")) != 0)
        return -1;
    json_array_foreach(json_object_get(group, "weights"), i, v) {
        if (*count == WEIGHTS_MAX)
            return err_at(r->err, r->path, 0, 0, "has more than %d weights", WEIGHTS_MAX);
        *list = mem_grow(*list, capacity, (size_t)*count + 1, sizeof(**list));
        if (read_weight(&s, v, &(*list)[*count]) != 0)
            return -1;
        (*count)++;
    }
    return 0;
}

static int read_manifest(struct weights_reader *r, const json_t *manifest)
{
    struct weights_array *list = NULL;
    int count = 0, status = 0;
    size_t capacity = 0, i;
    json_t *v;

    json_array_foreach(manifest, i, v)
        if (status == 0)
            status = read_group(r, v, &list, &capacity, &count);
    list = arena_take(r->arena, list, (size_t)count, sizeof(*list));
    return status ? -1 : sort_by_layer(r, list, count);
}

int weights_of_tfjs(struct weights_reader *r, const uint8_t *text, size_t size)
{
    json_error_t broken;
    json_t *root = json_loadb((const char *)text, size, JSON_REJECT_DUPLICATES, &broken);
    const json_t *manifest = json_object_get(root, "weightsManifest");
    int status;

    if (!root)
        status = err_at(r->err, r->path, broken.line, broken.column, "%s", broken.text);
    else if (!json_is_array(manifest))
        status = err_at(r->err, r->path, 0, 0, "is JSON without \"weightsManifest\", so it holds "
                        "no weights%s", json_object_get(root, "class_name")
                        ? "; it is a model's structure" : "");
    else
        status = read_manifest(r, manifest);
    json_decref(root);
    return status;
}
