/*
 * What a stage is made of (data/dataset.c has the parts that all of them share).
 *
 * A stage is a table of functions and a structure that begins with struct dataset; its iterator
 * one that begins with struct data_iterator. Nothing in a struct dataset changes once it is made.
 */
#ifndef DATA_DATASET_IMPL_H
#define DATA_DATASET_IMPL_H
#include "base/arena.h"
#include "data/dataset.h"

#include <stdatomic.h>

/* how an iterator's position is kept */
enum dataset_state {
    STATE_COUNT,                        /* the count of elements: passed over again when resumed */
    STATE_INPUTS,                       /* `archive` (may be NULL), then that of every input */
    STATE_OWN                           /* `archive` does all of it */
};

struct dataset_kind {
    size_t iterator_bytes;
    enum dataset_state state;
    /* what must be there before the first element; NULL: all inputs are opened on the same pass */
    int (*open)(struct data_iterator *it, struct err *e);
    int (*next)(struct data_iterator *it, struct data_element **x, struct err *e);
    /* NULL: by next. As data_iterator_skip; n is 1 or more. */
    int64_t (*skip)(struct data_iterator *it, int64_t n, struct err *e);
    void (*archive)(struct data_iterator *it, struct archive *a);
    void (*close)(struct data_iterator *it);            /* before the inputs; NULL: nothing */
    void (*fini)(struct dataset *d);                    /* NULL: nothing but the arena */
};

struct dataset {
    const struct dataset_kind *kind;
    atomic_int holder_count;
    struct arena arena;
    struct dataset **input;
    int input_count, tensor_count;
    struct data_spec *spec;
    int64_t cardinality;
    const char *description;
};

struct data_iterator {
    struct dataset *dataset;            /* held */
    int64_t pass, count;
    bool is_done, is_failed;
    struct err err;                     /* when failed */
    struct data_iterator **input;       /* NULL where closed */
};

/* ---- making a stage; `bytes` of its structure, zeroed behind struct dataset */

/* takes over the inputs; specs and cardinality of the first one, where there is one */
void *dataset_new(const struct dataset_kind *kind, size_t bytes, struct dataset *const *input,
                  int input_count);
void dataset_set_specs(struct dataset *d, const struct data_spec *spec, int count);
/* behind the description of the input and " | ", where there is one input */
void dataset_set_description(struct dataset *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* releases the input, sets the message; NULL */
struct dataset *dataset_refuse(struct dataset *in, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Slices of the tensors of `array`, which it takes over; `name` begins the description. */
struct dataset *dataset_of_arrays(struct data_element *array, const char *name, struct err *e);

/* ---- for the functions of a kind */

int data_iterator_open_input(struct data_iterator *it, int i, int64_t pass, struct err *e);
void data_iterator_close_input(struct data_iterator *it, int i);
/* an iterator of any dataset within this one, of all its files */
struct data_iterator *data_iterator_open(struct dataset *d, int64_t pass, struct err *e);
/* `skip` of a stage that gives an element for each of its input's */
int64_t iterator_skip_input(struct data_iterator *it, int64_t n, struct err *e);
/* position of a freshly opened iterator, or into the archive */
void data_iterator_archive(struct data_iterator *it, struct archive *a);
/* counts in an archive: never negative */
void data_iterator_archive_count(struct archive *a, int64_t *count, const char *what);
/* -1 with a message that names the first tensor that does not fit */
int data_element_check(const struct data_element *x, const struct data_spec *spec, int count,
                       const char *who, int64_t number, struct err *e);
#endif
