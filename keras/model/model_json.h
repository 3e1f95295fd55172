/* Declares the reader of Keras JSON; private to model_json*.c. */
#ifndef KERAS_MODEL_JSON_H
#define KERAS_MODEL_JSON_H
#include <jansson.h>

#include "keras/layers/layer_fields.h"
#include "keras/model/model_impl.h"

#define MODEL_LAYERS_MAX 4000
#define JSON_CELL_FIELD "_cell"         /* in a config that stands for an RNN of a cell: its name */

#define JSON_STACK_FIELD "_stack"       /* in a Sequential's that stands for an RNN of several cells */

struct model_json_reader {
    struct model *model;
    struct arena *arena;
    const char *path;
    struct err *err;
    const char *name;                   /* of the layer being read, or NULL */
    const char *prefix;                 /* of names inside a model inside the model: "inner/" */
    const char *input_sizes;            /* that the file leaves open: "image=28x28x1"; or NULL */
};

/* an error about the current layer; -1 */
int model_json_fail(struct model_json_reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* not missing and not null */
bool model_json_is_given(const json_t *v);
/* [null, d1, d2, ..] as the shape of a sample, null as -1; `field` in messages */
int model_json_read_sample(struct model_json_reader *r, const json_t *v, const char *field,
                           struct shape *to);
/* one shape that may leave sizes open, and one that does not */
bool model_json_sizes_fit(const struct shape *said, const struct shape *is);
/* what the shape leaves open, from input_sizes; -1: it is not said there, or otherwise */
int model_json_fix_sizes(struct model_json_reader *r, const char *input, const char *field,
                         struct shape *sample);
/* -1: input_sizes names an input that the model has not */
int model_json_check_sizes(struct model_json_reader *r);
/* "float32", or an object of it; NULL if it is neither */
const char *model_json_dtype_name(const json_t *v);

/* one of a few names, any spelling of case; its number, or -1 with all of them */
int model_json_choice(struct model_json_reader *r, const json_t *v, const char *field,
                      const char *const *names, size_t count);
/* the parameter's value into the layer, by its type */
int model_json_read_field(struct model_json_reader *r, const struct layer_field *f, const json_t *v,
                          struct layer *l);

/* a layer of this kind with the parameters of its config; name NULL: Keras's next one */
struct layer *model_json_make_layer(struct model_json_reader *r, const json_t *config,
                                    enum layer_kind kind, const char *name);
/* the layer and all its parameters; NULL with a message. Not of an InputLayer. */
struct layer *model_json_read_layer(struct model_json_reader *r, const json_t *layer, size_t index);
/* the layer's name: of its config, or its own, or layer_<index> */
int model_json_read_name(struct model_json_reader *r, const json_t *layer, size_t index,
                         const char **name);
/* class, -1 with a message */
int model_json_read_class(struct model_json_reader *r, const json_t *layer, enum layer_kind *kind);
/* a call of model_input from an InputLayer; its number or -1 */
int model_json_read_input(struct model_json_reader *r, const json_t *layer, size_t index);
/* "batch_shape" or one of its other names in a config; NULL if there is none */
const json_t *model_json_batch_shape(const json_t *config, const char **field);
/* build_config.input_shape, where a file has one, against what its layer is called on */
int model_json_check_built(struct model_json_reader *r, const json_t *layer, const struct layer *l);

/* an operation of keras.ops, which stands among layers; as the layer that does the same */
bool json_is_op(const json_t *layer);
struct layer *json_read_op(struct model_json_reader *r, const json_t *layer, size_t index);
/* its arguments may be numbers, which it has in its parameters */
bool json_op_takes_numbers(const struct layer *l);
/* one of operations.def */
struct layer *json_read_operation(struct model_json_reader *r, const json_t *layer,
                                  const char *class, const char *name);
/* a number, a list of such, or an array that Keras wrote out */
bool json_is_constant(const json_t *v);
/* it makes a mask, or makes one of masks: Keras 3 writes how masks come about */
bool json_is_mask_op(const json_t *layer);

/* gives the fields and classes of older files the names that Keras 3 has for them; -1 */
int json_modernize(struct model_json_reader *r, json_t *model);

/* an operation of TensorFlow, which tf.keras 2 writes; it becomes one of keras.ops, or -1 */
bool json_is_tf_operation(const json_t *layer);
int json_turn_tf_operation(struct model_json_reader *r, json_t *layer, json_t *config);

/* parts of arrays whose batch is not in front become parts of those that have it there */
void json_put_batch_first(json_t *layers, const json_t *outputs);

/* Bidirectional or TimeDistributed: the layer inside, which knows that it is wrapped */
bool json_is_wrapper(const json_t *layer);
struct layer *json_read_wrapper(struct model_json_reader *r, const json_t *layer, size_t index);

/* ---- models: blocks of calls ---- */
bool json_is_model(const json_t *v);
bool json_is_functional(const json_t *v);       /* of models: not a Sequential */
struct json_block;
/* makes the layers of a model, also of those inside it; NULL with a message */
struct json_block *json_read_block(struct model_json_reader *r, const json_t *model);
int json_block_input_count(const struct json_block *f);
/* makes the i-th input of the outermost model: its call, or -1 */
int json_block_input(struct json_block *f, int i);
/* the input of a chain that has no InputLayer, by what the model or its first layer states */
int json_stated_input(struct model_json_reader *r, const json_t *model, const json_t *first);
/* all its calls on these calls of the model; how many outputs there are, or -1 */
int json_block_call(struct json_block *f, const int *input, int count, int **output);
#endif
