/*
 * Keras JSON: models as blocks of calls, functional ones and chains, and models inside models. A
 * block makes its layers once and may be called several times.
 */
#include "keras/model/model_json_block.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "keras/layers/layer_impl.h"

#define CALLS_MAX (4 * MODEL_LAYERS_MAX)
#define DEPTH_MAX 16                    /* of models inside models */

/* of those that were read already */
static int find_layer(struct json_block *f, const char *name)
{
    for (int i = 0; i < f->layer_count; i++)
        if (f->name[i] && strcmp(f->name[i], name) == 0)
            return i;
    return -1;
}

static int unknown_layer(struct json_block *f, const char *what, const char *name)
{
    return model_json_fail(f->r, "%s \"%s\", which is no layer of the model%s", what, name,
                           text_did_you_mean(name, f->name, (size_t)f->layer_count).text);
}

/* ["dense", 0, 0] */
static bool is_history(const json_t *v)
{
    return json_is_string(json_array_get(v, 0)) && json_is_integer(json_array_get(v, 1));
}

static int read_reference(struct json_block *f, const json_t *v, const char *what,
                          struct reference *to)
{
    const char *name = json_string_value(json_array_get(v, 0));

    if (!is_history(v))
        return model_json_fail(f->r, "%s what is no [\"layer\", call, output]", what);
    to->layer = find_layer(f, name);
    to->call = json_integer_value(json_array_get(v, 1));
    if (to->layer < 0)
        return unknown_layer(f, what, name);
    to->output = json_integer_value(json_array_get(v, 2));
    if (to->output < 0)
        return model_json_fail(f->r, "%s output %" PRId64 " of \"%s\"", what, to->output, name);
    return 0;
}

/* ---- calls ---- */

static int add_inputs(struct json_block *f, struct call *c, const json_t *v);

static int add_reference(struct json_block *f, struct call *c, const json_t *history)
{
    if (c->input_count == LAYER_INPUTS_MAX)
        return model_json_fail(f->r, "it is called on more than %d inputs", LAYER_INPUTS_MAX);
    if (read_reference(f, history, "it takes", &c->input[c->input_count]) != 0)
        return -1;
    if (f->is_mask[c->input[c->input_count].layer])
        return model_json_fail(f->r, "it takes the mask \"%s\", which only arguments of calls may",
                               f->name[c->input[c->input_count].layer]);
    c->input_count++;
    return 0;
}

/* null, or a list of nulls: a mask for each of several inputs */
static bool is_nothing(const json_t *v)
{
    for (size_t i = 0; i < json_array_size(v); i++)
        if (!json_is_null(json_array_get(v, i)))
            return false;
    return json_is_null(v) || json_is_array(v);
}

static bool changes_in_training(const struct layer *l)
{
    return l->kind == LAYER_BATCH_NORMALIZATION || layer_is_random(l);
}

/*
 * What a call says of training. Keras 3 writes what it found, and each step says it anew (3.15.1);
 * in older files it is the author's word, and of a layer that drops, True would be another model.
 */
static bool takes_training(struct json_block *f, struct call *c, const json_t *v, bool is_old)
{
    const struct layer *l = f->layer[c->layer];

    if (json_is_false(v))
        c->never_trains = is_old;
    return !is_old || json_is_false(v) || (l && !changes_in_training(l));
}

static bool is_tensor(const json_t *v)
{
    return is_history(v) || (json_is_object(v) && json_object_get(v, "class_name"));
}

/* a mask, or several: what Keras 3 writes of masks that inputs bring along */
static bool is_mask_argument(const char *key, const json_t *v)
{
    static const char *const names[] = {"mask", "query_mask", "value_mask", "key_mask"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(key, names[i]) == 0)
            return is_tensor(v) || (json_is_array(v) && is_tensor(json_array_get(v, 0)));
    return false;
}

/* switches of a call; false: there is no such switch */
static bool set_switch(struct layer *l, const char *key, bool is_on)
{
    enum layer_kind kind = l ? l->kind : LAYER_INPUT;

    if (kind != LAYER_MULTI_HEAD_ATTENTION && kind != LAYER_GROUP_QUERY_ATTENTION &&
        kind != LAYER_ATTENTION && kind != LAYER_ADDITIVE_ATTENTION)
        return false;
    if (strcmp(key, "use_causal_mask") == 0)
        l->c.is_causal = is_on;
    else if (strcmp(key, "return_attention_scores") == 0)
        l->c.returns_scores = is_on;
    else
        return false;
    return true;
}

