/*
 * Keras objects written as Python writes them: "Conv2D(256, 3, activation='relu')".
 *
 * A call becomes what model.to_json() would have of the object, so that there is one way to make
 * layers, losses, optimizers and schedules:
 *
 *   {"class_name": "Conv2D", "args": [256, 3], "config": {"activation": "relu"}}
 *
 * "args" are the arguments without a name, in order, and absent if there are none. Values are
 * numbers, 'text' or "text", True, False, None, (tuples), [lists] and calls; a name alone, relu,
 * is text; a call without brackets, adam, is one without arguments. What is reckoned with numbers,
 * 1./255 or 2**3 * (4 + 1), is its result.
 */
#ifndef KERAS_CALL_H
#define KERAS_CALL_H
#include "base/err.h"

#include <stdbool.h>

#include <jansson.h>

/*
 * The caller releases *call with json_decref. -1 with the column in *e (line 1): not of this
 * form, or a name given twice.
 */
int call_parse(const char *text, json_t **call, struct err *e);

/* "1./255" as a number, which the caller releases; NULL: it is none */
json_t *call_number(const char *text, struct err *e);

/*
 * Puts "args" into "config" under the names of the class's parameters, in their order (NULL
 * ends), as Python does. -1: too many of them, or one that "config" has already.
 */
int call_name_args(json_t *call, const char *const *names, struct err *e);
/* -1 naming the first argument that is none of these (NULL ends), and the nearest of them */
int call_check_names(const json_t *call, const char *const *names, struct err *e);
#endif
