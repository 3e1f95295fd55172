/* Keras JSON: operations of operations.def, with their parameters and the constants they are called on. */
#include "keras/model/model_json.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "keras/layers/layer_operation.h"

#define CONSTANT_ELEMS_MAX 1048576
#define EPSILON 1e-7                    /* Keras's, where a file says none */

/* ---- constants ---- */

/* {"class_name": "__tensor__", "config": {"value": [..]}}, or "__numpy__" */
static const json_t *written_out(const json_t *v)
{
    const char *class = json_string_value(json_object_get(v, "class_name"));

    if (!class || (strcmp(class, "__tensor__") != 0 && strcmp(class, "__numpy__") != 0))
        return NULL;
    return json_object_get(json_object_get(v, "config"), "value");
}

static bool is_numbers(const json_t *v, int depth)
{
    if (!json_is_array(v))
        return json_is_number(v) || json_is_boolean(v);
    for (size_t i = 0; i < json_array_size(v); i++)
        if (depth == GRAPH_RANK_MAX || !is_numbers(json_array_get(v, i), depth + 1))
            return false;
    return json_array_size(v) > 0;
}

bool json_is_constant(const json_t *v)
{
    return written_out(v) ? is_numbers(written_out(v), 0) : is_numbers(v, 0);
}

/* sizes along the first elements; -1: others have other ones, or there are too many */
static int measure(const json_t *v, int depth, struct shape *s, int64_t *count)
{
    if (!json_is_array(v)) {
        *count += 1;
        return depth == s->rank && *count <= CONSTANT_ELEMS_MAX ? 0 : -1;
    }
    if (depth >= s->rank || (int64_t)json_array_size(v) != s->dim[depth])
        return -1;
    for (size_t i = 0; i < json_array_size(v); i++)
        if (measure(json_array_get(v, i), depth + 1, s, count) != 0)
            return -1;
    return 0;
}

static double *flatten(const json_t *v, double *to)
{
    if (!json_is_array(v)) {
        *to = json_is_true(v) ? 1.0 : json_number_value(v);
        return to + 1;
    }
    for (size_t i = 0; i < json_array_size(v); i++)
        to = flatten(json_array_get(v, i), to);
    return to;
}

static int read_array(struct model_json_reader *r, const json_t *v, struct layer_array *to)
{
    struct shape s = {.dtype = DTYPE_F32};
    int64_t count = 0;
    double *value;

    for (const json_t *first = v; json_is_array(first) && s.rank < GRAPH_RANK_MAX;
         first = json_array_get(first, 0))
        s.dim[s.rank++] = (int64_t)json_array_size(first);
    if (measure(v, 0, &s, &count) != 0)
        return model_json_fail(r, "it is called on a constant that is no array of at most %d "
                               "numbers", CONSTANT_ELEMS_MAX);
    value = arena_array(r->arena, (size_t)count, sizeof(*value));
    flatten(v, value);
    *to = (struct layer_array){s, value};
    return 0;
}

/* what has a batch of its own, of 1, is the same for each sample */
static void drop_batch(struct layer_array *a, const char *class)
{
    bool is_matrix = strcmp(class, "Dot") == 0 || strcmp(class, "Tensordot") == 0 ||
                     strcmp(class, "Matmul") == 0;

    if (is_matrix || a->shape.rank < 2 || a->shape.dim[0] != 1)
        return;
    a->shape.rank--;
    for (int d = 0; d < a->shape.rank; d++)
        a->shape.dim[d] = a->shape.dim[d + 1];
}

static int read_constants(struct model_json_reader *r, const json_t *layer, const char *class,
                          struct layer *l)
{
    const json_t *node = json_array_get(json_object_get(layer, "inbound_nodes"), 0);
    const json_t *args = json_object_get(node, "args");

    for (size_t i = 0; i < json_array_size(args); i++) {
        const json_t *v = json_array_get(args, i);

        if (!json_is_constant(v))
            continue;
        if (i >= LAYER_CONSTANTS_MAX)
            return model_json_fail(r, "its operand %zu is a constant, which is not supported", i);
        if (read_array(r, written_out(v) ? written_out(v) : v, &l->c.constant[i]) != 0)
            return -1;
        if (l->c.operation != OPERATION_TAKE)
            drop_batch(&l->c.constant[i], class);
    }
    return 0;
}

