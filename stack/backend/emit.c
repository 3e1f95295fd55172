/*
 * Turns scheduled blocks into a program: loop control, bundles, branches with their delay bundles,
 * notes.
 */
#include "isa/op_make.h"
#include "stack/backend/backend.h"

#include <assert.h>
#include <string.h>

enum {
    INTERLEAVE_OPS_MAX = 3000,
    INTERLEAVE_WIDTH_MIN = 2, INTERLEAVE_WIDTH_MAX = 32,        /* chains side by side */
    INTERLEAVE_WAITS_NUM = 5, INTERLEAVE_WAITS_DEN = 4,         /* cycles of a block to its bundles */
    INTERLEAVE_GAIN_NUM = 15, INTERLEAVE_GAIN_DEN = 16,         /* less may be gone beside other blocks */
};
#define SCRATCH_BYTES (1 << 20)
#define LOOP_CONTROL_OPS 2              /* that append_loop_control adds */

struct emitter {
    const struct vcode *c;
    const struct chip *chip;
    struct arena *out;                  /* what the program keeps */
    struct arena scratch;               /* of one block, or several */
    int *v_physical;                    /* of pinned registers */
    uint64_t *v_taken;                  /* by block: registers pinned there */
    int *v_local, *m_local;             /* a block's own number of a register … */
    int *v_block, *m_block;             /* … valid in this block */
    const uint32_t *live_out;           /* scalar registers, by block */
    struct spill_area spill;
    struct vcode_stats stats;
    uint32_t *loop_label;               /* by counter register: bundle of the loop's start */
    uint32_t *block_label;              /* by block: its first bundle */
    size_t *skip;                       /* operations that branch to a block, */
    size_t skip_count, skip_capacity;
    struct isa_op *op;
    size_t op_count, op_capacity;
    struct isa_bundle *bundle;
    size_t bundle_count, bundle_capacity;
    const char **note;
    size_t note_count, note_capacity;
    struct isa_symbol *symbol;          /* of finished bundles */
    size_t symbol_count, symbol_capacity;
    struct latch { int block; uint32_t first, end; } latch;     /* bundles of the last such block */
    /* the last loop that overlaps and latches weights, which the next one may go on from (seam.c) */
    struct arena seams;
    struct last_loop {
        bool is_there;
        struct seam_loop loop;
        uint32_t post;                  /* bundle where its epilogue begins */
    } last;
};

static uint32_t note_number(struct emitter *m, const char *note)
{
    if (!note)
        return 0;
    for (size_t i = m->note_count; i > 0; i--)
        if (!strcmp(m->note[i - 1], note))
            return (uint32_t)i;
    MEM_ADD(m->note, m->note_count, m->note_capacity) = arena_strdup(m->out, note);
    return (uint32_t)m->note_count;
}

static void append_bundle(struct emitter *m, const char *note)
{
    MEM_ADD(m->bundle, m->bundle_count, m->bundle_capacity) = (struct isa_bundle){
        .first_op = (uint32_t)m->op_count, .note = note_number(m, note)};
}

static void append_op(struct emitter *m, const struct isa_op *op)
{
    MEM_ADD(m->op, m->op_count, m->op_capacity) = *op;
    m->bundle[m->bundle_count - 1].op_count++;
}

/* number vector and mask registers from 0; -1 = read before it was written */
static int localize(struct emitter *m, struct code_block *b, int block, bool is_vector,
                    int number, bool is_write)
{
    int *local = is_vector ? m->v_local : m->m_local;
    int *valid = is_vector ? m->v_block : m->m_block;
    int *count = is_vector ? &b->v_count : &b->m_count;

    assert(number >= 0 && number < (is_vector ? m->c->vreg_count : m->c->mask_count));
    if (valid[number] == block + 1)
        return local[number];
    if (!is_write && !(is_vector && m->c->is_pinned[number]))
        return -1;
    valid[number] = block + 1;
    local[number] = (*count)++;
    if (is_vector)
        b->v_fixed[local[number]] = m->v_physical[number];
    return local[number];
}

