/* The kernels of a program, as the list that comes with it says, and what their code says to it. */
#include "sim/core/program.h"

/*
 * what carries something into a kernel or out of it, or shows where the core is; what a
 * descriptor does is seen when it is run
 */
static bool is_tied(enum isa_opcode code)
{
    const struct isa_info *info = isa_info(code);
    bool loads_cmem = info->slot != SLOT_DMA && info->reads & ISA_CMEM;
    bool shows_flag = info->reads & ISA_FLAGS && info->role[0] == 'e';

    return loads_cmem || shows_flag ||
           (isa_touches(code) &
                (uint32_t)((ISA_CORE_STATES & ~(ISA_IAR | ISA_TIME)) | ISA_REMOTE) &&
            info->format != ISA_FMT_DMA_DESC);
}

static bool may_stand_alone(const struct isa_program *p, const struct decoded_kernel *k)
{
    for (uint32_t b = k->first; b < k->end; b++)
        for (uint32_t i = 0; i < p->bundle[b].op_count; i++) {
            const struct isa_op *op = &p->op[p->bundle[b].first_op + i];
            uint32_t target = (uint32_t)op->operand[0].value;

            if (is_tied((enum isa_opcode)op->code)
                || (op->code == OP_SBR && (op->operand[0].kind != OPERAND_IMM
                                           || target < k->first || target > k->end)))
                return false;
        }
    return true;
}

int program_set_kernels(struct decoded_program *p, const struct decoded_kernel *kernel, int count,
                        struct err *e)
{
    for (int i = 0; i < count; i++)
        if (kernel[i].first > kernel[i].end || kernel[i].end > p->source->bundle_count)
            return err_set(e, "kernel %d: bundles %u..%u of a program of %u", i,
                           (unsigned)kernel[i].first, (unsigned)kernel[i].end,
                           (unsigned)p->source->bundle_count);
    mem_free(p->kernel);
    p->kernel = mem_alloc(((size_t)count + 1) * sizeof(*p->kernel));
    p->kernel_count = (uint32_t)count;
    for (int i = 0; i < count; i++)
        p->kernel[i] = (struct decoded_kernel){
            kernel[i].first, kernel[i].end,
            kernel[i].is_alone && may_stand_alone(p->source, &kernel[i])};
    return 0;
}
