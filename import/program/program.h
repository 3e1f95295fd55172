/*
 * A program as it was read: a module of HLO, whichever text or bytes it came in.
 *
 * Readers (import/hlo_text, hlo_proto, stablehlo) build it, printers write it, import/eval computes
 * its values on the host, import/expand replaces operations by simpler ones, import/shard cuts it
 * for devices, import/lower makes the graph of the compiler (stack/hlo/graph.h) of it. It keeps all
 * that the file says: every type, layouts, shardings, metadata, attributes that nobody here reads.
 *
 * A module has computations, a computation instructions in an order in which operands stand before
 * users; an instruction names its operands by their index in the computation and computations by
 * their index in the module. Everything lives in the module's arena; types, literals and lists are
 * shared and never changed once they are made.
 *
 * What comes from StableHLO stands as HLO: results of an operation with several are a tuple and
 * get-tuple-element, regions are computations, values that a region of while, case or if takes from
 * around it are operands, broadcast_in_dim that stretches is reshape and broadcast.
 */
#ifndef IMPORT_PROGRAM_H
#define IMPORT_PROGRAM_H
#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define HLO_UNBOUNDED INT64_MIN         /* a dimension written `?` without a bound */
#define HLO_NESTING_MAX 64              /* tuples in tuples, regions in regions, braces in braces */

/* instructions have several of these */
#define HLO_BYTE __attribute__((packed))

enum HLO_BYTE hlo_element {
#define ELEMENT(id, name, mlir, kind, bits, bytes) ELEMENT_##id,
#include "import/program/elements.def"
    ELEMENT_COUNT
};
enum hlo_element_kind {
    ELEMENT_KIND_PREDICATE, ELEMENT_KIND_SIGNED, ELEMENT_KIND_UNSIGNED, ELEMENT_KIND_FLOAT,
    ELEMENT_KIND_COMPLEX, ELEMENT_KIND_NONE
};
enum HLO_BYTE hlo_opcode {
#define OPCODE(id, name, stablehlo, arity, computations, attributes) OPCODE_##id,
#include "import/program/opcodes.def"
    OPCODE_COUNT
};
/* groups of fields of an instruction, as opcodes.def lists them */
enum hlo_attribute {
    HLO_HAS_INDEX = 1 << 0, HLO_HAS_LITERAL = 1 << 1, HLO_HAS_DIMS = 1 << 2,
    HLO_HAS_SLICE = 1 << 3, HLO_HAS_PADDING = 1 << 4, HLO_HAS_SIZES = 1 << 5,
    HLO_HAS_GATHER = 1 << 6, HLO_HAS_DOT = 1 << 7, HLO_HAS_PRECISION = 1 << 8,
    HLO_HAS_WINDOW = 1 << 9, HLO_HAS_CONV = 1 << 10, HLO_HAS_COMPARISON = 1 << 11,
    HLO_HAS_BITS = 1 << 12, HLO_HAS_EPSILON = 1 << 13, HLO_HAS_SOLVE = 1 << 14,
    HLO_HAS_FFT = 1 << 15, HLO_HAS_RANDOM = 1 << 16, HLO_HAS_FUSION = 1 << 17,
    HLO_HAS_TARGET = 1 << 18, HLO_HAS_GROUPS = 1 << 19
};

struct hlo_ints {                       /* a list; item may be NULL where count is 0 */
    int count;
    const int64_t *item;
};

/* Where elements lie; tells nothing of their meaning. minor_to_major.count 0: row-major */
struct hlo_layout {
    struct hlo_ints minor_to_major;
    int tile_count;
    const struct hlo_ints *tile;        /* T(8,128)(2,1): {8, 128}, {2, 1}; -1 is * */
    int element_bits;                   /* E(n); 0: not said */
    int memory_space;                   /* S(n): 0 HBM, 1 VMEM, 5 host */
    const char *rest;                   /* fields that are only kept, as written; NULL: none */
};

struct hlo_type {
    enum hlo_element element;           /* ELEMENT_TUPLE: part[part_count] */
    bool is_buffer;                     /* b(..): an array that keeps its place */
    int rank;
    const int64_t *dim;                 /* sizes, or bounds, or HLO_UNBOUNDED */
    const bool *is_bounded;             /* by dimension: `<=n`; NULL: none is */
    const struct hlo_layout *layout;    /* NULL: row-major, nothing said */
    int part_count;
    const struct hlo_type *part;
};

