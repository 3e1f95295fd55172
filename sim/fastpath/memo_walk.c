/*
 * The affine walk: the path from a visit to the next is followed once with
 * scalar registers that are now + j * step in iteration j. Their values for
 * j = 0 are worked out by the operations' own handlers, on a core that is only
 * a shadow; a rule per operation says what becomes of the step, and for how
 * many iterations its outcome stays what it is.
 *
 * The steps are the differences between the last two visits. Where the walk
 * ends with every register one step further on and at its old step, it holds
 * for the next iteration as well, and so on: induction over j.
 */
#include "sim/core/issue.h"
#include "sim/fastpath/memo.h"
#include "sim/fastpath/memo_bound.h"

#include "base/arena.h"

#include <string.h>

/* What an operation does to a path that is to be followed many times. */
enum rule {
    RULE_REFUSE,                        /* cannot be told beforehand */
    RULE_VECTOR,                        /* writes no scalar and no predicate */
    RULE_FIXED,                         /* the same in every iteration, if its operands are */
    RULE_MOVE, RULE_ADD, RULE_SUBTRACT, RULE_MULTIPLY, RULE_SHIFT_LEFT, RULE_AND,
    RULE_COMPARE, RULE_COMPARE_U32, RULE_MIN_MAX, RULE_SELECT
};

static const uint8_t class_rule[CLASS_COUNT] = {
    [CLASS_SALU] = RULE_FIXED, [CLASS_SMUL] = RULE_FIXED, [CLASS_SF32] = RULE_FIXED,
    [CLASS_SCMP] = RULE_COMPARE, [CLASS_SLD] = RULE_FIXED, [CLASS_FENCE] = RULE_VECTOR,
    [CLASS_SBR] = RULE_FIXED, [CLASS_VALU] = RULE_VECTOR, [CLASS_VCMP] = RULE_VECTOR,
    [CLASS_VSEL] = RULE_VECTOR, [CLASS_EUP] = RULE_VECTOR, [CLASS_POP] = RULE_VECTOR,
    [CLASS_VLD] = RULE_VECTOR, [CLASS_VST] = RULE_VECTOR, [CLASS_CLD] = RULE_VECTOR,
    [CLASS_XRED] = RULE_VECTOR, [CLASS_XPERM] = RULE_VECTOR, [CLASS_XPOSE] = RULE_VECTOR,
    [CLASS_XPOSE_END] = RULE_VECTOR, [CLASS_MATPUSH] = RULE_VECTOR,
    [CLASS_MATMUL] = RULE_VECTOR, [CLASS_VDWG] = RULE_VECTOR, [CLASS_DELAY] = RULE_FIXED};

/* those that differ from their class; 0: as the class */
static const uint8_t code_rule[OP_COUNT] = {
    [OP_SMOV] = RULE_MOVE, [OP_SADD] = RULE_ADD, [OP_SSUB] = RULE_SUBTRACT,
    [OP_SMUL] = RULE_MULTIPLY, [OP_SSHLL] = RULE_SHIFT_LEFT, [OP_SAND] = RULE_AND,
    [OP_SLEA_VMEM] = RULE_ADD, [OP_SLEA_HBM] = RULE_ADD, [OP_SLEA_SMEM] = RULE_ADD,
    [OP_SLEA_SFLAG] = RULE_ADD, [OP_SCMP_U32] = RULE_COMPARE_U32, [OP_SCMP_F32] = RULE_FIXED,
    [OP_SMIN_MAX] = RULE_MIN_MAX, [OP_SELECT] = RULE_SELECT, [OP_VTRACE] = RULE_VECTOR,
    [OP_VSETTM] = RULE_FIXED, [OP_VMPACKC] = RULE_VECTOR, [OP_STAND_IN_SCALAR] = RULE_VECTOR};

static enum rule rule_of(enum isa_opcode code)
{
    if (isa_info(code)->writes & (ISA_RNG | ISA_HALT))
        return RULE_REFUSE;
    if (code_rule[code] != 0)
        return (enum rule)code_rule[code];
    return (enum rule)class_rule[isa_info(code)->latency_class];
}

struct memo_walk *memo_walk_create(void)
{
    struct memo_walk *w = mem_alloc(sizeof(*w));

