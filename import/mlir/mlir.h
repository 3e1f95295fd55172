/*
 * A program of MLIR as a tree: operations with attributes, regions and values, whichever form it
 * came in. The readers of text (mlir_read_text) and of bytecode (import/bytecode) make the same
 * tree of the same program; import/stablehlo makes a program of it, and MLIR text of a program.
 *
 * The tree knows no operation's meaning. Names are those of the current generic form: operations
 * with their dialect ("stablehlo.dot_general", "func.func"), attributes as there ("iota_dimension",
 * "sym_name", "function_type", "arg_attrs"), so a reader of pretty forms or of VHLO gives them back
 * these names. Inherent attributes (properties) and others stand in one dictionary. Where VHLO has
 * dimension numbers flattened, the reader of bytecode may leave them so: "lhs_batching_dimensions"
 * beside the operation's other attributes means the same as within "dot_dimension_numbers".
 *
 * Everything lives in the tree's arena; attributes and types are shared and never changed.
 */
#ifndef IMPORT_MLIR_H
#define IMPORT_MLIR_H
#include "base/arena.h"
#include "base/err.h"
#include "import/program/program.h"

#include <stdio.h>

/* Text of a counted length, which may contain NULs; a NUL stands behind it too. */
struct mlir_text {
    const char *data;
    size_t bytes;
};

enum mlir_type_kind {
    MLIR_SCALAR,                        /* i1 .. i64, ui8, f32, f8E4M3FN, complex<f32>, index */
    MLIR_TENSOR,
    MLIR_TUPLE,
    MLIR_TOKEN,                         /* !stablehlo.token, !mhlo.token */
    MLIR_FUNCTION,
    MLIR_NONE,
    MLIR_QUANTIZED,                     /* !quant.uniform<..>: kept as text */
    MLIR_OPAQUE,                        /* any other: kept as text */
    MLIR_VECTOR,                        /* of kernels alone (mlir_read_kernel): as TENSOR, */
    MLIR_MEMREF                         /* with its memory space as encoding, NULL none */
};

struct mlir_type {
    enum mlir_type_kind kind;
    enum hlo_element element;           /* SCALAR; ELEMENT_COUNT: none of a program (index, i128) */
    struct mlir_text text;              /* SCALAR, QUANTIZED, OPAQUE: as written in a tensor type */
    bool is_ranked;                     /* TENSOR; false: tensor<*xf32> */
    int rank;
    const int64_t *dim;                 /* HLO_UNBOUNDED: `?` */
    const struct mlir_type *item;       /* TENSOR: of its elements: SCALAR, QUANTIZED or OPAQUE */
    const struct mlir_attr *encoding;   /* TENSOR: NULL none; "stablehlo.bounds" */
    int part_count;                     /* TUPLE: parts; FUNCTION: inputs */
    const struct mlir_type *const *part;
    int result_count;                   /* FUNCTION */
    const struct mlir_type *const *result;
};

enum HLO_BYTE mlir_attr_kind {
    MLIR_UNIT,                          /* a name without a value */
    MLIR_BOOL,                          /* integer: 0 or 1 */
    MLIR_INTEGER,                       /* integer, type (NULL: i64) */
    MLIR_FLOAT,                         /* number, type (NULL: f64) */
    MLIR_STRING,                        /* text without its quotes and escapes */
    MLIR_SYMBOL,                        /* text without @: "f", nested "mod::f" */
    MLIR_ARRAY,                         /* item[count] */
    MLIR_DICTIONARY,                    /* named[count] */
    MLIR_TYPE,                          /* type */
    MLIR_DENSE,                         /* dense<..> : type: data */
    MLIR_INTS,                          /* array<i64: ..>, array<i1: ..>: ints[count] */
    MLIR_ENUM,                          /* #stablehlo<precision HIGH>: name "stablehlo.precision", */
                                        /* text "HIGH" */
    MLIR_DIALECT,                       /* #stablehlo.dot<..>: name "stablehlo.dot"; see below */
    MLIR_LOCATION,
    MLIR_RAW                            /* anything else, text as written */
};

enum HLO_BYTE mlir_location_kind {
    MLIR_LOCATION_UNKNOWN,
    MLIR_LOCATION_FILE,  /* text: the file; line, col, end_line, end_col */
    MLIR_LOCATION_NAME,  /* text: the name; item[0] its child, if count */
    MLIR_LOCATION_CALL,  /* item[0] callee, item[1] caller */
    MLIR_LOCATION_FUSED, /* item[count]; metadata is left out */
    MLIR_LOCATION_PLACE  /* of operations that are read later: data is what it means, */
}; /* a struct hlo_place */

struct mlir_named {
    const char *name;
    const struct mlir_attr *attr;
};