/*
 * Dense row-major elements, each of hlo_element_bytes in the host's byte order, pred 0 or 1.
 * is_splat: data is one element, which all are. data NULL: elided in the file, `{...}`; of a tuple
 * NULL too, and part has its elements.
 */
struct hlo_literal {
    struct hlo_type type;
    const void *data;
    bool is_splat;
    const struct hlo_literal *part;     /* type.part_count of them */
};

/* what is told of a constant whose elements the printer left out, of either language */
#define HLO_ELIDED "its elements are left out, {...}: print the program with " \
    "print_large_constants=True or --xla_dump_large_constants; StableHLO without a limit of " \
    "elements or resources"

enum HLO_BYTE hlo_direction { HLO_EQ, HLO_NE, HLO_LT, HLO_LE, HLO_GT, HLO_GE };
enum HLO_BYTE hlo_comparison { HLO_COMPARE_DEFAULT, HLO_COMPARE_FLOAT, HLO_COMPARE_TOTAL,
                      HLO_COMPARE_SIGNED, HLO_COMPARE_UNSIGNED };
enum HLO_BYTE hlo_precision { HLO_PRECISION_DEFAULT, HLO_PRECISION_HIGH, HLO_PRECISION_HIGHEST };
enum HLO_BYTE hlo_fft { HLO_FFT, HLO_IFFT, HLO_RFFT, HLO_IRFFT };
enum HLO_BYTE hlo_solve {
    HLO_SOLVE_PLAIN,
    HLO_SOLVE_TRANSPOSED,
    HLO_SOLVE_ADJOINT
};                                                                       /* transpose_a */
enum HLO_BYTE hlo_random { HLO_RNG_UNIFORM, HLO_RNG_NORMAL,              /* rng */
                  HLO_RNG_DEFAULT, HLO_RNG_THREE_FRY, HLO_RNG_PHILOX };    /* rng-bit-generator */
enum HLO_BYTE hlo_fusion {
    HLO_FUSION_LOOP,
    HLO_FUSION_INPUT,
    HLO_FUSION_OUTPUT,
    HLO_FUSION_CUSTOM
};

struct hlo_window {                     /* one dimension; defaults 1, 1, 0, 0, 1, 1, false */
    int64_t size, stride, pad_low, pad_high, base_dilation, window_dilation;
    bool is_reversed;
};

struct hlo_dot {
    struct hlo_ints lhs_batch, rhs_batch, lhs_contract, rhs_contract;
    struct hlo_ints lhs_ragged, rhs_group;      /* ragged-dot */
    const char *algorithm;              /* "dot_bf16_bf16_f32_x3"; NULL: none */
};

struct hlo_conv {                       /* dim_labels: which dimension is what */
    int64_t in_batch, in_feature, kernel_in, kernel_out, out_batch, out_feature;
    struct hlo_ints in_spatial, kernel_spatial, out_spatial;    /* as many as windows */
    int64_t feature_groups, batch_groups;
};

/* gather; of a scatter offset_dims are update_window_dims, collapsed_dims inserted_window_dims, */
struct hlo_gather {                     /* start_index_map scatter_dims_to_operand_dims */
    struct hlo_ints offset_dims, collapsed_dims, start_index_map;
    struct hlo_ints operand_batching, indices_batching;
    int64_t index_vector_dim;
    bool is_sorted, is_unique;
};

/* Which devices: groups[g] has group_size[g] ids, one group after the other in id */
struct hlo_groups {
    struct hlo_ints size, id;           /* size.count groups; none: all devices are one group */
    struct hlo_ints pair;               /* collective-permute, send, recv: source, target, ... */
    int64_t channel_id;                 /* 0: none */
    bool use_global_ids, is_host_transfer;
    const char *text;                   /* as written, where it was a short form; NULL: lists */
};

/* What a sharding of one array says; several for a tuple (hlo_instruction.sharding) */
enum hlo_sharding_kind { HLO_REPLICATED, HLO_MANUAL, HLO_UNKNOWN, HLO_UNREDUCED, HLO_MAXIMAL,
                         HLO_TILED };
struct hlo_sharding {
    enum hlo_sharding_kind kind;
    int64_t device;                     /* MAXIMAL */
    struct hlo_ints tile;               /* TILED: by dimension, then the subgroups below */
    struct hlo_ints id;                 /* devices of the tiles, row-major */
    struct hlo_ints subgroup;           /* enum hlo_sharding_kind of the last dimensions of tile */
    struct hlo_ints open;               /* dimensions that may be cut further: Shardy's `?` */
    const char *text;                   /* as written, with its braces */
};

