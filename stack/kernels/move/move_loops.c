/*
 * Orders the loops over a move's step, unrolls the inner ones, and emits or counts their loads and
 * stores.
 */
#include "stack/kernels/move/move_loops.h"

#include <assert.h>

#define STRIDE_MAX 64                   /* of a load or store */
#define UNROLL 16                       /* units of straight code in a loop */
#define OPS_MAX 12000                   /* straight code of a kernel, in operations */
#define STRAIGHT_OPS 60                 /* more in a loop are hardly pipelined */
#define LOOP_CYCLES 12                  /* of a loop's end and of filling it again */

static const struct isa_operand no_base = {.kind = OPERAND_IMM};

void move_add_loop(struct move_loops *l, int64_t count, int64_t from, int64_t to)
{
    if (count == 1)
        return;
    assert(l->count < MOVE_LOOPS_MAX);
    l->loop[l->count++] = (struct move_loop){count, from, to};
}

/* loops that run on where another ends become one; the longest is innermost */
static void order_loops(struct move_loops *l)
{
    for (int i = 0; i < l->count; i++)
        for (int k = 0; k < l->count; k++)
            if (i != k && l->loop[k].from == l->loop[i].from * l->loop[i].count &&
                l->loop[k].to == l->loop[i].to * l->loop[i].count) {
                l->loop[i].count *= l->loop[k].count;
                l->loop[k] = l->loop[--l->count];
                i = -1;
                break;
            }
    for (int i = 0; i < l->count; i++)
        for (int k = i + 1; k < l->count; k++)
            if (l->loop[k].count < l->loop[i].count) {
                struct move_loop kept = l->loop[i];

                l->loop[i] = l->loop[k];
                l->loop[k] = kept;
            }
}

/* part of the innermost loop that becomes straight code */
static int64_t unrolled(const struct move_loops *l)
{
    const struct move_loop *inner = &l->loop[l->count - 1];
    int64_t best = 1;

    for (int64_t u = 2; u <= inner->count && u * l->units <= UNROLL; u++)
        if (inner->count % u == 0)
            best = u;
    return best;
}

static struct isa_operand advance_reg(struct move_step *s, struct isa_operand from)
{
    struct isa_operand reg = builder_reg(&s->m);

    builder_set(&s->m, reg, from);
    return reg;
}

struct move_place move_behind(struct move_place p, int64_t rows)
{
    p.row += rows;
    return p;
}

static void emit_loops(struct move_loops *l, int level, struct move_place from,
                       struct move_place to)
{
    struct move_step *s = l->step;
    struct vcode *code = s->m.code;
    const struct move_loop *x = &l->loop[level];
    int64_t straight = level == l->count - 1 ? unrolled(l) : 1, rounds;
    int kept = s->m.next_sreg;
    struct isa_operand counter;

    if (level == l->count) {
        l->body(l, from, to);
        return;
    }
    rounds = x->count / straight;
    if (rounds > 1) {
        from.base = advance_reg(s, from.base);
        to.base = advance_reg(s, to.base);
        counter = builder_loop_begin(&s->m, rounds);
        vcode_loop_step(code, from.base.value, x->from * straight);
        vcode_loop_step(code, to.base.value, x->to * straight);
    }
    for (int64_t i = 0; i < straight; i++) {
        struct move_place f = move_behind(from, i * x->from), t = move_behind(to, i * x->to);

        emit_loops(l, level + 1, f, t);
    }
    if (rounds > 1)
        builder_loop_end(&s->m, counter);
    s->m.next_sreg = kept;
}

/* cycles of straight code by the unit that it keeps busiest */
static double busiest(const struct move_step *s)
{
    const struct chip *chip = s->box->job->chip;
    double load = s->load / (double)chip->slots_load, store = s->store / (double)chip->slots_store;
    double xlu = s->xlu / (double)chip->xlu_count, valu = s->valu / (double)chip->slots_valu;

    load = valu > load ? valu : load;
    return load > store ? (load > xlu ? load : xlu) : store > xlu ? store : xlu;
}

/* what the loops cost: one body, times its rounds */
static void count_loops(struct move_loops *l)
{
    struct move_step *s = l->step;
    const struct move_loop *inner = l->count ? &l->loop[l->count - 1] : NULL;
    struct move_place nowhere = {no_base, 0, 0};
    double rounds = 1, body, latency;
    int64_t ops = s->ops;

    for (int i = 0; i < l->count; i++)
        rounds *= (double)l->loop[i].count;
    s->load = s->store = s->xlu = s->valu = 0;
    l->body(l, nowhere, nowhere);
    body = busiest(s);
    latency = s->xlu > 0 ? (double)s->box->job->chip->xlu_xpose_cycles : 0;
    s->cycles += body * rounds + LOOP_CYCLES + latency;
    if (inner)
        s->cycles += (LOOP_CYCLES + latency) * rounds / (double)inner->count;
    if (inner && s->ops - ops > STRAIGHT_OPS)   /* not pipelined */
        s->cycles += (latency + LOOP_CYCLES) * rounds / (double)unrolled(l);
    s->ops += (s->ops - ops) * (inner ? unrolled(l) - 1 : 0);
    s->is_refused |= s->ops > OPS_MAX;
}