static int localize_op(struct emitter *m, struct code_block *b, int block, struct isa_op *op,
                       struct err *e)
{
    const struct isa_info *info = isa_info(op->code);

    for (int pass = 0; pass < 2; pass++)        /* reads first */
        for (int k = 0; k < op->operand_count; k++) {
            char role = info->role[k];
            bool is_write = role == 'd' || role == 'm';
            bool is_vector = role == 'd' || role == 'v' || role == 'V';
            struct isa_operand *o = &op->operand[k];
            int local;

            if (o->kind != OPERAND_REG || is_write != (pass == 1) ||
                (!is_vector && role != 'm' && role != 'n' && role != 'N'))
                continue;
            local = localize(m, b, block, is_vector, o->value, is_write);
            if (local < 0)
                return err_set(e, "block \"%s\": %s reads %s%d, which nothing in the block "
                               "wrote before", b->note, info->mnemonic,
                               is_vector ? "virtual v" : "virtual vm", o->value);
            o->value = local;
        }
    return 0;
}

/* the loop's decrement and compare join the block; the branch comes at the end */
static void append_loop_control(struct code_block *b, int counter, const struct chip *chip)
{
    b->op[b->op_count++].op = isa_sadd(counter, R(counter), I(-1));
    b->op[b->op_count++].op = isa_scmp_gt(BACKEND_LOOP_PRED, R(counter), I(0));
    b->branch_tail_cycles = (int)(chip->scalar_cmp_cycles + chip->core_branch_delay_bundles + 1);
}

static int copy_block(struct emitter *m, struct code_block *b, int block, struct err *e)
{
    const struct vcode_block *from = &m->c->block[block];
    size_t most_ops = from->op_count + 2;
    uint64_t all = m->chip->core_vregs == 64 ? UINT64_MAX : (1ull << m->chip->core_vregs) - 1;

    memset(b, 0, sizeof(*b));
    b->arena = &m->scratch;
    b->note = from->note ? from->note : "";
    b->v_free = all & ~m->v_taken[block];
    b->op = arena_array(b->arena, most_ops, sizeof(*b->op));
    b->regs = arena_array(b->arena, most_ops, sizeof(*b->regs));
    b->v_fixed = arena_array(b->arena, most_ops * 4, sizeof(int));
    if (from->op_count)
        memcpy(b->op, from->op, from->op_count * sizeof(*b->op));
    b->op_count = (int)from->op_count;
    for (int i = 0; i < b->op_count; i++) {
        enum isa_opcode code = b->op[i].op.code;

        if (code == OP_SBR || code == OP_SHALT)
            return err_set(e, "block \"%s\": %s is made by the back end only", b->note,
                           isa_info(code)->mnemonic);
        if (localize_op(m, b, block, &b->op[i].op, e))
            return -1;
    }
    accumulators_take(b, m->chip);
    scalars_rename(b, from->step_count, m->live_out[block]);
    if (from->is_loop_end)
        append_loop_control(b, from->counter_sreg, m->chip);
    for (int i = 0; i < b->op_count; i++)
        depend_regs_read(&b->op[i].op, &b->regs[i]);
    return 0;
}

/* operations of each bundle, by slot and then source order, as linked lists */
static void chain_bundles(const struct code_block *b, const struct schedule *s, int *head,
                          int *next)
{
    for (int t = 0; t < s->bundle_count; t++)
        head[t] = -1;
    for (int slot = SLOT_COUNT - 1; slot >= 0; slot--)
        for (int i = b->op_count - 1; i >= 0; i--)
            if ((int)isa_info(b->op[i].op.code)->slot == slot) {
                next[i] = head[s->bundle[i]];
                head[s->bundle[i]] = i;
            }
}

/*
 * The branch stands so that exactly the delay bundles follow it: as many of
 * the block's last bundles as may be, after the compare, in a free scalar slot.
 */
