/*
 * Physical vector registers of a step: rows, results, sums and weights have
 * their own; what is left is the epilogue's, by a scan in the order of its
 * operations.
 */
#include <string.h>

#include "base/units.h"
#include "sim/chip/limits.h"
#include "stack/kernels/dot/kernel_dot_impl.h"

struct scan {
    int *last_use, *physical;           /* by virtual register */
    int *last_cycle;                    /* in which it is read, were slots free */
    int since[ISA_VREG_MAX];            /* by register: such a cycle in which it was taken */
    int pool[ISA_VREG_MAX], count, next;        /* free ones, a ring: the longest free first */
    int free_count, first;
    int dead;                           /* read for the last time by the operation at work, or -1 */
};

struct scans {
    const struct chip *chip;
    bool is_long;                       /* values follow one another in registers, those of results, too */
    struct scan v, m;
    int *cycle;                         /* of each operation, were slots free */
};

static void scan_init(struct scan *s, int virtuals, int first, int count, struct arena *a)
{
    s->last_use = arena_array(a, (size_t)virtuals + 1, sizeof(int));
    s->physical = arena_array(a, (size_t)virtuals + 1, sizeof(int));
    s->last_cycle = arena_array(a, (size_t)virtuals + 1, sizeof(int));
    for (int i = 0; i < count; i++)
        s->pool[i] = first + i;
    s->first = first;
    s->count = s->free_count = count;
    s->next = 0;
}

/* another unit's results, whose registers are those free longest: it waits for no other unit */
static void scan_begin(struct scan *s, int virtuals)
{
    for (int i = 0; i < virtuals; i++) {
        s->last_use[i] = s->physical[i] = -1;
        s->last_cycle[i] = 0;
    }
    memset(s->since, 0, sizeof(s->since));
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

/* a register that nobody reads any more; those of results are theirs alone */
static void scan_give(struct scan *s, int number)
{
    if (number < s->first)
        return;
    s->pool[(s->next + s->free_count) % s->count] = number;
    s->free_count++;
}

static bool is_mask_role(char role) { return role == 'n' || role == 'N' || role == 'm'; }
static bool is_vector_role(char role) { return role == 'v' || role == 'V' || role == 'd'; }

/* the register's values together stay in it as long: rounds of a loop may overlap so much more */
#define KEPT_CYCLES 4

static struct scan *scan_of(struct scans *s, char role)
{
    return is_vector_role(role) ? &s->v : is_mask_role(role) ? &s->m : NULL;
}

static bool is_written(char role) { return role == 'd' || role == 'm'; }

/* when each operation runs if none waits for a slot, and who reads each register last */
static void find_last_uses(struct scans *s, const struct dot_epilogue *e)
{
    int pushed[BUNDLER_EUP_MAX] = {0}, pushes = 0, pops = 0;
    int *ready[2] = {s->v.physical, s->m.physical};     /* not used yet for what they are */

    for (int i = 0; i < e->op_count; i++) {
        const struct isa_info *info = isa_info((enum isa_opcode)e->op[i].code);
        int at = 0, latency = chip_latency_cycles(s->chip, info->latency_class);

        if (info->unit == UNIT_EUP && info->slot == SLOT_POP)
            at = pushed[pops++ % BUNDLER_EUP_MAX] + (int)s->chip->eup_latency_cycles;
        for (int k = 0; k < e->op[i].operand_count; k++) {
            struct scan *r = scan_of(s, info->role[k]);
            int number = e->op[i].operand[k].value;

            if (!r || e->op[i].operand[k].kind != OPERAND_REG || is_written(info->role[k]))
                continue;
            at = ready[r == &s->m][number] > at ? ready[r == &s->m][number] : at;
            r->last_use[number] = i;
        }
        for (int k = 0; k < e->op[i].operand_count; k++) {
            struct scan *r = scan_of(s, info->role[k]);
            int number = e->op[i].operand[k].value;

            if (!r || e->op[i].operand[k].kind != OPERAND_REG)
                continue;
            if (is_written(info->role[k])) {
                ready[r == &s->m][number] = at + latency;
                r->last_use[number] = i;
            } else if (at > r->last_cycle[number]) {
                r->last_cycle[number] = at;
            }
        }
        if (info->unit == UNIT_EUP && info->slot != SLOT_POP)
            pushed[pushes++ % BUNDLER_EUP_MAX] = at;
        s->cycle[i] = at;
    }
    for (int i = 0; i < e->vreg_count; i++)
        s->v.physical[i] = -1;
    for (int i = 0; i < e->mask_count; i++)
        s->m.physical[i] = -1;
}

/*
 * A register for a value: that of an operand that dies here, unless both together would be there for
 * too long; so chains of operations on several results have registers of their own.
 */
static int take_register(struct scans *s, struct scan *r, int virtual, int at)
{
    int most = (int)s->chip->eup_latency_cycles + KEPT_CYCLES, dead = r->dead, number;

    r->dead = -1;
    if (dead >= 0 && s->is_long && r->last_cycle[virtual] - r->since[dead] <= most)
        return dead;
    if (dead >= 0)
        scan_give(r, dead);
    number = scan_take(r);
    if (number >= 0)
        r->since[number] = s->cycle[at];
    return number;
}

/* the registers that an operation writes (or reads), renamed; -1: none is free */
static int rename_operands(struct scans *s, struct isa_op *op, int at, bool writes)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    for (int k = 0; k < op->operand_count; k++) {
        struct scan *r = scan_of(s, info->role[k]);
        int virtual = op->operand[k].value, number;

        if (!r || op->operand[k].kind != OPERAND_REG || is_written(info->role[k]) != writes)
            continue;
        if (writes && r->physical[virtual] < 0) {
            r->physical[virtual] = take_register(s, r, virtual, at);
            if (r->physical[virtual] < 0)
                return -1;
        }
        number = op->operand[k].value = r->physical[virtual];
        if (r->last_use[virtual] != at)
            continue;
        r->last_use[virtual] = -1;
        if (r->dead >= 0)
            scan_give(r, r->dead);
        r->dead = number;
    }
    return 0;
}