    for (int i = 0; i < OP_COUNT; i++) {
        w->rule[i] = (uint8_t)rule_of((enum isa_opcode)i);
        w->scalars[i] = isa_scalar_operands((enum isa_opcode)i);
    }
    w->shadow = mem_alloc(sizeof(*w->shadow));
    return w;
}

void memo_walk_destroy(struct memo_walk *w)
{
    if (!w)
        return;
    mem_free(w->shadow->s);
    mem_free(w->shadow);
    mem_free(w);
}

static void hold_for(struct memo_walk *w, int64_t iterations)
{
    if (iterations < w->iterations)
        w->iterations = iterations;
}

/* scalar operand `index`: a register, a temporary or a constant */
static int32_t step_of(const struct memo_walk *w, const struct decoded_op *o, int index)
{
    return o->o[index] < S_CONST ? w->step[o->o[index]] : 0;
}

static struct memo_affine signed_operand(const struct memo_walk *w, const struct decoded_op *o,
                                         int index)
{
    return (struct memo_affine){w->shadow->s[o->o[index]], step_of(w, o, index)};
}

static struct memo_affine unsigned_operand(const struct memo_walk *w, const struct decoded_op *o,
                                           int index)
{
    return (struct memo_affine){(uint32_t)w->shadow->s[o->o[index]], step_of(w, o, index)};
}

/* registers wrap around, the order of numbers does not */
static void hold_until_wrap(struct memo_walk *w, struct memo_affine x, bool is_unsigned)
{
    int64_t low = is_unsigned ? 0 : INT32_MIN, high = is_unsigned ? UINT32_MAX : INT32_MAX;

    w->iterations = memo_hold_within(w->iterations, x, low, high);
}

static void hold_comparison(struct memo_walk *w, const struct decoded_op *o,
                            enum memo_relation relation, bool is_unsigned)
{
    struct memo_affine x, y;

    if (step_of(w, o, 1) == 0 && step_of(w, o, 2) == 0)
        return;
    x = is_unsigned ? unsigned_operand(w, o, 1) : signed_operand(w, o, 1);
    y = is_unsigned ? unsigned_operand(w, o, 2) : signed_operand(w, o, 2);
    hold_until_wrap(w, x, is_unsigned);
    hold_until_wrap(w, y, is_unsigned);
    hold_for(w, memo_while_compared(relation, x, y));
}

/* all scalars that it reads */
static bool has_fixed_operands(const struct memo_walk *w, const struct decoded_op *o)
{
    uint32_t scalars = w->scalars[o->code];

    for (; scalars; scalars &= scalars - 1)
        if (step_of(w, o, __builtin_ctz(scalars)) != 0)
            return false;
    return true;
}

static uint32_t product_step(const struct memo_walk *w, const struct decoded_op *o)
{
    const int32_t *s = w->shadow->s;

    return (uint32_t)step_of(w, o, 1) * (uint32_t)s[o->o[2]]
           + (uint32_t)step_of(w, o, 2) * (uint32_t)s[o->o[1]];
}

/* a mask that keeps all bits that change, or none of them */
static bool and_step(const struct memo_walk *w, const struct decoded_op *o, uint32_t *step)
{
    int moving = step_of(w, o, 1) != 0 ? 1 : 2;
    uint32_t by = (uint32_t)step_of(w, o, moving), changing;
    uint32_t mask = (uint32_t)w->shadow->s[o->o[3 - moving]];

    *step = 0;
    if (by == 0)
        return true;
    changing = ~((by & -by) - 1);
    if (step_of(w, o, 3 - moving) != 0 || ((mask & changing) != 0 && (~mask & changing) != 0))
        return false;
    *step = mask & changing ? by : 0;
    return true;
}

/* the operand that the minimum or maximum takes: 1 or 2 */
static int chosen_by_order(struct memo_walk *w, const struct decoded_op *o)
{
    bool is_unsigned = o->o[4] != 0, is_less;
    struct memo_affine x = signed_operand(w, o, 1), y = signed_operand(w, o, 2);

    if (is_unsigned) {
        x = unsigned_operand(w, o, 1);
        y = unsigned_operand(w, o, 2);
    }
    is_less = x.now < y.now;
    hold_comparison(w, o, MEMO_LT, is_unsigned);
    return is_less != (o->o[3] != 0) ? 1 : 2;
}