/* attention_mask comes behind query, value and key, in all of a layer's calls or in none */
static int add_pairs(struct json_block *f, struct call *c, const json_t *v)
{
    struct layer *l = f->layer[c->layer];
    bool is_given = model_json_is_given(v), is_first = c == &f->call[f->first_call[c->layer]];

    if (!l || (l->kind != LAYER_MULTI_HEAD_ATTENTION && l->kind != LAYER_GROUP_QUERY_ATTENTION))
        return 0;
    if (!is_first && l->c.takes_pairs != is_given)
        return model_json_fail(f->r, "its calls differ in \"attention_mask\", which is not supported");
    l->c.takes_pairs = is_given;
    return is_given ? add_inputs(f, c, v) : 0;
}

/* arguments by name that change what a layer does */
static int add_named(struct json_block *f, struct call *c, json_t *kwargs, bool is_old)
{
    static const char *const inputs[] = {"query", "value", "key", "inputs", "initial_state"};
    struct layer *l = f->layer[c->layer];
    const char *key;
    json_t *v;

    for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs); i++)
        if (model_json_is_given(json_object_get(kwargs, inputs[i])) &&
            add_inputs(f, c, json_object_get(kwargs, inputs[i])) != 0)
            return -1;
    if (add_pairs(f, c, json_object_get(kwargs, "attention_mask")) != 0)
        return -1;
    json_object_foreach(kwargs, key, v) {
        bool is_input = false;

        for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs); i++)
            is_input = is_input || strcmp(key, inputs[i]) == 0;
        is_input = is_input || (l && l->c.takes_pairs && strcmp(key, "attention_mask") == 0);
        c->takes_mask = c->takes_mask || is_mask_argument(key, v);
        if (is_input || is_nothing(v) || is_mask_argument(key, v) ||
            (strcmp(key, "training") == 0 && takes_training(f, c, v, is_old)) || json_is_false(v) ||
            (strcmp(key, "constant_values") == 0 && l && l->kind == LAYER_OPERATION))
            continue;
        if (!json_is_true(v) || !set_switch(l, key, true))
            return model_json_fail(f->r,
                                   "argument \"%s\" of its call is not supported; it must be null "
                                   "or missing",
                                   key);
    }
    return 0;
}

/* a tensor of Keras 3, one of Keras 2, or a list of them */
static int add_inputs(struct json_block *f, struct call *c, const json_t *v)
{
    if (f->layer[c->layer] && f->layer[c->layer]->kind == LAYER_GET_ITEM && c->input_count > 0)
        return 0;                       /* its other argument says which part */
    if (f->layer[c->layer] && json_op_takes_numbers(f->layer[c->layer]) && json_is_constant(v))
        return 0;                       /* the operation has read it */
    if (json_is_object(v)) {
        const json_t *h = json_object_get(json_object_get(v, "config"), "keras_history");

        return add_reference(f, c, h);
    }
    if (is_history(v)) {
        if (add_reference(f, c, v) != 0)
            return -1;
        return json_is_object(json_array_get(v, 3)) ? add_named(f, c, json_array_get(v, 3), true)
                                                    : 0;
    }
    if (!json_is_array(v))
        return model_json_fail(f->r, "it is called on what is no output of a layer");
    for (size_t i = 0; i < json_array_size(v); i++)
        if (!json_is_null(json_array_get(v, i)) &&
            add_inputs(f, c, json_array_get(v, i)) != 0)
            return -1;
    return 0;
}

static int read_call(struct json_block *f, struct call *c, const json_t *node)
{
    if (!json_is_object(node))
        return add_inputs(f, c, node);
    if (add_inputs(f, c, json_object_get(node, "args")) != 0)
        return -1;
    return add_named(f, c, json_object_get(node, "kwargs"), false);
}

static void never_train(struct json_block *f, int layer)
{
    struct json_block *inner = f->inner[layer];

    if (f->layer[layer])
        f->layer[layer]->never_trains = true;
    for (int i = 0; inner && i < inner->layer_count; i++)
        never_train(inner, i);
}

