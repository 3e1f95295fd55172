/*
 * Bundles of a software-pipelined loop: a prologue in which rounds begin, the
 * kernel, `unroll` IIs long, an epilogue in which they end. Rounds that
 * are too many for a multiple of `unroll` begin in the prologue; with few
 * rounds there is no kernel.
 *
 * A base register advances once per kernel and at the end; in between offsets
 * make up for the round that an operation belongs to.
 */
#include "stack/backend/modulo.h"

#include "isa/matrix.h"

#include "isa/op_make.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/chip/limits.h"

/* step: of its base, or -1 */
struct written { struct isa_op op; int bundle, step, number, region; };

struct section { int first, count; };   /* bundles */

struct writer {
    const struct modulo_body *l;
    const struct modulo_schedule *s;
    struct arena *a;
    struct isa_slots slots;
    int64_t kernels;                    /* times that the kernel runs */
    int extra;                          /* rounds that begin in the prologue beside stages - 1 */
    struct section pre, kernel, post;
    struct written *item;
    size_t count, capacity;
    int (*used)[SLOT_COUNT];
    size_t used_capacity;
    int bundle_count;
};

static void plan(struct writer *w)
{
    const struct modulo_schedule *s = w->s;
    int64_t full = w->l->count - s->stages + 1;  /* intervals in which all stages are at work */

    if (full >= 2 * s->unroll) {
        w->kernels = full / s->unroll;
        w->extra = (int)(full % s->unroll);
        w->pre.count = (s->stages - 1 + w->extra) * s->ii;
        w->kernel = (struct section){w->pre.count, s->unroll * s->ii};
        w->post.count = (s->stages - 1) * s->ii;
    } else {
        w->pre.count = (int)(w->l->count + s->stages - 1) * s->ii;
        w->kernel.first = w->pre.count;
    }
    w->post.first = w->kernel.first + w->kernel.count;
    w->bundle_count = w->post.first + w->post.count;
}

int64_t modulo_bundles(const struct modulo_body *l, const struct modulo_schedule *s)
{
    int64_t full = l->count - s->stages + 1;

    if (full < 2 * s->unroll)
        return (l->count + s->stages - 1) * s->ii;
    return (2 * (s->stages - 1) + full % s->unroll + s->unroll) * s->ii;
}

int modulo_post_first(const struct modulo_body *l, const struct modulo_schedule *s)
{
    struct writer w = {.l = l, .s = s};

    plan(&w);
    return w.kernels ? w.post.first : 0;
}

static int *used_of(struct writer *w, int bundle)
{
    w->used = mem_grow(w->used, &w->used_capacity, (size_t)bundle + 1, sizeof(*w->used));
    return w->used[bundle];
}

static bool has_room(struct writer *w, int bundle, enum isa_slot slot)
{
    int ops[SLOT_COUNT], all = 1;

    memcpy(ops, used_of(w, bundle), sizeof(ops));
    for (int k = 0; k < SLOT_COUNT; k++)
        all += ops[k];
    ops[slot]++;
    return all <= ISA_BUNDLE_OP_MAX && isa_slots_fit(&w->slots, ops);
}

static void add(struct writer *w, const struct isa_op *op, int bundle, int step)
{
    w->item = mem_grow(w->item, &w->capacity, w->count + 1, sizeof(*w->item));
    w->item[w->count] = (struct written){*op, bundle, step, (int)w->count, VCODE_REGION_ANY};
    w->count++;
    used_of(w, bundle)[isa_info(op->code)->slot]++;
}

static struct isa_operand *offset_of(struct isa_op *op)
{
    return &op->operand[isa_info(op->code)->unit == UNIT_LOAD ? 2 : 1];
}

static bool is_multiplication(enum isa_opcode code)
{
    return code == OP_VMATMUL || code == OP_VMATMUL_ACC;
}

