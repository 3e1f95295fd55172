/*
 * A Keras model's layers on the logical devices of a replica (docs/parallel.md): "dense=0,out=1"
 * says who makes what dense and out give. A layer that is not named is where its first input is;
 * one before all that are, where its output is needed.
 */
#ifndef TRAIN_LAYER_DEVICES_H
#define TRAIN_LAYER_DEVICES_H
#include "keras/model/model.h"

/* how many devices the text speaks of, all from 0 on. -1: it is no list of names and numbers */
int layer_devices_count(const char *text, int *count, struct err *e);

/*
 * Sets what is said of all calls of `m`, which need not be built. -1: a name that no layer has or
 * that stands there twice, a device that is not there.
 */
int layer_devices_set(struct model *m, const char *text, int device_count, struct err *e);

/* Into buf: "dense, relu on 0; out on 1"; cut where it does not fit. Returns buf. */
char *layer_devices_print(const struct model *m, int device_count, char *buf, size_t buf_bytes);
#endif
