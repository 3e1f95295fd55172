/*
 * Mosaic kernels: what a Pallas kernel for the TPU is once it is read, as operations on scalars,
 * whole logical vectors and references to memory. docs/mosaic.md.
 *
 * import/mosaic makes it of the body of a `tpu_custom_call`; stack/mosaic/run.h carries it out on the
 * host, slowly and obviously; stack/kernels/mosaic makes bundles of it. Operations are the rows of
 * ops.def. An operation that no row has is kept by its name (MOSAIC_UNKNOWN), with what the file
 * says of it: who meets it refuses it, by mosaic_refuse, with the line of the Python source.
 *
 * Everything lives in the kernel's arena and is never changed once it is made.
 */
#ifndef STACK_MOSAIC_H
#define STACK_MOSAIC_H
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MOSAIC_VERSION_MAX 18           /* of the serialization, the newest that is read */
#define MOSAIC_RANK_MAX 8
#define MOSAIC_DYNAMIC INT64_MIN        /* a bound of the grid that an operand says; a size */

enum mosaic_code {
#define MOSAIC(id, name, operands, results, regions, eval) MOSAIC_##id,
#include "stack/mosaic/ops.def"
    MOSAIC_UNKNOWN
};

/* name as MLIR writes it, bits in memory, kind */
enum mosaic_element {
#define MOSAIC_ELEMENT(id, name, bits, kind) MOSAIC_##id,
#include "stack/mosaic/elements.def"
    MOSAIC_ELEMENT_COUNT
};
enum mosaic_element_kind { MOSAIC_KIND_INT, MOSAIC_KIND_FLOAT, MOSAIC_KIND_SEMAPHORE };

enum mosaic_shape_kind { MOSAIC_SCALAR, MOSAIC_VECTOR, MOSAIC_REF };

/* as tpu.memory_space numbers them */
enum mosaic_space { MOSAIC_VMEM, MOSAIC_SMEM, MOSAIC_HBM, MOSAIC_CMEM, MOSAIC_SEMAPHORES,
                    MOSAIC_VMEM_SHARED, MOSAIC_HOST, MOSAIC_ANY };

struct mosaic_type {
    enum mosaic_shape_kind kind;
    enum mosaic_element element;
    enum mosaic_space space;            /* REF */
    int rank;
    int64_t dim[MOSAIC_RANK_MAX];       /* MOSAIC_DYNAMIC: known as the kernel runs */
};

struct mosaic_op;
struct mosaic_value {
    int id;                             /* 0 .. value_count - 1, unique in the kernel */
    struct mosaic_type type;
    const struct mosaic_op *op;         /* that has it as result `index`; NULL: a block's argument */
    int index;
    const char *name;                   /* of an argument, as in the source; NULL: not said */
};

struct mosaic_block {                   /* a region: one block, whose last operation ends it */
    int argument_count, op_count;
    struct mosaic_value **argument;
    struct mosaic_op **op;
};

/* An attribute: lists are ints, names of variants and symbols text, constants data. */
enum mosaic_attr_kind { MOSAIC_ATTR_INT, MOSAIC_ATTR_FLOAT, MOSAIC_ATTR_INTS, MOSAIC_ATTR_TEXT,
                        MOSAIC_ATTR_ELEMENTS, MOSAIC_ATTR_TYPE };
struct mosaic_attr {
    const char *name;
    enum mosaic_attr_kind kind;
    int64_t integer;
    double number;
    int count;                          /* INTS; ELEMENTS: that there are */
    const int64_t *ints;
    const char *text;
    const uint32_t *element;            /* ELEMENTS: words as mosaic_word has them, */
    bool is_splat;                      /* one for all */
    struct mosaic_type type;
};

struct mosaic_place {                   /* in the Python source; file NULL: not known */
    const char *file, *name;            /* of the function or primitive */
    int line, col;
};

struct mosaic_op {
    enum mosaic_code code;
    int number;                         /* from 1 on, unique in the kernel */
    const char *name;                   /* "tpu.matmul" */
    int operand_count, result_count, attr_count, region_count;
    struct mosaic_value **operand, **result;
    const int *segment;                 /* operands of each group, where they come in groups */
    int segment_count;
    const struct mosaic_attr *attr;
    struct mosaic_block **region;
    struct mosaic_place place;
};

struct mosaic_function {
    const char *name;
    struct mosaic_block *body;
};

enum mosaic_semantics { MOSAIC_ARBITRARY, MOSAIC_PARALLEL, MOSAIC_CORE_PARALLEL,
                        MOSAIC_SUBCORE_PARALLEL };

/* How an operand is cut into blocks. */
struct mosaic_window {
    bool is_windowed;                   /* else the kernel gets the whole array */
    int64_t bound[MOSAIC_RANK_MAX];     /* block, of the array's rank */
    const struct mosaic_function *transform;    /* block's index; of element windows its offset */
    bool is_element[MOSAIC_RANK_MAX];
    int64_t pad_low[MOSAIC_RANK_MAX], pad_high[MOSAIC_RANK_MAX];
    int buffers;                        /* 1 or 2 */
    bool is_revisited;                  /* any time, not only in the steps that follow each other */
};

struct mosaic_cost { int64_t flops, bytes, transcendentals, remote_bytes; };

