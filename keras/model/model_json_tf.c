/*
 * Keras JSON: operations of TensorFlow that tf.keras 2 writes among layers (TFOpLambda,
 * SlicingOpLambda), as those of keras.ops that say the same.
 */
#include "keras/model/model_json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

/*
 * parameters: what arguments are called there, as "argument=parameter argument"; one word alone has
 * the same name in both.
 */
static const struct { const char *function, *class, *parameters; } functions[] = {
    {"__operators__.add", "Add", ""}, {"math.add", "Add", ""}, {"math.add_n", "Add", ""},
    {"math.subtract", "Subtract", ""}, {"math.multiply", "Multiply", ""},
    {"math.divide", "Divide", ""}, {"math.truediv", "Divide", ""},
    {"math.divide_no_nan", "DivideNoNan", ""}, {"math.floordiv", "FloorDivide", ""},
    {"math.floormod", "Mod", ""}, {"math.pow", "Power", ""}, {"math.maximum", "Maximum", ""},
    {"math.minimum", "Minimum", ""}, {"math.atan2", "Arctan2", ""}, {"math.equal", "Equal", ""},
    {"math.not_equal", "NotEqual", ""}, {"math.greater", "Greater", ""},
    {"math.greater_equal", "GreaterEqual", ""}, {"math.less", "Less", ""},
    {"math.less_equal", "LessEqual", ""}, {"math.logical_and", "LogicalAnd", ""},
    {"math.logical_or", "LogicalOr", ""}, {"math.logical_not", "LogicalNot", ""},
    {"where", "Where", ""}, {"math.negative", "Negative", ""}, {"math.abs", "Absolute", ""},
    {"math.square", "Square", ""}, {"math.sqrt", "Sqrt", ""}, {"math.rsqrt", "Rsqrt", ""},
    {"math.reciprocal", "Reciprocal", ""}, {"math.exp", "Exp", ""}, {"math.expm1", "Expm1", ""},
    {"math.log", "Log", ""}, {"math.log1p", "Log1p", ""}, {"math.sin", "Sin", ""},
    {"math.cos", "Cos", ""}, {"math.tan", "Tan", ""}, {"math.sinh", "Sinh", ""},
    {"math.cosh", "Cosh", ""}, {"math.atan", "Arctan", ""}, {"math.asin", "Arcsin", ""},
    {"math.acos", "Arccos", ""}, {"math.erf", "Erf", ""}, {"math.sign", "Sign", ""},
    {"math.floor", "Floor", ""}, {"math.ceil", "Ceil", ""}, {"math.round", "Round", ""},
    {"math.is_nan", "Isnan", ""}, {"math.is_finite", "Isfinite", ""}, {"math.is_inf", "Isinf", ""},
    {"math.tanh", "Tanh", ""}, {"math.sigmoid", "Sigmoid", ""}, {"math.softplus", "Softplus", ""},
    {"nn.relu", "Relu", ""}, {"nn.relu6", "Relu6", ""}, {"nn.sigmoid", "Sigmoid", ""},
    {"nn.tanh", "Tanh", ""}, {"nn.softmax", "Softmax", "axis"}, {"nn.silu", "Silu", ""},
    {"nn.log_softmax", "LogSoftmax", "axis"}, {"nn.swish", "Silu", ""}, {"nn.gelu", "Gelu", ""},
    {"nn.elu", "Elu", ""}, {"nn.selu", "Selu", ""}, {"nn.softplus", "Softplus", ""},
    {"nn.softsign", "Softsign", ""}, {"nn.leaky_relu", "LeakyRelu", "alpha=negative_slope"},
    {"identity", "Identity", ""}, {"stop_gradient", "StopGradient", ""},
    {"ones_like", "OnesLike", ""}, {"zeros_like", "ZerosLike", ""}, {"cast", "Cast", "dtype"},
    {"convert_to_tensor", "ConvertToTensor", ""},
    {"clip_by_value", "Clip", "clip_value_min=x_min clip_value_max=x_max"},
    {"math.reduce_sum", "Sum", "axis"}, {"math.reduce_mean", "Mean", "axis"},
    {"math.reduce_max", "Max", "axis"}, {"math.reduce_min", "Min", "axis"},
    {"math.reduce_prod", "Prod", "axis"}, {"math.reduce_any", "Any", "axis"},
    {"math.reduce_all", "All", "axis"}, {"math.reduce_std", "Std", "axis"},
    {"math.reduce_variance", "Var", "axis"}, {"math.reduce_logsumexp", "Logsumexp", "axis"},
    {"math.argmax", "Argmax", "axis"}, {"math.argmin", "Argmin", "axis"},
    {"math.cumsum", "Cumsum", "axis"}, {"math.l2_normalize", "Normalize", "axis"},
    {"linalg.l2_normalize", "Normalize", "axis"}, {"nn.l2_normalize", "Normalize", "axis"},
    {"math.top_k", "TopK", "k"}, {"sort", "Sort", "axis"},
    {"concat", "Concatenate", "axis"}, {"stack", "Stack", "axis"},
    {"split", "Split", "num_or_size_splits=indices_or_sections axis"},
    {"reshape", "Reshape", "shape=newshape"}, {"transpose", "Transpose", "perm=axes"},
    {"compat.v1.transpose", "Transpose", "perm=axes"}, {"expand_dims", "ExpandDims", "axis"},
    {"squeeze", "Squeeze", "axis"}, {"compat.v1.squeeze", "Squeeze", "axis"},
    {"tile", "Tile", "multiples=repeats"}, {"repeat", "Repeat", "repeats axis"},
    {"reverse", "Flip", "axis"}, {"roll", "Roll", "shift axis"},
    {"pad", "Pad", "paddings=pad_width mode"}, {"compat.v1.pad", "Pad", "paddings=pad_width mode"},
    {"gather", "Take", "axis"}, {"compat.v1.gather", "Take", "axis"},
    {"one_hot", "OneHot", "depth=num_classes"},
    {"nn.depth_to_space", "DepthToSpace", "block_size"},
    {"nn.space_to_depth", "SpaceToDepth", "block_size"},
    {"image.resize", "Resize", "size method=interpolation"},
    {"image.rgb_to_grayscale", "RGBToGrayscale", ""},
    {"nn.max_pool2d", "MaxPool", "ksize=pool_size strides padding"},
    {"nn.avg_pool2d", "AveragePool", "ksize=pool_size strides padding"},
    {"linalg.matmul", "Matmul", "transpose_b"},
    {"__operators__.getitem", "GetItem", ""},
};