/* training=False of all calls of a layer, or of a model's */
static int heed_training(struct json_block *f)
{
    for (int i = 0; i < f->layer_count; i++) {
        int calls = f->first_call[i + 1] - f->first_call[i], never = 0;

        f->r->name = f->name[i];
        for (int k = f->first_call[i]; k < f->first_call[i + 1]; k++)
            never += f->call[k].never_trains;
        if (never > 0 && never < calls)
            return model_json_fail(f->r, "its calls differ in \"training\", which is not supported");
        if (never > 0)
            never_train(f, i);
    }
    return 0;
}

static int read_calls(struct json_block *f)
{
    for (int i = 0; i < f->layer_count; i++) {
        const json_t *nodes = json_object_get(json_array_get(f->layers, (size_t)i),
                                              "inbound_nodes");

        f->r->name = f->name[i];
        for (int k = f->first_call[i]; !json_block_is_input(f, i) && k < f->first_call[i + 1]; k++)
            if (read_call(f, &f->call[k],
                          json_array_get(nodes, (size_t)(k - f->first_call[i]))) != 0)
                return -1;
    }
    return heed_training(f);
}

static void make_call_list(struct json_block *f, int count)
{
    f->first_call[f->layer_count] = f->call_count = count;
    f->call = arena_array(f->r->arena, (size_t)count, sizeof(*f->call));
    for (int i = 0; i < f->layer_count; i++)
        for (int k = f->first_call[i]; k < f->first_call[i + 1]; k++)
            f->call[k] = (struct call){.layer = i};
}

static int list_calls(struct json_block *f)
{
    int count = 0;

    for (int i = 0; i < f->layer_count; i++) {
        const json_t *nodes = json_object_get(json_array_get(f->layers, (size_t)i),
                                              "inbound_nodes");
        size_t calls = json_array_size(nodes);

        f->r->name = f->name[i];
        if (f->is_mask[i])
            calls = 0;                  /* the layers that make masks do it themselves */
        else if (!json_block_is_input(f, i) && calls < 1)
            return model_json_fail(f->r,
                                   "it is not connected to anything: \"inbound_nodes\" is empty");
        if (calls > CALLS_MAX)
            return model_json_fail(f->r, "it is called %zu times, more than %d", calls, CALLS_MAX);
        f->first_call[i] = count;
        count += json_block_is_input(f, i) ? 1 : (int)calls;
        if (count > CALLS_MAX)
            return model_json_fail(f->r, "with its calls the model has more than %d", CALLS_MAX);
    }
    make_call_list(f, count);
    return 0;
}

/* a chain: each layer is called once, on the one before it */
static void list_chain(struct json_block *f)
{
    int first = json_block_is_input(f, 0) ? 1 : 0;

    for (int i = 0; i < f->layer_count; i++)
        f->first_call[i] = i;
    make_call_list(f, f->layer_count);
    for (int i = first; i < f->layer_count; i++) {
        f->call[i].input[0] = (struct reference){.layer = i - 1};   /* -1: the block's input */
        f->call[i].input_count = 1;
    }
    f->output[0] = (struct reference){.layer = f->layer_count - 1};
    f->output_count = 1;
    f->input_count = 1;
    f->input[0] = first ? 0 : -1;
}

/* ---- layers ---- */

static struct json_block *read_block(struct model_json_reader *r, const json_t *model, int depth);

static void add_part(struct model *m, const char *prefix, const char *class)
{
    m->part = mem_grow(m->part, &m->part_capacity, (size_t)m->part_count + 1, sizeof(*m->part));
    m->part[m->part_count++] = (struct model_part){prefix, class};
}

/* a model inside the model, whose layers have names of their own */
static int read_inner(struct json_block *f, int i, const json_t *model, const char *class,
                      int depth)
{
    const char *outside = f->r->prefix;

    f->r->prefix = arena_printf(f->r->arena, "%s%s/", outside, f->name[i]);
    add_part(f->r->model, f->r->prefix, class);
    f->inner[i] = read_block(f->r, model, depth + 1);
    f->r->prefix = outside;
    return f->inner[i] ? 0 : -1;
}

/* Keras's, of a model or of what is read as one */
static const char *class_of_model(const json_t *model)
{
    if (json_object_get(json_object_get(model, "config"), JSON_STACK_FIELD))
        return "RNN";
    return json_is_functional(model) ? "Functional" : "Sequential";
}