/* a key with its value as written, with quotes or braces if it had any */
struct hlo_pair { const char *key, *value; };
struct hlo_pairs { int count; const struct hlo_pair *item; };

struct hlo_place_more {
    const char *rest;                   /* other fields of metadata={}, as written */
    int frame;                          /* stack_frame_id; 0: none */
    bool is_of_frame;                   /* file to end_col are its frame's, not said here */
    int unit, edge;                     /* import/asis: the kernel, its result; 0: none, -1: a copy */
};

struct hlo_place {                      /* what the program's author wrote; NULL and 0: not known */
    const char *op_type, *op_name;      /* "jit(f)/dense/dot_general" */
    const char *file;
    int line, end_line, col, end_col;
    const struct hlo_place_more *more;  /* hlo_place_more; NULL: all zero, as nearly always */
};

/* What only some operations say; zero where the operation has none (opcodes.def) */
struct hlo_detail {
    enum hlo_solve transpose;
    enum hlo_fft fft;
    enum hlo_random random;
    bool is_lower, is_left, is_unit_diagonal;   /* CHOLESKY, TRIANGULAR_SOLVE */
    bool is_stable;                     /* SORT, TOPK */
    bool is_largest;                    /* TOPK */
    bool is_predicated;                 /* CONDITIONAL: by a pred; branch 0 is taken if true */
    bool is_reverse;                    /* SCAN */
    int computation_count;              /* by role: reduce.. body; while body, condition; */
    const int *computation;             /* select-and-scatter select, scatter; branches; indices */
    struct hlo_ints dims;               /* `dimensions={}`; ALL_TO_ALL: split, concatenate, parts */
    union {
        struct { struct hlo_ints start, limit, stride; };   /* SLICE; each of rank */
        struct { struct hlo_ints low, high, interior; };    /* PAD; each of rank */
    };
    struct hlo_ints sizes;              /* DYNAMIC_SLICE, GATHER; FFT lengths */
    const struct hlo_gather *gather;
    const struct hlo_dot *dot;
    const struct hlo_window *window;
    const struct hlo_conv *conv;
    int window_count;
    int exponent_bits, mantissa_bits;
    int sharding_count;                 /* 0: none; of a tuple one for each leaf, or one for all */
    double epsilon;
    const struct hlo_groups *groups;
    const char *target;                 /* custom_call_target; CALL of a composite: its name; */
    size_t target_bytes;                /* infeed_config, outfeed_config */
    const char *config;                 /* backend_config, opaque: as written, NULL: none */
    struct hlo_pairs frontend;          /* frontend_attributes; composites: their attributes */
    struct hlo_pairs other;             /* everything else the file says of it */
    const struct hlo_sharding *sharding;
    struct hlo_ints control;            /* control-predecessors: indices */
};

/*
 * Programs have very many: an instruction is 64 bytes, and what several have alike, types and
 * details, is kept once a module (shared.h). Type and detail are its maker's until it is added,
 * which keeps them; then they are shared and never changed.
 */
struct hlo_instruction {
    enum hlo_opcode op;
    enum hlo_direction direction;
    enum hlo_comparison comparison;
    enum hlo_precision precision[2];    /* of the operands */
    enum hlo_fusion fusion;
    uint16_t col;                       /* in the file that was read: hlo_column */
    int line;
    int operand_count;
    const struct hlo_type *type;
    uint64_t label;                     /* its name, unique in its computation: hlo_name */
    const int *operand;                 /* indices of instructions, each below its own */
    union {
        const struct hlo_literal *literal;      /* CONSTANT */
        int64_t index;                  /* PARAMETER number, GET_TUPLE_ELEMENT, IOTA dimension, */
    };                                  /* TOPK k, BATCH_NORM feature, SCAN carries, delta */
    struct hlo_detail *detail;          /* NULL: all zero */
    const struct hlo_place *place;      /* NULL: nothing known */
};

struct hlo_computation {
    const char *name;
    struct hlo_instruction *instruction;
    int count;
    size_t capacity;
    int root;                           /* index of its result */
    int *parameter;                     /* index of parameter number n, -1 where it has none */
    int parameter_count;
    size_t parameter_capacity;
    const char *thread;                 /* execution_thread; NULL: main */
    int line, col;
};

struct hlo_alias {                      /* result `output` may or must take the parameter's place */
    struct hlo_ints output;             /* path into the result's tuple */
    int64_t parameter;
    struct hlo_ints parameter_path;
    bool is_must;
};