static int chosen_by_predicate(const struct memo_walk *w, const struct decoded_op *o)
{
    return w->shadow->p[o->o[1] >> 1] != (o->o[1] & 1) ? 2 : 3;
}

/* the sum of base and offset, each of which may wrap around by itself */
static struct memo_affine address_of(struct memo_walk *w, const struct decoded_op *o, int base)
{
    struct memo_affine x = signed_operand(w, o, base), y = signed_operand(w, o, base + 1);

    hold_until_wrap(w, x, false);
    hold_until_wrap(w, y, false);
    return (struct memo_affine){x.now + y.now, x.step + y.step};
}

/* every row that is touched; the handlers fault at the first that is not there */
static void hold_inside(struct memo_walk *w, struct memo_affine row, int64_t stride,
                        uint32_t sublanes, int64_t row_count)
{
    uint32_t used = sublanes & 0xffu;
    struct memo_affine first = row, last = row;

    if (used == 0)
        return;
    first.now += stride * __builtin_ctz(used);
    last.now += stride * (31 - __builtin_clz(used));
    w->iterations = memo_hold_within(w->iterations, first, 0, row_count - 1);
    w->iterations = memo_hold_within(w->iterations, last, 0, row_count - 1);
}

/* operands from `base` on: base, offset, stride, sublanes */
static struct moving_rows vmem_rows(struct memo_walk *w, const struct decoded_op *o, int base)
{
    struct memo_affine row = address_of(w, o, base);
    struct access_rows rows = {.first = row.now, .stride = o->o[base + 2],
                               .sublanes = (uint32_t)o->o[base + 3]};

    hold_inside(w, row, rows.stride, rows.sublanes, w->shadow->vmem_rows);
    return (struct moving_rows){.rows = rows, .step = row.step, .at = w->length};
}

/* a load and a store that move apart or together must not come to meet, or cease to */
static void hold_apart(struct memo_walk *w, const struct moving_rows *load,
                       const struct moving_rows *store)
{
    struct memo_affine x = {load->rows.first, load->step}, y = {store->rows.first, store->step};

    if (load->step != store->step)
        hold_for(w, memo_while_apart(x, 7 * load->rows.stride, y, 7 * store->rows.stride));
}

/* a bundle takes a cycle at least, so stores that many bundles ago are too old */
static void follow_load(struct memo_walk *w, const struct decoded_op *o)
{
    struct moving_rows load = vmem_rows(w, o, 1);
    int64_t gap = w->shadow->chip->vmem_store_to_load_cycles;

    for (uint32_t i = 1; i <= STORE_RING && i <= w->store_count; i++) {
        const struct moving_rows *store = &w->store[(w->store_count - i) % STORE_RING];

        if (store->at + gap <= load.at)
            return;
        if (store->at < load.at)
            hold_apart(w, &load, store);
    }
}

static void follow_store(struct memo_walk *w, const struct decoded_op *o)
{
    struct moving_rows store = vmem_rows(w, o, 0);

    w->store[w->store_count++ % STORE_RING] = store;
}

static void follow_cld(struct memo_walk *w, const struct decoded_op *o)
{
    hold_inside(w, address_of(w, o, 0), o->o[2], (uint32_t)o->o[3],
                w->shadow->cmem_bytes / ROW_BYTES);
}

static void execute(struct memo_walk *w, const struct decoded_op *o)
{
    o->exec(w->shadow, o);
}

/* an operation with a result: its value by the handler, its step given */
static void define(struct memo_walk *w, const struct decoded_op *o, uint32_t step)
{
    execute(w, o);
    w->step[o->o[0]] = (int32_t)step;
}

/* the same predicate or scalar in every iteration */
static bool follow_fixed(struct memo_walk *w, const struct decoded_op *o)
{
    if (!has_fixed_operands(w, o))
        return false;
    execute(w, o);
    if (isa_info(o->code)->role[0] == 'e')
        w->step[o->o[0]] = 0;
    return w->shadow->state == CORE_RUNNING;
}