/* each layer of the model on each step by itself; -1: one is so already */
static int distribute(struct json_block *f)
{
    for (int i = 0; i < f->layer_count; i++) {
        struct layer *l = f->layer[i];

        f->r->name = f->name[i];
        if (l && l->is_distributed)
            return model_json_fail(f->r, "TimeDistributed inside a TimeDistributed model is not "
                                   "supported");
        if (l)
            l->is_distributed = true;
        if (f->inner[i] && distribute(f->inner[i]) != 0)
            return -1;
    }
    return 0;
}

/* TimeDistributed of a model; NULL: it is something else */
static const json_t *distributed_model(const json_t *layer)
{
    const char *class = json_string_value(json_object_get(layer, "class_name"));
    const json_t *inner = json_object_get(json_object_get(layer, "config"), "layer");

    return class && strcmp(class, "TimeDistributed") == 0 && json_is_model(inner) ? inner : NULL;
}

/* a layer, a model with names of its own, or nothing for an input; -1 */
static int read_one(struct json_block *f, int i, int depth)
{
    const json_t *layer = json_array_get(f->layers, (size_t)i);
    enum layer_kind kind;

    if (json_is_model(layer))
        return read_inner(f, i, layer, class_of_model(layer), depth);
    if (distributed_model(layer))
        return read_inner(f, i, distributed_model(layer), "TimeDistributed", depth)
                   ? -1 : distribute(f->inner[i]);
    if (f->is_mask[i])
        return 0;
    if (json_is_op(layer) || json_is_wrapper(layer)) {
        f->layer[i] = json_is_op(layer) ? json_read_op(f->r, layer, (size_t)i)
                                        : json_read_wrapper(f->r, layer, (size_t)i);
        return f->layer[i] ? 0 : -1;
    }
    if (model_json_read_class(f->r, layer, &kind) != 0)
        return -1;
    if (kind == LAYER_INPUT)
        return 0;
    f->layer[i] = model_json_read_layer(f->r, layer, (size_t)i);
    return f->layer[i] ? 0 : -1;
}

static bool is_input_layer(const json_t *layer)
{
    const char *class = json_string_value(json_object_get(layer, "class_name"));

    return class && strcmp(class, layer_class(LAYER_INPUT)) == 0;
}

/* A chain's input comes before its layers, as Keras lists them. */
static int add_chain_input(struct json_block *f, const json_t *model)
{
    const json_t *first = json_array_get(f->layers, 0);

    f->r->name = json_string_value(json_object_get(json_object_get(first, "config"), "name"));
    f->chain_input = is_input_layer(first) ? model_json_read_input(f->r, first, 0)
                                           : json_stated_input(f->r, model, first);
    return f->chain_input < 0 ? -1 : 0;
}

static int read_layers(struct json_block *f, int depth)
{
    int first = 0;

    if (f->chain_input >= 0 && is_input_layer(json_array_get(f->layers, 0))) {
        first = 1;                      /* made already */
        f->name[0] = f->r->model->layer[f->r->model->node[f->chain_input].layer]->name;
    }
    for (int i = first; i < f->layer_count; i++) {
        const char *full;

        if (model_json_read_name(f->r, json_array_get(f->layers, (size_t)i), (size_t)i, &full) != 0)
            return -1;
        f->name[i] = full + strlen(f->r->prefix);
        f->r->name = full;
        for (int k = 0; k < i; k++)
            if (strcmp(f->name[k], f->name[i]) == 0)
                return model_json_fail(f->r, "two layers have this name");
        if (read_one(f, i, depth) != 0)
            return -1;
    }
    return 0;
}

/* the i-th of [["a", 0, 0], ["b", 0, 0]], of a table of such by name, or of ["a", 0, 0]; or NULL */
static const json_t *end_of(const json_t *ends, size_t i)
{
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)ends, key, v)
        if (i-- == 0)
            return v;
    if (json_is_object(ends))
        return NULL;
    if (is_history(ends))
        return i == 0 ? ends : NULL;
    return json_array_get(ends, i);
}

static int add_input(struct json_block *f, int layer)
{
    bool is_new = json_block_is_input(f, layer);

    for (int i = 0; i < f->input_count; i++)
        is_new = is_new && f->input[i] != layer;
    if (!is_new)
        return model_json_fail(f->r,
                               "\"input_layers\" names \"%s\", which is no InputLayer or named "
                               "twice",
                               f->name[layer]);
    f->input[f->input_count++] = layer;
    return 0;
}

