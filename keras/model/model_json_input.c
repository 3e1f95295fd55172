/* Reads inputs from Keras JSON, and the sizes of their samples that a file leaves open. */
#include "keras/model/model_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "keras/layers/layer_impl.h"

#define OPEN_SIZE -1                    /* null in a file */

int model_json_read_sample(struct model_json_reader *r, const json_t *v, const char *field,
                           struct shape *to)
{
    size_t size = json_array_size(v);

    *to = (struct shape){.dtype = DTYPE_F32};
    if (!json_is_array(v) || size < 1 || size > 6)
        return model_json_fail(
            r, "\"%s\" must be a list of the batch (null) and up to 5 dimensions", field);
    if (!json_is_null(json_array_get(v, 0)) && !json_is_integer(json_array_get(v, 0)))
        return model_json_fail(r, "\"%s\" must begin with the batch, null or a whole number", field);
    for (size_t i = 1; i < size; i++) {
        const json_t *d = json_array_get(v, i);

        if (!json_is_null(d) && (!json_is_integer(d) || json_integer_value(d) < 1 ||
                                 json_integer_value(d) > INT32_MAX))
            return model_json_fail(r, "dimension %zu of \"%s\" must be a whole number in 1..%d", i,
                                   field, INT32_MAX);
        to->dim[to->rank++] = json_is_null(d) ? OPEN_SIZE : json_integer_value(d);
    }
    return 0;
}

bool model_json_sizes_fit(const struct shape *said, const struct shape *is)
{
    for (int d = 0; d < said->rank && said->rank == is->rank; d++)
        if (said->dim[d] != OPEN_SIZE && said->dim[d] != is->dim[d])
            return false;
    return said->rank == is->rank;
}

/* ---- sizes that are said beside the file: "28x28x1" or "image=28x28x1,ids=64" ---- */

/* one of them, up to its comma: the name's and the sizes' length; behind it, or NULL at the end */
static const char *next_sizes(const char *text, int *name, int *sizes)
{
    size_t length = strcspn(text, ","), equals = strcspn(text, "=");

    if (!*text)
        return NULL;
    *name = equals < length ? (int)equals : 0;
    *sizes = (int)length - (*name ? *name + 1 : 0);
    return text + length + (text[length] == ',');
}

/* the sizes for the input of this name: those with its name, or the only ones without; NULL: none */
static const char *find_sizes(const struct model_json_reader *r, const char *input, int *length)
{
    const char *at = r->input_sizes, *next, *found = NULL;
    int name, sizes;

    for (; at && (next = next_sizes(at, &name, &sizes)) != NULL; at = next)
        if (name == 0 || ((int)strlen(input) == name && strncmp(at, input, (size_t)name) == 0)) {
            found = at + name + (name > 0);
            *length = sizes;
        }
    return found;
}

static int parse_sizes(struct model_json_reader *r, const char *text, int length, struct shape *to)
{
    const char *at = text;

    *to = (struct shape){.rank = 0};
    while (at < text + length) {
        char *end;
        long long size = strtoll(at, &end, 10);

        if (end == at || *at < '0' || *at > '9' || size < 1 || size > INT32_MAX || to->rank == 5 ||
            (end < text + length && (*end != 'x' || end + 1 == text + length)))
            return model_json_fail(r, "--input-shape: \"%.*s\" is no list of 1..5 sizes like "
                                   "28x28x1", length, text);
        to->dim[to->rank++] = size;
        at = end + (end < text + length);
    }
    return 0;
}

int model_json_fix_sizes(struct model_json_reader *r, const char *input, const char *field,
                         struct shape *sample)
{
    struct shape given;
    char said[160], is[160];
    int length = 0;
    const char *text = find_sizes(r, input, &length);

    if (text && parse_sizes(r, text, length, &given) != 0)
        return -1;
    if (text && !model_json_sizes_fit(sample, &given))
        return model_json_fail(r, "--input-shape says samples of shape %s, the file %s, where -1 is open",
                               layer_shape_text(&given, said, sizeof(said)),
                               layer_shape_text(sample, is, sizeof(is)));
    for (int d = 0; d < sample->rank; d++) {
        if (text)
            sample->dim[d] = given.dim[d];
        if (sample->dim[d] == OPEN_SIZE)
            return model_json_fail(r, "dimension %d of \"%s\" is null; sizes are fixed on a TPU: say "
                                   "it with --input-shape", d + 1, field);
    }
    return 0;
}

