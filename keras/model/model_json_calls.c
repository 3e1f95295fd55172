/* Keras JSON: the calls of a model that was read, made in an order in which each has its inputs. */
#include "keras/model/model_json_block.h"

#include <inttypes.h>

#include "keras/layers/layer_impl.h"

/* ---- numbers of calls ---- */

/* nodes of Keras 1 and 2 are lists, those of Keras 3 objects */
static bool has_old_nodes(const struct json_block *f)
{
    for (int i = 0; i < f->layer_count; i++) {
        const json_t *nodes = json_object_get(json_array_get(f->layers, (size_t)i),
                                              "inbound_nodes");

        if (json_is_array(json_array_get(nodes, 0)))
            return true;
    }
    return false;
}

/* the lowest and the highest call of the layer that is referred to */
struct range {
    int64_t low, high;
};

static void widen(struct range *range, const struct reference *at, int layer)
{
    if (at->layer != layer)
        return;
    range->low = at->call < range->low ? at->call : range->low;
    range->high = at->call > range->high ? at->call : range->high;
}

static void lower(struct reference *at, int layer)
{
    at->call -= at->layer == layer;
}

/*
 * A model inside the model had a graph before it was called, which Keras 1 and 2 count as call 0;
 * Keras 3 does so among the outputs of the model around it, of a functional one. Each call leads
 * to somewhere, so they are counted from 1 where nothing refers to 0.
 */
static void renumber_layer(struct json_block *f, int layer, bool is_old)
{
    struct range taken = {INT64_MAX, -1}, given = {INT64_MAX, -1};
    int count = f->first_call[layer + 1] - f->first_call[layer];
    bool shifts_taken, shifts_given;

    for (int i = 0; i < f->call_count; i++)
        for (int k = 0; k < f->call[i].input_count; k++)
            widen(&taken, &f->call[i].input[k], layer);
    for (int i = 0; i < f->output_count; i++)
        widen(&given, &f->output[i], layer);
    if (is_old)
        shifts_taken = shifts_given = taken.low > 0 && given.low > 0;
    else {
        shifts_taken = taken.low > 0 && taken.high == count;
        shifts_given = given.low > 0 && (given.high == count || json_is_functional(
                                             json_array_get(f->layers, (size_t)layer)));
    }
    for (int i = 0; i < f->call_count && shifts_taken; i++)
        for (int k = 0; k < f->call[i].input_count; k++)
            lower(&f->call[i].input[k], layer);
    for (int i = 0; i < f->output_count && shifts_given; i++)
        lower(&f->output[i], layer);
}

void json_block_renumber(struct json_block *f)
{
    bool is_old = has_old_nodes(f);

    for (int i = 0; i < f->layer_count; i++)
        if (f->inner[i])
            renumber_layer(f, i, is_old);
}

/* ---- calls in order ---- */

/* the call's number among all, or -1 with a message */
static int call_of(struct json_block *f, const struct reference *at)
{
    int count = f->first_call[at->layer + 1] - f->first_call[at->layer];

    if (at->call < 0 || at->call >= count)
        return model_json_fail(f->r,
                               "it takes call %" PRId64 " of \"%s\", which is called %d time%s",
                               at->call, f->name[at->layer], count, count == 1 ? "" : "s");
    return f->first_call[at->layer] + (int)at->call;
}

/* 1: *node is the output's; 0: it is not made yet; -1: there is none */
static int find_output(struct json_block *f, const struct reference *at, const int *input,
                       int *node)
{
    const struct call *c;
    int from;

    if (at->layer < 0) {
        *node = input[at->output];
        return 1;
    }
    from = call_of(f, at);
    if (from < 0)
        return -1;
    c = &f->call[from];
    if (!c->node)
        return 0;
    if (at->output >= c->node_count)
        return model_json_fail(f->r, "it takes output %" PRId64 " of \"%s\", which has %d",
                               at->output, f->name[at->layer], c->node_count);
    *node = c->node[at->output];
    return 1;
}