/* in the order of the model's list; those that it does not name come last */
static int list_inputs(struct json_block *f, const json_t *config)
{
    const json_t *ends = json_object_get(config, "input_layers"), *end;
    int named;

    f->r->name = NULL;
    for (size_t i = 0; (end = end_of(ends, i)) != NULL; i++) {
        struct reference at;

        if (read_reference(f, end, "\"input_layers\" names", &at) != 0 ||
            add_input(f, at.layer) != 0)
            return -1;
    }
    named = f->input_count;
    for (int i = 0; i < f->layer_count; i++) {
        bool is_named = false;

        for (int k = 0; k < named; k++)
            is_named = is_named || f->input[k] == i;
        if (json_block_is_input(f, i) && !is_named)
            f->input[f->input_count++] = i;
    }
    return f->input_count > 0 ? 0 : model_json_fail(f->r, "the model has no InputLayer");
}

static int list_outputs(struct json_block *f, const json_t *config)
{
    const json_t *ends = json_object_get(config, "output_layers"), *end;

    f->r->name = NULL;
    f->output = arena_array(f->r->arena, json_array_size(ends) + json_object_size(ends) + 1,
                            sizeof(*f->output));
    for (size_t i = 0; (end = end_of(ends, i)) != NULL; i++)
        if (read_reference(f, end, "\"output_layers\" names", &f->output[f->output_count++]) != 0)
            return -1;
    return 0;
}

/* ---- blocks ---- */

static struct json_block *new_block(struct model_json_reader *r, const json_t *layers)
{
    struct json_block *f = arena_array(r->arena, 1, sizeof(*f));
    size_t count = json_array_size(layers);

    f->r = r;
    f->chain_input = -1;
    f->layers = layers;
    f->layer_count = (int)count;
    f->name = arena_array(r->arena, count, sizeof(*f->name));
    f->layer = arena_array(r->arena, count, sizeof(*f->layer));
    f->inner = arena_array(r->arena, count, sizeof(*f->inner));
    f->is_mask = arena_array(r->arena, count, sizeof(*f->is_mask));
    f->first_call = arena_array(r->arena, count + 1, sizeof(*f->first_call));
    f->input = arena_array(r->arena, count + 1, sizeof(*f->input));
    f->output = arena_array(r->arena, 1, sizeof(*f->output));
    return f;
}

static struct json_block *read_block(struct model_json_reader *r, const json_t *model, int depth)
{
    const json_t *config = json_object_get(model, "config");
    const json_t *layers = json_is_array(config) ? config : json_object_get(config, "layers");
    size_t count = json_array_size(layers);
    struct json_block *f;

    if (depth > DEPTH_MAX) {
        model_json_fail(r, "models stand inside models more than %d deep", DEPTH_MAX);
        return NULL;
    }
    if (count < 1 || count > MODEL_LAYERS_MAX) {
        model_json_fail(r, "\"layers\" must be a list of 1..%d layers", MODEL_LAYERS_MAX);
        return NULL;
    }
    f = new_block(r, layers);
    if (depth == 0 && !json_is_functional(model) && add_chain_input(f, model) != 0)
        return NULL;
    json_block_find_masks(f, config);
    if (read_layers(f, depth) != 0)
        return NULL;
    if (!json_is_functional(model)) {
        for (int i = 1; i < f->layer_count; i++)
            if (json_block_is_input(f, i)) {
                r->name = f->name[i];
                model_json_fail(r, "an InputLayer must come first, and there can be only one");
                return NULL;
            }
        list_chain(f);
        return f;
    }
    if (list_calls(f) != 0 || list_inputs(f, config) != 0 || read_calls(f) != 0 ||
        list_outputs(f, config) != 0)
        return NULL;
    json_block_renumber(f);
    return f;
}

struct json_block *json_read_block(struct model_json_reader *r, const json_t *model)
{
    return read_block(r, model, 0);
}

int json_block_input_count(const struct json_block *f)
{
    return f->input_count;
}

int json_block_input(struct json_block *f, int i)
{
    size_t index = (size_t)f->input[i];

    if (f->chain_input >= 0)
        return f->chain_input;
    f->r->name = NULL;
    return model_json_read_input(f->r, json_array_get(f->layers, index), index);
}