static bool follow_scalar(struct memo_walk *w, const struct decoded_op *o, enum rule rule)
{
    uint32_t a = (uint32_t)step_of(w, o, 1), step;

    switch (rule) {
    case RULE_MOVE: define(w, o, a); return true;
    case RULE_ADD: define(w, o, a + (uint32_t)step_of(w, o, 2)); return true;
    case RULE_SUBTRACT: define(w, o, a - (uint32_t)step_of(w, o, 2)); return true;
    case RULE_MULTIPLY:
        if (a != 0 && step_of(w, o, 2) != 0)
            return false;
        define(w, o, product_step(w, o));
        return true;
    case RULE_SHIFT_LEFT:
        if (step_of(w, o, 2) != 0)
            return false;
        step = (uint32_t)w->shadow->s[o->o[2]];
        define(w, o, step < 32 ? a << step : 0);
        return true;
    case RULE_AND:
        if (!and_step(w, o, &step))
            return false;
        define(w, o, step);
        return true;
    case RULE_MIN_MAX: define(w, o, (uint32_t)step_of(w, o, chosen_by_order(w, o))); return true;
    default: define(w, o, (uint32_t)step_of(w, o, chosen_by_predicate(w, o))); return true;
    }
}

/* exec_copy_s and its like, out of a temporary */
static void follow_copy(struct memo_walk *w, const struct decoded_op *o)
{
    if (o->exec == exec_copy_s)
        define(w, o, (uint32_t)step_of(w, o, 1));
    else if (o->exec == exec_copy_p)
        execute(w, o);
}

/* registers and predicates */
static bool follow(struct memo_walk *w, const struct decoded_op *o)
{
    enum rule rule;

    if (o->code == OP_COUNT) {
        follow_copy(w, o);
        return true;
    }
    rule = (enum rule)w->rule[o->code];
    switch (rule) {
    case RULE_REFUSE: return false;
    case RULE_VECTOR: break;
    case RULE_FIXED: return follow_fixed(w, o);
    case RULE_COMPARE:
        hold_comparison(w, o, (enum memo_relation)(o->code - OP_SCMP_EQ), false);
        execute(w, o);
        break;
    case RULE_COMPARE_U32:
        hold_comparison(w, o, (enum memo_relation)o->o[3], true);
        execute(w, o);
        break;
    default: return follow_scalar(w, o, rule);
    }
    return w->iterations > 0;
}

/* what the timing of a bundle takes from scalars: rows, and cycles to wait */
static bool follow_timing(struct memo_walk *w, const struct decoded_op *o)
{
    switch (o->timing) {
    case TIMING_LOAD: follow_load(w, o); break;
    case TIMING_STORE: follow_store(w, o); break;
    case TIMING_CLD: follow_cld(w, o); break;
    case TIMING_DELAY: return step_of(w, o, 0) == 0;
    case TIMING_DMA: case TIMING_WAIT: case TIMING_SST: case TIMING_LOAD_IAR:
    case TIMING_STORE_IAR: case TIMING_SPOP: case TIMING_DIVIDE: case TIMING_POP_DRF:
        return false;
    default: break;
    }
    return w->iterations > 0;
}

/* operations of a bundle read before any of them writes: addresses come first */
static bool follow_bundle(struct memo_walk *w)
{
    struct core *shadow = w->shadow;
    const struct decoded_bundle *b = &shadow->program->bundle[shadow->pc];
    const struct decoded_op *op = &shadow->program->op[b->first_op];
    const uint16_t *special = &shadow->program->special[b->first_special];
    const uint8_t *exec = decoded_execs(shadow->program, b);
    uint32_t live = b->has_guard ? issue_guards_that_hold(shadow, b) : ~0u;

    if (b->is_entry)
        return false;                   /* an overlay may have to be fetched */
    w->pc[w->length] = shadow->pc;
    w->live[w->length] = live;
    for (uint32_t i = 0; i < b->special_count; i++)
        if ((live >> special[i] & 1u) && !follow_timing(w, &op[special[i]]))
            return false;
    for (uint32_t i = 0; i < b->exec_count; i++)
        if ((live >> exec[i] & 1u) && !follow(w, &op[exec[i]]))
            return false;
    w->length++;
    return true;
}

/* true at a visit to `head`, by the same branch rule as the issue loop's */
static bool go_on(struct core *shadow, uint32_t head)
{
    bool is_back = false;

    if (shadow->branch_in > 0 && --shadow->branch_in == 0) {
        is_back = shadow->branch_target <= shadow->pc;
        shadow->pc = shadow->branch_target;
    } else {
        shadow->pc++;
    }
    return is_back && shadow->pc == head;
}

