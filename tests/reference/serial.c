#include "tests/reference/serial.h"

#include "tests/test.h"

/* Registers of one file in one block: by virtual number, physical or -1. */
struct file {
    int *physical;
    size_t *last_use;                   /* operation of the block that names it last */
    bool taken[ISA_VREG_MAX];
    int count;
};

struct serial {
    const struct vcode *c;
    struct arena *a;
    struct isa_program *p;
    struct file v, m;
};

static void init_file(struct file *f, struct arena *a, int virtual_count, int count)
{
    f->physical = arena_array(a, (size_t)virtual_count, sizeof(int));
    f->last_use = arena_array(a, (size_t)virtual_count, sizeof(size_t));
    f->count = count;
    for (int i = 0; i < virtual_count; i++)
        f->physical[i] = -1;
}

static int take(struct file *f)
{
    for (int i = 0; i < f->count; i++)
        if (!f->taken[i]) {
            f->taken[i] = true;
            return i;
        }
    fail_msg("more than %d registers at once", f->count);
    return -1;
}

static struct file *file_of(struct serial *s, char role)
{
    return strchr("dvV", role) ? &s->v : strchr("mn", role) ? &s->m : NULL;
}

static void add_bundle(struct serial *s, const struct isa_op *op)
{
    struct isa_program *p = s->p;

    p->bundle[p->bundle_count].first_op = p->op_count;
    if (op) {
        p->op[p->op_count++] = *op;
        p->bundle[p->bundle_count].op_count = 1;
    }
    p->bundle_count++;
}

static bool is_pinned(const struct serial *s, const struct file *f, int number)
{
    return f == &s->v && s->c->is_pinned[number];
}

static void add_op(struct serial *s, const struct isa_op *source, size_t index)
{
    const struct isa_info *info = isa_info((enum isa_opcode)source->code);
    struct isa_op op = *source;

    for (int k = 0; k < op.operand_count; k++) {
        struct file *f = file_of(s, info->role[k]);
        int number = op.operand[k].value;

        if (!f || op.operand[k].kind != OPERAND_REG)
            continue;
        if (f->physical[number] < 0)
            f->physical[number] = take(f);
        op.operand[k].value = f->physical[number];
    }
    add_bundle(s, &op);
    for (int k = 0; k < op.operand_count; k++) {
        struct file *f = file_of(s, info->role[k]);
        int number = source->operand[k].value;

        if (f && op.operand[k].kind == OPERAND_REG && f->last_use[number] == index &&
            !is_pinned(s, f, number))
            f->taken[f->physical[number]] = false;
    }
}

static void add_block(struct serial *s, const struct vcode_block *b)
{
    for (size_t i = 0; i < b->op_count; i++) {
        const struct isa_op *op = &b->op[i].op;

        for (int k = 0; k < op->operand_count; k++) {
            struct file *f = file_of(s, isa_info((enum isa_opcode)op->code)->role[k]);

            if (f && op->operand[k].kind == OPERAND_REG)
                f->last_use[op->operand[k].value] = i;
        }
    }
    for (size_t i = 0; i < b->op_count; i++)
        add_op(s, &b->op[i].op, i);
}

static void add_loop_end(struct serial *s, int counter, uint32_t target, int delay_bundles)
{
    struct isa_op op = {.code = OP_SSUB, .pred = ISA_PRED_ALWAYS, .operand_count = 3,
                        .operand = {operand_reg(counter), operand_reg(counter),
                                    operand_imm(1)}};

    add_bundle(s, &op);
    op.code = OP_SCMP_LT;               /* p0: was that the last round */
    op.operand[0] = operand_reg(0);
    add_bundle(s, &op);
    op = (struct isa_op){.code = OP_SBR, .pred = 0, .pred_is_negated = 1, .operand_count = 1,
                         .operand = {operand_imm((int32_t)target)}};
    add_bundle(s, &op);
    for (int i = 0; i < delay_bundles; i++)
        add_bundle(s, NULL);
}

void serial_compile(const struct vcode *c, int branch_delay_bundles, struct arena *a,
                    struct isa_program *p)
{
    const struct isa_op halt = {.code = OP_SHALT, .pred = ISA_PRED_ALWAYS};
    struct serial s = {.c = c, .a = a, .p = p};
    uint32_t start[ISA_SREG_COUNT] = {0};
    size_t most = 1;

    for (size_t b = 0; b < c->block_count; b++)
        most += c->block[b].op_count + 3 + (size_t)branch_delay_bundles;
    *p = (struct isa_program){.name = "serial",
                              .op = arena_array(a, most, sizeof(*p->op)),
                              .bundle = arena_array(a, most, sizeof(*p->bundle))};
    init_file(&s.v, a, c->vreg_count, ISA_VREG_MAX);
    init_file(&s.m, a, c->mask_count, ISA_MASK_COUNT);
    for (size_t b = 0; b < c->block_count; b++) {
        const struct vcode_block *block = &c->block[b];

        if (block->is_loop_start)
            start[block->counter_sreg] = p->bundle_count;
        add_block(&s, block);
        if (block->is_loop_end)
            add_loop_end(&s, block->counter_sreg, start[block->counter_sreg],
                         branch_delay_bundles);
    }
    add_bundle(&s, &halt);
}
