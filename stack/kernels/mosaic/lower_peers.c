/*
 * Kernels that reach other devices: which number a device has, on which core it is, and how all of
 * them meet before the first thing that reaches another one (stack/module/module_peers.c).
 */
#include "stack/backend/abi.h"
#include "stack/kernels/mosaic/lower.h"

int pallas_device_id(struct lower *l, const struct mosaic_op *op)
{
    const struct kernel_peers *peers = l->job->peers;
    struct scalar number = scalar_known(0);

    if (peers && peers->count > 1)
        number = (struct scalar){.smem = SMEM_REPLICA};
    l->scalar[op->result[0]->id] = number;
    return 0;
}

int pallas_core_id(struct lower *l, const struct mosaic_op *op)
{
    l->scalar[op->result[0]->id] = scalar_known(l->job->core);
    return 0;
}

/* ----- cores of devices */

static void fetch_table(struct lower *l)
{
    const struct array *a = l->job->peers->cores;
    struct mosaic_type t = {.kind = MOSAIC_REF, .element = MOSAIC_I32, .space = MOSAIC_SMEM,
                            .rank = 1, .dim = {l->job->peers->count}};
    struct place *to = &l->core_table;
    int64_t granules;

    *to = (struct place){.is_there = true, .space = MOSAIC_SMEM};
    tiles_of(&to->t, &t);
    if (words_open(l, NULL, &t, to))
        return;
    granules = words_granules(&to->t);
    vcode_put(&l->code, isa_make_dma(OP_DMA_HBM_SMEM, I(a->address / GRANULE_BYTES), I(granules),
                                     I(to->base / GRANULE_BYTES), I(l->job->first_flag)));
    vcode_await(&l->code, I(l->job->first_flag), granules, -1);
    pallas_begin_block(l);
}

static struct scalar core_of(struct lower *l, struct scalar device)
{
    struct isa_operand base;
    int to;

    if (!l->core_table.is_there)
        return scalar_mul(l, device, l->job->peers->cores_each);
    base = scalar_use(l, scalar_mul(l, device, 4));
    to = scalar_register(l);
    emit_sld(&l->code, to, base, I(l->core_table.base));
    return scalar_keep(l, R(to));
}

bool peers_core(struct lower *l, const struct mosaic_op *op, int device_group, struct scalar *core)
{
    const struct mosaic_value *device = mosaic_in_group(op, device_group);
    const struct mosaic_value *on_chip = mosaic_in_group(op, device_group + 1);
    struct scalar number = scalar_known(0);

    if (mosaic_in_group(op, device_group + 2)) {
        pallas_fail(l, op, "a subcore; those are the SparseCore's");
        return false;
    }
    if (!device && !on_chip)
        return false;
    if (l->job->peers && l->job->peers->count > 1)
        number = (struct scalar){.smem = SMEM_REPLICA};
    if (!l->job->peers) {
        pallas_fail(l, op, "another core of its chip");
        return false;
    }
    *core = core_of(l, device ? scalar_of(l, device) : number);
    if (on_chip && l->job->core_count > 1)
        *core = scalar_add(l, *core, scalar_of(l, on_chip));
    return true;
}

/* ----- the meeting */

/* the device so many further on, the last being followed by the first */
static struct scalar device_behind(struct lower *l, int by, int count)
{
    struct scalar sum = scalar_add(l, (struct scalar){.smem = SMEM_REPLICA}, scalar_known(by));
    struct isa_operand x = scalar_use(l, sum);
    int less = scalar_register(l), to = scalar_register(l);

    emit_ssub(&l->code, less, x, I(count));
    emit_scmp_lt(&l->code, 1, R(less), I(0));
    emit_select(&l->code, to, 1, x, R(less));
    return scalar_keep(l, R(to));
}

void peers_meet(struct lower *l)
{
    const struct kernel_peers *peers = l->job->peers;

    if (!peers)
        return;
    if (peers->cores)
        fetch_table(l);
    if (l->k->skips_device_barrier)
        return;
    for (int r = 0; r < peers->flag_count; r++) {
        struct scalar core = core_of(l, device_behind(l, 1 << r, peers->count));

        emit_vsyncadd_r(&l->code, I(peers->first_flag + r), I(1), scalar_use(l, core));
        vcode_await(&l->code, I(peers->first_flag + r), 1, -1);
        pallas_begin_block(l);
    }
}

/* the semaphore that all kernels of a collective id share: all devices have left it at 0 */
int pallas_sem_barrier(struct lower *l, const struct mosaic_op *op)
{
    struct place *p = &l->place[op->result[0]->id];

    if (!l->barrier_flag) {
        if (place_open(l, op, op->result[0], "the barrier's semaphore"))
            return -1;
        l->barrier_flag = (int)p->base;
        return 0;
    }
    *p = (struct place){.is_there = true, .space = MOSAIC_SEMAPHORES, .buffer = op->result[0]->id,
                        .base = l->barrier_flag};
    tiles_of(&p->t, &op->result[0]->type);
    p->t.row_dim = p->t.lane_dim = -1;
    return 0;
}
