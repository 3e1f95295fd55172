/* Loads and stores of a kernel, its copies and semaphores. */
#include "stack/kernels/mosaic/copy.h"

#include <string.h>


/* ----- scalars */

/* byte address of an element of SMEM, as base and offset of a load */
static struct isa_operand address_of(struct lower *l, const struct place *p)
{
    return p->has_offset ? scalar_use(l, p->offset) : NONE;
}

int pallas_load(struct lower *l, const struct mosaic_op *op)
{
    const struct place *p = &l->place[op->operand[0]->id];
    struct place at;
    int to;

    if (p->space == MOSAIC_VMEM && op->operand[0]->type.space == MOSAIC_SMEM)
        return cell_load(l, op);
    if (p->space != MOSAIC_SMEM)
        return pallas_fail(l, op, "a scalar of %s; of SMEM it is made", mosaic_space_name(p->space));
    if (place_slice(l, op, p, (const struct mosaic_value *const *)op->operand + 1, NULL, &at))
        return -1;
    {
        struct isa_operand base = address_of(l, &at);

        to = scalar_register(l);
        emit_sld(&l->code, to, base, I(at.base));
    }
    l->scalar[op->result[0]->id] = scalar_keep(l, R(to));
    return 0;
}

int pallas_store(struct lower *l, const struct mosaic_op *op)
{
    const struct place *p = &l->place[op->operand[1]->id];
    struct place at;

    if (p->space == MOSAIC_VMEM && op->operand[1]->type.space == MOSAIC_SMEM)
        return cell_store(l, op);
    if (p->space != MOSAIC_SMEM)
        return pallas_fail(l, op, "a scalar into %s; into SMEM it is made",
                          mosaic_space_name(p->space));
    if (place_slice(l, op, p, (const struct mosaic_value *const *)op->operand + 2, NULL, &at))
        return -1;
    {
        struct isa_operand value = scalar_use(l, scalar_of(l, op->operand[0]));
        struct isa_operand base = address_of(l, &at);

        emit_sst(&l->code, base, I(at.base), value);
    }
    return 0;
}

/* ----- vectors */

/* by dimension, 1 where the operation says none; whether any is not 1 */
static bool read_strides(const struct mosaic_op *op, int64_t *stride)
{
    const struct mosaic_attr *strides = mosaic_attr(op, "strides");
    bool is_any = false;

    for (int d = 0; d < MOSAIC_RANK_MAX; d++) {
        stride[d] = strides && d < strides->count ? strides->ints[d] : 1;
        is_any = is_any || stride[d] != 1;
    }
    return is_any;
}

/* The box of memory that a vector is loaded of or stored to, strides and all. */
static int vector_place(struct lower *l, const struct mosaic_op *op, int base,
                        const struct mosaic_type *t, const int64_t *stride, struct place *at)
{
    const struct place *p = &l->place[op->operand[base]->id];
    int64_t size[MOSAIC_RANK_MAX];

    if (p->space != MOSAIC_VMEM)
        return pallas_fail(l, op, "a vector of %s; of VMEM it is made", mosaic_space_name(p->space));
    if (t->rank != p->t.rank)
        return pallas_fail(l, op, "a vector of %d dimensions of memory of %d", t->rank, p->t.rank);
    for (int d = 0; d < t->rank; d++) {
        if (stride[d] < 1)
            return pallas_fail(l, op, "a stride of %lld", (long long)stride[d]);
        size[d] = (t->dim[d] - 1) * stride[d] + 1;
    }
    return place_slice(l, op, p, (const struct mosaic_value *const *)op->operand + base + 1,
                       size, at);
}

/* Strides of outer dimensions, and of rows that follow each other, are where tiles begin. */
static bool take_strides(struct place *p, const struct mosaic_type *t, const int64_t *stride)
{
    for (int d = 0; d < t->rank; d++) {
        if (stride[d] == 1)
            continue;
        if (d == p->t.lane_dim ||
            (d == p->t.row_dim && (p->t.rows != TILE_ROWS || p->t.row_step != TILE_ROWS)))
            return false;
        if (d == p->t.row_dim)
            p->stride = stride[d];
        else
            p->t.outer_step[d] *= stride[d];
        p->t.dim[d] = t->dim[d];
    }
    return true;
}