/*
 * DIALECT: text is what stands between < and >, as written; "" if nothing. Parameters that are
 * `name = value` pairs are named[count] too. Of these the readers make pairs:
 *   chlo.ragged_dot, stablehlo.dot, gather, scatter, channel_handle, output_operand_alias,
 *     dot_algorithm, result_accuracy: the pairs as written; lists of integers are INTS
 *   stablehlo.conv: input_batch_dimension, input_feature_dimension, input_spatial_dimensions,
 *     kernel_input_feature_dimension, kernel_output_feature_dimension, kernel_spatial_dimensions,
 *     output_batch_dimension, output_feature_dimension, output_spatial_dimensions
 *   stablehlo.bounds, stablehlo.type_extensions: bounds, INTS with HLO_UNBOUNDED for `?`
 * Of sdy (sdy.sharding, sharding_per_value, mesh, manual_axes, op_sharding_rule) text is all there
 * is; the reader of bytecode prints it as MLIR does: `@mesh, [{"x"}, {?}]`.
 */
struct mlir_attr {
    enum mlir_attr_kind kind;
    enum mlir_location_kind location;
    bool is_splat;                      /* DENSE */
    int count;
    const char *name;                   /* ENUM, DIALECT: with the dialect, without # */
    const struct mlir_type *type;       /* INTEGER, FLOAT, TYPE, DENSE; INTS: of its elements */
    union {
        struct {
            int64_t integer;            /* of unsigned types the same bits */
            double number;
        };
        struct {
            int line, col, end_line, end_col;   /* FILE locations */
        };
    };
    struct mlir_text text;
    union {                             /* by kind; NULL in all others */
        const struct mlir_attr *const *item;    /* ARRAY; NAME, CALL, FUSED locations */
        const struct mlir_named *named;         /* DICTIONARY, DIALECT */
        const int64_t *ints;                    /* INTS */
        /* DENSE: elements as struct hlo_literal has them: row-major, hlo_element_bytes each, i1 one
         * byte 0 or 1, narrow integers extended; elements of type index are 8 bytes. One element if
         * is_splat. NULL: not in the file (elided, or a resource that has no blob). PLACE: what it
         * means. */
        const void *data;
    };
};

struct mlir_value {
    int id;                             /* 0 .. value_count - 1, unique in the tree */
    int index;                          /* of `op`, or of the block's arguments */
    const char *name;                   /* without % and #n; NULL: bytecode */
    const struct mlir_type *type;
    const struct mlir_op *op;           /* that has it as result `index`; NULL: a block's argument */
    const struct mlir_attr *location;   /* of an argument; NULL: not said */
};

struct mlir_block;

/*
 * Operations of a block that are read when their turn comes, and go away with the next, as the
 * block's arguments do: the arena is theirs, and of who reads them for as long. A value is made for
 * each of its uses: `id` says which are one. One that comes from a constant has an operation that
 * says so, one that another made has none.
 */
struct mlir_later {
    /* Arguments, and how many operations there are; -1 with the message. What it opens it closes. */
    int (*open)(struct mlir_later *l, struct mlir_block *b);
    const struct mlir_op *(*next)(struct mlir_later *l);    /* NULL: none, or a mistake */
    int (*close)(struct mlir_later *l);                     /* -1: something is behind them */
    /* an attribute of the function, in `a`; NULL: it has none, or a mistake. Of regions: NULL */
    const struct mlir_attr *(*attr)(struct mlir_later *l, const char *name, struct arena *a);
    /* of a region: values from around it that it uses, in order of their first use, each once */
    const struct mlir_value *const *used;
    size_t used_count;
    int op_count;                       /* that are left */
    bool is_failed;                     /* there was a mistake */
    struct arena arena;
};

struct mlir_block {
    int argument_count;
    struct mlir_value *argument;
    int op_count;
    struct mlir_op **op;
    struct mlir_later *later;           /* NULL: all are in op */
};

struct mlir_region {                    /* without blocks: a declaration's */
    int block_count;
    struct mlir_block *block;
};

struct mlir_op {
    const char *name;
    int operand_count, result_count, attr_count, region_count;
    const struct mlir_value *const *operand;
    struct mlir_value *result;
    const struct mlir_named *attr;
    struct mlir_region *region;
    const struct mlir_attr *location;   /* NULL: not said */
    const struct hlo_place *place;      /* of one that is read later, instead of its location */
    int line, col;                      /* in the text; bytecode: 0 */
};

struct mlir_tree {
    struct arena *arena;
    const char *file;                   /* for messages */
    int module_count;                   /* builtin.module operations, one block each; at least 1 */
    struct mlir_op **module;            /* text without one: its operations are put into one */
    int value_count;
};

/* An empty tree in an arena that must outlive it. */
void mlir_tree_init(struct mlir_tree *t, struct arena *a, const char *file);

/* 0, or -1 with file, line and column. The text need not stay afterwards. */
int mlir_read_text(struct mlir_tree *t, const char *text, size_t bytes, struct err *e);