static int branch_bundle(const struct emitter *m, const struct code_block *b,
                         const struct schedule *s)
{
    int compare = s->bundle[b->op_count - 1];
    int at = s->bundle_count - 1 - (int)m->chip->core_branch_delay_bundles;
    int *scalar_slots = arena_array(b->arena, (size_t)s->bundle_count, sizeof(int));
    int *all_ops = arena_array(b->arena, (size_t)s->bundle_count, sizeof(int));

    for (int i = 0; i < b->op_count; i++) {
        enum isa_slot slot = isa_info(b->op[i].op.code)->slot;

        all_ops[s->bundle[i]]++;
        if (slot == SLOT_SCALAR)
            scalar_slots[s->bundle[i]]++;
        else if (slot == SLOT_DMA)
            scalar_slots[s->bundle[i]] += (int)m->chip->slots_dma_scalar;
    }
    if (at <= compare)
        at = compare + 1;
    while (at < s->bundle_count && (scalar_slots[at] >= m->chip->slots_scalar ||
                                    all_ops[at] >= ISA_BUNDLE_OP_MAX))
        at++;
    return at;
}

/* nothing but transfers of spilled registers: the bundle would not be there without them */
static bool is_for_spills(const struct code_block *b, const int *next, int first)
{
    for (int i = first; i >= 0; i = next[i])
        if (b->op[i].region != BACKEND_REGION_SPILL)
            return false;
    return first >= 0;
}

static void emit_bundles(struct emitter *m, const struct code_block *b,
                         const struct schedule *s, const struct vcode_block *from)
{
    int *head = arena_array(b->arena, (size_t)s->bundle_count, sizeof(int));
    int *next = arena_array(b->arena, (size_t)b->op_count, sizeof(int));
    int branch = from->is_loop_end ? branch_bundle(m, b, s) : -1;
    int count = s->bundle_count;
    const char *spills = arena_printf(b->arena, "%s%s", b->note, VCODE_SPILL_SUFFIX);

    if (branch >= 0)
        count = branch + 1 + (int)m->chip->core_branch_delay_bundles;
    chain_bundles(b, s, head, next);
    for (int t = 0; t < count; t++) {
        bool is_spill = t != branch && t < s->bundle_count && is_for_spills(b, next, head[t]);

        append_bundle(m, is_spill ? spills : from->note);
        if (t == branch) {
            struct isa_op op = isa_sbr(m->loop_label[from->counter_sreg]);

            op.pred = BACKEND_LOOP_PRED;
            append_op(m, &op);
        }
        for (int i = t < s->bundle_count ? head[t] : -1; i >= 0; i = next[i])
            append_op(m, &b->op[i].op);
    }
}

static void append_symbols(struct emitter *m, const struct isa_program *p, uint32_t first)
{
    for (uint32_t i = 0; i < p->symbol_count; i++) {
        MEM_ADD(m->symbol, m->symbol_count, m->symbol_capacity) = (struct isa_symbol){
            .name = arena_strdup(m->out, p->symbol[i].name),
            .bundle = first + p->symbol[i].bundle};
    }
}

/* finished bundles, moved to where they now stand; those without a note take the block's */
static void append_finished(struct emitter *m, const struct vcode_block *from,
                            const struct isa_program *p)
{
    uint32_t first = (uint32_t)m->bundle_count;

    append_symbols(m, p, first);
    for (uint32_t i = 0; i < p->bundle_count; i++) {
        const struct isa_bundle *b = &p->bundle[i];

        append_bundle(m, b->note ? p->note[b->note - 1] : from->note);
        for (uint32_t k = 0; k < b->op_count; k++) {
            struct isa_op op = p->op[b->first_op + k];

            if (op.code == OP_SBR)
                op.operand[0].value += (int32_t)first;
            if (!op.origin)
                op.origin = from->bundles_origin;
            append_op(m, &op);
        }
    }
}

static void note_peak(struct emitter *m, int block, int v_peak)
{
    v_peak += __builtin_popcountll(m->v_taken[block]);
    if (v_peak > m->stats.vreg_peak)
        m->stats.vreg_peak = v_peak;
}