/*
 * Nothing is read yet: the memory stands for the value until somebody writes there. Where the vector's
 * rows and lanes are not those of memory it is put together now (tile_moves.c).
 */
int pallas_vector_load(struct lower *l, const struct mosaic_op *op)
{
    bool has_mask = op->segment_count && mosaic_in_group(op, 2);
    const struct mosaic_value *v = op->result[0];
    int64_t stride[MOSAIC_RANK_MAX];
    bool is_strided = read_strides(op, stride);
    struct place at, with_strides;

    if (has_mask)
        return pallas_fail(l, op, "loads under a mask are not made");
    if (vector_place(l, op, 0, &v->type, stride, &at))
        return -1;
    with_strides = at;
    if (place_is_native(&at) && (!is_strided || take_strides(&with_strides, &v->type, stride))) {
        l->place[v->id] = with_strides;
        return 0;
    }
    return moved_from(l, v, &at);
}

int pallas_vector_store(struct lower *l, const struct mosaic_op *op)
{
    struct root r = {.op = op, .value = op->operand[0], .adds = mosaic_int(op, "add", 0) != 0};
    int64_t stride[MOSAIC_RANK_MAX];
    bool is_strided = read_strides(op, stride);

    r.mask = op->segment_count ? mosaic_in_group(op, 3) : NULL;
    if (vector_place(l, op, 1, &op->operand[0]->type, stride, &r.to))
        return -1;
    if (!is_strided && !r.mask && !r.adds) {
        int status = pallas_store_apart(l, op, &r.to);

        if (status <= 0)
            return status;
    }
    if (!place_is_native(&r.to) ||
        (is_strided && !take_strides(&r.to, &op->operand[0]->type, stride))) {
        if (r.mask || r.adds)
            return pallas_fail(l, op, "a store that adds or is masked, to rows that are not its own");
        return pallas_store_rows(l, op, &r.to, stride);
    }
    if (l->place[r.value->id].is_there && l->place[r.value->id].region == r.to.region &&
        root_same_place(&l->place[r.value->id], &r.to) && !r.mask && !r.adds)
        return 0;                       /* it stands there already */
    if (root_save(l, r.to.buffer))
        return -1;
    if (value_moves_within(l, r.value, &r.to) && root_own(l, r.value))
        return -1;                      /* all is read before any of it is written */
    return root_add(l, &r);
}

/* ----- copies */

/* number of the flag that a semaphore is */
static struct scalar flag_number(struct lower *l, const struct place *p)
{
    return p->has_offset ? scalar_add(l, p->offset, scalar_known(p->base)) : scalar_known(p->base);
}

static struct isa_operand flag_of(struct lower *l, const struct place *p)
{
    return scalar_use(l, flag_number(l, p));
}

static const struct place *place_in(const struct lower *l, const struct mosaic_value *v)
{
    return v ? &l->place[v->id] : NULL;
}

/* to another device: the target and its semaphore are there, at the same places as here */
static int copy_remote(struct lower *l, const struct mosaic_op *op, const struct place *from,
                       const struct place *to, const struct place *done, struct scalar core)
{
    const struct place *sent = place_in(l, mosaic_in_group(op, 1));
    struct copy_way w = {.code = copy_remote_code(from->space, to->space), .is_remote = true, .core = core};
    int64_t granules;

    if (!sent)
        return pallas_fail(l, op, "a copy to another device without a semaphore here");
    if (from->space == MOSAIC_SMEM || to->space == MOSAIC_SMEM)
        return pallas_fail(l, op, "a copy of SMEM to another device");
    w.sent = flag_number(l, sent);
    w.flag = flag_number(l, done);
    return copy_put(l, op, from, to, &w, &granules);
}

