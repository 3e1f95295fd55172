/*
 * Models in whatever file Keras keeps them: model.to_json(), TensorFlow.js's model.json, a .keras,
 * a whole .h5.
 */
#ifndef FILES_MODEL_FILE_H
#define FILES_MODEL_FILE_H
#include "keras/model/model.h"

/* The structure alone, as model_from_json reads it; *config, if asked for: its JSON, in arena a. */
int model_file_read(struct model *m, struct arena *a, const char *path, const char **config,
                    struct err *e);
#endif
