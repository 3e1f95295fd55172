/* Loads and stores of a kernel, its copies and semaphores. */
#include "stack/kernels/mosaic/lower.h"

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

static struct scalar granule_of(struct lower *l, const struct place *p)
{
    return scalar_mul(l, place_row(l, p), GRANULES_PER_ROW);
}

static int64_t outer_count(const struct tiles *t)
{
    int64_t n = 1;

    for (int d = 0; d < t->rank; d++)
        if (d != t->row_dim && d != t->lane_dim)
            n *= t->dim[d];
    return n;
}

/* what lies together: tiles along lanes, then rows of tiles, then outer dimensions from the last on */
struct run { int64_t rows; int next_dim; };

static int64_t across_of(const struct tiles *t)
{
    return t->lane_dim >= 0 ? (t->dim[t->lane_dim] + TILE_LANES - 1) / TILE_LANES : 1;
}

static int64_t down_of(const struct tiles *t)
{
    return t->row_dim >= 0 ? (t->dim[t->row_dim] + t->rows - 1) / t->rows : 1;
}

struct level { int64_t count, from, to; };      /* of a copy, in VMEM rows */

#define LEVELS_MAX (MOSAIC_RANK_MAX + 1)

/* Levels from the innermost on, those that go on in both without a gap being one with what is inside
 * them; *rows is what lies together. */
static int copy_levels(const struct tiles *a, const struct tiles *b, struct level *level,
                       int64_t *rows)
{
    struct level all[LEVELS_MAX];
    int count = 0, kept = 0;

    if (a->is_linear && b->is_linear) {
        *rows = tiles_rows(a);
        return 0;
    }
    all[count++] = (struct level){across_of(a), a->lane_step, b->lane_step};
    all[count++] = (struct level){down_of(a), a->row_step, b->row_step};
    for (int d = a->rank - 1; d >= 0; d--) {
        int e = b->rank - 1 - (a->rank - 1 - d);

        if (d != a->row_dim && d != a->lane_dim && count < LEVELS_MAX)
            all[count++] = (struct level){a->dim[d], a->outer_step[d],
                                          e >= 0 ? b->outer_step[e] : 0};
    }
    *rows = TILE_ROWS;
    for (int i = 0; i < count; i++) {
        if (all[i].count == 1)
            continue;
        if (!kept && all[i].from == *rows && all[i].to == *rows)
            *rows *= all[i].count;
        else if (kept && level[kept - 1].count * level[kept - 1].from == all[i].from &&
                 level[kept - 1].count * level[kept - 1].to == all[i].to)
            level[kept - 1].count *= all[i].count;
        else
            level[kept++] = all[i];
    }
    return kept;
}

enum isa_opcode pallas_copy_code(enum mosaic_space from, enum mosaic_space to)
{
    bool is_hbm = from == MOSAIC_HBM || from == MOSAIC_ANY;
    bool to_hbm = to == MOSAIC_HBM || to == MOSAIC_ANY;

    if (is_hbm)
        return to_hbm ? OP_DMA_HBM_HBM : to == MOSAIC_SMEM ? OP_DMA_HBM_SMEM : OP_DMA_HBM_VMEM;
    if (from == MOSAIC_SMEM)
        return to_hbm ? OP_DMA_SMEM_HBM : OP_DMA_SMEM_VMEM;
    return to_hbm ? OP_DMA_VMEM_HBM : to == MOSAIC_SMEM ? OP_DMA_VMEM_SMEM : OP_DMA_VMEM_VMEM;
}

/* one copy of `rows` by a level, from and to granules in registers */
static void put_copy(struct lower *l, enum isa_opcode code, struct isa_operand from,
                     struct isa_operand to, const struct level *level, int64_t rows,
                     struct isa_operand flag)
{
    int64_t run = rows * GRANULES_PER_ROW;

