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
    FIELD_PADS, FIELD_ONE, FIELD_OPT_ONE, FIELD_ENDS, FIELD_REALS, FIELD_CHOICE, FIELD_TEXT,
    FIELD_TRIPLE, FIELD_OPT_TRIPLE, FIELD_PADS3
};

struct layer_field {
    enum layer_kind kind;
    const char *name;
    enum layer_field_type type;
    size_t offset;                      /* in struct layer_config */
    double standard;                    /* NaN: must be given */
    double low, high;                   /* of a CHOICE: how many of its names it may have; 0: all */
};

extern const struct layer_field layer_fields[];
extern const size_t layer_field_count;

#define LAYER_CHOICES_MAX 6
/* the names that a field of type CHOICE may have, in the order of their enum; NULL behind them */
const char *const *layer_choices(const char *field);
/* whole numbers that a field of this type holds and bounds; 0: none */
int layer_field_width(enum layer_field_type type);
bool layer_field_is_required(const struct layer_field *f);
/* -1 with the field, its value and what is allowed */
int layer_check_fields(const struct layer *l, struct err *e);
const char *layer_standard_name(enum layer_kind kind);
#endif