/*
 * The loop's first round latches its weights: the block that was to do it goes again. Between the two
 * there is straight code at most.
 */
static void drop_latch(struct emitter *m, int loop)
{
    uint32_t first = m->latch.first, end = m->latch.end, ops, at;

    if (end == first)
        return;
    at = m->bundle[first].first_op;
    ops = end < m->bundle_count ? m->bundle[end].first_op - at : (uint32_t)m->op_count - at;
    memmove(&m->op[at], &m->op[at + ops], (m->op_count - at - ops) * sizeof(*m->op));
    m->op_count -= ops;
    memmove(&m->bundle[first], &m->bundle[end], (m->bundle_count - end) * sizeof(*m->bundle));
    m->bundle_count -= end - first;
    for (size_t i = first; i < m->bundle_count; i++)
        m->bundle[i].first_op -= ops;
    for (int b = m->latch.block + 1; b <= loop; b++)
        m->block_label[b] -= end - first;
    m->latch = (struct latch){0, 0, 0};
}

static bool has_latches(const struct code_block *b)
{
    for (int i = 0; i < b->op_count; i++)
        if (b->op[i].op.code == OP_VMATMUL && b->op[i].region == VCODE_LATCHES)
            return true;
    return false;
}

/* of the loop whose bundles, from `first` on, were appended last */
static void keep_loop(struct emitter *m, uint32_t first, const struct seam_loop *l)
{
    const struct code_block *b = l->body;
    struct code_block *body = arena_copy(&m->seams, b, 1, sizeof(*b));
    struct modulo_result *kept = arena_copy(&m->seams, l->result, 1, sizeof(*kept));

    body->arena = &m->seams;
    body->op = arena_copy(&m->seams, b->op, (size_t)b->op_count, sizeof(*b->op));
    body->regs = arena_copy(&m->seams, b->regs, (size_t)b->op_count, sizeof(*b->regs));
    body->v_fixed = arena_copy(&m->seams, b->v_fixed, (size_t)b->v_count, sizeof(*b->v_fixed));
    modulo_keep_result(kept, &m->seams);
    m->last = (struct last_loop){.is_there = true, .loop = *l,
                                 .post = first + (uint32_t)l->post_first};
    m->last.loop.body = body;
    m->last.loop.result = kept;
}

/* the loop goes on where the last one ends: its bundles take the place of that end */
static bool append_joined(struct emitter *m, struct seam_loop *second)
{
    struct isa_program joined;
    uint32_t post = m->last.post;

    if (!m->last.is_there ||
        !seam_join(m->c, &m->last.loop, second, m->chip, &m->seams, &joined))
        return false;
    m->op_count = m->bundle[post].first_op;
    m->bundle_count = post;
    for (int i = m->last.loop.block + 1; i <= second->block; i++)
        m->block_label[i] = post;
    append_finished(m, &m->c->block[second->block], &joined);
    keep_loop(m, post, second);
    return true;
}

static void append_loop(struct emitter *m, const struct code_block *b, int block,
                        const struct isa_program *p, const struct modulo_result *result)
{
    struct seam_loop l = {.body = b, .block = block, .post_first = result->post_first,
                          .result = result};
    uint32_t first;

    if (append_joined(m, &l))
        return;
    first = (uint32_t)m->bundle_count;
    append_finished(m, &m->c->block[block], p);
    m->last.is_there = false;
    if (result->post_first && has_latches(b))
        keep_loop(m, first, &l);
}

/* a loop over this one block whose rounds may overlap, if that takes less than `limit_cycles` */
static bool compile_overlapping(struct emitter *m, const struct code_block *b, int block,
                                int64_t limit_cycles)
{
    const struct vcode_block *from = &m->c->block[block];
    struct code_block body = *b;
    struct modulo_result result;
    struct isa_program p;

    if (!from->is_loop_start || !from->is_loop_end || !from->step_count)
        return false;
    body.op_count -= LOOP_CONTROL_OPS;
    if (!modulo_loop_once(&body, from->step_count, from->counter_sreg, from->loop_count,
                          limit_cycles, m->chip, m->c->memo, &p, &result))
        return false;
    drop_latch(m, block);
    append_loop(m, &body, block, &p, &result);
    note_peak(m, block, result.v_used);
    m->stats.overlapped_loops++;
    return true;
}