/* Attributes by name; NULL: none has it. Of an attribute: DICTIONARY and DIALECT only. */
const struct mlir_attr *mlir_op_attr(const struct mlir_op *op, const char *name);
const struct mlir_attr *mlir_attr_find(const struct mlir_attr *a, const char *name);
bool mlir_text_is(struct mlir_text t, const char *s);
struct mlir_text mlir_text_copy(struct arena *a, const char *data, size_t bytes);

/* Makers. What they are given is copied, but types, attributes and items of lists that are
 * already in the arena. */
const struct mlir_type *mlir_scalar_type(struct arena *a, const char *name, size_t length);
const struct mlir_type *mlir_tensor_type(struct arena *a, const struct mlir_type *item, int rank,
                                         const int64_t *dim, const struct mlir_attr *encoding);
const struct mlir_type *mlir_tuple_type(struct arena *a, int count,
                                        const struct mlir_type *const *part);
const struct mlir_type *mlir_function_type(struct arena *a, int count,
                                           const struct mlir_type *const *input, int result_count,
                                           const struct mlir_type *const *result);
const struct mlir_type *mlir_plain_type(struct arena *a, enum mlir_type_kind kind,
                                        const char *text, size_t bytes);
const struct mlir_attr *mlir_unit(struct arena *a);
const struct mlir_attr *mlir_bool(struct arena *a, bool value);
const struct mlir_attr *mlir_integer(struct arena *a, int64_t value, const struct mlir_type *t);
const struct mlir_attr *mlir_float(struct arena *a, double value, const struct mlir_type *t);
const struct mlir_attr *mlir_string(struct arena *a, const char *data, size_t bytes);
const struct mlir_attr *mlir_symbol(struct arena *a, const char *data, size_t bytes);
const struct mlir_attr *mlir_raw(struct arena *a, const char *data, size_t bytes);
const struct mlir_attr *mlir_array(struct arena *a, int count,
                                   const struct mlir_attr *const *item);
const struct mlir_attr *mlir_dictionary(struct arena *a, int count,
                                        const struct mlir_named *named);
const struct mlir_attr *mlir_type_attr(struct arena *a, const struct mlir_type *t);
/* data: already in the arena */
const struct mlir_attr *mlir_dense(struct arena *a, const struct mlir_type *t, const void *data,
                                   bool is_splat);
const struct mlir_attr *mlir_ints(struct arena *a, int count, const int64_t *ints,
                                  const struct mlir_type *element);
const struct mlir_attr *mlir_enum(struct arena *a, const char *name, const char *value);
const struct mlir_attr *mlir_dialect(struct arena *a, const char *name, const char *text,
                                     size_t bytes, int count, const struct mlir_named *named);
const struct mlir_attr *mlir_location(struct arena *a, enum mlir_location_kind kind,
                                      const char *text, size_t bytes, int count,
                                      const struct mlir_attr *const *item);
const struct mlir_attr *mlir_file_location(struct arena *a, const char *file, size_t bytes,
                                           int line, int col, int end_line, int end_col);

bool mlir_type_equal(const struct mlir_type *a, const struct mlir_type *b);
/* Elements of a dense attribute of this type: product of its dimensions; -1: dynamic or too many. */
int64_t mlir_type_elements(const struct mlir_type *t);
/* of an element of a dense attribute of this type; 0: of a type that no program has */
size_t mlir_type_element_bytes(const struct mlir_type *t);
/*
 * Elements as files store them (little-endian, narrow ones a byte each, i1 eight to a byte or a
 * byte each) made those of a dense attribute: NULL with a message in *wrong where the size fits
 * neither all elements nor one. Of a type that no program has (quantized, i128) data is NULL.
 */
const struct mlir_attr *mlir_dense_of_bytes(struct arena *a, const struct mlir_type *t,
                                            const void *bytes, size_t count, const char **wrong);

/*
 * A tree as text, which mlir_read_text reads back to the same tree and the same text. Values are
 * numbered anew. is_general: every operation in its general form, in quotes.
 */
struct mlir_print_options {
    bool is_general, no_locations;
};
void mlir_print(const struct mlir_tree *t, FILE *to, const struct mlir_print_options *o);

/* Types and attributes as MLIR writes them. */
void mlir_print_type(FILE *to, const struct mlir_type *t);
void mlir_print_attr(FILE *to, const struct mlir_attr *a);
void mlir_print_string(FILE *to, struct mlir_text t);           /* with quotes and escapes */
/* `dense<..>` without its type; above a hundred elements hexadecimal digits */
void mlir_print_elements(FILE *to, const struct mlir_type *t, const void *data, bool is_splat);
const char *mlir_attr_text(struct arena *a, const struct mlir_attr *attr);
/* An attribute of text as mlir_attr_text gives it back; NULL: the text is none. */
const struct mlir_attr *mlir_attr_of_text(struct arena *a, const char *text);

/* What a location says of the author's program: a path of names, and the innermost place. */
void mlir_place_of(struct arena *a, const struct mlir_attr *location, struct hlo_place *p);
#endif