    if (!level)
        vcode_put(&l->code, isa_make_dma(code, from, I(run), to, flag));
    else
        vcode_put(&l->code, isa_make_dma_strided(code, from, I(run * level->count), to, flag,
                                                 I(level->from * GRANULES_PER_ROW),
                                                 I(level->to * GRANULES_PER_ROW), I(run)));
}

/* so many granules as a part of a computed size has: whole tiles of 128, 8 rows of 16 */
static struct scalar sized_granules(struct lower *l, const struct place *p, bool is_run)
{
    int64_t down = down_of(&p->t), across = across_of(&p->t), each;
    struct isa_operand x;
    int to;

    if (p->size_dim == p->t.lane_dim)   /* 128 lanes are a tile */
        return is_run ? p->size : scalar_mul(l, p->size, down);
    each = across * TILE_ROWS * GRANULES_PER_ROW;
    x = scalar_use(l, p->size);
    to = scalar_register(l);
    emit_sshrl(&l->code, to, x, I(__builtin_ctz((unsigned)p->t.rows)));
    return scalar_mul(l, scalar_keep(l, R(to)), each);
}

/* Of two dimensions: row tiles one after the other, in each so many tiles as there are. */
static int copy_sized(struct lower *l, const struct mosaic_op *op, const struct place *from,
                      const struct place *to, struct scalar flag, struct scalar a,
                      struct scalar b)
{
    const struct place *sized = from->has_size ? from : to;
    enum isa_opcode code = pallas_copy_code(from->space, to->space);
    bool is_lanes = sized->size_dim == sized->t.lane_dim;
    struct scalar all, run;
    struct isa_operand x, y, n, r;

    if (outer_count(&sized->t) != 1 || !from->has_size || !to->has_size)
        return pallas_fail(l, op, "a part of a computed size of an array of %d dimensions",
                           sized->t.rank);
    if (to->has_half && to->space != MOSAIC_VMEM)
        return pallas_fail(l, op, "a part of a computed size that is no whole number of tiles for "
                          "certain is written");
    all = sized_granules(l, sized, false);
    run = is_lanes ? sized_granules(l, sized, true)
                   : scalar_known(across_of(&sized->t) * TILE_ROWS * GRANULES_PER_ROW);
    x = scalar_use(l, a);
    y = scalar_use(l, b);
    n = scalar_use(l, all);
    r = scalar_use(l, run);
    vcode_put(&l->code, isa_make_dma_strided(code, x, n, y, scalar_use(l, flag),
                                             I(from->t.row_step * GRANULES_PER_ROW),
                                             I(to->t.row_step * GRANULES_PER_ROW), r));
    return 0;
}

#define COPIES_MAX 4096

/* a copy's way: its flags, and of a remote one the core that it goes to */
struct way {
    enum isa_opcode code;
    struct scalar flag;
    bool is_remote;
    struct scalar core, sent;           /* flag here, that tells when the source has been read */
};

static enum isa_opcode remote_code(enum mosaic_space from, enum mosaic_space to)
{
    bool is_hbm = from == MOSAIC_HBM || from == MOSAIC_ANY;
    bool to_hbm = to == MOSAIC_HBM || to == MOSAIC_ANY;

    if (is_hbm)
        return to_hbm ? OP_DMA_HBM_HBM_REMOTE : OP_DMA_HBM_VMEM_REMOTE;
    return to_hbm ? OP_DMA_VMEM_HBM_REMOTE : OP_DMA_VMEM_REMOTE;
}

/* one copy of `rows` by a level; a remote one is a run at a time */
static void put_level(struct lower *l, const struct way *w, struct scalar from, struct scalar to,
                      const struct level *level, int64_t rows)
{
    int64_t count = w->is_remote && level ? level->count : 1;

    if (!w->is_remote) {
        struct isa_operand source = scalar_use(l, from);

        struct isa_operand target = scalar_use(l, to);

        put_copy(l, w->code, source, target, level, rows, scalar_use(l, w->flag));
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        struct scalar x = scalar_add(l, from, scalar_known(level ? i * level->from * GRANULES_PER_ROW : 0));
        struct scalar y = scalar_add(l, to, scalar_known(level ? i * level->to * GRANULES_PER_ROW : 0));
        struct isa_operand source = scalar_use(l, x), target = scalar_use(l, y);
        struct isa_operand sent = scalar_use(l, w->sent), core = scalar_use(l, w->core);

        vcode_put(&l->code, isa_make_dma_rem(w->code, source, I(rows * GRANULES_PER_ROW), target,
                                             scalar_use(l, w->flag), sent, core));
    }
}