/* cycles of all rounds of a loop, each of which ends before the next one begins */
static int64_t loop_cycles(const struct emitter *m, const struct code_block *b,
                           const struct schedule *s, const struct vcode_block *from)
{
    int64_t bundles = branch_bundle(m, b, s) + 1 + m->chip->core_branch_delay_bundles;

    return from->loop_count * (s->cycles > bundles ? s->cycles : bundles);
}

/* A branch behind the block, with its delay bundles; where to stands in its operand until all is
 * placed. */
static void emit_skip(struct emitter *m, const struct vcode_block *from)
{
    struct isa_op op = isa_sbr((int)from->skip_to);

    op.pred = (uint8_t)from->skip_pred;
    append_bundle(m, from->note);
    append_op(m, &op);
    MEM_ADD(m->skip, m->skip_count, m->skip_capacity) = m->op_count - 1;
    for (int64_t i = 0; i < m->chip->core_branch_delay_bundles; i++)
        append_bundle(m, from->note);
}

static void place_skips(struct emitter *m)
{
    for (size_t i = 0; i < m->skip_count; i++) {
        struct isa_operand *to = &m->op[m->skip[i]].operand[0];

        to->value = (int32_t)m->block_label[to->value];
    }
}

/* a block that fits the registers, and its bundles */
struct scheduled { struct code_block b; struct schedule s; struct spill_area spill; };

static int schedule_block(struct emitter *m, struct scheduled *x, struct err *e)
{
    struct depend d;

    if (registers_spill(&x->b, m->chip, &x->spill, e) || depend_build(&d, &x->b, m->chip, e))
        return -1;
    schedule_choose(&x->s, &x->b, &d, m->chip);
    depend_fini(&d);
    return 0;
}

/* a block that waits much is tried with its chains side by side */
static void try_interleaved(struct emitter *m, const struct code_block *whole, int tail,
                            struct scheduled *best)
{
    struct spill_area spill = m->spill;
    struct err e;

    if (whole->op_count > INTERLEAVE_OPS_MAX ||
        best->s.cycles * INTERLEAVE_WAITS_DEN < (int64_t)best->s.bundle_count * INTERLEAVE_WAITS_NUM)
        return;
    for (int width = INTERLEAVE_WIDTH_MIN; width <= INTERLEAVE_WIDTH_MAX; width *= 2) {
        struct scheduled x = {.spill = spill};

        if (interleave_chains(whole, tail, width, m->chip, &x.b) && !schedule_block(m, &x, &e) &&
            x.s.cycles * INTERLEAVE_GAIN_DEN < best->s.cycles * INTERLEAVE_GAIN_NUM)
            *best = x;
    }
}

static int compile_block(struct emitter *m, int block, struct err *e)
{
    const struct vcode_block *from = &m->c->block[block];
    struct scheduled x = {.spill = m->spill};
    struct code_block whole;
    int m_peak;

    if (from->is_loop_start)
        m->loop_label[from->counter_sreg] = (uint32_t)m->bundle_count;
    if (from->bundles)
        append_finished(m, from, from->bundles);
    if (!from->op_count && !from->is_loop_end)
        return 0;
    if (copy_block(m, &whole, block, e))
        return -1;
    x.b = whole;
    if (schedule_block(m, &x, e))
        return -1;
    if (from->is_loop_end &&
        compile_overlapping(m, &whole, block, loop_cycles(m, &x.b, &x.s, from)))
        return 0;                       /* it does without what was spilled */
    try_interleaved(m, &whole, from->is_loop_end ? LOOP_CONTROL_OPS : 0, &x);
    m->spill = x.spill;
    if (from->is_loop_end)
        m->latch = (struct latch){0, 0, 0};
    note_peak(m, block, registers_peak(&x.b, &x.s, &m_peak));
    registers_assign(&x.b, &x.s);
    emit_bundles(m, &x.b, &x.s, from);
    return 0;
}

