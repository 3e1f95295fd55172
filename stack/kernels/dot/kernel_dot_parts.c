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
    PUT(d, OP_SADD, REG(T_FLAG), REG(S_PART), IMM(d->s->parts.flag + ahead));
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
    const struct isa_operand back[] = {flag, IMM(-granules)};
    struct isa_op op = bundler_op(OP_DMA_DONE, 0, 2, (struct isa_operand[]){flag, IMM(granules)});
    int at;

    op.pred = (uint8_t)pred;
    at = bundler_put(&d->b, &op, 0);
    op = bundler_op(OP_VSYNCADD, 0, 2, back);
    op.pred = (uint8_t)pred;
    bundler_put(&d->b, &op, at + 1);
}

/* of part S[S_PART] + ahead */
static struct isa_operand size_of(struct dot_code *d, const struct frame_part *p, int ahead)
{
    if (p->last_granules == p->granules)
        return IMM(p->granules);
    PUT(d, OP_SCMP_EQ, REG(P_LAST_PART), REG(S_PART), IMM(d->s->parts.count - 1 - ahead));
    PUT(d, OP_SMOV, REG(T_SIZE), IMM(p->granules));
    PUT_IF(d, P_LAST_PART, OP_SMOV, REG(T_SIZE), IMM(p->last_granules));
    return REG(T_SIZE);
}

/* part S[S_PART] + ahead of each operand, where predicate `pred` is true */
static void start(struct dot_code *d, int ahead, int pred)
{
    find_flag(d, ahead);
    for (int i = 0; i < d->s->parts.operands; i++) {
        const struct frame_part *p = &d->s->parts.operand[i];
        struct isa_operand size = size_of(d, p, ahead);

        PUT(d, OP_SMUL, REG(T_FROM), REG(S_PART), IMM(p->from_step));
        PUT(d, OP_SADD, REG(T_FROM), REG(T_FROM), IMM((uint32_t)(p->from + ahead * p->from_step)));
        PUT(d, OP_SMUL, REG(T_TO), REG(S_PART), IMM(p->to_step));
        PUT(d, OP_SADD, REG(T_TO), REG(T_TO), IMM(p->to + ahead * p->to_step));
        PUT_IF(d, pred, OP_DMA_HBM_VMEM, REG(T_FROM), size, REG(T_TO), REG(T_FLAG),
               IMM(p->array_stride), IMM(p->vmem_stride), IMM(p->run));
    }
}

static void put_alone(struct bundler *b, enum isa_opcode code, int count,
                      const struct isa_operand *operand)
{
    const struct isa_op op = bundler_op(code, 0, count, operand);

    bundler_begin(b, "first parts", 0);
    bundler_put(b, &op, 0);
    bundler_end(b);
}

static void start_alone(struct bundler *b, const struct dot_parts *p, int part)
{
    for (int i = 0; i < p->operands && part < p->count; i++) {
        const struct frame_part *x = &p->operand[i];
        int64_t granules = part == p->count - 1 ? x->last_granules : x->granules;

        put_alone(b, OP_DMA_HBM_VMEM,
                  OPERANDS(IMM((uint32_t)(x->from + part * x->from_step)), IMM(granules),
                           IMM(x->to + part * x->to_step), IMM(p->flag + part),
                           IMM(x->array_stride), IMM(x->vmem_stride), IMM(x->run)));
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
            put_alone(&b, OP_VSYNCADD,
                      OPERANDS(IMM(p->flag + p->count - 1),
                               IMM(p->operand[i].granules - p->operand[i].last_granules)));
    for (int part = 0; part < p->under_way; part++) {
        if (part > 0)
            put_alone(&b, OP_VDELAY, OPERANDS(IMM(p->pace_cycles)));
        start_alone(&b, p, part);
    }
    for (int part = 0; part < FRAME_PARTS_BEFORE; part++) {
        put_alone(&b, OP_DMA_DONE, OPERANDS(IMM(p->flag + part), IMM(granules)));
        put_alone(&b, OP_VSYNCADD, OPERANDS(IMM(p->flag + part), IMM(-granules)));
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
    PUT(d, OP_SMOV, REG(S_PART), IMM(p->count));
    PUT_IF(d, p->is_first, OP_SMOV, REG(S_PART), IMM(FRAME_PARTS_BEFORE));
}

void dot_await_part(struct dot_code *d)
{
    if (!d->s->parts.count)
        return;
    PUT(d, OP_SCMP_LT, REG(P_PART), REG(S_PART), IMM(d->s->parts.count));
    find_flag(d, 0);
    await(d, REG(T_FLAG), P_PART);
}

void dot_start_part(struct dot_code *d)
{
    const struct dot_parts *p = &d->s->parts;

    if (!p->count)
        return;
    if (p->under_way + FRAME_PARTS_BEFORE < p->count) {
        PUT(d, OP_SCMP_LT, REG(P_PART), REG(S_PART), IMM(p->count - p->under_way));
        start(d, p->under_way, P_PART);
    }
    PUT(d, OP_SADD, REG(S_PART), REG(S_PART), IMM(1));
}