void move_run_loops(struct move_loops *l, struct move_place from, struct move_place to)
{
    order_loops(l);
    if (l->step->is_counted) {
        count_loops(l);
        return;
    }
    vcode_begin_block(l->step->m.code);
    emit_loops(l, 0, from, to);
    vcode_begin_block(l->step->m.code);
}

/* ----- eight rows */

/* cycles of an access: rows that meet in a bank come one after the other */
static double access_cycles(const struct move_step *s, int64_t stride, int rows)
{
    int64_t banks = s->box->job->chip->vmem_banks, shared = stride < 0 ? -stride : stride;

    if (rows <= 1)
        return 1;
    if (!move_fits_stride(stride))
        return rows;
    while (banks > 1 && shared % 2 == 0 && shared) {
        banks /= 2;
        shared /= 2;
    }
    return banks >= rows || !stride ? 1 : (double)((rows + banks - 1) / banks);
}

bool move_fits_stride(int64_t step) { return step >= 0 && step <= STRIDE_MAX; }

/* sublanes first..end-1 from rows at + sublane * stride */
int move_load_rows(struct move_step *s, struct move_place at, int64_t stride, int first, int end)
{
    int sum = -1;

    s->load += access_cycles(s, stride, end - first);
    s->ops += move_fits_stride(stride) ? 1 : 2 * (end - first);
    if (s->is_counted)
        return 0;
    if (move_fits_stride(stride))
        return emit_vld(s->m.code,
                        isa_rows_of(at.base, at.row, (int)stride, (1 << end) - (1 << first)),
                        at.region);
    for (int i = first; i < end; i++) {
        int v =
            emit_vld(s->m.code, isa_rows_of(at.base, at.row + i * stride, 0, 1 << i), at.region);

        sum = sum < 0 ? v : emit_vor_u32(s->m.code, R(sum), R(v));
    }
    return sum;
}

void move_store_op(struct move_step *s, struct move_place at, int64_t stride, int sublanes,
                     int lane_mask, int v)
{
    struct isa_rows rows = isa_rows_of(at.base, at.row, (int)stride, sublanes);

    if (lane_mask >= 0)
        emit_vst_msk(s->m.code, rows, lane_mask, v, at.region);
    else
        emit_vst(s->m.code, rows, v, at.region);
}

/* all lanes where mask is -1; counted with its mask */
void move_store_masked(struct move_step *s, struct move_place at, int64_t stride, int first,
                       int end, int mask, int v)
{
    s->store += access_cycles(s, stride, end - first);
    s->ops += move_fits_stride(stride) ? 1 : end - first;
    if (s->is_counted)
        return;
    if (move_fits_stride(stride)) {
        move_store_op(s, at, stride, (1 << end) - (1 << first), mask, v);
        return;
    }
    for (int i = first; i < end; i++)
        move_store_op(s, move_behind(at, i * stride), 0, 1 << i, mask, v);
}

/* lanes first_lane..end_lane-1, or all when they are not shared with others */
void move_store_rows(struct move_step *s, struct move_place at, int64_t stride, int first, int end,
                       int first_lane, int end_lane, int v)
{
    bool is_masked = first_lane > 0 || end_lane < ARRAY_LANES;
    int mask = -1;

    s->ops += is_masked;
    if (is_masked && !s->is_counted)
        mask = emit_vcmask(s->m.code, first_lane << 3 | 7 << 10 | (end_lane - 1) << 13);
    move_store_masked(s, at, stride, first, end, mask, v);
}

int move_take_xlu(struct move_step *s)
{
    s->next_xlu = (s->next_xlu + 1) % (int)s->box->job->chip->xlu_count;
    return s->next_xlu;
}

int move_rotate(struct move_step *s, int v, int64_t up)
{
    int unit = move_take_xlu(s);

    if (!(up & (ARRAY_LANES - 1)))
        return v;
    s->xlu += (double)s->box->job->chip->xlu_issue_cycles;
    s->ops += 2;
    if (s->is_counted)
        return v;
    return emit_vrot_lane(s->m.code, unit, v, I(up & (ARRAY_LANES - 1)));
}

struct move_place move_side_place(const struct move_step *s, const struct move_side *side,
                               int64_t row)
{
    const struct pipeline *f = &s->box->pipeline;
    int base;

    if (s->is_counted)
        return (struct move_place){no_base, 0, 0};
    if (side->has_image)
        return (struct move_place){no_base, pipeline_scratch_row(f) + side->image_row + row,
                              2 * side->window + 1};
    base = pipeline_base(f, side->window);
    return (struct move_place){base < 0 ? no_base : R(base), pipeline_row(f, side->window) + row,
                               2 * side->window};
}