/* operation i of a round: registers of its turn, offset `steps` steps on */
static void add_op(struct writer *w, int i, int64_t round, int64_t steps, int bundle)
{
    const struct modulo_schedule *s = w->s;
    struct isa_op op = w->l->block->op[i].op;
    const struct isa_info *info = isa_info(op.code);
    int step = w->l->step_of[i], turn = (int)((round + s->phase) % s->unroll);

    for (int k = 0; k < op.operand_count; k++) {
        struct isa_operand *o = &op.operand[k];

        if (o->kind != OPERAND_REG)
            continue;
        if (isa_role_file(info->role[k]) == STATE_V)
            o->value = s->v_register[o->value * s->unroll + turn];
        else if (isa_role_file(info->role[k]) == STATE_M)
            o->value = s->m_register[o->value * s->unroll + turn];
    }
    if (step >= 0)
        offset_of(&op)->value += (int32_t)(w->l->step[step].step * steps);
    accumulators_turn(w->l->block, &op, turn);
    if (round == 0 && w->l->block->op[i].region == VCODE_LATCHES && is_multiplication(op.code))
        op.operand[1 + MULTIPLY_LATCH].value = 1 + op.operand[1 + MULTIPLY_GAIN].value;
    add(w, &op, bundle, step);
    w->item[w->count - 1].region = w->l->block->op[i].region;
}

/* a section's bundles; its first interval is number `first_interval`, bases stand at round `base` */
static void add_section(struct writer *w, struct section part, int64_t first_interval, int64_t base)
{
    const struct modulo_schedule *s = w->s;

    for (int t = 0; t < part.count; t += s->ii) {
        int64_t interval = first_interval + t / s->ii;

        for (int i = 0; i < w->l->block->op_count; i++) {
            int64_t round = interval - s->time[i] / s->ii;

            if (round >= 0 && round < w->l->count)
                add_op(w, i, round, round - base, part.first + t + s->time[i] % s->ii);
        }
    }
}

/* the last bundle of first..first + count - 1 that has room for a scalar operation, or -1 */
static int last_room(struct writer *w, struct section part)
{
    for (int b = part.first + part.count - 1; b >= part.first; b--)
        if (has_room(w, b, SLOT_SCALAR))
            return b;
    return -1;
}

/* a bundle of the section with room for a scalar operation; the last section may grow for it */
static int room_in(struct writer *w, struct section *part)
{
    int at = last_room(w, *part);

    if (at >= 0 || part == &w->kernel)
        return at;
    part->count++;
    return w->bundle_count++;
}

/* bases go on by `steps` steps in the section, as late as may be; offsets behind are corrected */
static bool advance_bases(struct writer *w, struct section *part, int64_t steps)
{
    for (int k = 0; k < w->l->step_count && steps; k++) {
        const struct modulo_step *step = &w->l->step[k];
        struct isa_op op = isa_sadd(step->sreg, R(step->sreg), I(steps * step->step));
        int at = room_in(w, part);

        if (at < 0)
            return false;
        for (size_t i = 0; i < w->count; i++)
            if (w->item[i].step == k && w->item[i].bundle > at &&
                w->item[i].bundle < part->first + part->count)
                offset_of(&w->item[i].op)->value -= (int32_t)(steps * step->step);
        add(w, &op, at, -1);
    }
    return true;
}

/*
 * Branch, compare and decrement in bundles of the kernel that have room. The
 * counter holds all rounds at first and goes down by those of a kernel.
 */
static bool add_control(struct writer *w)
{
    const struct chip *chip = w->l->chip;
    int first = w->kernel.first, c = w->l->counter, unroll = w->s->unroll;
    int branch = first + w->kernel.count - 1 - (int)chip->core_branch_delay_bundles;
    int64_t left = w->l->count - w->kernels * unroll;
    struct isa_op op = isa_if(BACKEND_LOOP_PRED, isa_sbr(first));
    struct isa_op decrement = isa_sadd(c, R(c), I(-unroll));
    int compare, at;

    if (branch < first || !has_room(w, branch, SLOT_SCALAR))
        return false;
    add(w, &op, branch, -1);
    compare = last_room(w, (struct section){first, branch - first + 1 -
                                            (int)chip->scalar_cmp_cycles});
    if (compare < 0)
        return false;
    op = isa_scmp_gt(BACKEND_LOOP_PRED, R(c), I(left));
    add(w, &op, compare, -1);
    at = last_room(w, w->kernel);
    if (at < 0)
        return false;
    /* up to the bundle of the decrement it sees what the counter was before */
    w->item[w->count - 1].op.operand[2].value += compare <= at ? unroll : 0;
    add(w, &decrement, at, -1);
    return true;
}

