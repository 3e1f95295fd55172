/*
 * The program around the kernels: copies from and to HBM.
 *
 * Every input and output has its own sync flag. Inputs are fetched as early as
 * the plan allows and waited for before the first kernel that reads them;
 * outputs leave when their kernel is done and are waited for when the plan
 * gives their room away, at the latest at the end.
 */
#include "stack/lower.h"

#include <string.h>

#define GRANULE_BYTES 32
#define GRANULES_PER_ROW 16
#define RING_FLAGS 3

struct copy {
    int flag;
    int buffer;
    int64_t hbm_address, bytes;
    int start_kernel;                   /* issued before (input) or after (output) this kernel */
    int wait_kernel;                    /* awaited before this kernel; kernel_count = at the end */
};

struct copies {
    struct copy *in, *out;
    int in_count, out_count;
};

static void emit_copy(struct lower *l, const struct copy *c, bool is_input)
{
    struct isa_operand hbm = operand_imm((int32_t)(c->hbm_address / GRANULE_BYTES));
    struct isa_operand vmem =
        operand_imm((int32_t)(plan_tile_row(l->plan, c->buffer, 0) * GRANULES_PER_ROW));
    struct isa_operand size = operand_imm((int32_t)(c->bytes / GRANULE_BYTES));

    lower_misc(l, is_input ? OP_DMA_HBM_VMEM : OP_DMA_VMEM_HBM, 4,
               (struct isa_operand[]){is_input ? hbm : vmem, size, is_input ? vmem : hbm,
                                      operand_imm(c->flag)});
}

static void emit_wait(struct lower *l, const struct copy *c)
{
    int32_t granules = (int32_t)(c->bytes / GRANULE_BYTES);

    lower_misc(l, OP_DMA_DONE, 2,
               (struct isa_operand[]){operand_imm(c->flag), operand_imm(granules)});
    lower_misc(l, OP_VSYNCADD, 2,
               (struct isa_operand[]){operand_imm(c->flag), operand_imm(-granules)});
}

static void plan_inputs(const struct plan *p, const struct compiled *out, struct copies *c)
{
    c->in = arena_array(p->arena, (size_t)p->graph->parameter_count + 1, sizeof(*c->in));
    for (int i = 0; i < p->graph->parameter_count; i++) {
        int node = p->graph->parameter[i];
        const struct value *v = &p->value[node];
        int first = p->value[node].buffer < 0 ? 0 : p->buffer[v->buffer].first_kernel;

        if (v->buffer < 0)              /* nobody reads it */
            continue;
        c->in[c->in_count] = (struct copy){
            .flag = c->in_count,
            .buffer = v->buffer,
            .hbm_address = out->parameter[i].hbm_address,
            .bytes = out->parameter[i].layout.bytes,
            .start_kernel = first < 0 ? 0 : first,
            .wait_kernel = plan_first_reader(p, node),
        };
        c->in_count++;
    }
}

static int plan_outputs(const struct plan *p, const struct compiled *out, struct copies *c,
                        struct err *e)
{
    c->out = arena_array(p->arena, (size_t)p->graph->output_count + 1, sizeof(*c->out));
    for (int i = 0; i < p->graph->output_count; i++) {
        const struct value *v = &p->value[p->graph->output[i].node];
        int leaves = plan_output_leaves(p, i);

        if (v->kernel < 0)
            return err_set(e, "output %s is parameter %s unchanged", p->graph->output[i].name,
                           p->graph->node[p->graph->output[i].node].name);
        if (v->form == FORM_COLUMN)
            return err_set(e, "output %s is a vector along the rows; reshape it to [n,1]",
                           p->graph->output[i].name);
        c->out[c->out_count] = (struct copy){
            .flag = c->in_count + c->out_count,
            .buffer = v->buffer,
            .hbm_address = out->output[i].hbm_address,
            .bytes = out->output[i].layout.bytes,
            .start_kernel = leaves,
            .wait_kernel = p->is_lean ? leaves + 2 : p->kernel_count,
        };
        if (c->out[c->out_count].wait_kernel > p->kernel_count)
            c->out[c->out_count].wait_kernel = p->kernel_count;
        c->out_count++;
    }
    return 0;
}

