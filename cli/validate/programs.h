/*
 * Inside `systole check programs`: programs that come with inputs and results, and how far a result
 * may be from the one that came along.
 *
 * A folder with an index.csv has a folder for each row, named by the column `name`, with the program
 * in one or more forms (program.*), inputs.safetensors and outputs.safetensors. Without an index
 * each file of a folder is a program without values. Of the index are read, where they are there:
 * `precision` (f32, bf16, ...), `values` (yes, no), `devices`, f32_error, sensitivity, err_jax
 * (relative errors), sensitive_outputs (numbers of results that rounding decides).
 */
#ifndef CLI_PROGRAMS_H
#define CLI_PROGRAMS_H
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { PROGRAM_FORMS_MAX = 8 };

/* of a try, from the worst on */
enum program_outcome { PROGRAM_FAILED, PROGRAM_WRONG, PROGRAM_REFUSED, PROGRAM_DONE };

struct program_case {
    const char *name;
    const char *form[PROGRAM_FORMS_MAX];        /* paths of the same program */
    int form_count;
    const char *inputs, *outputs;       /* NULL: no values */
    double bound;                       /* relative, of a result's largest magnitude */
    const int *left_out;                /* results that are not compared */
    int left_out_count;
    int devices;
    bool is_listed;                     /* by an index; other files run on random inputs */
};

struct program_list {
    struct program_case *item;
    int count;
    size_t capacity;
};

/* Adds what a path names: a file, a folder with an index, a folder of files. */
int programs_list(struct program_list *l, const char *path, struct arena *a, struct err *e);
bool program_is_left_out(const struct program_case *c, int result);
#endif
