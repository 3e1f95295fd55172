/*
 * How a Keras model's variables lie on the logical devices of a replica, by name, after Keras's
 * LayoutMap: "dense/kernel=-,model; dense_1/kernel=model" cuts the columns of one kernel and the
 * rows of another along the axis "model" of the mesh (docs/parallel.md). Names may have the
 * wildcards of file names: "block_?/kernel=-,model".
 */
#ifndef TRAIN_MODEL_LAYOUTS_H
#define TRAIN_MODEL_LAYOUTS_H
#include "keras/model/model.h"

/*
 * "model=2,expert=2" as axes 1 and 2 of *m, whose axis 0, "replicas", has size 1 then; *m borrows
 * names that are `a`'s. An empty text has none. -1: no such list, too many axes, a name twice.
 */
int model_mesh_read(const char *text, struct arena *a, struct mesh *m, struct err *e);

/*
 * Of a built model that no strategy has placed yet. Dimensions from the first on, "-" not cut,
 * those behind not either. -1: a pattern that no variable has, a variable that two have, an axis
 * that is not there, a dimension that does not divide.
 */
int model_layouts_set(const struct model *m, const struct mesh *mesh, const char *text,
                      struct arena *a, struct err *e);
#endif
