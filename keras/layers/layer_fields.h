/*
 * The table of layers' parameters (layer_fields.def) as data: what reads JSON and what checks a
 * layer made in C walk over it.
 */
#ifndef KERAS_LAYER_FIELDS_H
#define KERAS_LAYER_FIELDS_H
#include "keras/layers/layer.h"

enum layer_field_type {
    FIELD_INT, FIELD_OPT_INT, FIELD_REAL, FIELD_OPT_REAL, FIELD_BOOL, FIELD_PAIR, FIELD_OPT_PAIR,
    FIELD_PADDING, FIELD_ACTIVATION, FIELD_INITIALIZER, FIELD_REGULARIZER, FIELD_AXIS, FIELD_SHAPE,
    FIELD_PADS, FIELD_ONE, FIELD_OPT_ONE, FIELD_ENDS, FIELD_INTERPOLATION,
    FIELD_REALS
};

struct layer_field {
    enum layer_kind kind;
    const char *name;
    enum layer_field_type type;
    size_t offset;                      /* in struct layer_config */
    double standard;                    /* NaN: must be given */
    double low, high;
};

extern const struct layer_field layer_fields[];
extern const size_t layer_field_count;

bool layer_field_is_required(const struct layer_field *f);
/* -1 with the field, its value and what is allowed */
int layer_check_fields(const struct layer *l, struct err *e);
const char *layer_standard_name(enum layer_kind kind);
#endif