struct mosaic_kernel {
    struct arena *arena;
    const char *name;
    int version;
    int value_count, operation_count;
    int function_count;
    struct mosaic_function **function;
    const struct mosaic_function *main;

    int grid_rank;                      /* 0: no grid, one step */
    int64_t grid[MOSAIC_RANK_MAX];      /* MOSAIC_DYNAMIC: of the call's first operands */
    enum mosaic_semantics semantics[MOSAIC_RANK_MAX];

    /* Arguments of main: grid_rank indices, prefetch_count arrays in SMEM, operand_count
     * inputs and then outputs, scratch_count buffers. Operands of the call: dynamic bounds,
     * prefetched arrays, inputs. */
    int prefetch_count, operand_count, output_count, scratch_count;
    const struct mosaic_window *window; /* by operand */
    struct mosaic_type *array;          /* the call's operands behind the bounds, then results */
    int array_count;
    int dynamic_count;                  /* bounds of the grid that the call brings */
    /* By operand of the call: its elements where it is a bound, is prefetched or stands in SMEM and
     * the program says them; NULL, or NULL instead of all: they are known as the kernel runs. */
    const int32_t *const *known;
    const int *alias;                   /* by result: the array that it overwrites, or -1 */

    /* backend_config */
    int64_t vmem_limit_bytes;           /* 0: not said */
    int collective_id;                  /* -1: none */
    bool has_communication, has_side_effect;
    bool skips_device_barrier;          /* devices need not meet before it */
    struct mosaic_cost cost;            /* the author's estimate; 0: not said */
};

/* Of the tables. */
const char *mosaic_code_name(enum mosaic_code code);
enum mosaic_code mosaic_code_find(const char *name);            /* MOSAIC_UNKNOWN: none */
const char *mosaic_element_name(enum mosaic_element e);
enum mosaic_element mosaic_element_find(const char *name, size_t bytes);    /* _COUNT: none */
int mosaic_element_bits(enum mosaic_element e);
enum mosaic_element_kind mosaic_element_kind(enum mosaic_element e);
const char *mosaic_space_name(enum mosaic_space s);

/* product of its sizes; 1 of a scalar, -1 dynamic */
int64_t mosaic_elements(const struct mosaic_type *t);
bool mosaic_type_equal(const struct mosaic_type *a, const struct mosaic_type *b);
bool mosaic_is_float(const struct mosaic_type *t);
bool mosaic_is_fp8(enum mosaic_element e);
char *mosaic_type_print(const struct mosaic_type *t, char *buf, size_t buf_bytes);

/* the operation of that number; NULL: there is none */
const struct mosaic_op *mosaic_op_of(const struct mosaic_kernel *k, int number);

/* it sends to other devices or hears of them; it does so, or asks for its own number */
bool mosaic_reaches_devices(const struct mosaic_kernel *k);
bool mosaic_asks_devices(const struct mosaic_kernel *k);

/* Attributes by name; NULL or `otherwise` where the operation has none. */
const struct mosaic_attr *mosaic_attr(const struct mosaic_op *op, const char *name);
int64_t mosaic_int(const struct mosaic_op *op, const char *name, int64_t otherwise);
/* a constant whose elements are all +0 or the whole number 0 */
bool mosaic_is_zero(const struct mosaic_value *v);
const char *mosaic_text(const struct mosaic_op *op, const char *name, const char *otherwise);
/* the dimensions that a reduction goes along: bit d for dimension d */
uint32_t mosaic_reduced_dims(const struct mosaic_op *op);
/* what a reduction of this kind ("add", "maxsi", ...) may begin with; false: of no such kind */
bool mosaic_neutral(const char *kind, enum mosaic_element e, uint32_t *word);
/* The first operand of a group (segment), and how many it has. */
int mosaic_group(const struct mosaic_op *op, int group, int *count);
/* operand `group` of an operation in groups of at most one; NULL: it has none */
const struct mosaic_value *mosaic_in_group(const struct mosaic_op *op, int group);

/* dimension numbers of tpu.matmul, whichever attributes say them */
struct mosaic_dot {
    int lhs_contract, rhs_contract;
    int batch_count, lhs_batch[MOSAIC_RANK_MAX], rhs_batch[MOSAIC_RANK_MAX];
    int lhs_free_count, rhs_free_count;
    int lhs_free[MOSAIC_RANK_MAX], rhs_free[MOSAIC_RANK_MAX];
    bool is_exact;                      /* f32 products by several passes, not one of bf16 */
};
int mosaic_dot_of(const struct mosaic_op *op, struct mosaic_dot *d, struct err *e);

/* The kernel, operation and line, then the message; -1. */
int mosaic_refuse(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e,
                  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* What every kernel must satisfy, each operand's type among it; 0 or -1 with the line. */
int mosaic_verify(const struct mosaic_kernel *k, struct err *e);
/* as text, an operation a line */
void mosaic_print(const struct mosaic_kernel *k, FILE *to);

/* Whole words for elements of memory: a float's as f32, an integer's as its value. */
static inline bool mosaic_is_ref(const struct mosaic_value *v)
{
    return v->type.kind == MOSAIC_REF;
}
static inline bool mosaic_is_vector(const struct mosaic_value *v)
{
    return v->type.kind == MOSAIC_VECTOR;
}
#endif
