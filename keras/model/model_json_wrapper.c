/* Reads layers around layers from Keras JSON: Bidirectional, TimeDistributed,
   SpectralNormalization. */
#include "keras/model/model_json.h"

#include <string.h>

#include "base/units.h"
#include "keras/layers/spectral.h"

#define POWER_ITERATIONS_MAX 100

static const char *class_of(const json_t *layer)
{
    const char *class = json_string_value(json_object_get(layer, "class_name"));

    return class ? class : "";
}

bool json_is_wrapper(const json_t *layer)
{
    return strcmp(class_of(layer), "Bidirectional") == 0 ||
           strcmp(class_of(layer), "TimeDistributed") == 0 ||
           strcmp(class_of(layer), "SpectralNormalization") == 0;
}

/* -1: the backward layer computes something else than the forward one turned round */
static int check_backward(struct model_json_reader *r, const json_t *forward,
                          const json_t *backward)
{
    static const char *const fields[] = {"units", "activation", "recurrent_activation", "use_bias",
                                         "reset_after", "return_sequences", "return_state",
                                         "dropout", "recurrent_dropout"};

    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const json_t *a = json_object_get(forward, fields[i]);
        const json_t *b = json_object_get(backward, fields[i]);

        if (a && b && !json_equal(a, b))
            return model_json_fail(r, "the layers of a Bidirectional differ in \"%s\", which is not "
                                   "supported", fields[i]);
    }
    return 0;
}

static int make_two_way(struct model_json_reader *r, const json_t *config, struct layer *l)
{
    static const char *const names[] = {"concat", "sum", "mul", "ave"};
    static const enum layer_merge modes[] = {LAYER_CONCATENATED, LAYER_SUMMED, LAYER_MULTIPLIED,
                                             LAYER_AVERAGED};
    const json_t *mode = json_object_get(config, "merge_mode");
    int which = mode && !json_is_null(mode)
                    ? model_json_choice(r, mode, "merge_mode", names, COUNT_OF(names)) : 0;

    if (which < 0)
        return -1;
    if (l->kind != LAYER_LSTM && l->kind != LAYER_GRU && l->kind != LAYER_SIMPLE_RNN)
        return model_json_fail(r, "Bidirectional is of SimpleRNN, LSTM or GRU, not of %s",
                               layer_class(l->kind));
    if (l->c.goes_backward)
        return model_json_fail(r, "Bidirectional's layer must not go backwards by itself");
    if (check_backward(r, json_object_get(json_object_get(config, "layer"), "config"),
                       json_object_get(json_object_get(config, "backward_layer"), "config")) != 0)
        return -1;
    l->c.zeroes_masked = l->c.returns_sequences;        /* whatever the layer inside says */
    l->c.both = mode && json_is_null(mode) ? LAYER_APART : modes[which];
    return 0;
}

static int make_spectral(struct model_json_reader *r, const json_t *config, struct layer *l)
{
    const json_t *v = json_object_get(config, "power_iterations");

    if (!spectral_takes(l->kind))
        return model_json_fail(r, "SpectralNormalization is of a layer with a kernel, not of %s", layer_class(l->kind));
    l->c.power_iterations = v ? json_integer_value(v) : 1;
    if (l->c.power_iterations < 1 || l->c.power_iterations > POWER_ITERATIONS_MAX)
        return model_json_fail(r, "\"power_iterations\" must be a whole number in 1..%d",
                               POWER_ITERATIONS_MAX);
    return 0;
}

/* as the file has it, or by its class: Keras 2 does not say the backward one's */
static const char *inner_name(struct model_json_reader *r, const json_t *layer,
                              const char *direction, const struct layer *l)
{
    const char *name = json_string_value(json_object_get(json_object_get(layer, "config"),
                                                         "name"));

    if (name && model_is_plain_name(name))
        return arena_strdup(r->arena, name);
    return arena_printf(r->arena, "%s_%s", direction, layer_standard_name(l->kind));
}

struct layer *json_read_wrapper(struct model_json_reader *r, const json_t *layer, size_t index)
{
    const json_t *config = json_object_get(layer, "config");
    const json_t *inner = json_object_get(config, "layer");
    enum layer_kind kind;
    const char *name;
    struct layer *l;

    if (model_json_read_name(r, layer, index, &name) != 0)
        return NULL;
    r->name = name;
    if (model_json_read_class(r, inner, &kind) != 0)
        return NULL;
    if (kind == LAYER_INPUT) {
        model_json_fail(r, "an InputLayer is no layer to be wrapped");
        return NULL;
    }
    l = model_json_make_layer(r, json_object_get(inner, "config"), kind, name);
    if (!l)
        return NULL;
    l->is_trainable = l->is_trainable && !json_is_false(json_object_get(config, "trainable"));
    l->wrapped[0] = inner_name(r, inner, "forward", l);
    l->wrapped[1] = inner_name(r, json_object_get(config, "backward_layer"), "backward", l);
    if (strcmp(l->wrapped[0], l->wrapped[1]) == 0)      /* variables are told apart by them */
        l->wrapped[1] = arena_printf(r->arena, "backward_%s", l->wrapped[1]);
    if (strcmp(class_of(layer), "TimeDistributed") == 0)
        l->is_distributed = true;
    else if (strcmp(class_of(layer), "SpectralNormalization") == 0
                 ? make_spectral(r, config, l) != 0 : make_two_way(r, config, l) != 0)
        return NULL;
    return l;
}
