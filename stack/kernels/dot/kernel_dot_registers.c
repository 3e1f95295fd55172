/*
 * Physical vector registers of a step: rows, results, sums and weights have
 * their own; what is left is the epilogue's, by a scan in the order of its
 * operations.
 */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/dot/kernel_dot_impl.h"

struct scan {
    int *last_use, *physical;           /* by virtual register */
    int pool[ISA_VREG_MAX], count, next;        /* free ones, a ring: the longest free first */
    int free_count;
};

static void scan_init(struct scan *s, int virtuals, int first, int count, struct arena *a)
{
    s->last_use = arena_array(a, (size_t)virtuals + 1, sizeof(int));
    s->physical = arena_array(a, (size_t)virtuals + 1, sizeof(int));
    for (int i = 0; i < virtuals; i++)
        s->last_use[i] = s->physical[i] = -1;
    for (int i = 0; i < count; i++)
        s->pool[i] = first + i;
    s->count = s->free_count = count;
    s->next = 0;
}

static int scan_take(struct scan *s)
{
    int number;

    if (s->free_count == 0)
        return -1;
    number = s->pool[s->next];
    s->next = (s->next + 1) % s->count;
    s->free_count--;
    return number;
}

static void scan_give(struct scan *s, int number)
{
    s->pool[(s->next + s->free_count) % s->count] = number;
    s->free_count++;
}

static bool is_mask_role(char role) { return role == 'n' || role == 'N' || role == 'm'; }
static bool is_vector_role(char role) { return role == 'v' || role == 'V' || role == 'd'; }

static void find_last_uses(const struct dot_epilogue *e, struct scan *v, struct scan *m)
{
    for (int i = 0; i < e->op_count; i++) {
        const struct isa_info *info = isa_info((enum isa_opcode)e->op[i].code);

        for (int k = 0; k < e->op[i].operand_count; k++) {
            if (e->op[i].operand[k].kind != OPERAND_REG)
                continue;
            if (is_vector_role(info->role[k]))
                v->last_use[e->op[i].operand[k].value] = i;
            else if (is_mask_role(info->role[k]))
                m->last_use[e->op[i].operand[k].value] = i;
        }
    }
}

/* the registers that an operation writes (or reads), renamed; -1: none is free */
static int rename_operands(struct isa_op *op, int at, struct scan *v, struct scan *m, bool writes,
                           int first_pool)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    for (int k = 0; k < op->operand_count; k++) {
        char role = info->role[k];
        struct scan *s = is_vector_role(role) ? v : is_mask_role(role) ? m : NULL;
        int number = op->operand[k].value;

        if (!s || op->operand[k].kind != OPERAND_REG || (role == 'd' || role == 'm') != writes)
            continue;
        if (writes && s->physical[number] < 0) {
            s->physical[number] = scan_take(s);
            if (s->physical[number] < 0)
                return -1;
        }
        op->operand[k].value = s->physical[number];
        if (s->last_use[number] == at && (s == m || s->physical[number] >= first_pool)) {
            scan_give(s, s->physical[number]);
            s->last_use[number] = -1;
        }
    }
    return 0;
}

/* the epilogue of one unit's results, into `to` */
static int assign(struct dot_code *d, int unit, struct isa_op *to, struct arena *a)
{
    const struct dot_epilogue *e = d->s->epilogue;
    struct scan v, m;

    scan_init(&v, e->vreg_count, d->v_pool, d->pool_count, a);
    scan_init(&m, e->mask_count, 0, ISA_MASK_COUNT, a);
    find_last_uses(e, &v, &m);
    for (int i = 0; i < d->result_count; i++) {
        const struct dot_result *r = &d->result[i];

        if (r->tile >= 0 && (!d->s->by_rows || r->unit == unit)
            && e->input[r->tile][r->part] >= 0)
            v.physical[e->input[r->tile][r->part]] = d->v_popped + i;
    }
    for (int i = 0; i < e->op_count; i++) {
        const struct isa_info *info = isa_info((enum isa_opcode)e->op[i].code);
        int base = info->slot == SLOT_LOAD ? 1 : info->slot == SLOT_STORE ? 0 : -1;

        to[i] = e->op[i];
        if (rename_operands(&to[i], i, &v, &m, false, d->v_pool)
            || rename_operands(&to[i], i, &v, &m, true, d->v_pool))
            return -1;
        if (base >= 0)
            to[i].operand[base + 1].value += (int32_t)(
                unit * e->pointer[to[i].operand[base].value - S_OUT].unit_step);
    }
    return 0;
}

int dot_epilogue_registers(struct dot_code *d, struct arena *a, struct err *e)
{
    const struct dot_epilogue *epilogue = d->s->epilogue;
    int units = d->s->by_rows ? d->s->units : 1;

    if (!epilogue)
        return 0;
    if (d->popped_count < d->result_count)
        return err_set(e, "the results of a round need %d vector registers, %d are free",
                       d->result_count, d->popped_count);
    d->epilogue = arena_array(a, (size_t)(units * epilogue->op_count + 1), sizeof(*d->epilogue));
    for (int unit = 0; unit < units; unit++)
        if (assign(d, unit, d->epilogue + unit * epilogue->op_count, a))
            return err_set(e, "what is computed of its results needs more than %d vector "
                           "registers", d->pool_count);
    return 0;
}