/* inputs in the order in which they are needed */
static void sort_inputs(struct copies *c)
{
    for (int i = 1; i < c->in_count; i++) {
        struct copy moved = c->in[i];
        int j = i;

        for (; j > 0 && c->in[j - 1].wait_kernel > moved.wait_kernel; j--)
            c->in[j] = c->in[j - 1];
        c->in[j] = moved;
    }
}

/* what this kernel itself waits for goes ahead of what later kernels need */
static void emit_copies_before(struct lower *l, const struct copies *c, int kernel)
{
    vcode_begin_block(l->code);
    for (int i = 0; i < c->out_count; i++)
        if (c->out[i].wait_kernel == kernel)
            emit_wait(l, &c->out[i]);
    for (int i = 0; i < c->in_count; i++)
        if (c->in[i].start_kernel == kernel && c->in[i].wait_kernel == kernel)
            emit_copy(l, &c->in[i], true);
    for (int i = 0; i < c->in_count; i++)
        if (c->in[i].wait_kernel == kernel)
            emit_wait(l, &c->in[i]);
    for (int i = 0; i < c->in_count; i++)
        if (c->in[i].start_kernel == kernel && c->in[i].wait_kernel != kernel)
            emit_copy(l, &c->in[i], true);
}

static void emit_copies_after(struct lower *l, const struct copies *c, int kernel)
{
    vcode_begin_block(l->code);
    for (int i = 0; i < c->out_count; i++)
        if (c->out[i].start_kernel == kernel)
            emit_copy(l, &c->out[i], false);
}

/*
 * What the machine needs between kernels besides the copies: drain, fence,
 * overlay check. The marker after it takes the wait, so that it is not charged
 * to the next kernel's source operation.
 */
static void emit_gap(struct lower *l, int kernel)
{
    int64_t cycles = l->chip->launch_kernel_ns * l->chip->chip_clock_mhz / 1000;

    vcode_begin_block(l->code);
    if (cycles > 0)
        lower_misc(l, OP_VDELAY, 1, (struct isa_operand[]){operand_imm((int32_t)cycles)});
    lower_misc(l, OP_VTRACE, 1, (struct isa_operand[]){operand_imm(kernel)});
}

static int emit_kernel(struct lower *l, int kernel, struct err *e)
{
    const struct kernel *k = &l->plan->kernel[kernel];

    switch (k->kind) {
    case KERNEL_LOOP:
        lower_loop_kernel(l, k, kernel);
        return 0;
    case KERNEL_DOT:
        return lower_dot_kernel(l, k, e);
    case KERNEL_TRANSPOSE:
        vcode_begin_block(l->code);
        lower_transpose_kernel(l, k);
        return 0;
    case KERNEL_ALL_REDUCE:
        lower_all_reduce_kernel(l, k);
        return 0;
    }
    return 0;
}

int pass_lower(struct plan *p, const struct compiled *out, struct vcode *code, struct err *e)
{
    struct lower l = {.plan = p, .code = code, .chip = p->options->chip};
    struct copies c = {0};

    plan_inputs(p, out, &c);
    sort_inputs(&c);
    if (plan_outputs(p, out, &c, e))
        return -1;
    l.first_ring_flag = c.in_count + c.out_count;
    if (l.first_ring_flag + RING_FLAGS > l.chip->sync_flags)
        return err_set(e, "%s needs %d sync flags, %s has %d", p->graph->name,
                       l.first_ring_flag + RING_FLAGS, l.chip->chip_name,
                       (int)l.chip->sync_flags);
    for (int k = 0; k < p->kernel_count; k++) {
        if (k > 0) {
            code->note = "between kernels";
            emit_gap(&l, k);
        }
        code->note = "copies from HBM";
        emit_copies_before(&l, &c, k);
        code->note = p->kernel[k].note;
        if (emit_kernel(&l, k, e))
            return -1;
        code->note = "copies to HBM";
        emit_copies_after(&l, &c, k);
    }
    code->note = "copies to HBM";
    emit_copies_before(&l, &c, p->kernel_count);
    return 0;
}