/* the scalar side of the core, and room for its constants */
static void cast_shadow(struct memo_walk *w, const struct core *c)
{
    struct core *shadow = w->shadow;
    size_t count = S_CONST + c->program->scalar_count;

    if (w->program != c->program) {
        mem_free(shadow->s);
        shadow->s = mem_alloc(count * sizeof(*shadow->s));
        memcpy(shadow->s, c->s, count * sizeof(*shadow->s));
        w->program = c->program;
    }
    memcpy(shadow->s, c->s, S_CONST * sizeof(*shadow->s));
    memcpy(shadow->p, c->p, sizeof(shadow->p));
    shadow->program = c->program;
    shadow->chip = c->chip;
    shadow->smem = c->smem;
    shadow->vmem_rows = c->vmem_rows;
    shadow->cmem_bytes = c->cmem_bytes;
    shadow->branch_delay_bundles = c->branch_delay_bundles;
    shadow->pc = c->pc;
    shadow->branch_in = 0;
    shadow->state = CORE_RUNNING;
}

static void set_steps(struct memo_walk *w, const struct memo_anchor *before,
                      const struct memo_anchor *now)
{
    memset(w->step, 0, sizeof(w->step));
    for (int i = 0; i < ISA_SREG_COUNT; i++)
        w->step[i] = (int32_t)((uint32_t)now->s[i] - (uint32_t)before->s[i]);
}

/* stores in front of the visit, the oldest first, as the core's ring has them */
static void set_stores(struct memo_walk *w, const struct core *c,
                       const struct memo_anchor *before)
{
    w->store_count = 0;
    for (int i = before->store_count - 1; i >= 0; i--) {
        const struct store_record *s = memo_recent_store(c, i);

        w->store[w->store_count++] = (struct moving_rows){
            .rows = s->rows, .at = s->at - c->now, .step = s->rows.first - before->store_first[i]};
    }
}

/* every register one step on, and its step the same: then the iteration after is alike */
static bool repeats(const struct memo_walk *w, const struct memo_anchor *before,
                    const struct memo_anchor *now, const struct core *c)
{
    for (int i = 0; i < ISA_SREG_COUNT; i++) {
        uint32_t step = (uint32_t)now->s[i] - (uint32_t)before->s[i];

        if ((uint32_t)w->step[i] != step
            || (uint32_t)w->shadow->s[i] != (uint32_t)now->s[i] + step)
            return false;
    }
    for (int i = 0; i < now->store_count; i++) {
        const struct moving_rows *s = &w->store[(w->store_count - 1 - (uint32_t)i) % STORE_RING];
        int64_t step = now->store_first[i] - before->store_first[i];

        if (s->step != step || s->rows.first != now->store_first[i] + step
            || s->rows.is_scattered)
            return false;
    }
    return memcmp(w->shadow->p, c->p, ISA_PRED_COUNT) == 0;
}

/* what was seen is what the walk has followed: no copy and no sst since, as many bundles */
static bool was_alike(const struct memo_walk *w, const struct memo_anchor *before,
                      const struct memo_anchor *now)
{
    cycle_t issued = now->now - before->now;

    for (int i = 0; i < STALL_COUNT; i++)
        issued -= now->stall_cycles[i] - before->stall_cycles[i];
    return issued == w->length && now->sequence == before->sequence
           && now->last_sst_at == before->last_sst_at;
}

int64_t memo_walk(struct memo_walk *w, const struct core *c, const struct memo_anchor *before,
                  const struct memo_anchor *now, uint32_t period)
{
    uint32_t visits = 0;

    w->rule[OP_VTRACE] = c->recorder ? RULE_FIXED : RULE_VECTOR;        /* markers are told */
    cast_shadow(w, c);
    set_steps(w, before, now);
    set_stores(w, c, before);
    w->iterations = MEMO_FOREVER;
    w->length = 0;
    while (visits < period) {
        if (w->length == MEMO_PATH_MAX || w->shadow->pc < now->first || w->shadow->pc > now->last
            || !follow_bundle(w))
            return 0;
        if (go_on(w->shadow, c->pc))
            visits++;
    }
    return was_alike(w, before, now) && repeats(w, before, now, c) ? w->iterations : 0;
}
