/*
 * Whether what is computed of a product's results is faster as a loop over the block in VMEM than
 * in the rounds of the last pass, where no value can stay in its register longer than a round:
 * docs/gemm.md, Epilogue.
 */
#include "stack/kernels/dot/kernel_dot_epilogue.h"

#include <string.h>

#include "sim/chip/limits.h"

#define FEW_REGISTERS 32                /* of a chip that cannot keep what waits for the */
#define FEW_OPS 4                       /* transcendental unit, beside more operations than these */
#define SHORT_OPS 8                     /* for a result: rounds in any case */

struct lives {
    const struct chip *chip;
    int *ready, *written;               /* by virtual register: cycles, if nothing waits for slots */
    int pushed[BUNDLER_EUP_MAX], pushes, pops;
    int result, longest;                /* the register of a result; the longest life */
};

static int leaf(struct fused *f, int node, struct fused_value *out, void *user, struct err *e)
{
    const struct graph_node *n = &f->body->node[node];
    const struct graph_node *from = n->op == HLO_BROADCAST ? &f->body->node[n->operand[0]] : n;

    (void)user;
    (void)e;
    out->is_mask = n->shape.dtype == DTYPE_PRED;
    if (from->op == HLO_CONSTANT && !from->literal)
        out->part[0] = fused_constant(from->shape.dtype, from->value);
    else
        out->part[0] = R(out->is_mask ? vcode_mask(f->code) : vcode_vreg(f->code));
    return 0;
}

/* of results, and of what an operation makes; operands of the fusion are loaded when they are read */
static bool is_kept(const struct lives *l, int number)
{
    return number == l->result || l->ready[number] > 0;
}

/* an operation as early as its operands are there, which have been kept until then */
static void run(struct lives *l, const struct isa_op *op, bool is_late)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);
    bool is_push = info->unit == UNIT_EUP && info->slot != SLOT_POP;
    int at = info->unit == UNIT_EUP && !is_push
                 ? l->pushed[l->pops++ % BUNDLER_EUP_MAX] + (int)l->chip->eup_latency_cycles : 0;

    if (is_late)
        at = l->pushed[(l->pushes - 1) % BUNDLER_EUP_MAX];
    for (int k = 0; k < op->operand_count; k++)
        if ((info->role[k] == 'v' || info->role[k] == 'V') && op->operand[k].kind == OPERAND_REG
            && l->ready[op->operand[k].value] > at)
            at = l->ready[op->operand[k].value];
    for (int k = 0; k < op->operand_count; k++) {
        int number = op->operand[k].value;

        if (op->operand[k].kind != OPERAND_REG)
            continue;
        if (info->role[k] == 'd') {
            l->written[number] = at;
            l->ready[number] = at + chip_latency_cycles(l->chip, info->latency_class);
        } else if ((info->role[k] == 'v' || info->role[k] == 'V')
                   && is_kept(l, number) && at - l->written[number] > l->longest) {
            l->longest = at - l->written[number];
        }
    }
    if (is_push)
        l->pushed[l->pushes++ % BUNDLER_EUP_MAX] = at;
}

/* the code for one register of results, in the order in which rounds have it */
static void write_code(const struct graph *body, const struct chip *chip, struct dot_epilogue *x,
                       int *result, struct arena *a)
{
    struct vcode c;
    struct fused f;
    struct err e;

    vcode_init(&c, a);
    fused_init(&f, &c, chip, body, 1, a);
    f.leaf = leaf;
    for (int i = 0; i < body->output_count; i++)
        fused_emit(&f, body->output[i].node, &e);
    *x = (struct dot_epilogue){.op_count = c.block_count ? (int)c.block[0].op_count : 0,
                               .vreg_count = c.vreg_count};
    x->op = arena_array(a, (size_t)x->op_count + 1, sizeof(*x->op));
    for (int i = 0; i < x->op_count; i++)
        x->op[i] = c.block[0].op[i].op;
    dot_epilogue_order(x, arena_array(a, (size_t)x->op_count + 1, sizeof(bool)), a);
    *result = f.value[dot_body_find(body)].part[0].value;
    vcode_fini(&c);
}

static int longest_life(const struct graph *body, const struct chip *chip)
{
    struct lives l = {.chip = chip};
    struct dot_epilogue x;
    struct arena a;

    arena_init(&a);
    write_code(body, chip, &x, &l.result, &a);
    l.ready = arena_array(&a, (size_t)x.vreg_count + 1, sizeof(int));
    l.written = arena_array(&a, (size_t)x.vreg_count + 1, sizeof(int));
    for (int i = 0; i < x.op_count; i++)
        run(&l, &x.op[i], x.is_late[i]);
    arena_fini(&a);
    return l.longest;
}

bool dot_epilogue_is_long(const struct graph *body, int rows, const struct chip *chip)
{
    struct fused_cost cost;
    int results = rows / 8 * (int)chip->mxu_count * dot_halves(chip);

    dot_body_epilogue_cost(body, dot_body_find(body), chip, &cost);
    if (cost.eup > 1)
        return true;
    if (cost.eup && chip->core_vregs <= FEW_REGISTERS)
        return cost.valu > FEW_OPS;
    return cost.valu > SHORT_OPS
           && longest_life(body, chip) > results * cost.valu / (int)chip->slots_valu;
}