/* short blocks share their scratch: making one is more work than compiling such a block */
static int compile_blocks(struct emitter *m, struct err *e)
{
    int status = 0;

    arena_init(&m->scratch);
    for (int b = 0; b < (int)m->c->block_count && !status; b++) {
        m->block_label[b] = (uint32_t)m->bundle_count;
        status = compile_block(m, b, e);
        if (m->c->block[b].is_latch)
            m->latch = (struct latch){b, m->block_label[b], (uint32_t)m->bundle_count};
        if (!status && m->c->block[b].skip_to)
            emit_skip(m, &m->c->block[b]);
        if (m->scratch.used_bytes > SCRATCH_BYTES)
            arena_fini(&m->scratch);
    }
    arena_fini(&m->scratch);
    return status;
}

static void take_program(const struct emitter *m, struct isa_program *p)
{
    *p = (struct isa_program){
        .name = "compiled",
        .op = arena_copy(m->out, m->op, m->op_count, sizeof(*p->op)),
        .bundle = arena_copy(m->out, m->bundle, m->bundle_count, sizeof(*p->bundle)),
        .note = arena_copy(m->out, m->note, m->note_count, sizeof(*p->note)),
        .symbol = arena_copy(m->out, m->symbol, m->symbol_count, sizeof(*p->symbol)),
        .op_count = (uint32_t)m->op_count,
        .bundle_count = (uint32_t)m->bundle_count,
        .note_count = (uint32_t)m->note_count,
        .symbol_count = (uint32_t)m->symbol_count,
    };
}

static void init_emitter(struct emitter *m, struct arena *plan)
{
    size_t v = (size_t)m->c->vreg_count, masks = (size_t)m->c->mask_count;

    m->v_physical = arena_array(plan, v, sizeof(int));
    m->v_local = arena_array(plan, v, sizeof(int));
    m->v_block = arena_array(plan, v, sizeof(int));
    m->m_local = arena_array(plan, masks, sizeof(int));
    m->m_block = arena_array(plan, masks, sizeof(int));
    m->v_taken = arena_array(plan, m->c->block_count, sizeof(uint64_t));
    m->loop_label = arena_array(plan, ISA_SREG_COUNT, sizeof(uint32_t));
    m->block_label = arena_array(plan, m->c->block_count + 1, sizeof(uint32_t));
}

int vcode_compile_segment(const struct vcode *c, const struct chip *chip, int64_t spill_base_row,
                          int64_t spill_tiles, struct arena *a, struct isa_program *program,
                          struct vcode_stats *stats, struct err *e)
{
    struct emitter m = {.c = c, .chip = chip, .out = a,
                        .spill = {.base_row = spill_base_row, .tile_count = spill_tiles}};
    struct arena plan;
    int status;

    arena_init(&plan);
    arena_init(&m.seams);
    init_emitter(&m, &plan);
    m.live_out = scalars_live_out(c, c->kept_sregs, &plan);
    status = registers_pin(c, chip, &plan, m.v_physical, m.v_taken, e);
    if (!status)
        status = compile_blocks(&m, e);
    if (!status) {
        place_skips(&m);
        take_program(&m, program);
        m.stats.op_count = (int64_t)m.op_count;
        m.stats.bundle_count = (int64_t)m.bundle_count;
        m.stats.spill_count = m.spill.spill_count;
        m.stats.spill_tiles = m.spill.used_tiles;
        *stats = m.stats;
    }
    mem_free(m.op);
    mem_free(m.skip);
    mem_free(m.bundle);
    mem_free(m.note);
    mem_free(m.symbol);
    arena_fini(&m.seams);
    arena_fini(&plan);
    return status;
}
