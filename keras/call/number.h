/*
 * Checks and reads numbers that users give by name, with their ranges, for optimizers and
 * schedules.
 */
#ifndef KERAS_NUMBER_H
#define KERAS_NUMBER_H
#include "base/err.h"

#include <stddef.h>

#include <jansson.h>

/* CHOICE: which of several words, from 0 on */
enum number_kind { REAL, WHOLE, FLAG, CHOICE };
struct hyperparameter {
    const char *name;
    enum number_kind kind;
    double low, high;
    const char *meaning;                /* or NULL; of a CHOICE its words with | between them */
};

/* -1: out of its range, or not whole; `owner` says whose number it is */
int number_check(const struct hyperparameter *n, const char *owner, double value, struct err *e);
/* *value from a JSON number, true or false, a CHOICE's word; -1: none of these, or out of range */
int number_read(const struct hyperparameter *n, const char *owner, const json_t *json,
                double *value, struct err *e);
/*
 * Small objects of Keras that are a name and a few numbers: initialisers, regularisers,
 * constraints. Rows of one kind stand in the order of its arguments; `offset` is that of a double.
 */
struct number_field {
    int kind;
    struct hyperparameter is;
    size_t offset;
    double standard;
};
struct number_table {
    const struct number_field *row;
    size_t count;
    const char *const *others;          /* arguments that are no numbers, NULL behind them */
};
void number_table_standard(const struct number_table *t, int kind, void *to);
/* "L2", or {"class_name": "L2", "args": [0.1], "config": {}}: the name, or NULL */
const char *number_table_name(const json_t *v);
/* what such an object says beside the standard; -1: what it has not, or out of range */
int number_table_read(const struct number_table *t, int kind, const json_t *v, void *to,
                      struct err *e);

/* "whole numbers in 0..65536"; returns buf */
char *number_range(const struct hyperparameter *n, char *buf, size_t buf_bytes);
/* letters of one size: is it the same name? */
int number_same_name(const char *a, const char *b);
#endif