/* arguments that are operands, in the order in which they come behind the first */
static const char *const operands[] = {"x", "y", "b", "indices", "slice_spec"};

static bool is_operand(const char *key)
{
    for (size_t i = 0; i < COUNT_OF(operands); i++)
        if (strcmp(key, operands[i]) == 0)
            return true;
    return false;
}

/* what the argument is called as a parameter, into `to`; false: it is none */
static bool find_parameter(const char *list, const char *argument, char *to, size_t bytes)
{
    size_t length = strlen(argument);

    for (const char *word = list; *word;) {
        size_t size = strcspn(word, " ");
        const char *equals = memchr(word, '=', size);

        if (strncmp(word, argument, length) == 0 &&
            (equals ? equals == word + length : size == length)) {
            const char *name = equals ? equals + 1 : word;

            snprintf(to, bytes, "%.*s", (int)(word + size - name), name);
            return true;
        }
        word += size + (word[size] == ' ');
    }
    return false;
}

/* a word in small letters, as Keras writes "SAME" and "CONSTANT" */
static json_t *in_small(const json_t *v)
{
    char text[32] = "";
    const char *from = json_string_value(v);

    for (size_t i = 0; from[i] && i < sizeof(text) - 1; i++)
        text[i] = (char)tolower((unsigned char)from[i]);
    return json_string(text);
}

/* sizes of the parts as the places where they begin */
static json_t *as_places(const json_t *sizes)
{
    json_t *places = json_array();
    json_int_t at = 0;

    for (size_t i = 0; i + 1 < json_array_size(sizes); i++) {
        at += json_integer_value(json_array_get(sizes, i));
        json_array_append_new(places, json_integer(at));
    }
    return places;
}

static void set_parameter(json_t *config, const char *name, json_t *v)
{
    if (strcmp(name, "indices_or_sections") == 0 && json_is_array(v))
        json_object_set_new(config, name, as_places(v));
    else if (json_is_string(v) && strcmp(name, "dtype") != 0)
        json_object_set_new(config, name, in_small(v));
    else
        json_object_set(config, name, v);
}

/* arguments that such a call has beside its arrays, where they say nothing */
static bool says_nothing(const char *key, const json_t *v)
{
    return json_is_null(v) || json_is_false(v) || strcmp(key, "name") == 0 ||
           ((strcmp(key, "batch_dims") == 0 || strcmp(key, "epsilon") == 0) &&
            json_number_value(v) == 0.0) || (strcmp(key, "sorted") == 0 && json_is_true(v));
}

