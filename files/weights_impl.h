/* Declares what the readers and writers of weights share; private to files/weights*.c. */
#ifndef FILES_WEIGHTS_IMPL_H
#define FILES_WEIGHTS_IMPL_H
#include "files/h5.h"
#include "files/weights.h"

struct weights_array {
    const char *name;                   /* "dense/kernel" */
    int rank;
    const int64_t *dim;
    const float *value;
};

/* what a file says of one layer, or of a model inside the model, in its order */
struct weights_layer {
    const char *name;
    struct weights_array *array;
    int count;
};

struct weights_reader {
    const struct model *m;
    const char *path;                   /* of the file */
    struct arena *arena;
    struct weights_value *value;        /* what has been found */
    int count;
    struct err *err;
};

/* the variable takes the array; -1 where the shape is another. `where`: the file's name of it */
int weights_take(struct weights_reader *r, const struct layer *l, int variable,
                 const struct weights_array *from, const char *where);
/* "kernel", of "dense/kernel" of layer "dense" */
const char *weights_local_name(const struct weights_reader *r, const struct layer *l,
                               int variable);
/* an error about this layer of the model; -1 */
int weights_fail(struct weights_reader *r, const struct layer *l, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- layers by name, each with a list of arrays: Keras 2 and TensorFlow.js ---- */
int weights_of_layers(struct weights_reader *r, const struct weights_layer *layer, int count);
/* has the model a layer, or a model inside it, of this name? */
bool weights_is_layer(const struct weights_reader *r, const char *name, size_t length);
/* one behind the other in the order of the model's layers, whatever they are called */
int weights_of_list(struct weights_reader *r, struct weights_array *array, int count);
int weights_of_groups(struct weights_reader *r, const struct h5_file *f);
int weights_of_tfjs(struct weights_reader *r, const uint8_t *text, size_t size);

/* ---- places by class and number: Keras 3 ---- */

/* where Keras 3 keeps layers and models inside the model, and what they are called there */
struct weights_places {
    const char **layer;                 /* "layers/functional/layers/dense_1", by layer */
    const char **part;                  /* by model inside the model */
};
struct weights_places weights_places_of(const struct model *m, struct arena *a);
/* "layers/lstm/cell/vars/0": the i-th variable of a layer that is at `place` */
const char *weights_variable_path(const struct layer *l, int i, const char *place,
                                  const struct variable_set *set, struct arena *a);
/* the model inside which the layer is, -1: none; what of its name is its own */
int weights_part_of(const struct model *m, const char *name, const char **own);
int weights_of_places(struct weights_reader *r, const struct h5_file *f);
#endif
