/*
 * Random bits: each tile that is drawn has a key of its own, one behind the other from where the seed
 * has set it (mosaic_random_key), so that the order of the code does not matter. What the hardware's
 * generator gives is not published; ours is docs/numerics.md's.
 */
#include "stack/kernels/mosaic/tile.h"

#include "stack/mosaic/random.h"

int pallas_prng_seed(struct lower *l, const struct mosaic_op *op)
{
    struct scalar key = scalar_known(0);

    for (int i = 0; i < op->operand_count; i++) {
        if (op->operand[i]->type.kind != MOSAIC_SCALAR)
            return pallas_fail(l, op, "a seed that is no scalar");
        key = scalar_mul(l, scalar_add(l, key, scalar_of(l, op->operand[i])),
                         (int32_t)MOSAIC_RANDOM_SPREAD);
    }
    if (!l->is_seeded)
        l->random = scalar_word(l);
    l->is_seeded = true;
    scalar_write(l, l->random, key);
    return 0;
}

/* the bits stand in memory at once: nobody who reads them twice draws twice */
int pallas_prng_bits(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_value *v = op->result[0];
    struct place p;

    if (v->type.kind != MOSAIC_VECTOR || v->type.element != MOSAIC_I32)
        return pallas_fail(l, op, "bits that are no vector of i32");
    if (!l->is_seeded)
        return pallas_fail(l, op, "no seed is set before it");
    if (root_flush(l) || root_materialize(l, v, &p))
        return -1;
    pallas_begin_block(l);
    scalar_write(l, l->random, scalar_add(l, l->random, scalar_known(
        tile_rows_down(l, v) * tile_lanes_across(l, v))));
    return 0;
}

bool tile_prng_bits(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    int64_t across = tile_lanes_across(t->l, op->result[0]);
    opnd key = tile_counter(t, t->l->random, across);

    emit_sadd(t->c, LOWER_CACHE_FIRST, key, I(at->row * across + at->lane));
    emit_setrngseed(t->c, R(LOWER_CACHE_FIRST));
    *out = R(emit_vrng(t->c));
    return true;
}
