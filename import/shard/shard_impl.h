/* What the steps of cutting a program share: how each leaf of each instruction lies. */
#ifndef IMPORT_SHARD_IMPL_H
#define IMPORT_SHARD_IMPL_H
#include "import/program/build.h"
#include "import/shard/lay.h"
#include "import/shard/rule.h"
#include "import/shard/shard.h"

struct shard_place {                    /* of an instruction */
    int leaves;
    struct shard_lay *lay;              /* by leaf of its type */
    bool *is_fixed;                     /* somebody has said so */
    uint32_t *open;                     /* of a fixed leaf, dimensions that may be cut further */
    uint32_t manual;                    /* axes that it lies over by hand: no cut of ours is there */
    const struct shard_rule *rule;
};

struct shard_computation {
    bool is_cut;                        /* the entry, bodies, conditions, branches */
    struct shard_place *place;
};

struct shard_state {
    struct arena *arena;
    const struct hlo_module *module;    /* flat: shard_prepare's */
    struct shard_mesh mesh;
    struct shard_computation *computation;
    bool *is_whole;                     /* by computation: nothing in it is cut */
    struct err *err;
};

/*
 * The program with calls, fusions and Shardy's custom calls resolved, every loop and branch with
 * computations of its own whose root is theirs alone.
 */
int shard_prepare(const struct hlo_module *from, struct hlo_module *flat, struct arena *a,
                  struct err *e);
/* partitions that the header or the largest sharding speaks of */
int64_t shard_partitions(const struct hlo_module *m);

/* what is said of lays, and over which axes instructions lie by hand */
void shard_note(struct shard_state *s);
/* lays of all others: forwards and backwards until nothing changes */
void shard_spread(struct shard_state *s);
/* parameters and results: cuts that callers can name and make; -1: a mesh that cannot be read */
int shard_settle_boundary(struct shard_state *s);
/* computations that may or may not run and exchange something in `made` are to be whole; false:
 * there are none that are not yet */
bool shard_find_uncertain(struct shard_state *s, const struct hlo_module *made);
/* the program of one device */
int shard_emit(struct shard_state *s, struct hlo_module *made);

static inline struct shard_place *shard_place_of(const struct shard_state *s, int computation,
                                                 int instruction)
{
    return &s->computation[computation].place[instruction];
}
/* where leaf `leaf` of element `index` of a tuple type stands among all its leaves */
int shard_first_leaf(const struct hlo_type *tuple, int index);
#endif