int model_json_check_sizes(struct model_json_reader *r)
{
    const char *at = r->input_sizes, *next;
    int name, sizes;

    r->name = NULL;
    for (; at && (next = next_sizes(at, &name, &sizes)) != NULL; at = next) {
        bool is_there = name == 0;

        for (int i = 0; i < r->model->input_count; i++) {
            const char *is = r->model->layer[r->model->node[r->model->input[i]].layer]->name;

            is_there = is_there || ((int)strlen(is) == name && strncmp(is, at, (size_t)name) == 0);
        }
        if (!is_there)
            return model_json_fail(r, "--input-shape: the model has no input \"%.*s\"", name, at);
    }
    return 0;
}

/* ---- inputs ---- */

const json_t *model_json_batch_shape(const json_t *config, const char **field)
{
    static const char *const names[] = {"batch_shape", "batch_input_shape"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (model_json_is_given(json_object_get(config, names[i]))) {
            *field = names[i];
            return json_object_get(config, names[i]);
        }
    return NULL;
}

static bool is_listed(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

/* whole numbers of any width come as s32, others as f32 */
static int read_input_dtype(struct model_json_reader *r, const json_t *v, enum graph_dtype *to)
{
    static const char *const whole[] = {"int32", "int64", "int16", "int8", "uint8", "uint16",
                                        "uint32"};
    static const char *const real[] = {"float32", "float16", "bfloat16", "float64",
                                       "mixed_bfloat16", "mixed_float16"};
    const char *name = model_json_is_given(v) ? model_json_dtype_name(v) : "float32";

    *to = DTYPE_F32;
    if (name && is_listed(name, whole, COUNT_OF(whole)))
        *to = DTYPE_S32;
    else if (!name || !is_listed(name, real, COUNT_OF(real)))
        return model_json_fail(r, "\"dtype\" is %s; an input must be of floats or whole numbers",
                               name ? name : "not a name");
    return 0;
}

int model_json_read_input(struct model_json_reader *r, const json_t *layer, size_t index)
{
    const json_t *config = json_object_get(layer, "config"), *v;
    const char *field, *name;
    struct shape sample;
    enum graph_dtype dtype;

    if (model_json_read_name(r, layer, index, &name) != 0)
        return -1;
    r->name = name;
    v = model_json_batch_shape(config, &field);
    if (!v)
        return model_json_fail(r, "missing field \"batch_shape\"");
    if (json_is_true(json_object_get(config, "sparse")) ||
        json_is_true(json_object_get(config, "ragged")))
        return model_json_fail(r, "sparse and ragged inputs are not supported");
    if (model_json_read_sample(r, v, field, &sample) != 0 ||
        read_input_dtype(r, json_object_get(config, "dtype"), &dtype) != 0)
        return -1;
    if (model_json_fix_sizes(r, name, field, &sample) != 0)
        return -1;
    sample.dtype = dtype;
    return model_input(r->model, name, &sample);
}

/* sizes that Keras built a shared layer for, or adapted one to, need not be those of this call */
static bool would_fit(const struct layer *l, const struct shape *sample)
{
    bool is_known = sample->rank == l->input[0].rank;

    for (int d = 0; d < sample->rank; d++)
        is_known = is_known && sample->dim[d] > 0;
    return is_known && model_has_same_variables(l, sample, 1);
}

/* only a plain list is of one input; others say the same in more words */
int model_json_check_built(struct model_json_reader *r, const json_t *layer, const struct layer *l)
{
    const json_t *v = json_object_get(json_object_get(layer, "build_config"), "input_shape");
    struct shape sample;
    char said[160], is[160];

    if (!json_is_array(v) || !json_is_null(json_array_get(v, 0)) || l->input_count != 1 ||
        l->is_distributed || l->features != 0)
        return 0;
    if (model_json_read_sample(r, v, "build_config.input_shape", &sample) != 0)
        return -1;
    if (model_json_sizes_fit(&sample, &l->input[0]) || would_fit(l, &sample))
        return 0;
    return model_json_fail(r,
                           "\"build_config.input_shape\" says samples of shape %s, but it is given "
                           "%s",
                           layer_shape_text(&sample, said, sizeof(said)),
                           layer_shape_text(&l->input[0], is, sizeof(is)));
}