/* ---- parameters ---- */

/* a whole number, a list of such, or null */
static int read_axes(struct model_json_reader *r, const json_t *config, struct layer *l)
{
    const json_t *v = json_object_get(config, "axis") ? json_object_get(config, "axis")
                                                      : json_object_get(config, "axes");
    size_t count = json_is_array(v) ? json_array_size(v) : model_json_is_given(v) ? 1 : 0;

    if (count > GRAPH_RANK_MAX)
        return model_json_fail(r, "\"axis\" has more than %d numbers", GRAPH_RANK_MAX);
    l->c.shape_count = (int64_t)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_is_array(v) ? json_array_get(v, i) : v;

        if (!json_is_integer(one))
            return model_json_fail(r, "\"axis\" must be whole numbers");
        l->c.shape[i] = json_integer_value(one);
    }
    return 0;
}

static int read_list(struct model_json_reader *r, const json_t *config, const char *field,
                     struct layer *l)
{
    const json_t *v = json_object_get(config, field);
    struct layer_array all;
    int64_t count = 1;

    if (!is_numbers(v, 0) || read_array(r, v, &all) != 0)
        return model_json_fail(r, "\"%s\" must be whole numbers", field);
    for (int d = 0; d < all.shape.rank; d++)
        count *= all.shape.dim[d];
    for (int64_t i = 0; i < count; i++)
        if (all.value[i] != floor(all.value[i]) || fabs(all.value[i]) > 0x1p31)
            return model_json_fail(r, "\"%s\" must be whole numbers", field);
    l->c.list = (struct layer_reals){all.value, count};
    l->c.choice = json_is_array(v);
    if (l->c.operation == OPERATION_SPLIT &&
        (count + l->c.choice > LAYER_OUTPUTS_MAX ||
         (!l->c.choice && (*all.value < 1 || *all.value > LAYER_OUTPUTS_MAX))))
        return model_json_fail(r, "it has more than %d parts, or none", LAYER_OUTPUTS_MAX);
    return 0;
}

/* NaN: the file says none */
static int read_number(struct model_json_reader *r, const json_t *config, const char *field,
                       double *to)
{
    const json_t *v = field ? json_object_get(config, field) : NULL;

    *to = json_is_number(v) ? json_number_value(v) : NAN;
    return !field || json_is_number(v) || !model_json_is_given(v)
               ? 0 : model_json_fail(r, "\"%s\" must be a number", field);
}

/* by the type that a Cast is to */
static int cast_to(const json_t *config)
{
    const char *name = model_json_dtype_name(json_object_get(config, "dtype"));

    if (!name)
        return 0;
    return strcmp(name, "bool") == 0 ? 2 : strstr(name, "int") != NULL;
}

/* windows: their strides, one number or one for each dimension, and what stands around the edges */
static int read_windows(struct model_json_reader *r, const json_t *config, struct layer *l)
{
    static const char *const paddings[] = {"valid", "same"};
    const json_t *strides = json_object_get(config, "strides"), *dilation;
    int padding = model_json_choice(r, json_object_get(config, "padding"), "padding", paddings, 2);

    dilation = json_object_get(config, "dilation_rate");
    if (padding < 0)
        return -1;
    l->c.padding = padding ? NN_SAME : NN_VALID;
    if (model_json_is_given(dilation) && json_integer_value(dilation) != 1)
        return model_json_fail(r, "\"dilation_rate\" must be 1");
    for (size_t i = 0; i < 3 && model_json_is_given(strides); i++) {
        const json_t *one = json_is_array(strides) ? json_array_get(strides, i) : strides;

        if (one && (!json_is_integer(one) || json_integer_value(one) < 1 ||
                    json_integer_value(one) > 65536))
            return model_json_fail(r, "\"strides\" must be whole numbers from 1 to 65536");
        l->c.strides[i] = json_integer_value(one);
    }
    return 0;
}