struct hlo_mesh {                       /* sdy.mesh */
    const char *name;
    int axis_count;
    const char *const *axis;
    const int64_t *size;
    struct hlo_ints device;             /* none: 0, 1, .. */
};

/* types, details and literals of a module, each kept once (shared.h) */
struct hlo_shared_set {
    struct hlo_shared_entry *entry;
    size_t count, capacity;
};
struct hlo_shared { struct hlo_shared_set type, detail, literal; };

struct hlo_module {
    struct arena *arena;
    const char *name, *file;            /* file: for messages */
    struct hlo_computation *computation;
    int computation_count;
    size_t computation_capacity;
    int entry;                          /* index; -1: none (a file cut by its origin) */
    bool is_scheduled;
    int64_t replica_count, partition_count;     /* at least 1 */
    struct hlo_alias *alias;
    int alias_count;
    size_t alias_capacity;
    const struct hlo_type *entry_parameter;     /* entry_computation_layout; NULL: not said */
    int entry_parameter_count;
    const struct hlo_type *entry_result;
    struct hlo_mesh *mesh;
    int mesh_count;
    size_t mesh_capacity;
    struct hlo_pairs frontend, other;   /* of the header; other: as written */
    int64_t next_name;                  /* of instructions that our own code adds */
    const char *tables;                 /* FileNames .. StackFrames as written; NULL: none */
    struct hlo_shared shared;
    struct hlo_module *next;            /* the next module of the same file; NULL: none */
};

/* A module without computations, in an arena that must outlive it; free its growing lists. */
void hlo_module_init(struct hlo_module *m, struct arena *a, const char *name);
void hlo_module_fini(struct hlo_module *m);

/* Elements. NULL-safe names; ELEMENT_COUNT where no type has that name. */
const char *hlo_element_name(enum hlo_element e);               /* "bf16" */
const char *hlo_element_mlir_name(enum hlo_element e);          /* "complex<f32>"; NULL: none */
enum hlo_element hlo_element_find(const char *name, size_t length);
enum hlo_element hlo_element_find_mlir(const char *name, size_t length);
enum hlo_element_kind hlo_element_kind(enum hlo_element e);
int hlo_element_bits(enum hlo_element e);
size_t hlo_element_bytes(enum hlo_element e);                   /* of one in an array of the host */
bool hlo_element_is_float(enum hlo_element e);
bool hlo_element_is_integer(enum hlo_element e);                /* signed or unsigned, not pred */
bool hlo_element_is_complex(enum hlo_element e);

/* Opcodes. OPCODE_COUNT where none has that name. */
const char *hlo_opcode_name(enum hlo_opcode op);                /* "reduce-window" or "chlo.zeta" */
const char *hlo_opcode_stablehlo_name(enum hlo_opcode op);      /* NULL: none */
enum hlo_opcode hlo_opcode_find(const char *name, size_t length);
enum hlo_opcode hlo_opcode_find_stablehlo(const char *name, size_t length);
struct near_text hlo_opcode_nearest(const char *name, size_t length);   /* " (did you mean ..?)" */
int hlo_opcode_arity(enum hlo_opcode op);
int hlo_opcode_computations(enum hlo_opcode op);
unsigned hlo_opcode_attributes(enum hlo_opcode op);             /* of enum hlo_attribute */

/* Types; what they point to is copied into the arena. */
struct hlo_type hlo_array_type(struct arena *a, enum hlo_element e, int rank, const int64_t *dim);
struct hlo_type hlo_scalar_type(enum hlo_element e);
struct hlo_type hlo_tuple_type(struct arena *a, int count, const struct hlo_type *part);
const struct hlo_type *hlo_new_type(struct arena *a, struct hlo_type t);
bool hlo_type_equal(const struct hlo_type *a, const struct hlo_type *b);       /* but layouts */
bool hlo_type_same_dims(const struct hlo_type *a, const struct hlo_type *b);
bool hlo_type_is_tuple(const struct hlo_type *t);
bool hlo_type_is_dynamic(const struct hlo_type *t);     /* a bounded or unbounded dimension */
/* order[k]: the dimension that lies at place k from major to minor; is that row-major? */
bool hlo_type_physical_order(const struct hlo_type *t, int *order);
int64_t hlo_type_elements(const struct hlo_type *t);    /* of an array; bounds count whole */
size_t hlo_type_bytes(const struct hlo_type *t);        /* on the host, all leaves of a tuple */
int hlo_type_leaves(const struct hlo_type *t);          /* arrays and tokens in it; 1 of an array */
/* leaf number n, counted from the left, of a tuple in any depth */
const struct hlo_type *hlo_type_leaf(const struct hlo_type *t, int n);
char *hlo_type_print(const struct hlo_type *t, char *buf, size_t buf_bytes);   /* "f32[2,3]" */

