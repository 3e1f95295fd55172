/* Reads Keras JSON: the file, the two classes of models, chains of layers. */
#include "keras/model/model_json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "isa/file.h"
#include "base/text.h"
#include "keras/layers/layer_impl.h"

int model_json_fail(struct model_json_reader *r, const char *fmt, ...)
{
    char text[sizeof(r->err->msg)];
    va_list args;

    va_start(args, fmt);
    text_print_args(text, sizeof(text), fmt, args);
    va_end(args);
    if (!r->name)
        return err_at(r->err, r->path, 0, 0, "%s", text);
    return err_at(r->err, r->path, 0, 0, "layer \"%s\": %s", r->name, text);
}

bool model_json_is_given(const json_t *v)
{
    return v && !json_is_null(v);
}

const char *model_json_dtype_name(const json_t *v)
{
    if (json_is_object(v))
        v = json_object_get(json_object_get(v, "config"), "name");
    return json_string_value(v);
}

/* ---- models ---- */

bool json_is_functional(const json_t *v)
{
    const char *class = json_string_value(json_object_get(v, "class_name"));

    return class && (strcmp(class, "Functional") == 0 || strcmp(class, "Model") == 0);
}

bool json_is_model(const json_t *v)
{
    const char *class = json_string_value(json_object_get(v, "class_name"));

    return json_is_functional(v) || (class && strcmp(class, "Sequential") == 0);
}


/* the input of a chain that has no InputLayer: as Keras 2 and 3 state it */
static const json_t *stated_input(const json_t *config, const json_t *first, const char **field)
{
    const json_t *v = model_json_batch_shape(json_object_get(first, "config"), field);

    if (!v) {
        *field = "build_input_shape";
        v = json_object_get(config, *field);
    }
    if (!model_json_is_given(v)) {
        *field = "build_config.input_shape";
        v = json_object_get(json_object_get(first, "build_config"), "input_shape");
    }
    return model_json_is_given(v) ? v : NULL;
}

/* what takes the input of a model that is a layer: its first layer's, and so on */
static const json_t *first_inside(const json_t *layer)
{
    while (json_is_model(layer)) {
        const json_t *config = json_object_get(layer, "config");

        layer = json_array_get(json_is_array(config) ? config : json_object_get(config, "layers"), 0);
    }
    return layer;
}

static bool takes_whole(const json_t *layer)
{
    const char *class = json_string_value(json_object_get(layer, "class_name"));
    const char *dtype = json_string_value(json_object_get(json_object_get(layer, "config"), "dtype"));

    return class && (strcmp(class, "Embedding") == 0 ||
                     (strcmp(class, "InputLayer") == 0 && dtype && strstr(dtype, "int")));
}

int json_stated_input(struct model_json_reader *r, const json_t *model, const json_t *first)
{
    const json_t *taker = first_inside(first), *v;
    const char *field;
    struct shape sample;

    v = stated_input(json_object_get(model, "config"), taker, &field);
    if (!v)
        return model_json_fail(r, "the shape of its input is stated nowhere: add an InputLayer or "
                               "\"build_input_shape\"");
    if (model_json_read_sample(r, v, field, &sample) != 0)
        return -1;
    if (takes_whole(taker))
        sample.dtype = DTYPE_S32;
    return model_json_fix_sizes(r, "", field, &sample) ? -1 : model_input(r->model, NULL, &sample);
}

/* what a Sequential says of its input beside its layers */
static int check_stated(struct model_json_reader *r, const json_t *config)
{
    const json_t *built = json_object_get(config, "build_input_shape");
    struct shape sample;
    char said[160], is[160];

    if (!model_json_is_given(built))
        return 0;
    if (model_json_read_sample(r, built, "build_input_shape", &sample) != 0)
        return -1;
    if (model_json_sizes_fit(&sample, &r->model->node[r->model->input[0]].shape))
        return 0;
    return model_json_fail(
        r, "\"build_input_shape\" says samples of shape %s, but the input has %s",
        layer_shape_text(&sample, said, sizeof(said)),
        layer_shape_text(&r->model->node[r->model->input[0]].shape, is, sizeof(is)));
}

