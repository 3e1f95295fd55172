/*
 * Loop fusions: single values that are spread. They come into scalar memory, beside the first
 * boxes, and from there into every element of a register: the cross-lane unit would take longer
 * than a small kernel does. Only what no kernel writes: timing mode does not know what others
 * hold, and scalars may decide about branches.
 */
#include "stack/kernels/loop/loop_nest.h"

#define SMEM_LEAST 4096                 /* descriptors of copies fit below the values */
#define FLAGS_LEAST 32                  /* of which a pipeline has no more than 22 */

void loop_place_scalars(struct loop_plan *p)
{
    const struct kernel_job *j = p->job;
    int64_t at = (j->smem + j->smem_bytes) / ARRAY_GRANULE_BYTES * ARRAY_GRANULE_BYTES;

    p->scalar_count = 0;
    for (int i = 0; i < p->operand_count; i++) {
        struct loop_array *a = &p->array[i];

        a->smem = -1;
        if (!p->is_alone || !a->array->is_fixed || a->array->shape.rank > 0 || a->is_tiled
            || a->is_own || a->lane_axis == -2
            || j->smem_bytes < SMEM_LEAST || j->flag_count < FLAGS_LEAST)
            continue;
        at -= ARRAY_GRANULE_BYTES;
        a->smem = at;
        p->scalar_count++;
    }
}

static struct isa_operand flag_of(const struct loop_plan *p)
{
    return I(p->job->first_flag + p->job->flag_count - 1);
}

void loop_fetch_scalars(const struct loop_plan *p, struct vcode *c)
{
    for (int i = 0; i < p->operand_count; i++) {
        const struct loop_array *a = &p->array[i];

        if (a->smem >= 0)
            emit_dma(c, a->array->space == SPACE_HBM ? OP_DMA_HBM_SMEM : OP_DMA_VMEM_SMEM,
                     I(a->array->address / ARRAY_GRANULE_BYTES), I(1),
                     I(a->smem / ARRAY_GRANULE_BYTES), flag_of(p));
    }
}

void loop_await_scalars(const struct loop_plan *p, struct vcode *c)
{
    if (p->scalar_count > 0)
        emit_dma_done(c, flag_of(p), I(p->scalar_count));
}

void loop_forget_scalars(const struct loop_plan *p, struct vcode *c)
{
    if (p->scalar_count == 0)
        return;
    vcode_begin_block(c);
    loop_await_scalars(p, c);           /* a core without steps has not */
    emit_vsyncadd(c, flag_of(p), I(-p->scalar_count));
}

int loop_load_scalar(struct loop_nest *n, const struct loop_array *a)
{
    int word = loop_nest_temp(n);

    emit_sld(n->code, word, NONE, I(a->smem));
    return emit_vstv(n->code, word);
}