/*
 * A copy as one DMA for each of the levels beyond the innermost. Parts of arrays of one dimension in
 * SMEM are words that follow each other.
 */
static int copy_by(struct lower *l, const struct mosaic_op *op, const struct place *from,
                   const struct place *to, const struct way *w, int64_t *granules)
{
    struct level level[LEVELS_MAX];
    struct scalar a = granule_of(l, from), b = granule_of(l, to);
    int64_t rows, copies = 1, index[LEVELS_MAX] = {0};
    int count;

    if (from->sublane || to->sublane || from->lane || to->lane || from->has_late_row ||
        to->has_late_row || from->has_late_lane || to->has_late_lane)
        return pallas_fail(l, op, "a copy from within a tile");
    if (from->has_size || to->has_size)
        return w->is_remote ? pallas_fail(l, op, "a part of a computed size to another device")
                            : copy_sized(l, op, from, to, w->flag, a, b);
    count = copy_levels(&from->t, &to->t, level, &rows);
    for (int i = 1; i < count; i++)
        copies *= level[i].count;
    if (copies * (w->is_remote && count ? level[0].count : 1) > COPIES_MAX)
        return pallas_fail(l, op, "%lld copies of one", (long long)copies);
    *granules = rows * GRANULES_PER_ROW * copies * (count ? level[0].count : 1);
    for (int64_t c = 0; c < copies; c++) {
        int64_t x = 0, y = 0;
        struct scalar begin, end;

        for (int i = 1; i < count; i++) {
            x += index[i] * level[i].from;
            y += index[i] * level[i].to;
        }
        begin = scalar_add(l, a, scalar_known(x * GRANULES_PER_ROW));
        end = scalar_add(l, b, scalar_known(y * GRANULES_PER_ROW));
        put_level(l, w, begin, end, count ? &level[0] : NULL, rows);
        for (int i = 1; i < count && ++index[i] == level[i].count; i++)
            index[i] = 0;
    }
    return 0;
}

int pallas_copy(struct lower *l, const struct mosaic_op *op, const struct place *from,
                const struct place *to, struct scalar flag, int64_t *granules)
{
    struct way w = {.code = pallas_copy_code(from->space, to->space), .flag = flag};

    if (from->space == MOSAIC_SMEM || to->space == MOSAIC_SMEM)
        return words_copy(l, op, from, to, flag, granules);
    return copy_by(l, op, from, to, &w, granules);
}

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
    struct way w = {.code = remote_code(from->space, to->space), .is_remote = true, .core = core};
    int64_t granules;

    if (!sent)
        return pallas_fail(l, op, "a copy to another device without a semaphore here");
    if (from->space == MOSAIC_SMEM || to->space == MOSAIC_SMEM)
        return pallas_fail(l, op, "a copy of SMEM to another device");
    w.sent = flag_number(l, sent);
    w.flag = flag_number(l, done);
    return copy_by(l, op, from, to, &w, &granules);
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

/* granules that a copy to `p` raises its flag by: those of whole tiles */
static int64_t granules_of(const struct place *p)
{
    if (p->space == MOSAIC_SMEM)
        return words_granules(&p->t);
    if (p->t.is_linear)
        return tiles_rows(&p->t) * GRANULES_PER_ROW;
    return down_of(&p->t) * across_of(&p->t) * outer_count(&p->t) * TILE_ROWS * GRANULES_PER_ROW;
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
    if (to->has_size)
        await_scalar(l, flag, sized_granules(l, to, false));
    else
        vcode_await(&l->code, flag, granules_of(to), -1);
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
