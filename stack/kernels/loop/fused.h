/*
 * The elementwise part of a fused computation, as operations on registers.
 *
 * Functions take the forms that compiled programs show (e^x is 2^(x log2 e)), with the errors of
 * docs/numerics.md; arithmetic, comparisons, conversions and integers are exact.
 *
 * A *group* is 8, 16 or 32 rows by 128 lanes of a kernel's iteration space, as
 * many rows as the narrowest array of the kernel has in a tile; a value of
 * 32-bit elements takes 1, 2 or 4 registers (*parts*) for it, part p holding
 * rows 8p to 8p + 7. A packed tile is one group: it is unpacked when loaded and
 * packed when stored. Arithmetic is in 32 bits; bf16 exists as parameters,
 * outputs and conversions only (stack/passes/pass_upcast.c has seen to it), and a
 * conversion to bf16 rounds the value in its f32 register. Predicates are
 * masks; s8 and u8 are s32 and u32 registers.
 *
 * The user of this header says how a parameter gets into registers (and what
 * broadcasts of it mean in his iteration space) and takes outputs out.
 */
#ifndef STACK_FUSED_H
#define STACK_FUSED_H
#include "sim/chip/chip.h"
#include "stack/hlo/array.h"
#include "stack/hlo/graph.h"
#include "stack/backend/vcode.h"

#define FUSED_PARTS_MAX 4

struct fused_value {                    /* operands: registers, masks or immediates, by part */
    struct isa_operand part[FUSED_PARTS_MAX];
    bool is_mask;
};

struct fused {
    struct vcode *code;
    const struct chip *chip;
    const struct graph *body;
    int parts;
    struct fused_value *value;          /* by node; filled as nodes are emitted */
    bool *is_made, *is_read;            /* by node; its own */
    bool *is_leaf;                      /* by node: the user gives its value, whatever it is */
    /* a parameter, iota, broadcast or other node that is not elementwise; user gives its value */
    int (*leaf)(struct fused *f, int node, struct fused_value *out, void *user, struct err *e);
    void *user;
};

/* The arrays come from `a`; leaf and user are the caller's to set. */
void fused_init(struct fused *f, struct vcode *c, const struct chip *chip,
                const struct graph *body, int parts, struct arena *a);

/* whether fused_emit makes this node from its operands */
bool fused_is_elementwise(const struct graph_node *n);

/* Emits what `node` needs and has not been emitted yet, and the node; its value is value[node]. */
int fused_emit(struct fused *f, int node, struct err *e);

/* forget all values (a new group); the array is kept */
void fused_restart(struct fused *f);

/* slots that a register (8 rows) of all nodes of this computation takes, for cost models */
struct fused_cost { int valu, eup, load, store, push, pop; };
/* one step of a reduction, of 32-bit values; REDUCE_ADD to REDUCE_OR */
struct isa_op fused_combine(enum graph_reduce kind, enum graph_dtype t, int to,
                            struct isa_operand a, struct isa_operand b);

void fused_count(const struct vcode *c, struct fused_cost *out);
void fused_cost(const struct graph *body, const struct chip *chip, struct fused_cost *out);
/* of those nodes alone that are marked as `wanted` says */
void fused_cost_of(const struct graph *body, const struct chip *chip, const bool *is_marked,
                   bool wanted, struct fused_cost *out);

/*
 * The lanes of a register together, in all of them, ADD, MAX or MIN: of floats; of integers, of which
 * `small` are below 2^24, and stay there as a sum; `other` is a second unit.
 */
bool fused_lanes_have_unit(enum graph_reduce kind);
struct isa_operand fused_across_lanes(struct vcode *c, int unit, enum graph_reduce kind,
                                      struct isa_operand x);
struct isa_operand fused_small_across_lanes(struct vcode *c, int unit, enum graph_reduce kind,
                                            struct isa_operand x);
struct isa_operand fused_integers_across_lanes(struct vcode *c, int unit, int other,
                                               enum graph_reduce kind, bool is_unsigned,
                                               struct isa_operand x);

/* `value` as an immediate of the type; of a predicate 0 or 1 */
struct isa_operand fused_constant(enum graph_dtype dtype, double value);

/* one packed or unpacked tile of `dtype` <-> parts registers of 32 bits */
void fused_unpack(struct vcode *c, const struct chip *chip, enum graph_dtype dtype, int tile,
                  struct fused_value *out);
/* the register with the tile */
int fused_pack(struct vcode *c, const struct chip *chip, enum graph_dtype dtype,
               const struct fused_value *value);
#endif
