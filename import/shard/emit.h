/* Writing the program of one device: what its parts have made already, and pieces that they share. */
#ifndef IMPORT_SHARD_EMIT_H
#define IMPORT_SHARD_EMIT_H
#include "import/shard/shard_impl.h"

struct shard_index { struct shard_axes axes; int made; };      /* made: an s32 scalar */
/* lists of devices, shared by all collectives over the same axes */
struct shard_lists { struct shard_axes axes; bool is_global; struct hlo_ints size, id; };
struct shard_moved { int x, made, next; struct shard_lay to; };

enum { SHARD_MOVED_LISTS = 256 };

struct shard_emitter {
    const struct shard_state *s;
    const struct shard_mesh *mesh;
    struct hlo_builder *b;
    int computation;                    /* what follows is of this one */
    int number;                         /* the device's number in the mesh, s32; -1: not made yet */
    struct shard_index *index;
    int index_count;
    size_t index_room;
    struct shard_lists *lists;
    int lists_count;
    size_t lists_room;
    struct shard_moved *moved;          /* arrays that have been brought to lie otherwise */
    int moved_count, moved_list[SHARD_MOVED_LISTS];
    size_t moved_room;
    int64_t channel;                    /* of the next collective */
};

/* ----- device.c: scalars of this device, collectives over axes */

int shard_s32(struct shard_emitter *e, int64_t value);
/* which part of a dimension cut by these axes is this device's: an s32 scalar */
int shard_index_of(struct shard_emitter *e, const struct shard_axes *axes);
/* where its part of a dimension of `size` begins */
int shard_offset_of(struct shard_emitter *e, const struct shard_axes *axes, int64_t size);
int shard_all_gather(struct shard_emitter *e, int x, int dim, const struct shard_axes *axes);
int shard_all_reduce(struct shard_emitter *e, int x, const struct shard_axes *axes, int computation);
int shard_reduce_scatter(struct shard_emitter *e, int x, int dim, const struct shard_axes *axes,
                         int computation);
/* `split` is cut by the axes and `joined` no more */
int shard_all_to_all(struct shard_emitter *e, int x, int split, int joined,
                     const struct shard_axes *axes);
int shard_permute(struct shard_emitter *e, int x, const struct shard_lay *from,
                  const struct shard_lay *to);
/* from the device at place `sender` along the axes, by receiver; zeros for whom none (-1) sends */
int shard_send(struct shard_emitter *e, int x, const struct shard_axes *axes,
               const int64_t *sender);
/* what a sum begins with, as a scalar */
int shard_identity(struct shard_emitter *e, enum hlo_opcode sum, enum hlo_element element);
/* x, but `value` (a scalar) where index `dim` lies behind the end of a dimension of `size` */
int shard_mask_end(struct shard_emitter *e, int x, int dim, const struct shard_axes *axes,
                   int64_t size, int value);

/* ----- move.c: an array of whole type `t`, or all leaves of a value, to lie otherwise */

int shard_move(struct shard_emitter *e, int x, const struct hlo_type *t,
               const struct shard_lay *from, const struct shard_lay *to);
int shard_move_value(struct shard_emitter *e, int x, const struct hlo_type *t,
                     const struct shard_lay *from, const struct shard_lay *to);
/* an element of a tuple, without an instruction where the tuple is one's */
int shard_element(struct shard_emitter *e, int tuple, int index);

/* ----- choose.c: how an operation is cut */

void shard_choose(const struct shard_state *s, int computation, const struct hlo_instruction *n,
                  const struct shard_place *place, struct shard_axes *of_factor);

/* ----- emit_rule.c, emit_index.c */

int shard_emit_rule(struct shard_emitter *e, const struct hlo_instruction *n,
                    const struct shard_place *place, const int *operand);

struct shard_cutting {                  /* an operation and how it is cut */
    const struct hlo_instruction *n;
    const struct shard_rule *rule;
    const struct shard_axes *of_factor;
    int *operand;                       /* as it wants them */
    struct hlo_type type;               /* of the part */
    bool is_summed;                     /* what devices have parts of is combined already */
};
int shard_emit_gather(struct shard_emitter *e, struct shard_cutting *c);
int shard_emit_scatter(struct shard_emitter *e, struct shard_cutting *c);
/* the index factor of a dimension of the array; -1: none, or not cut */
int shard_index_factor(const struct shard_cutting *c, int dim);
/* what is said of how it lies is not for the parts any more, but that one device alone has the host */
static inline bool shard_keeps_sharding(const struct hlo_instruction *n)
{
    bool is_message = n->op == OPCODE_SEND || n->op == OPCODE_RECV;
    const struct hlo_detail *detail = hlo_detail(n);

    return is_message && detail->sharding_count > 0 && detail->sharding[0].kind == HLO_MAXIMAL;
}
#endif
