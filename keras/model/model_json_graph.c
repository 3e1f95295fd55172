/* Reads functional models from Keras JSON, whose layers say what they were called on. */
#include "keras/model/model_json.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "keras/layers/layer_impl.h"

#define CALLS_MAX (4 * MODEL_LAYERS_MAX)

struct reference {                      /* output of one call of a layer */
    int layer;                          /* of the file */
    int64_t call;
};

struct call {
    int layer;
    struct reference input[LAYER_INPUTS_MAX];
    int input_count;
    int node;                           /* of the model, once made; else -1 */
};

struct functional {
    struct json_reader *r;
    const char **name;                  /* by layer of the file */
    struct layer **layer;               /* NULL: an input */
    int *first_call;                    /* of each layer: its calls are those up to the next's */
    struct call *call;
    int layer_count, call_count;
};

static int find_layer(struct functional *f, const char *name)
{
    for (int i = 0; i < f->layer_count; i++)
        if (strcmp(f->name[i], name) == 0)
            return i;
    return -1;
}

static int unknown_layer(struct functional *f, const char *what, const char *name)
{
    char near[160];

    return json_fail(f->r, "%s \"%s\", which is no layer of the model%s", what, name,
                     text_did_you_mean(name, f->name, (size_t)f->layer_count, near,
                                       sizeof(near)));
}

/* ["dense", 0, 0] */
static bool is_history(const json_t *v)
{
    return json_is_string(json_array_get(v, 0)) && json_is_integer(json_array_get(v, 1));
}

static int read_reference(struct functional *f, const json_t *v, const char *what,
                          struct reference *to)
{
    const char *name = json_string_value(json_array_get(v, 0));
    int64_t output = json_integer_value(json_array_get(v, 2));

    if (!is_history(v))
        return json_fail(f->r, "%s what is no [\"layer\", call, output]", what);
    to->layer = find_layer(f, name);
    to->call = json_integer_value(json_array_get(v, 1));
    if (to->layer < 0)
        return unknown_layer(f, what, name);
    if (output != 0)
        return json_fail(f->r, "%s output %" PRId64 " of \"%s\", which has one", what, output,
                         name);
    return 0;
}

/* ---- calls ---- */

static int add_inputs(struct functional *f, struct call *c, const json_t *v);

static int add_reference(struct functional *f, struct call *c, const json_t *history)
{
    if (c->input_count == LAYER_INPUTS_MAX)
        return json_fail(f->r, "it is called on more than %d inputs", LAYER_INPUTS_MAX);
    return read_reference(f, history, "it takes", &c->input[c->input_count++]);
}

/* arguments by name that change what a layer does */
static int add_named(struct functional *f, struct call *c, json_t *kwargs)
{
    static const char *const inputs[] = {"query", "value", "key", "inputs"};
    struct layer *l = f->layer[c->layer];
    const char *key;
    json_t *v;

    for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs); i++)
        if (json_is_given(json_object_get(kwargs, inputs[i])) &&
            add_inputs(f, c, json_object_get(kwargs, inputs[i])) != 0)
            return -1;
    json_object_foreach(kwargs, key, v) {
        bool is_input = false;

        for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs); i++)
            is_input = is_input || strcmp(key, inputs[i]) == 0;
        if (is_input || json_is_null(v) || json_is_false(v))
            continue;
        if (strcmp(key, "use_causal_mask") != 0 || l->kind != LAYER_MULTI_HEAD_ATTENTION)
            return json_fail(f->r, "argument \"%s\" of its call is not supported; it must be null "
                             "or missing", key);
        l->c.is_causal = json_is_true(v);
    }
    return 0;
}

/* a tensor of Keras 3, one of Keras 2, or a list of them */
static int add_inputs(struct functional *f, struct call *c, const json_t *v)
{
    if (json_is_object(v)) {
        const json_t *h = json_object_get(json_object_get(v, "config"), "keras_history");

        return add_reference(f, c, h);
    }
    if (is_history(v)) {
        if (add_reference(f, c, v) != 0)
            return -1;
        return json_is_object(json_array_get(v, 3)) ? add_named(f, c, json_array_get(v, 3)) : 0;
    }
    if (!json_is_array(v))
        return json_fail(f->r, "it is called on what is no output of a layer");
    for (size_t i = 0; i < json_array_size(v); i++)
        if (!json_is_null(json_array_get(v, i)) &&
            add_inputs(f, c, json_array_get(v, i)) != 0)
            return -1;
    return 0;
}

