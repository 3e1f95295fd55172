/*
 * Memory seen as elements of another type, on the host.
 *
 * Buffers keep the elements that they were made with; a view of wider ones knows which rows lie in one
 * word, the first one lowest, and puts a word together when it is loaded, or takes it apart when it is
 * stored.
 */
#include "stack/mosaic/run_impl.h"
#include "stack/mosaic/watch_impl.h"

int mosaic_eval_memref_bitcast(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *from = &op->operand[0]->type, *to = &op->result[0]->type;
    int fb = mosaic_element_bits(from->element), tb = mosaic_element_bits(to->element);
    struct mosaic_view v = mosaic_in(r, op, 0)->view;
    int row = v.rank - 2;

    if (mosaic_type_equal(to, from))
        return mosaic_eval_memref_view(r, op);
    if (!mosaic_has_bits(from->element) || !mosaic_has_bits(to->element) || v.cast.parts ||
        to->rank != v.rank || tb < fb || (tb > fb && (row < 0 || v.dim[row] % (tb / fb))))
        return mosaic_stop(r, op, "memory of %s as %s", mosaic_element_name(from->element),
                           mosaic_element_name(to->element));
    v.cast = (struct mosaic_cast){.own = from->element, .seen = to->element, .parts = tb / fb,
                                  .step = row < 0 ? 0 : v.stride[row]};
    if (tb > fb) {
        v.dim[row] /= tb / fb;
        v.stride[row] *= tb / fb;
    }
    mosaic_datum(r, op->result[0])->view = v;
    return 0;
}

uint32_t mosaic_view_load(struct mosaic_run *r, const struct mosaic_op *op,
                          const struct mosaic_view *v, int64_t word, bool is_used)
{
    int bits = v->cast.parts ? mosaic_element_bits(v->cast.own) : 0;
    uint32_t all = 0;

    for (int p = 0; p < (v->cast.parts ? v->cast.parts : 1); p++) {
        int64_t at = word + p * v->cast.step;

        watch_load(r, op, v->buffer, at, is_used);
        if (!v->cast.parts)
            return v->buffer->word[at];
        all |= mosaic_bits_of(v->cast.own, v->buffer->word[at]) << (p * bits);
    }
    return mosaic_word_of_bits(v->cast.seen, all);
}

void mosaic_view_store(struct mosaic_run *r, const struct mosaic_op *op,
                       const struct mosaic_view *v, int64_t word, uint32_t x)
{
    int bits = v->cast.parts ? mosaic_element_bits(v->cast.own) : 32;
    uint32_t all = v->cast.parts ? mosaic_bits_of(v->cast.seen, x) : x;

    for (int p = 0; p < (v->cast.parts ? v->cast.parts : 1); p++) {
        int64_t at = word + p * v->cast.step;
        uint32_t part = bits == 32 ? all : all >> (p * bits) & ((1u << bits) - 1);

        watch_store(r, op, v->buffer, at);
        v->buffer->word[at] = v->cast.parts ? mosaic_word_of_bits(v->cast.own, part) : part;
    }
}
