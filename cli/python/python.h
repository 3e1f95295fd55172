/*
 * A user's own Python over the simulated slice: where the library is that JAX loads, which
 * variables make it do so, and which interpreter runs.
 *
 * Variables are those that a user could set by hand (docs/jax.md); `systole jax` sets them for the
 * process that it becomes, `systole pjrt --env` prints them.
 */
#ifndef CLI_PYTHON_H
#define CLI_PYTHON_H
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define PYTHON_LIBRARY "libsystole_pjrt.so"
#define PYTHON_TPU "v5e-8"              /* where neither an option nor SYSTOLE_TPU names a slice */

enum python_mode { PYTHON_BOTH, PYTHON_TIMING, PYTHON_FUNCTIONAL, PYTHON_HOST };
#define PYTHON_MODES "both|timing|functional|host"

/* what `systole jax` was asked for; what is NULL, 0 or the default is left as the user has it */
struct python_options {
    const char *tpu, *out, *python;
    int mode;                           /* enum python_mode; -1: not said */
    int threads;
    int64_t assume_trips;
    bool is_highest, is_quiet;
};

struct python_variable { const char *name, *value; };
#define PYTHON_VARIABLES_MAX 16

/*
 * The library that belongs to this program: beside it, where it was built, or where both were
 * installed. NULL: in none of these places, which the message names.
 */
const char *python_library(struct arena *a, struct err *e);

/* A script of examples/jax, beside this program; NULL: it is not there, as the message says. */
const char *python_example(const char *name, struct arena *a, struct err *e);

/* The variables, of which JAX's come first; -1: no such slice, no library, no such folder. */
int python_variables(const struct python_options *o, struct arena *a,
                     struct python_variable v[PYTHON_VARIABLES_MAX], int *count, struct err *e);

/* --python, else $PYTHON, else python3: the path of a program; NULL: it is not there */
const char *python_interpreter(const char *asked, struct arena *a, struct err *e);

/* Becomes the interpreter with these arguments, NULL behind the last; returns only to fail. */
int python_become(const char *interpreter, char *const *argument, int count,
                  const struct python_variable *v, int variables, struct err *e);

/*
 * The output of a Python program, and in *status how it ended; -1: it could not be started, or took
 * longer than `seconds`. What is more than the room is left out.
 */
int python_ask(const char *interpreter, const char *program, const struct python_variable *v,
               int variables, int seconds, char *text, size_t text_bytes, int *status,
               struct err *e);

/* `systole pjrt --check`: a line for each part; returns how many are wrong, -1 with a mistake. */
int python_check(const struct python_options *o, struct err *e);
#endif