/* ["x", 0, 0, {"y": 2.0}], or a list of such, as {"args": [["x", 0, 0], 2.0]} */
static int turn_node(struct model_json_reader *r, json_t *config, size_t row, const json_t *node,
                     json_t *call)
{
    const json_t *kwargs = json_array_get(node, 3);
    bool is_number = strcmp(json_string_value(json_array_get(node, 0)), "_CONSTANT_VALUE") == 0;
    json_t *first = is_number ? json_incref(json_array_get(node, 2)) : json_array(), *v;
    json_t *args = json_object_get(call, "args");
    const char *key;

    for (size_t i = 0; i < 3 && !is_number; i++)
        json_array_append(first, json_array_get(node, i));
    json_array_append_new(args, first);
    for (size_t i = 0; i < COUNT_OF(operands); i++)
        if (model_json_is_given(json_object_get(kwargs, operands[i])))
            json_array_append(args, json_object_get(kwargs, operands[i]));
    json_object_foreach((json_t *)(uintptr_t)kwargs, key, v) {
        char parameter[32];

        if (find_parameter(functions[row].parameters, key, parameter, sizeof(parameter)))
            set_parameter(config, parameter, v);
        else if (strcmp(key, "keepdims") == 0 || strcmp(key, "approximate") == 0)
            json_object_set(config, key, v);
        else if (strcmp(key, "constant_values") == 0)
            json_object_set(json_object_get(call, "kwargs"), key, v);
        else if (!says_nothing(key, v) && !is_operand(key))
            return model_json_fail(r, "argument \"%s\" of %s is not supported", key,
                                   functions[row].function);
    }
    return 0;
}

/* what TensorFlow takes where the file says nothing, and Keras otherwise */
static void set_standards(json_t *config, const char *class)
{
    if (strcmp(class, "Normalize") == 0) {          /* by the root of at least 1e-12 */
        json_object_set_new(config, "order", json_integer(2));
        json_object_set_new(config, "epsilon", json_real(1e-6));
    }
    if ((strcmp(class, "Take") == 0 || strcmp(class, "Split") == 0 ||
         strcmp(class, "Argmax") == 0 || strcmp(class, "Argmin") == 0) &&
        !json_object_get(config, "axis"))
        json_object_set_new(config, "axis", json_integer(0));
    if (strcmp(class, "OneHot") == 0)
        json_object_set_new(config, "axis", json_integer(-1));
    if (strcmp(class, "Sort") == 0 && !json_object_get(config, "axis"))
        json_object_set_new(config, "axis", json_integer(-1));
}

bool json_is_tf_operation(const json_t *layer)
{
    const char *class = json_string_value(json_object_get(layer, "class_name"));

    return class && (strcmp(class, "TFOpLambda") == 0 || strcmp(class, "SlicingOpLambda") == 0);
}

int json_turn_tf_operation(struct model_json_reader *r, json_t *layer, json_t *config)
{
    const char *function = json_string_value(json_object_get(config, "function"));
    const json_t *nodes = json_object_get(layer, "inbound_nodes"), *node = json_array_get(nodes, 0);
    json_t *call = json_object(), *list = json_array();
    size_t row = 0;
    int status = 0;

    r->name = json_string_value(json_object_get(config, "name"));
    json_object_set_new(call, "args", json_array());
    json_object_set_new(call, "kwargs", json_object());
    function = function ? function : "";
    while (row < COUNT_OF(functions) && strcmp(functions[row].function, function) != 0)
        row++;
    if (row == COUNT_OF(functions) || json_array_size(nodes) != 1)
        status = model_json_fail(r, "%s of tf.%s%s is not supported",
                                 json_string_value(json_object_get(layer, "class_name")), function,
                                 row < COUNT_OF(functions) ? " called several times" : "");
    if (json_is_string(json_array_get(node, 0)))
        status = status ? status : turn_node(r, config, row, node, call);
    for (size_t i = 0; i < json_array_size(node) && status == 0; i++)
        if (json_is_string(json_array_get(json_array_get(node, i), 0)))
            status = turn_node(r, config, row, json_array_get(node, i), call);
    json_array_append_new(list, call);
    if (status == 0) {
        set_standards(config, functions[row].class);
        json_object_set_new(layer, "class_name", json_string(functions[row].class));
        json_object_set_new(layer, "module", json_string("keras.ops.numpy"));
        json_object_del(config, "function");
    }
    json_object_set_new(layer, "inbound_nodes", list);
    return status;
}