/* the model's inputs, then all its calls */
static int add_block(struct model_json_reader *r, const json_t *root)
{
    const json_t *config = json_object_get(root, "config");
    struct json_block *block = json_read_block(r, root);
    int count = block ? json_block_input_count(block) : 0, *input, *output, output_count;

    if (!block)
        return -1;
    input = arena_array(r->arena, (size_t)count, sizeof(*input));
    for (int i = 0; i < count; i++) {
        input[i] = json_block_input(block, i);
        if (input[i] < 0)
            return -1;
    }
    output_count = json_block_call(block, input, count, &output);
    for (int i = 0; i < output_count; i++)
        model_output(r->model, output[i]);
    r->name = NULL;
    return output_count < 0 || (!json_is_functional(root) && check_stated(r, config) != 0) ? -1 : 0;
}

/* ---- policies ---- */

/*
 * The model's policy is the first that is not float32; layers that differ keep their own. In a
 * file of float32 alone all layers follow the model, so that it can be given another.
 */
static void settle_policies(struct model *m)
{
    m->policy = KERAS_FLOAT32;
    for (int i = m->layer_count - 1; i >= 0; i--)
        if (m->layer[i]->policy > KERAS_FLOAT32)
            m->policy = (enum keras_policy)m->layer[i]->policy;
    for (int i = 0; i < m->layer_count; i++)
        if (m->layer[i]->policy == (int)m->policy)
            m->layer[i]->policy = -1;
}

/* ---- files ---- */

static int read_model(struct model_json_reader *r, json_t *root)
{
    const json_t *config = json_object_get(root, "config");
    const char *class = json_string_value(json_object_get(root, "class_name"));
    const char *name = json_string_value(json_object_get(config, "name"));

    if (!class)
        return model_json_fail(r, "missing field \"class_name\": not a Keras model");
    if (!json_is_model(root))
        return model_json_fail(r, "model class %s is not supported; supported are Sequential, "
                               "Functional, Model", class);
    if (json_modernize(r, root) != 0)
        return -1;
    config = json_object_get(root, "config");
    if (name && model_is_plain_name(name))
        r->model->name = arena_strdup(r->arena, name);
    if (add_block(r, root) != 0)
        return -1;
    r->model->is_chain = !json_is_functional(root);
    if (r->model->node_count == r->model->input_count)
        return model_json_fail(r, "the model has no layer but its input");
    settle_policies(r->model);
    return 0;
}

/*
 * TensorFlow.js keeps the model beside a list of its weights, as its own writer or as the converter
 * of Keras's files has it.
 */
static json_t *inside_tfjs(struct model_json_reader *r, json_t *root)
{
    json_t *topology = json_object_get(root, "modelTopology");
    json_t *config = json_object_get(topology, "model_config");
    const char *format = json_string_value(json_object_get(root, "format"));

    if (!topology)
        return root;
    if (json_is_object(config) || json_object_get(topology, "class_name"))
        return config ? config : topology;
    model_json_fail(r, "\"modelTopology\" is a%s of TensorFlow.js, which holds no Keras layers; "
                    "needed is a layers-model",
                    format && strcmp(format, "graph-model") == 0 ? " graph-model" : " model");
    return NULL;
}

static int read_root(struct model *m, struct arena *a, const char *path, json_t *root,
                     const json_error_t *broken, const char *input_sizes, struct err *e)
{
    struct model_json_reader r = {.model = m, .arena = a, .path = path, .err = e, .prefix = "",
                                  .input_sizes = input_sizes};
    json_t *model;
    int result;

    model_init(m, a, "model");
    if (!root)
        return err_at(e, path, broken->line, broken->column, "%s", broken->text);
    model = inside_tfjs(&r, root);
    result = model && read_model(&r, model) == 0 && model_json_check_sizes(&r) == 0 ? 0 : -1;
    json_decref(root);
    if (result != 0 && !e->file[0])
        snprintf(e->file, sizeof(e->file), "%s", path);
    return result;
}

int model_from_json_text(struct model *m, struct arena *a, const char *path, const char *text,
                         size_t bytes, const char *input_sizes, struct err *e)
{
    json_error_t broken;

    return read_root(m, a, path, json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &broken),
                     &broken, input_sizes, e);
}

int model_from_json_sized(struct model *m, struct arena *a, const char *path,
                          const char *input_sizes, struct err *e)
{
    uint8_t *text;
    size_t size;

    model_init(m, a, "model");
    if (isa_file_read(path, a, &text, &size, e))
        return -1;
    return model_from_json_text(m, a, path, (const char *)text, size, input_sizes, e);
}

int model_from_json(struct model *m, struct arena *a, const char *path, struct err *e)
{
    return model_from_json_sized(m, a, path, NULL, e);
}