/* the epilogue of one unit's results, into `to` */
static int assign(struct dot_code *d, int unit, struct isa_op *to, struct scans *s)
{
    const struct dot_epilogue *e = d->s->epilogue;

    scan_begin(&s->v, e->vreg_count);
    scan_begin(&s->m, e->mask_count);
    find_last_uses(s, e);
    for (int i = 0; i < d->result_count; i++) {
        const struct dot_result *r = &d->result[i];

        if (r->tile >= 0 && r->into < 0 && (!d->s->by_rows || r->unit == unit)
            && e->input[r->tile][r->part] >= 0)
            s->v.physical[e->input[r->tile][r->part]] = r->popped;
    }
    for (int i = 0; i < e->op_count; i++) {
        const struct isa_info *info = isa_info((enum isa_opcode)e->op[i].code);
        int base = info->slot == SLOT_LOAD ? 1 : info->slot == SLOT_STORE ? 0 : -1;

        to[i] = e->op[i];
        s->v.dead = s->m.dead = -1;
        if (rename_operands(s, &to[i], i, false) || rename_operands(s, &to[i], i, true))
            return -1;
        if (s->v.dead >= 0)
            scan_give(&s->v, s->v.dead);
        if (s->m.dead >= 0)
            scan_give(&s->m, s->m.dead);
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
    struct scans s = {.chip = d->chip, .is_long = d->span == 1 && dot_epilogue_is_slow(d->s)};

    if (!epilogue)
        return 0;
    if (d->popped_count < d->result_count && d->splits == 1)
        return err_set(e, "the results of a round need %d vector registers, %d are free",
                       d->result_count, d->popped_count);
    d->epilogue = arena_array(a, (size_t)(units * epilogue->op_count + 1), sizeof(*d->epilogue));
    s.cycle = arena_array(a, (size_t)epilogue->op_count + 1, sizeof(int));
    scan_init(&s.v, epilogue->vreg_count, d->v_pool, d->pool_count, a);
    scan_init(&s.m, epilogue->mask_count, 0, ISA_MASK_COUNT, a);
    for (int unit = 0; unit < units; unit++)
        if (assign(d, unit, d->epilogue + unit * epilogue->op_count, &s))
            return err_set(e, "what is computed of its results needs more than %d vector "
                           "registers", d->pool_count);
    return 0;
}
