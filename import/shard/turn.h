/*
 * Parameters and results that are cut over the same devices as everything else, but in another order
 * of them. Inside they lie in the mesh's own order; a permutation of devices stands behind such a
 * parameter, and before such a result.
 */
#ifndef IMPORT_SHARD_TURN_H
#define IMPORT_SHARD_TURN_H
#include "import/shard/shard_impl.h"

struct shard_turn {
    int parameter, element;             /* number of the parameter, or -1 and of the result */
    const struct hlo_sharding *asked;
    struct hlo_sharding inside;         /* the same tiles, in the mesh's order */
};

struct shard_turns {
    int count;
    struct shard_turn *item;
};

/* takes down what the entry of `flat` asks for and puts the mesh's order there, and into s->mesh */
void shard_turns_find(struct shard_state *s, struct hlo_module *flat, struct shard_turns *turns);
/* the permutations, in the program that was made, and what the boundary says */
int shard_turns_make(const struct shard_state *s, struct shard_turns *turns, struct hlo_module *made,
                     struct shard_boundary *boundary);
#endif
