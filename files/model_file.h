/*
 * Models in whatever file Keras keeps them: model.to_json(), TensorFlow.js's model.json, a .keras,
 * a whole .h5.
 */
#ifndef FILES_MODEL_FILE_H
#define FILES_MODEL_FILE_H
#include "keras/model/model.h"

struct model_file {
    const char *config;                 /* the model's JSON */
    const char *training;               /* of an .h5: how it was compiled, JSON; NULL: not told */
};

/*
 * The structure, as model_from_json_sized reads it; *text, unless NULL: what the file says, in arena
 * a.
 */
int model_file_read(struct model *m, struct arena *a, const char *path, const char *input_sizes,
                    struct model_file *text, struct err *e);
#endif
