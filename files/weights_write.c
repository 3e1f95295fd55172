/* Writes weights for Keras 3, alone or in a .keras, and as safetensors. */
#include "files/weights.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "files/weights_impl.h"
#include "files/zipfile.h"
#include "train/checkpoint/safetensors.h"

/* of Keras, whose format this is */
#define METADATA "{\"keras_version\": \"3.15.1\", \"date_saved\": \"\"}"

struct writer {
    const struct model *m;
    const char *config;
    const struct weights_value *value;
    int count;
    struct arena *arena;
    struct h5_output *item;             /* of the HDF5 file */
    int item_count;
};

typedef int write_format(struct writer *w, struct bytes *to, struct err *e);
static write_format write_h5, write_keras, write_tensors;

static const struct { const char *suffix; write_format *write; } formats[] = {
    {".weights.h5", write_h5}, {".keras", write_keras}, {".safetensors", write_tensors},
};

static write_format *format_of(const char *path, struct err *e)
{
    size_t length = strlen(path);

    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        size_t suffix = strlen(formats[i].suffix);

        if (length > suffix && strcmp(path + length - suffix, formats[i].suffix) == 0)
            return formats[i].write;
    }
    err_at(e, path, 0, 0, "weights are written by suffix: .weights.h5, .keras, .safetensors");
    return NULL;
}

int weights_check_suffix(const char *path, struct err *e) { return format_of(path, e) ? 0 : -1; }

static const float *value_of(const struct writer *w, int variable)
{
    for (int i = 0; i < w->count; i++)
        if (w->value[i].variable == variable)
            return w->value[i].value;
    return NULL;
}

/* ---- HDF5 ---- */

static void name_group(struct writer *w, const char *place, const char *name)
{
    w->item[w->item_count++] = (struct h5_output){
        .path = *place ? arena_printf(w->arena, "%s/vars", place) : "vars",
        .attribute = "name", .text = name};
}

static void add_array(struct writer *w, const char *path, const struct shape *s,
                      const void *value, bool is_s32)
{
    w->item[w->item_count++] = (struct h5_output){
        .path = path, .rank = s->rank, .dim = s->dim, .value = value, .is_s32 = is_s32};
}

/* Keras counts the samples that a Normalization has adapted to, and wants to find the number. */
static void add_count(struct writer *w, const char *place)
{
    static const int32_t none;
    static const struct shape scalar = {.dtype = DTYPE_S32};

    add_array(w, arena_printf(w->arena, "%s/vars/2", place), &scalar, &none, true);
}

static void add_layer(struct writer *w, const struct layer *l, const char *place)
{
    const char *own;

    weights_part_of(w->m, l->name, &own);
    name_group(w, place, own);
    for (int i = 0; i < l->variable_count; i++)
        add_array(w, weights_variable_path(l, i, place, w->m->set, w->arena),
                  &w->m->set->variable[l->variable[i]].shape, value_of(w, l->variable[i]), false);
    if (l->c.power_iterations > 0)      /* Keras keeps its kernel outside, too */
        add_array(w, arena_printf(w->arena, "%s/vars/0", place),
                  &w->m->set->variable[l->variable[0]].shape, value_of(w, l->variable[0]), false);
    if (l->kind == LAYER_NORMALIZATION && l->variable_count > 0)
        add_count(w, place);
}

static int write_h5(struct writer *w, struct bytes *to, struct err *e)
{
    const struct model *m = w->m;
    struct weights_places p = weights_places_of(m, w->arena);
    size_t most = (size_t)m->variable_count + 2 * (size_t)m->layer_count + (size_t)m->part_count;

    w->item = arena_array(w->arena, most + 1, sizeof(*w->item));
    name_group(w, "", m->name);
    for (int i = 0; i < m->part_count; i++) {
        char *name = arena_strdup(w->arena, m->part[i].prefix);
        const char *own;

        name[strlen(name) - 1] = '\0';
        weights_part_of(m, name, &own);
        name_group(w, p.part[i], own);
    }
    for (int i = 0; i < m->layer_count; i++)
        if (m->layer[i]->variable_count > 0)
            add_layer(w, m->layer[i], p.layer[i]);
    return h5_write(w->item, w->item_count, to, e);
}

static bool is_operation(const json_t *layer)
{
    const json_t *config = json_object_get(layer, "config");
    const json_t *node = json_array_get(json_object_get(layer, "inbound_nodes"), 0);
    const char *class = json_string_value(json_object_get(layer, "class_name"));
    enum layer_kind kind;
    struct err e;

    if (!class || !json_object_get(node, "args") || json_object_get(config, "trainable") ||
        json_object_get(layer, "module"))
        return false;
    return layer_find(class, &kind, &e) != 0 || json_object_get(config, "newshape") ||
           (json_array_size(json_object_get(node, "args")) > 1 && !json_object_get(config, "dtype"));
}

