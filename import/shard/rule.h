/*
 * What an operation does along its dimensions, for spreading cuts and for cutting it.
 *
 * A factor is an index that the operation goes over: a dimension of its arrays, or a part of one
 * where a reshape or a grouped convolution takes it apart. All arrays that have the factor may be
 * cut along it together, and each device does its part alone. Is the factor in no result, the parts
 * are summed up between devices (is_sum). A dimension without a factor must be whole.
 */
#ifndef IMPORT_SHARD_RULE_H
#define IMPORT_SHARD_RULE_H
#include "import/shard/lay.h"

#define SHARD_FACTORS_MAX 256

struct shard_factor {
    int64_t size;
    bool is_sum;                        /* parts of the results are to be combined, by rule.sum; */
                                        /* OPCODE_COUNT: by the reduction's own computation */
    bool is_exact;                      /* it can only be cut into equal parts */
    bool is_index;                      /* indices point along it: gather, scatter */
    bool is_window;                     /* some operand's dimension goes by a shard_window */
};
/*
 * Of an operand's dimension that is not gone over one by one: index r of the factor is made of the
 * indices r * step + offset + [0, reach) of the dimension with base - 1 holes behind each element.
 * A device fetches what its part needs of its neighbours' (window.h).
 */
struct shard_window { int64_t step, offset, reach, base; };
struct shard_dim {
    int count;
    short *factor;                      /* major first */
    const struct shard_window *window;  /* NULL: none; then there is one factor */
};
struct shard_tensor {
    const struct hlo_type *type;
    struct shard_dim *dim;              /* type->rank of them */
};
struct shard_rule {
    int factor_count, operand_count, tensor_count;
    struct shard_factor *factor;
    struct shard_tensor *tensor;        /* operands, then leaves of the result */
    enum hlo_opcode sum;
    bool is_plain;                      /* it moves or maps elements one by one: spread first */
    struct arena *arena;
    size_t factor_room;
};

/*
 * The rule of an instruction of arrays, in the arena; NULL where it has none: its operands must be
 * whole and its results are.
 */
const struct shard_rule *shard_rule_make(const struct hlo_module *m,
                                         const struct hlo_computation *c,
                                         const struct hlo_instruction *i, struct arena *a);

/* tuples, loops and what else passes arrays on as they are, leaf by leaf */
bool shard_is_structure(enum hlo_opcode op);
/* a custom call that gives its operand back */
bool shard_is_identity_call(const struct hlo_instruction *i);

/* ADD, MULTIPLY, MAXIMUM, MINIMUM, AND, OR, XOR, if a computation is that of its two scalars */
enum hlo_opcode shard_sum_of(const struct hlo_module *m, int computation);
/* combining the same number twice changes nothing */
bool shard_sum_is_idempotent(enum hlo_opcode sum);

/* axes of each factor out of how a tensor lies; true: that is all that cuts it */
bool shard_rule_project(const struct shard_mesh *mesh, const struct shard_rule *r, int tensor,
                        const struct shard_lay *lay, struct shard_axes *of_factor);
/* how a tensor lies where factors are cut so */
struct shard_lay shard_rule_lay(const struct shard_rule *r, int tensor,
                                const struct shard_axes *of_factor);

/* for the files of rules */
struct shard_made { struct shard_rule *rule; const struct hlo_module *module;
                    const struct hlo_instruction *i; };
int shard_add_factor(struct shard_rule *r, int64_t size);
void shard_tie(struct shard_rule *r, int tensor, int dim, int factor);
void shard_tie_window(struct shard_rule *r, int tensor, int dim, int factor, struct shard_window w);
void shard_tie_spatial(struct shard_made *m);        /* a convolution's windows */
typedef void shard_rule_fn(struct shard_made *m);
shard_rule_fn shard_rule_broadcast, shard_rule_reshape, shard_rule_transpose,
    shard_rule_bitcast_convert, shard_rule_slice, shard_rule_pad, shard_rule_reverse,
    shard_rule_concatenate, shard_rule_windows, shard_rule_dot, shard_rule_convolution, shard_rule_reduce,
    shard_rule_gather, shard_rule_scatter, shard_rule_batch_norm;
#endif
