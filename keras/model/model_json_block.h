/* Declares what a model in Keras JSON is once it is read; private to model_json_graph.c,
 * _calls.c, _masks.c. */
#ifndef KERAS_MODEL_JSON_BLOCK_H
#define KERAS_MODEL_JSON_BLOCK_H
#include "keras/model/model_json.h"

struct reference {                      /* an output of one call of a layer of the file, */
    int layer;                          /* or, if -1, an input of the block */
    int64_t call, output;
};

struct call {
    int layer;
    struct reference input[LAYER_INPUTS_MAX];
    int input_count;
    bool takes_mask;                    /* the file says that its input has one */
    bool never_trains;                  /* training=False */
    int *node;                          /* of the model, an output each, once made; else NULL */
    int node_count;
};

struct json_block {
    struct model_json_reader *r;
    const json_t *layers;               /* of the file */
    const char **name;                  /* by layer of the file */
    struct layer **layer;               /* NULL: an input, or a model inside the model */
    struct json_block **inner;
    bool *is_mask;                      /* operations that make masks, which layers here do */
    int *first_call;                    /* of each layer: its calls are those up to the next's */
    struct call *call;
    int layer_count, call_count;
    int *input;                         /* layers that are inputs, in the model's order */
    int input_count;
    struct reference *output;
    int output_count;
    int chain_input;                    /* of the outermost model, if it is a chain; else -1 */
};

static inline bool json_block_is_input(const struct json_block *f, int layer)
{
    return !f->layer[layer] && !f->inner[layer] && !f->is_mask[layer];
}

/* fills is_mask from the layers of the file and the model's outputs; names need not be read yet */
void json_block_find_masks(struct json_block *f, const json_t *config);
/* calls of inner models by their place in the file, whatever Keras counts them from */
void json_block_renumber(struct json_block *f);
#endif