/*
 * Operations of keras.ops get the module that an .h5 of Keras 3 leaves out, and without which Keras
 * takes them for layers that there are not: none is called so, or one that is takes a list of arrays.
 */
static void name_operations(json_t *model)
{
    json_t *layers = json_object_get(json_object_get(model, "config"), "layers");

    for (size_t i = 0; i < json_array_size(layers); i++) {
        json_t *layer = json_array_get(layers, i);

        if (json_object_get(json_object_get(layer, "config"), "layers"))
            name_operations(layer);
        else if (is_operation(layer))
            json_object_set_new(layer, "module", json_string("keras.src.ops"));
    }
}

/*
 * The model as Keras 3 reads it in a .keras: with a module, by which it finds the class. What an .h5
 * or a file of an older Keras says has none, TensorFlow.js has more around it.
 */
static char *config_of(struct writer *w)
{
    json_t *root = json_loads(w->config, 0, NULL);
    json_t *topology = json_object_get(root, "modelTopology"), *model = root;
    const char *class;
    char *text, *copy;

    if (topology)
        model = json_object_get(topology, "model_config") ? json_object_get(topology, "model_config")
                                                          : topology;
    if (!model || (model == root && json_object_get(model, "module"))) {
        json_decref(root);
        return arena_strdup(w->arena, w->config);
    }
    class = json_string_value(json_object_get(model, "class_name"));
    if (class && strcmp(class, "Model") == 0)
        json_object_set_new(model, "class_name", json_string("Functional"));
    class = json_string_value(json_object_get(model, "class_name"));
    name_operations(model);
    if (!json_object_get(model, "module"))
        json_object_set_new(model, "module", json_string(class && strcmp(class, "Functional") == 0
                                                             ? "keras.src.models.functional"
                                                             : "keras"));
    text = json_dumps(model, JSON_COMPACT | JSON_REAL_PRECISION(17));
    copy = arena_strdup(w->arena, text ? text : w->config);
    free(text);
    json_decref(root);
    return copy;
}

static int write_keras(struct writer *w, struct bytes *to, struct err *e)
{
    const char *config = config_of(w);
    struct bytes weights;
    int status;

    if (write_h5(w, &weights, e) != 0)
        return -1;
    status = zipfile_write((const struct zipfile_member[]){
        {"metadata.json", METADATA, strlen(METADATA)},
        {"config.json", config, strlen(config)},
        {"model.weights.h5", weights.data, weights.size}}, 3, to, e);
    mem_free(weights.data);
    return status;
}

/* ---- safetensors ---- */

static int write_tensors(struct writer *w, struct bytes *to, struct err *e)
{
    struct safetensor *tensor = arena_array(w->arena, (size_t)w->count + 1, sizeof(*tensor));
    static const struct safetensors_pair about = {"format", "systole"};
    char *header = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&header, &size);
    int64_t status;

    for (int i = 0; i < w->count; i++) {
        const struct variable *v = &w->m->set->variable[w->value[i].variable];

        tensor[i] = (struct safetensor){.name = v->name, .dtype = ST_F32, .rank = v->shape.rank};
        memcpy(tensor[i].dim, v->shape.dim, (size_t)v->shape.rank * sizeof(*v->shape.dim));
    }
    status = f ? safetensors_write_header(f, tensor, w->count, &about, 1, NULL, e)
               : err_set(e, "no memory for a header");
    if (f)
        fclose(f);
    *to = (struct bytes){0};
    bytes_append(to, header, status < 0 ? 0 : size);
    free(header);
    for (int i = 0; i < w->count && status >= 0; i++)
        bytes_append(to, w->value[i].value, (size_t)safetensor_bytes(&tensor[i]));
    return status < 0 ? -1 : 0;
}

int weights_write(const char *path, const struct model *m, const char *config,
                  const struct weights_value *value, int count, struct err *e)
{
    struct arena a;
    struct writer w = {.m = m, .config = config, .value = value, .count = count, .arena = &a};
    write_format *write = format_of(path, e);
    struct bytes all = {0};
    struct outfile f;
    int status;

    if (!write)
        return -1;
    arena_init(&a);
    status = write(&w, &all, e);
    if (status == 0)
        status = outfile_begin(&f, path, e);
    if (status == 0) {
        fwrite(all.data, 1, all.size, f.to);
        status = outfile_commit(&f, e);
    }
    mem_free(all.data);
    arena_fini(&a);
    return status;
}
