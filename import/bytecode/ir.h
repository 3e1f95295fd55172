/*
 * The reader of operations, as its files share it: ir.c reads them all into a tree, later.c leaves
 * bodies of functions and large regions in the file and reads them an operation at a time, skip.c
 * passes over what is left.
 */
#ifndef IMPORT_BYTECODE_IR_H
#define IMPORT_BYTECODE_IR_H
#include "import/bytecode/op.h"

/* what an operation has; what else its encoding says is always there */
enum { IR_HAS_ATTRS = 0x01, IR_HAS_RESULTS = 0x02, IR_HAS_OPERANDS = 0x04, IR_HAS_SUCCESSORS = 0x08,
       IR_HAS_REGIONS = 0x10, IR_HAS_USE_LISTS = 0x20, IR_HAS_PROPERTIES = 0x40 };

/*
 * A value of a body that is read later. Those of operations that are read one by one are kept as
 * what makes them anew for an operation that uses them: the index of their type, above IR_IS_SHIFT
 * what they are (0: themselves; 2 i + 1: constant i; 2 i + 2: value i), and a bit that is 1. Those
 * of a region that is read with its operation go away with it: they are addresses. 0: promised by
 * its region, not made yet.
 */
typedef uint64_t ir_slot;
#define IR_IS_SHIFT 32
#define IR_IS_USED (UINT64_C(1) << 63)  /* of either, while a region is passed over */

struct ir_scope {
    const struct mlir_value **value;    /* NULL: promised by its region, not made yet */
    ir_slot *slot;                      /* instead of them, where is_later */
    size_t count, capacity;
    bool is_later;
    int first_id;                       /* of slot 0 in the tree; those of others follow */
    const struct mlir_attr **constant;
    size_t constant_count, constant_capacity;
};

/* where attributes of an operation stand, and how they are written */
struct ir_head {
    struct bytecode_stream at;
    const struct bytecode_op *known;
    uint8_t mask;
    bool is_native;
};

struct ir_reader {
    struct bytecode_reader *r;
    const struct bytecode_op **op;      /* by index of the file's names; NULL: not known */
    struct ir_scope *scope;
    size_t next, limit;                 /* numbers that the region at hand has left */
    bool is_open;                       /* operations of any name, as they are */
    bool is_later;                      /* bodies of functions are left in the file */
    bool is_kept;                       /* operations of the region at hand are read one by one */
    int depth;                          /* of regions */
    const char *parent;                 /* operation around what is read; "" at the top */
    struct ir_head head;                /* of the last operation whose head was read */
};

/* NULL: an operation that leaves nothing behind, or a mistake. */
struct mlir_op *ir_read_op(struct ir_reader *ir, struct bytecode_stream *s);
/* The head of a region with a block: how many values it has, how many operations, its arguments.
 * false: it has no block. */
bool ir_begin_region(struct ir_reader *ir, struct bytecode_stream *s, struct mlir_block *b,
                     uint64_t *op_count);
void ir_check_region(const struct ir_reader *ir, const struct bytecode_stream *s);   /* its end */

void ir_scope_fini(struct ir_scope *scope);

/* Attributes of an operation, or `only` that of one property (NULL: all), in the arena of the
 * moment; where they end. */
struct bytecode_stream ir_read_attributes(struct ir_reader *ir, const struct ir_head *head,
                                          const char *only, struct mlir_op *op);

/* a value of a scope that is_later, as its user sees it */
const struct mlir_value *ir_value_again(struct ir_reader *ir, size_t i);

/* later.c: the body of a function, which stands in `section`; op->region is made */
void ir_leave_body(const struct ir_reader *ir, const struct bytecode_stream *section,
                   struct mlir_op *op);
/* A region is passed over and read later, unless it is small: false, and nothing has happened. What
 * is at hand is_kept; the values of an isolated one are a scope of their own. */
bool ir_leave_region(struct ir_reader *ir, struct bytecode_stream *s, bool is_isolated,
                     struct mlir_region *region);

/* skip.c */
void ir_skip_use_lists(struct bytecode_stream *s, size_t values);
/* the section that holds the regions of an operation of this name */
struct bytecode_stream ir_section_of_regions(struct bytecode_stream *s, const char *op);
/* To the end of a region: how many operations are in it, at any depth; the values from around it
 * that they use, in order of their first use, each once. The scope is_later. */
size_t ir_pass_region(struct ir_reader *ir, struct bytecode_stream *s,
                      const struct mlir_value *const **used, size_t *used_count);
#endif
