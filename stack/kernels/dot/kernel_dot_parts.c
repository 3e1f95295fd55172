/*
 * Operands that come in parts. While a pass runs, the part for the next one must be there, since
 * its weights are loaded meanwhile, and others are on their way: as many as keep the memory busy,
 * one behind the other, since copies asked for at once share its rate and come at once. Steps that
 * are not the first have all parts behind them, so that their passes neither wait nor copy.
 *
 * Parts are counted by S_PART. What is computed of it goes to registers that hold something only
 * from the end of a pass's straight rounds to the end of its loop.
 */
#include "stack/kernels/dot/kernel_dot_impl.h"

enum { T_FROM = S_LHS, T_TO = S_SUM, T_FLAG = S_LOOP, T_SIZE = S_OUT };

/* the flag of part S[S_PART] + ahead */
static void find_flag(struct dot_code *d, int ahead)
{
    bundler_add(&d->b, isa_sadd(T_FLAG, R(S_PART), I(d->s->parts.flag + ahead)));
}

static int64_t part_granules(const struct dot_parts *p)
{
    int64_t sum = 0;

    for (int i = 0; i < p->operands; i++)
        sum += p->operand[i].granules;
    return sum;
}

/* where predicate `pred` is true: until it is there; its flag is 0 again then */
static void await(struct dot_code *d, struct isa_operand flag, int pred)
{
    int64_t granules = part_granules(&d->s->parts);
    int at = bundler_add(&d->b, isa_if(pred, isa_dma_done(flag, I(granules))));

    bundler_add_after(&d->b, at + 1, isa_if(pred, isa_vsyncadd(flag, I(-granules))));
}

/* of part S[S_PART] + ahead */
static struct isa_operand size_of(struct dot_code *d, const struct pipeline_part *p, int ahead)
{
    if (p->last_granules == p->granules)
        return I(p->granules);
    bundler_add(&d->b, isa_scmp_eq(P_LAST_PART, R(S_PART), I(d->s->parts.count - 1 - ahead)));
    bundler_add(&d->b, isa_smov(T_SIZE, I(p->granules)));
    bundler_add(&d->b, isa_if(P_LAST_PART, isa_smov(T_SIZE, I(p->last_granules))));
    return R(T_SIZE);
}

/* part S[S_PART] + ahead of each operand, where predicate `pred` is true */
static void start(struct dot_code *d, int ahead, int pred)
{
    find_flag(d, ahead);
    for (int i = 0; i < d->s->parts.operands; i++) {
        const struct pipeline_part *p = &d->s->parts.operand[i];
        struct isa_operand size = size_of(d, p, ahead);

        bundler_add(&d->b, isa_smul(T_FROM, R(S_PART), I(p->from_step)));
        bundler_add(&d->b, isa_sadd(T_FROM, R(T_FROM),
                                    I((uint32_t)(p->from + ahead * p->from_step))));
        bundler_add(&d->b, isa_smul(T_TO, R(S_PART), I(p->to_step)));
        bundler_add(&d->b, isa_sadd(T_TO, R(T_TO), I(p->to + ahead * p->to_step)));
        bundler_add(&d->b, isa_if(pred, isa_dma_hbm_vmem_strided(
            R(T_FROM), size, R(T_TO), R(T_FLAG), I(p->array_stride), I(p->vmem_stride),
            I(p->run))));
    }
}

static void put_alone(struct bundler *b, struct isa_op op)
{
    bundler_begin(b, "first parts", 0);
    bundler_add(b, op);
    bundler_end(b);
}

static void start_alone(struct bundler *b, const struct dot_parts *p, int part)
{
    for (int i = 0; i < p->operands && part < p->count; i++) {
        const struct pipeline_part *x = &p->operand[i];
        int64_t granules = part == p->count - 1 ? x->last_granules : x->granules;

        put_alone(b, isa_dma_hbm_vmem_strided(
            I((uint32_t)(x->from + part * x->from_step)), I(granules),
            I(x->to + part * x->to_step), I(p->flag + part), I(x->array_stride),
            I(x->vmem_stride), I(x->run)));
    }
}

void dot_first_parts(const struct dot_parts *p, const struct chip *chip, struct arena *a,
                     struct isa_program *out)
{
    int64_t granules = part_granules(p);
    struct bundler b;

    bundler_init(&b, chip);
    /* what the last part lacks is there, so that all are waited for alike */
    for (int i = 0; i < p->operands; i++)
        if (p->operand[i].last_granules < p->operand[i].granules)
            put_alone(&b, isa_vsyncadd(
                I(p->flag + p->count - 1),
                I(p->operand[i].granules - p->operand[i].last_granules)));
    for (int part = 0; part < p->under_way; part++) {
        if (part > 0)
            put_alone(&b, isa_vdelay(I(p->pace_cycles)));
        start_alone(&b, p, part);
    }
    for (int part = 0; part < PIPELINE_PARTS_BEFORE; part++) {
        put_alone(&b, isa_dma_done(I(p->flag + part), I(granules)));
        put_alone(&b, isa_vsyncadd(I(p->flag + part), I(-granules)));
        start_alone(&b, p, p->under_way + part);
    }
    bundler_finish(&b, "first parts", a, out);
    bundler_fini(&b);
}

/* which part the first pass of a step waits for at its end */
void dot_begin_parts(struct dot_code *d)
{
    const struct dot_parts *p = &d->s->parts;

    if (!p->count)
        return;
    bundler_add(&d->b, isa_smov(S_PART, I(p->count)));
    bundler_add(&d->b, isa_if(p->is_first, isa_smov(S_PART, I(PIPELINE_PARTS_BEFORE))));
}

void dot_await_part(struct dot_code *d)
{
    if (!d->s->parts.count)
        return;
    bundler_add(&d->b, isa_scmp_lt(P_PART, R(S_PART), I(d->s->parts.count)));
    find_flag(d, 0);
    await(d, R(T_FLAG), P_PART);
}

void dot_start_part(struct dot_code *d)
{
    const struct dot_parts *p = &d->s->parts;

    if (!p->count)
        return;
    if (p->under_way + PIPELINE_PARTS_BEFORE < p->count) {
        bundler_add(&d->b, isa_scmp_lt(P_PART, R(S_PART), I(p->count - p->under_way)));
        start(d, p->under_way, P_PART);
    }
    bundler_add(&d->b, isa_sadd(S_PART, R(S_PART), I(1)));
}
