/* Vectors as bits of other types, and random bits, on the host. */
#include "stack/mosaic/run_impl.h"

#include "base/threefry.h"
#include "stack/mosaic/random.h"

#include <math.h>

#include "base/floats.h"

uint32_t mosaic_bits_of(enum mosaic_element e, uint32_t word)
{
    int bits = mosaic_element_bits(e);

    if (e == MOSAIC_BF16)
        return bf16_from_f32_bits(word);
    if (mosaic_is_fp8(e))
        return mosaic_code_of_word(e, word) & 0xff;
    return bits == 32 ? word : word & ((1u << bits) - 1);
}

uint32_t mosaic_word_of_bits(enum mosaic_element e, uint32_t bits)
{
    if (e == MOSAIC_BF16)
        return bits << 16;
    if (mosaic_is_fp8(e))
        return mosaic_word_of_code(e, bits);
    if (mosaic_element_kind(e) == MOSAIC_KIND_FLOAT)
        return bits;
    return (uint32_t)mosaic_wrap(e, bits);
}

bool mosaic_has_bits(enum mosaic_element e)
{
    return mosaic_element_kind(e) == MOSAIC_KIND_INT || e == MOSAIC_F32 || e == MOSAIC_BF16 ||
           mosaic_is_fp8(e);
}

/* rows of narrow elements lie in one another's words, the first one lowest */
int mosaic_eval_bitcast(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *from = &op->operand[0]->type, *t = &op->result[0]->type;
    int fb = mosaic_element_bits(from->element), tb = mosaic_element_bits(t->element);
    int64_t lanes = t->rank ? t->dim[t->rank - 1] : 1, n = mosaic_elements(t);
    const uint32_t *a = mosaic_words(r, op->operand[0]);
    uint32_t *to = mosaic_out(r, op);

    if (!mosaic_has_bits(from->element) || !mosaic_has_bits(t->element) ||
        mosaic_elements(from) * fb != n * tb)
        return mosaic_stop(r, op, "bits of %s as %s", mosaic_element_name(from->element),
                           mosaic_element_name(t->element));
    for (int64_t i = 0; i < n; i++) {
        int64_t row = i / lanes, lane = i % lanes;
        uint32_t bits = 0;

        if (tb >= fb)
            for (int p = 0; p < tb / fb; p++)
                bits |= mosaic_bits_of(from->element, a[(row * (tb / fb) + p) * lanes + lane])
                        << (p * fb);
        else
            bits = mosaic_bits_of(from->element, a[row / (fb / tb) * lanes + lane])
                   >> (row % (fb / tb) * tb) & (tb == 32 ? ~0u : (1u << tb) - 1);
        to[i] = mosaic_word_of_bits(t->element, bits);
    }
    return 0;
}

int mosaic_eval_pack_elementwise(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_attr *target = mosaic_attr(op, "target_type");
    uint32_t *to = mosaic_out(r, op);
    int bits;

    if (!target || target->kind != MOSAIC_ATTR_TYPE || !mosaic_has_bits(target->type.element))
        return mosaic_stop(r, op, "it does not name the type that it packs to");
    bits = mosaic_element_bits(target->type.element);
    for (int64_t i = 0; i < mosaic_elements(&op->result[0]->type); i++) {
        to[i] = 0;
        for (int p = 0; p < op->operand_count; p++)
            to[i] |= mosaic_bits_of(target->type.element, mosaic_words(r, op->operand[p])[i])
                     << (p * bits % 32);
    }
    return 0;
}

int mosaic_eval_unpack_elementwise(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_attr *source = mosaic_attr(op, "source_type");
    int64_t index = mosaic_int(op, "index", 0);
    uint32_t *to = mosaic_out(r, op);
    int bits;

    if (!source || source->kind != MOSAIC_ATTR_TYPE || !mosaic_has_bits(source->type.element) ||
        index < 0 || index * mosaic_element_bits(source->type.element) > 31)
        return mosaic_stop(r, op, "it does not name the type that it unpacks");
    bits = mosaic_element_bits(source->type.element);
    for (int64_t i = 0; i < mosaic_elements(&op->result[0]->type); i++)
        to[i] = mosaic_word_of_bits(source->type.element,
                             mosaic_words(r, op->operand[0])[i] >> (index * bits) &
                             (bits == 32 ? ~0u : (1u << bits) - 1));
    return 0;
}

int mosaic_eval_stochastic_convert(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type;
    const uint32_t *a = mosaic_words(r, op->operand[0]), *bits = mosaic_words(r, op->operand[1]);
    uint32_t *to = mosaic_out(r, op);

    if (t->element != MOSAIC_BF16)
        return mosaic_stop(r, op, "to %s; bf16 is made", mosaic_element_name(t->element));
    for (int64_t i = 0; i < mosaic_elements(t); i++)
        to[i] = isfinite(f32_from_bits(a[i])) ? (a[i] + (bits[i] & 0xffff)) & 0xffff0000u : a[i];
    return 0;
}

/* ----- random bits: a generator of our own, since the hardware's is not told */

uint32_t mosaic_random_word(uint32_t key, int sublane, int lane)
{
    const uint32_t keys[2] = {key, 0}, counter[2] = {(uint32_t)(sublane % 4 * 128 + lane), 0};
    uint32_t word[2];

    threefry_2x32(keys, counter, word);
    return word[sublane / 4];
}

int mosaic_eval_prng_seed(struct mosaic_run *r, const struct mosaic_op *op)
{
    r->random_key = 0;
    for (int i = 0; i < op->operand_count; i++)
        r->random_key = mosaic_random_key(r->random_key,
                                          (uint32_t)mosaic_int_in(r, op->operand[i]));
    return 0;
}

/* tiles count through outer dimensions, rows, lanes */
int mosaic_eval_prng_bits(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type;
    int64_t lanes = t->rank ? t->dim[t->rank - 1] : 1, rows = t->rank > 1 ? t->dim[t->rank - 2] : 1;
    int64_t across = (lanes + 127) / 128, down = (rows + 7) / 8, count = mosaic_elements(t);
    uint32_t *to = mosaic_out(r, op);

    for (int64_t i = 0; i < count; i++) {
        int64_t lane = i % lanes, row = i / lanes % rows, outer = i / lanes / rows;
        int64_t tile = (outer * down + row / 8) * across + lane / 128;

        to[i] = mosaic_random_word(r->random_key + (uint32_t)tile, (int)(row % 8),
                                   (int)(lane % 128));
    }
    r->random_key += (uint32_t)(count / (lanes * rows) * down * across);
    return 0;
}
