/*
 * Weights of Keras models as files: read from what Keras 3 (.weights.h5, .keras), Keras 2 (.h5,
 * weights alone or whole models), TensorFlow.js (model.json and the shards beside it) and
 * safetensors hold; written for Keras 3 and as safetensors.
 *
 * The format is told by what is in a file. Layers are found by their names; where the names of the
 * model are not all there, in their order, as Keras itself does, for names are often made anew.
 * Every variable of the model must be there with its shape, and no layer may be left over. What an
 * optimizer keeps is passed over.
 */
#ifndef FILES_WEIGHTS_H
#define FILES_WEIGHTS_H
#include "keras/model/model.h"

struct weights_value {
    int variable;                       /* of the model's set */
    const float *value;                 /* all of it, row-major */
};

/*
 * The model, which is built, has as many of them as model_weight_count says; in arena `a`. -1:
 * layer, weight, both shapes, or the nearest name.
 */
int weights_read(const char *path, const struct model *m, struct arena *a,
                 struct weights_value **value, int *count, struct err *e);

/* is it the suffix of a format that is written? -1 with those that are */
int weights_check_suffix(const char *path, struct err *e);
/*
 * One value for each variable of the model that a file has. `config`: what Keras 3's
 * model.to_json() says of it, which a .keras needs. The file appears whole or not at all.
 */
int weights_write(const char *path, const struct model *m, const char *config,
                  const struct weights_value *value, int count, struct err *e);
/* the variables that files have: those of layers, in their order */
int weights_list(const struct model *m, struct arena *a, struct weights_value **value);
#endif