/* a mask that the file gives a call must be one that its inputs have */
static int check_mask(struct json_block *f, const struct call *c, const int *input)
{
    bool has_mask = !c->takes_mask;

    for (int i = 0; i < c->input_count; i++)
        has_mask = has_mask || f->r->model->node[input[i]].has_mask;
    if (c->takes_mask && f->layer[c->layer]->kind != LAYER_ATTENTION &&
        layer_masking(f->layer[c->layer]->kind) == MASK_FOLLOWED && c->input_count > 3)
        has_mask = false;               /* a mask beside initial states */
    return has_mask ? 0
                    : model_json_fail(f->r, "argument \"mask\" of its call is not the mask of its "
                                            "input, which is not supported");
}

/* 1: made; 0: something that it takes is not made yet; -1: a mistake */
static int try_call(struct json_block *f, struct call *c, const int *outer)
{
    struct json_block *inner = f->inner[c->layer];
    int input[LAYER_INPUTS_MAX];

    f->r->name = f->name[c->layer];
    for (int i = 0; i < c->input_count; i++) {
        int found = find_output(f, &c->input[i], outer, &input[i]);

        if (found != 1)
            return found;
    }
    if (inner) {
        c->node_count = json_block_call(inner, input, c->input_count, &c->node);
        return c->node_count < 0 ? -1 : 1;
    }
    c->node_count = layer_output_count(f->layer[c->layer]);
    c->node = arena_array(f->r->arena, (size_t)c->node_count, sizeof(*c->node));
    c->node[0] = model_call(f->r->model, f->layer[c->layer], input, c->input_count, f->r->err);
    if (c->node[0] < 0 || check_mask(f, c, input) != 0)
        return -1;
    for (int i = 1; i < c->node_count; i++)
        c->node[i] = c->node[0] + i;
    return model_json_check_built(f->r, json_array_get(f->layers, (size_t)c->layer),
                                  f->layer[c->layer])
               ? -1
               : 1;
}

/* Files list a layer behind what it takes, nearly: so few rounds do. */
static int make_calls(struct json_block *f, const int *input)
{
    bool has_more = true, has_made = true;

    while (has_more && has_made) {
        has_more = has_made = false;
        for (int i = 0; i < f->call_count; i++) {
            int made = f->call[i].node ? 0 : try_call(f, &f->call[i], input);

            if (made < 0)
                return -1;
            has_made = has_made || made;
            has_more = has_more || !f->call[i].node;
        }
    }
    for (int i = 0; i < f->call_count && has_more; i++) {
        f->r->name = f->name[f->call[i].layer];
        if (!f->call[i].node)
            return model_json_fail(f->r,
                                   "it takes its own output, by way of other layers or at once: "
                                   "the graph has a cycle");
    }
    return 0;
}

int json_block_call(struct json_block *f, const int *input, int count, int **output)
{
    if (count != f->input_count)
        return model_json_fail(f->r, "it is a model of %d input%s, but is called on %d",
                               f->input_count, f->input_count == 1 ? "" : "s", count);
    for (int i = 0; i < f->call_count; i++)
        f->call[i].node = NULL;         /* of an earlier call of the same block */
    for (int i = 0; i < count; i++)
        if (f->input[i] >= 0) {
            struct call *c = &f->call[f->first_call[f->input[i]]];

            c->node = arena_array(f->r->arena, 1, sizeof(*c->node));
            c->node[0] = input[i];
            c->node_count = 1;
        }
    if (make_calls(f, input) != 0)
        return -1;
    *output = arena_array(f->r->arena, (size_t)f->output_count + 1, sizeof(**output));
    f->r->name = NULL;
    for (int i = 0; i < f->output_count; i++)
        if (find_output(f, &f->output[i], input, &(*output)[i]) != 1)
            return -1;
    return f->output_count;
}