int pallas_enqueue_dma(struct lower *l, const struct mosaic_op *op)
{
    const struct place *from = place_in(l, mosaic_in_group(op, 0));
    const struct place *to = place_in(l, mosaic_in_group(op, 2));
    const struct place *done = place_in(l, mosaic_in_group(op, 3));
    struct scalar core;
    int64_t granules;

    if (!from || !to || !done)
        return pallas_fail(l, op, "a copy without a source, a target or a semaphore");
    if (root_save(l, to->buffer) || root_flush(l))
        return -1;
    emit_sfence(&l->code);
    if (peers_core(l, op, 4, &core))
        return copy_remote(l, op, from, to, done, core);
    return l->is_failed ? -1 : pallas_copy(l, op, from, to, flag_number(l, done), &granules);
}

static void await_scalar(struct lower *l, struct isa_operand flag, struct scalar amount)
{
    struct isa_operand x, minus;

    if (amount.is_known) {
        vcode_await(&l->code, flag, amount.value, -1);
        return;
    }
    x = scalar_use(l, amount);
    minus = scalar_use(l, scalar_sub(l, scalar_known(0), amount));
    emit_dma_done(&l->code, flag, x);
    emit_vsyncadd(&l->code, flag, minus);
}

int pallas_wait_dma(struct lower *l, const struct mosaic_op *op)
{
    bool is_new = op->code == MOSAIC_WAIT_DMA2;
    bool is_target = is_new || mosaic_int(op, "wait_target", 1);
    const struct place *sem = place_in(l, mosaic_in_group(op, is_new ? 0 : is_target ? 3 : 1));
    const struct place *to = place_in(l, mosaic_in_group(op, is_new || is_target ? 2 : 0));
    struct isa_operand flag;

    if (!sem || !to)
        return pallas_fail(l, op, "it names no semaphore or no target");
    if (root_flush(l) || root_save(l, to->buffer) || root_flush(l))
        return -1;
    pallas_begin_block(l);
    flag = flag_of(l, sem);
    if (copy_has_size(to))
        await_scalar(l, flag, copy_sized_granules(l, to));
    else
        vcode_await(&l->code, flag, copy_granules(to), -1);
    pallas_begin_block(l);
    return 0;
}

int pallas_sem_read(struct lower *l, const struct mosaic_op *op)
{
    const struct place *p = &l->place[op->operand[0]->id];

    struct isa_operand flag = flag_of(l, p);
    int to = scalar_register(l);

    vcode_put(&l->code, isa_vsyncmov(to, flag));
    l->scalar[op->result[0]->id] = scalar_keep(l, R(to));
    return 0;
}

int pallas_sem_signal(struct lower *l, const struct mosaic_op *op)
{
    const struct place *p = &l->place[op->operand[0]->id];
    struct isa_operand flag, amount;
    struct scalar core;
    bool is_remote;

    if (root_flush(l))
        return -1;
    is_remote = peers_core(l, op, 2, &core);
    flag = flag_of(l, p);
    amount = scalar_use(l, scalar_of(l, op->operand[1]));
    if (is_remote) {
        emit_sfence(&l->code);          /* what was stored before is there before it is told */
        emit_vsyncadd_r(&l->code, flag, amount, scalar_use(l, core));
    } else {
        emit_vsyncadd(&l->code, flag, amount);
    }
    return l->is_failed ? -1 : 0;
}

int pallas_sem_wait(struct lower *l, const struct mosaic_op *op)
{
    const struct place *p = &l->place[op->operand[0]->id];
    struct scalar amount = scalar_of(l, op->operand[1]);
    struct isa_operand flag;

    if (root_flush(l) || root_save(l, -1) || root_flush(l))
        return -1;
    flag = flag_of(l, p);
    await_scalar(l, flag, amount);
    pallas_begin_block(l);
    return 0;
}

int pallas_delay(struct lower *l, const struct mosaic_op *op)
{
    struct scalar ns = scalar_of(l, op->operand[0]);

    if (!ns.is_known || ns.value < 0)
        return pallas_fail(l, op, "a delay that is known as the kernel runs");
    if (root_flush(l))
        return -1;
    vcode_put(&l->code, isa_vdelay(I((int64_t)ns.value * l->chip->chip_clock_mhz / 1000)));
    return 0;
}
