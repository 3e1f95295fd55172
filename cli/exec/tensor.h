/*
 * Arrays of a program's parameters and results: made up, read from files, written, compared.
 *
 * Elements are dense and row-major, of hlo_element_bytes each, in the host's byte order, as
 * import/eval has them. In files of safetensors array n is named by its number, "0", "1", ...;
 * types that the format does not have go in a wider one (f8 of other kinds and 4-bit floats as F32,
 * integers of less than 8 bits as I8 or U8), and a type may be given in any wider one of its kind.
 */
#ifndef CLI_EXEC_TENSOR_H
#define CLI_EXEC_TENSOR_H
#include "base/arena.h"
#include "import/program/program.h"

struct exec_tensor {
    const char *name;                   /* of a message: "parameter 3 (weights)" */
    const char *key;                    /* its name in files; NULL: its number */
    bool is_made_up;                    /* nobody gave it */
    bool is_queue;                      /* dimension 0 is however many entries a file brings */
    struct hlo_type type;               /* an array's */
    void *data;                         /* NULL: not known */
};

/*
 * What stands behind --input N=: a .npy file, random, zeros, ones or iota. Random floats are
 * uniform in -1 .. 1, integers 0 .. 9; equal seeds and numbers give equal arrays.
 */
int exec_fill(struct exec_tensor *t, const char *what, uint64_t seed, struct arena *a,
              struct err *e);

struct exec_tensors { struct exec_tensor *item; int count; };

/*
 * All tensors of a file, named by numbers of `numbered` or keys of `keyed`; other names are an
 * error, missing ones are not. -1: a type or shape that is not the tensor's, with both.
 */
int exec_read_safetensors(const char *path, struct exec_tensors numbered, struct exec_tensors keyed,
                          struct arena *a, struct err *e);
int exec_write_safetensors(const char *path, const struct exec_tensor *tensor, int count,
                           struct err *e);
/* bf16 and narrower floats as f32, narrow integers as 8 bits */
int exec_write_npy(const char *path, const struct exec_tensor *t, struct err *e);

/* of a block as large as the bounds in `t` the `size` elements of each dimension, close together */
void *exec_pack(const void *block, const struct hlo_type *t, const int64_t *size, struct arena *a);

/* How far two arrays of the same type are from each other. */
struct exec_difference {
    double largest, magnitude;          /* of a - b, of b; over elements where both are finite */
    double relative;                    /* largest / magnitude; largest where b is all zeros */
    int64_t unequal, elements;          /* not the same value; NaN is the same as NaN */
    int64_t worst;                      /* where; -1: nowhere */
    bool is_exact_type;                 /* of integers and predicates */
};
struct exec_difference exec_compare(const struct exec_tensor *a, const struct exec_tensor *b);
#endif
