/* Declares what the files of models share; private to keras/model/. */
#ifndef KERAS_MODEL_IMPL_H
#define KERAS_MODEL_IMPL_H
#include "keras/model/model.h"

#define MODEL_NAME_CHARS_MAX 100

/* the first layer of this name, or NULL */
struct layer *model_find_layer(const struct model *m, const char *name);
/* names go into dumps and messages */
bool model_is_plain_name(const char *name);
/* a node whose samples have `rank` dimensions: the layer's features to the end, or back */
int model_move_features(struct graph *g, const struct layer *l, int node, int rank, bool is_back);
enum graph_dtype model_dtype_of(const struct model *m, const struct layer *l);
/* the variables that the layer has from its first call are those that a call on these would make */
bool model_has_same_variables(const struct layer *l, const struct shape *in, int count);
#endif