static int read_call(struct functional *f, struct call *c, const json_t *node)
{
    if (!json_is_object(node))
        return add_inputs(f, c, node);
    if (add_inputs(f, c, json_object_get(node, "args")) != 0)
        return -1;
    return add_named(f, c, json_object_get(node, "kwargs"));
}

/* inputs are made, in the model's order, before anything else */
static int read_calls(struct functional *f, const json_t *layers)
{
    for (int i = 0; i < f->layer_count; i++) {
        const json_t *nodes = json_object_get(json_array_get(layers, (size_t)i), "inbound_nodes");

        f->r->name = f->name[i];
        for (int k = f->first_call[i]; f->layer[i] && k < f->first_call[i + 1]; k++)
            if (read_call(f, &f->call[k],
                          json_array_get(nodes, (size_t)(k - f->first_call[i]))) != 0)
                return -1;
    }
    return 0;
}

static int list_calls(struct functional *f, const json_t *layers)
{
    int count = 0;

    for (int i = 0; i < f->layer_count; i++) {
        const json_t *nodes = json_object_get(json_array_get(layers, (size_t)i), "inbound_nodes");
        size_t calls = json_array_size(nodes);

        f->r->name = f->name[i];
        if (f->layer[i] && calls < 1)
            return json_fail(f->r, "it is not connected to anything: \"inbound_nodes\" is empty");
        if (calls > CALLS_MAX)
            return json_fail(f->r, "it is called %zu times, more than %d", calls, CALLS_MAX);
        f->first_call[i] = count;
        count += f->layer[i] ? (int)calls : 1;
        if (count > CALLS_MAX)
            return json_fail(f->r, "with its calls the model has more than %d", CALLS_MAX);
    }
    f->first_call[f->layer_count] = f->call_count = count;
    f->call = arena_array(f->r->arena, (size_t)count, sizeof(*f->call));
    for (int i = 0; i < f->layer_count; i++)
        for (int k = f->first_call[i]; k < f->first_call[i + 1]; k++)
            f->call[k] = (struct call){.layer = i, .node = -1};
    return 0;
}

/* ---- layers ---- */

static int read_layers(struct functional *f, const json_t *layers)
{
    for (int i = 0; i < f->layer_count; i++) {
        const json_t *layer = json_array_get(layers, (size_t)i);
        enum layer_kind kind;

        if (json_read_name(f->r, layer, (size_t)i, &f->name[i]) != 0)
            return -1;
        f->r->name = f->name[i];
        for (int k = 0; k < i; k++)
            if (strcmp(f->name[k], f->name[i]) == 0)
                return json_fail(f->r, "two layers have this name");
        if (json_read_class(f->r, layer, &kind) != 0)
            return -1;
        if (kind == LAYER_INPUT)
            continue;
        f->layer[i] = json_read_layer(f->r, layer, (size_t)i);
        if (!f->layer[i])
            return -1;
    }
    return 0;
}

/* the i-th of [["a", 0, 0], ["b", 0, 0]] or ["a", 0, 0], or NULL */
static const json_t *end_of(const json_t *ends, size_t i)
{
    if (is_history(ends))
        return i == 0 ? ends : NULL;
    return json_array_get(ends, i);
}

static int add_input(struct functional *f, const json_t *layers, int layer)
{
    int call = f->first_call[layer];

    if (f->layer[layer] || f->call[call].node >= 0)
        return json_fail(f->r, "\"input_layers\" names \"%s\", which is no InputLayer or named "
                         "twice", f->name[layer]);
    f->call[call].node = json_read_input(f->r, json_array_get(layers, (size_t)layer),
                                         (size_t)layer);
    f->r->name = NULL;
    return f->call[call].node < 0 ? -1 : 0;
}