/* parameters that other values than these are not supported of */
static int check_others(struct model_json_reader *r, const json_t *config, struct layer *l)
{
    static const char *const modes[] = {"constant", "reflect", "symmetric"};
    const json_t *mode = json_object_get(config, "mode"), *ord = json_object_get(config, "ord");
    const char *format = json_string_value(json_object_get(config, "data_format"));

    if (l->c.operation == OPERATION_PAD) {
        int which = model_json_is_given(mode)
                        ? model_json_choice(r, mode, "mode", modes, COUNT_OF(modes)) : 0;

        if (which < 0)
            return -1;
        l->c.choice = which;
    }
    if (format && strcmp(format, "channels_last") != 0)
        return model_json_fail(r, "\"data_format\" must be \"channels_last\"");
    if (model_json_is_given(ord) && json_number_value(ord) != 2.0)
        return model_json_fail(r, "\"ord\" must be 2");
    if (l->c.operation == OPERATION_NORM && model_json_is_given(ord) && l->c.shape_count > 1)
        return model_json_fail(r, "\"ord\" of matrices is not supported");
    if (json_is_true(json_object_get(config, "rms_scaling")) ||
        model_json_is_given(json_object_get(config, "attn_logits_soft_cap")))
        return model_json_fail(r, "\"rms_scaling\" and \"attn_logits_soft_cap\" are not supported");
    if (l->c.operation == OPERATION_DIFF && json_integer_value(json_object_get(config, "n")) != 1)
        return model_json_fail(r, "\"n\" must be 1");
    if (model_json_is_given(json_object_get(config, "posinf")) ||
        model_json_is_given(json_object_get(config, "neginf")))
        return model_json_fail(r, "\"posinf\" and \"neginf\" must be null");
    if (model_json_is_given(json_object_get(config, "initial")))
        return model_json_fail(r, "\"initial\" is not supported");
    return 0;
}

/* what is counted, or has a standard value, is a number at last */
static void settle_numbers(struct layer_config *c)
{
    if (c->operation == OPERATION_CLIP)
        return;
    if (isnan(c->threshold) && (c->operation == OPERATION_NORMALIZE ||
                                c->operation == OPERATION_LAYER_NORM ||
                                c->operation == OPERATION_RMS_NORM))
        c->threshold = EPSILON;
    c->alpha = isnan(c->alpha) || fabs(c->alpha) > 0x1p31 ? 0.0 : c->alpha;
    c->threshold = isnan(c->threshold) || fabs(c->threshold) > 0x1p31 ? 0.0 : c->threshold;
}

struct layer *json_read_operation(struct model_json_reader *r, const json_t *layer,
                                  const char *class, const char *name)
{
    const json_t *config = json_object_get(layer, "config");
    const json_t *node = json_array_get(json_object_get(layer, "inbound_nodes"), 0);
    const json_t *fill = json_object_get(json_object_get(node, "kwargs"), "constant_values");
    const char *equation = json_string_value(json_object_get(config, "subscripts"));
    struct layer *l = model_layer(r->model, LAYER_OPERATION, name);
    const struct operation_info *info;

    l->c.operation = operation_find(class);
    info = operation_info(l->c.operation);
    l->c.equation = equation ? arena_strdup(r->arena, equation) : NULL;
    l->c.keeps_dims = json_is_true(json_object_get(config, "keepdims"));
    l->c.mask_value = json_number_value(fill);
    if (read_axes(r, config, l) != 0 || read_constants(r, layer, class, l) != 0 ||
        (info->list && read_list(r, config, info->list, l) != 0) ||
        read_number(r, config, info->number, &l->c.alpha) != 0 ||
        read_number(r, config, info->other, &l->c.threshold) != 0 ||
        check_others(r, config, l) != 0)
        return NULL;
    if (l->c.operation == OPERATION_CAST || l->c.operation == OPERATION_SATURATE_CAST)
        l->c.choice = cast_to(config);
    if (info->form == &operation_network && info->list && read_windows(r, config, l) != 0)
        return NULL;
    l->c.transposes = json_is_true(json_object_get(config, "transpose_b"));
    l->c.is_causal = json_is_true(json_object_get(config, "is_causal"));
    settle_numbers(&l->c);
    return l;
}