/* what registers hold behind a loop: all steps made, the counter at 0 */
static void finish_registers(struct writer *w)
{
    struct section *tail = w->kernels ? &w->post : &w->pre;
    struct isa_op op = isa_smov(w->l->counter, I(0));

    advance_bases(w, tail, w->l->count - w->kernels * w->s->unroll);
    add(w, &op, room_in(w, tail), -1);
}

static int compare_written(const void *a, const void *b)
{
    const struct written *x = a, *y = b;
    int slot_x = (int)isa_info(x->op.code)->slot, slot_y = (int)isa_info(y->op.code)->slot;

    if (x->bundle != y->bundle)
        return x->bundle < y->bundle ? -1 : 1;
    if (slot_x != slot_y)
        return slot_x < slot_y ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* behind the last operation nothing is left to issue, unless a branch still needs its delay */
static void take_program(struct writer *w, struct isa_program *out)
{
    qsort(w->item, w->count, sizeof(*w->item), compare_written);
    *out = (struct isa_program){
        .name = "loop", .op = arena_array(w->a, w->count, sizeof(*out->op)),
        .bundle = arena_array(w->a, (size_t)w->bundle_count + 1, sizeof(*out->bundle)),
        .op_count = (uint32_t)w->count};
    out->bundle_count = (uint32_t)w->item[w->count - 1].bundle + 1;
    if (w->kernels && (int)out->bundle_count < w->post.first)
        out->bundle_count = (uint32_t)w->post.first;
    for (size_t i = 0; i < w->count; i++) {
        struct isa_bundle *b = &out->bundle[w->item[i].bundle];

        if (!b->op_count)
            b->first_op = (uint32_t)i;
        b->op_count++;
        out->op[i] = w->item[i].op;
    }
}

/* items from number `from` on, of a section */
static struct modulo_item *take_items(const struct writer *w, size_t from, int first, int *count)
{
    struct modulo_item *to = arena_array(w->a, w->count - from + 1, sizeof(*to));

    *count = (int)(w->count - from);
    for (size_t i = from; i < w->count; i++)
        to[i - from] = (struct modulo_item){w->item[i].op, w->item[i].bundle - first,
                                            w->item[i].step, w->item[i].region};
    return to;
}

static void open_ends(const struct writer *w, struct modulo_ends *ends)
{
    *ends = (struct modulo_ends){.pre_bundles = w->pre.count, .kernel_bundles = w->kernel.count,
                                 .post_bundles = w->post.count,
                                 .done = w->kernels * w->s->unroll,
                                 .step_count = w->l->step_count};
    memcpy(ends->step, w->l->step, sizeof(ends->step));
}

static bool write_all(struct writer *w, struct modulo_ends *ends)
{
    int64_t first = w->s->stages - 1 + w->extra, done = w->kernels * w->s->unroll;
    size_t before;

    if (ends)
        open_ends(w, ends);
    add_section(w, w->pre, 0, 0);
    if (ends)
        ends->pre = take_items(w, 0, w->pre.first, &ends->pre_count);
    add_section(w, w->kernel, first, 0);
    before = w->count;
    add_section(w, w->post, w->l->count, done);
    if (ends)
        ends->post = take_items(w, before, w->post.first, &ends->post_count);
    if (w->kernels && (!add_control(w) || !advance_bases(w, &w->kernel, w->s->unroll)))
        return false;
    finish_registers(w);
    return true;
}

bool modulo_write(const struct modulo_body *l, const struct modulo_schedule *s, struct arena *a,
                  struct isa_program *out, struct modulo_ends *ends)
{
    struct writer w = {.l = l, .s = s, .a = a};
    bool is_fine;

    chip_slots(l->chip, &w.slots);
    plan(&w);
    is_fine = write_all(&w, ends);
    if (is_fine)
        take_program(&w, out);
    mem_free(w.item);
    mem_free(w.used);
    return is_fine;
}