static int make_inputs(struct functional *f, const json_t *config, const json_t *layers)
{
    const json_t *ends = json_object_get(config, "input_layers"), *end;

    f->r->name = NULL;
    for (size_t i = 0; (end = end_of(ends, i)) != NULL; i++) {
        struct reference at;

        if (read_reference(f, end, "\"input_layers\" names", &at) != 0 ||
            add_input(f, layers, at.layer) != 0)
            return -1;
    }
    for (int i = 0; i < f->layer_count; i++)
        if (!f->layer[i] && f->call[f->first_call[i]].node < 0 && add_input(f, layers, i) != 0)
            return -1;
    return f->r->model->input_count > 0 ? 0 : json_fail(f->r, "the model has no InputLayer");
}

/* ---- order ---- */

/* its number among all calls, or -1 with a message */
static int call_of(struct functional *f, const struct reference *at)
{
    int count = f->first_call[at->layer + 1] - f->first_call[at->layer];

    if (at->call < 0 || at->call >= count)
        return json_fail(f->r, "it takes call %" PRId64 " of \"%s\", which is called %d time%s",
                         at->call, f->name[at->layer], count, count == 1 ? "" : "s");
    return f->first_call[at->layer] + (int)at->call;
}

/* 1: made; 0: something that it takes is not made yet; -1: a mistake */
static int try_call(struct functional *f, struct call *c, const json_t *layers)
{
    int input[LAYER_INPUTS_MAX];

    f->r->name = f->name[c->layer];
    for (int i = 0; i < c->input_count; i++) {
        int from = call_of(f, &c->input[i]);

        if (from < 0)
            return -1;
        input[i] = f->call[from].node;
        if (input[i] < 0)
            return 0;
    }
    c->node = model_call(f->r->model, f->layer[c->layer], input, c->input_count, f->r->err);
    if (c->node < 0)
        return -1;
    return json_check_built(f->r, json_array_get(layers, (size_t)c->layer), f->layer[c->layer])
               ? -1 : 1;
}

/* Files list a layer behind what it takes, nearly: so few rounds do. */
static int make_calls(struct functional *f, const json_t *layers)
{
    bool has_more = true, has_made = true;

    while (has_more && has_made) {
        has_more = has_made = false;
        for (int i = 0; i < f->call_count; i++) {
            int made = f->call[i].node >= 0 ? 0 : try_call(f, &f->call[i], layers);

            if (made < 0)
                return -1;
            has_made = has_made || made;
            has_more = has_more || f->call[i].node < 0;
        }
    }
    for (int i = 0; i < f->call_count && has_more; i++) {
        f->r->name = f->name[f->call[i].layer];
        if (f->call[i].node < 0)
            return json_fail(f->r, "it takes its own output, by way of other layers or at once: "
                             "the graph has a cycle");
    }
    return 0;
}

static int name_outputs(struct functional *f, const json_t *config)
{
    const json_t *ends = json_object_get(config, "output_layers"), *end;

    f->r->name = NULL;
    for (size_t i = 0; (end = end_of(ends, i)) != NULL; i++) {
        struct reference at;
        int call;

        if (read_reference(f, end, "\"output_layers\" names", &at) != 0)
            return -1;
        call = call_of(f, &at);
        if (call < 0)
            return -1;
        model_output(f->r->model, f->call[call].node);
    }
    return 0;
}

int json_read_functional(struct json_reader *r, const json_t *config, const json_t *layers)
{
    size_t count = json_array_size(layers);
    struct functional f = {.r = r, .layer_count = (int)count};

    f.name = arena_array(r->arena, count, sizeof(*f.name));
    f.layer = arena_array(r->arena, count, sizeof(*f.layer));
    f.first_call = arena_array(r->arena, count + 1, sizeof(*f.first_call));
    if (read_layers(&f, layers) != 0 || list_calls(&f, layers) != 0 ||
        make_inputs(&f, config, layers) != 0 || read_calls(&f, layers) != 0 ||
        make_calls(&f, layers) != 0)
        return -1;
    return name_outputs(&f, config);
}
