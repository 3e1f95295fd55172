/*
 * Checks and reads numbers that users give by name, with their ranges, for optimizers and
 * schedules.
 */
#ifndef KERAS_NUMBER_H
#define KERAS_NUMBER_H
#include "base/err.h"

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
/* "whole numbers in 0..65536"; returns buf */
char *number_range(const struct hyperparameter *n, char *buf, size_t buf_bytes);
/* letters of one size: is it the same name? */
int number_same_name(const char *a, const char *b);
#endif