/* what few operations have, all zero rather than NULL; of the place the same */
extern const struct hlo_detail hlo_no_detail;
static inline const struct hlo_detail *hlo_detail(const struct hlo_instruction *i)
{
    return i->detail ? i->detail : &hlo_no_detail;
}
/* A copy of it, or one of zeros, in the arena becomes i's own: for who changes it. */
struct hlo_detail *hlo_own_detail(struct arena *a, struct hlo_instruction *i);
/* one of zeros of the block around, for who makes an instruction and adds it there */
#define HLO_NEW_DETAIL (&(struct hlo_detail){ .target = NULL })
/* a copy of an instruction's, for as long as the block around lasts */
#define HLO_COPIED_DETAIL(i) ((struct hlo_detail[1]){ *hlo_detail(i) })
/*
 * Names. Those of a file are texts, which live as long as the module; those that our own code gives
 * are made of opcode and number, "x.add.12", when somebody asks: then the text is good until this
 * thread has asked for HLO_NAMES others. 0: no name yet, hlo_name gives "".
 */
#define HLO_NAMES 32
#define HLO_IS_NUMBER (UINT64_C(1) << 63)
static inline uint64_t hlo_label(const char *text) { return (uint64_t)(uintptr_t)text; }
static inline uint64_t hlo_number_label(int64_t number)
{
    return HLO_IS_NUMBER | (uint64_t)number;
}
const char *hlo_name(const struct hlo_instruction *i);
/* the same, in the arena if it must be made */
const char *hlo_name_in(struct arena *a, const struct hlo_instruction *i);
/* of a name that is made; -1: it is a text, or none */
int64_t hlo_name_number(const struct hlo_instruction *i);
/* the same of a text of that form, too: a file may have it from us */
int64_t hlo_number_said(const struct hlo_instruction *i);
/* columns of long lines are the last that can be told */
static inline uint16_t hlo_column(int col)
{
    return (uint16_t)(col < UINT16_MAX ? col : UINT16_MAX);
}
/* the address of a type that is a value, for as long as the block around lasts */
#define HLO_TYPE(value) ((const struct hlo_type[1]){ value })
extern const struct hlo_place hlo_nowhere;      /* that nothing is known of */
const struct hlo_place *hlo_place_of(const struct hlo_instruction *i);
extern const struct hlo_place_more hlo_no_more;
static inline const struct hlo_place_more *hlo_place_more(const struct hlo_place *p)
{
    return p->more ? p->more : &hlo_no_more;
}

/* Of ApproxTopK and PartialReduce of such an array: along which dimension the best are taken; -1: it
 * has none such. */
int hlo_partial_dimension(const struct hlo_instruction *i, const struct hlo_type *operand);
/*
 * A place in the arena for `p`; of consecutive equal ones `last` is given again. NULL: p says
 * nothing. Texts are those of p; what is more of it is copied.
 */
const struct hlo_place *hlo_place_keep(struct arena *a, const struct hlo_place *p,
                                       const struct hlo_place *last);
struct hlo_ints hlo_ints_copy(struct arena *a, const int64_t *item, int count);

/* A dense literal of copied data; of one number, rounded to the type and repeated. */
const struct hlo_literal *hlo_literal_copy(struct arena *a, const struct hlo_type *t,
                                           const void *data);
const struct hlo_literal *hlo_literal_splat(struct arena *a, const struct hlo_type *t,
                                            double value);
const struct hlo_literal *hlo_literal_splat_int(struct arena *a, const struct hlo_type *t,
                                                int64_t value);
/* one number <-> one element of the host; integers by way of hlo_element_from_int */
void hlo_element_store(enum hlo_element e, double value, void *to);
double hlo_element_load(enum hlo_element e, const void *from);  /* real part of complex ones */
void hlo_element_store_int(enum hlo_element e, int64_t value, void *to);
int64_t hlo_element_load_int(enum hlo_element e, const void *from);
/* element `index` of a literal in row-major order, as a pointer to its bytes */
const void *hlo_literal_at(const struct hlo_literal *l, int64_t index);

/*
 * Every rule of HLO that a reader must hold: operands exist and go before, types and attributes fit
 * the operation, computations have the parameters and results that their callers want, no cycle of
 * calls. 0, or -1 with file, line, instruction, rule.
 */
int hlo_verify(const struct hlo_module *m, struct err *e);
#endif
