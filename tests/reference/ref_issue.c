/*
 * When a bundle issues: docs/engine.md, "One bundle", rule by rule.
 */
#include <math.h>

#include "sim/chip/chip.h"
#include "tests/reference/ref_impl.h"
#include "tests/test.h"

/* One look at a bundle: whether a rule keeps it back now, and when to look again. */
struct look {
    cycle_t now, again_at;
    bool must_wait;
    enum stall_reason reason;           /* of those that keep it back, the first in stalls.def */
};

static void not_before(struct look *l, cycle_t from, enum stall_reason reason)
{
    if (from <= l->now)
        return;
    if (!l->must_wait || reason < l->reason)
        l->reason = reason;
    if (!l->must_wait || from < l->again_at)
        l->again_at = from;
    l->must_wait = true;
}

static const struct isa_op *op_of(const struct ref_core *c, int index)
{
    return &c->program->op[c->program->bundle[c->pc].first_op + (uint32_t)index];
}

static int op_count(const struct ref_core *c)
{
    return c->program->bundle[c->pc].op_count;
}

static bool is_live(const struct ref_core *c, int index)
{
    return c->live >> index & 1u;
}

static void find_live(struct ref_core *c)
{
    c->live = 0;
    for (int i = 0; i < op_count(c); i++) {
        const struct isa_op *op = op_of(c, i);
        bool holds = op->pred == ISA_PRED_ALWAYS || c->p[op->pred] != (op->pred_is_negated != 0);

        c->live |= (uint32_t)holds << i;
    }
}

static void check_register(const struct ref_core *c, char role, int number, struct look *l)
{
    switch (role) {
    case 'd': case 'v': case 'V': not_before(l, c->v_ready[number], STALL_OPERAND); break;
    case 'm': case 'n': case 'N': not_before(l, c->mask_ready[number], STALL_OPERAND); break;
    case 'q': case 'p': case 'P': not_before(l, c->p_ready[number], STALL_OPERAND); break;
    default: not_before(l, c->s_ready[number], STALL_OPERAND); break;
    }
}

/* all that an operation names, whether its guard holds or not */
static void check_registers(const struct ref_core *c, const struct isa_op *op, struct look *l)
{
    for (int i = 0; i < op->operand_count; i++)
        if (op->operand[i].kind == OPERAND_REG)
            check_register(c, isa_info(op->code)->role[i], op->operand[i].value, l);
    if (op->pred != ISA_PRED_ALWAYS)
        not_before(l, c->p_ready[op->pred], STALL_OPERAND);
}

static bool share_a_row(const int64_t a[8], const int64_t b[8])
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            if (a[i] != REF_NO_ROW && a[i] == b[j])
                return true;
    return false;
}

static void check_stores(const struct ref_core *c, const struct isa_op *op, struct look *l)
{
    cycle_t gap = c->m->chip.vmem_store_to_load_cycles;
    int64_t row[8];

    ref_rows(c, op, row);
    for (size_t i = 0; i < c->store_count; i++) {
        const struct ref_store *s = &c->store[i];

        if (s->is_anywhere || op->code == OP_VLD_IAR || share_a_row(s->row, row))
            not_before(l, s->at + gap, STALL_STORE_LOAD);
    }
}

/* the bundle's pops from one FIFO take one result after the other */
static void check_pop(struct ref_core *c, const struct isa_op *op, struct ref_fifo *f,
                      enum stall_reason reason, struct look *l)
{
    const struct ref_result *r = &f->item[(f->first + f->looked_at) % f->depth];
    bool is_integer = op->code == OP_VPOP_MRF && op->operand[1].value != 0;

    if (f->looked_at >= f->count)
        ref_fault(c, l->now, FAULT_FIFO_EMPTY, "a pop from an empty fifo");
    else if (r->pop != op->code || r->is_integer != is_integer)
        ref_fault(c, l->now, FAULT_OPERATION, "a pop of what is not at the head");
    else
        not_before(l, r->ready_at, reason);
    f->looked_at++;
}

static void check_word(struct ref_core *c, struct ref_words *f, enum stall_reason reason,
                       struct look *l)
{
    if (f->looked_at >= f->count)
        ref_fault(c, l->now, FAULT_FIFO_EMPTY, "a pop of a word that was not pushed");
    else
        not_before(l, f->item[(f->first + f->looked_at) % f->depth].ready_at, reason);
    f->looked_at++;
}

static void check_accumulator(struct ref_core *c, const struct matrix_op *m,
                              struct ref_accumulator *a, struct look *l)
{
    int half = a->popped + a->looked_at;

    if (!a->has_sum || half >= chip_mxu_halves(&c->m->chip))
        ref_fault(c, l->now, FAULT_FIFO_EMPTY, "a pop of an accumulator without a sum");
    else if (a->is_integer != matrix_is_integer(m->type))
        ref_fault(c, l->now, FAULT_OPERATION, "a pop of an accumulator of another type");
    else
        not_before(l, a->ready_at[half], STALL_RESULT);
    a->looked_at++;
}

static void check_matrix(struct ref_core *c, const struct isa_op *op, struct look *l)
{
    struct matrix_op m = matrix_op_of_isa(op);
    struct ref_mxu *u = &c->mxu[op->unit_index];

    if (m.kind == MATRIX_PUSH || m.kind == MATRIX_PREP_WEIGHTS)
        not_before(l, u->port_free_at, STALL_STAGING);
    if (m.kind == MATRIX_MULTIPLY || m.kind == MATRIX_PREP_ROWS)
        not_before(l, u->array_free_at, STALL_MXU);
    if (m.kind == MATRIX_MULTIPLY && m.staging >= 0)
        not_before(l, u->staged_at[m.staging], STALL_STAGING);
    if (m.kind == MATRIX_POP && m.accumulator >= 0)
        check_accumulator(c, &m, &u->accumulator[m.accumulator], l);
    else if (m.kind == MATRIX_POP)
        check_pop(c, op, &u->result, STALL_RESULT, l);
}

static void check_xlu(const struct ref_core *c, const struct isa_op *op, struct look *l)
{
    const struct ref_xlu *u = &c->xlu[op->unit_index];

    not_before(l, u->free_at, STALL_XLU);
    if (op->code == OP_VXPOSE_START || op->code == OP_VXPOSE_ONE)
        not_before(l, u->next_xpose_at, STALL_XLU);
}

static void check_units(struct ref_core *c, const struct isa_op *op, struct look *l)
{
    const struct chip *chip = &c->m->chip;

    if (isa_info(op->code)->unit == UNIT_MXU) {
        check_matrix(c, op, l);
        return;
    }
    switch (isa_info(op->code)->latency_class) {
    case CLASS_VLD: check_stores(c, op, l); break;
    case CLASS_CLD: not_before(l, c->cld_free_at, STALL_CMEM); break;
    case CLASS_EUP: not_before(l, c->eup_free_at, STALL_EUP); break;
    case CLASS_XRED: case CLASS_XPERM: case CLASS_XPOSE: case CLASS_XPOSE_END:
        check_xlu(c, op, l);
        break;
    case CLASS_POP:
        check_pop(c, op, ref_fifo_of_pop(c, op), op->code == OP_VPOP_EUP ? STALL_EUP :
                  op->code == OP_VPOP_CRF ? STALL_CMEM : STALL_XLU, l);
        break;
    case CLASS_SPOP:
        if (op->code == OP_SPOP)
            check_word(c, &c->v2s, STALL_TRANSFER, l);
        else
            check_word(c, &c->drf, STALL_DIVIDE, l);
        break;
    case CLASS_FENCE:
        not_before(l, c->last_vst_at + chip->vmem_store_to_load_cycles, STALL_FENCE);
        not_before(l, c->last_sst_at + chip->scalar_sld_cycles, STALL_FENCE);
        break;
    case CLASS_DMA: not_before(l, c->dma_free_at, STALL_DMA_QUEUE); break;
    default: break;
    }
}

static void begin_look(struct ref_core *c)
{
    c->eup.looked_at = c->crf.looked_at = c->v2s.looked_at = c->drf.looked_at = 0;
    for (int i = 0; i < c->m->chip.xlu_count; i++)
        c->xlu[i].result.looked_at = 0;
    for (int i = 0; i < c->m->chip.mxu_count; i++) {
        c->mxu[i].result.looked_at = 0;
        for (int j = 0; j < c->m->chip.mxu_accumulators; j++)
            c->mxu[i].accumulator[j].looked_at = 0;
    }
}

static void fetch(struct ref_core *c, int half, uint32_t overlay)
{
    const struct chip *chip = &c->m->chip;
    int64_t bytes = chip->core_bundle_bytes
                    * (c->overlays.first[overlay + 1] - c->overlays.first[overlay]);
    int64_t ps = chip->dma_read_ns * 1000
                 + (int64_t)ceil((double)bytes * 1000 / chip->dma_core_gbps);

    c->fetch_ends_at = later(c->fetch_ends_at, c->m->now)
                       + div_up(ps * chip->chip_clock_mhz, 1000000);
    c->half[half].overlay = overlay;
    c->half[half].ready_at = c->fetch_ends_at;
}

void ref_first_overlay(struct ref_core *c)
{
    memset(c->half, 0, sizeof(c->half));
    c->running_half = 0;
    c->fetch_ends_at = 0;
    if (c->overlays.count > 1)
        fetch(c, 1, c->overlays.next[0]);
}

static bool is_elsewhere(const struct ref_core *c)
{
    return c->overlays.count > 1
           && isa_overlay_of(&c->overlays, c->pc) != c->half[c->running_half].overlay;
}

static void check_overlay(struct ref_core *c, struct look *l)
{
    uint32_t overlay = isa_overlay_of(&c->overlays, c->pc);
    int other = 1 - c->running_half;

    if (!is_elsewhere(c))
        return;
    if (c->half[other].overlay != overlay)
        fetch(c, other, overlay);
    not_before(l, c->half[other].ready_at, STALL_FETCH);
}

static void enter_overlay(struct ref_core *c)
{
    uint32_t next;

    if (!is_elsewhere(c))
        return;
    next = c->overlays.next[isa_overlay_of(&c->overlays, c->pc)];
    c->running_half = 1 - c->running_half;
    if (next != c->half[c->running_half].overlay && next != c->half[1 - c->running_half].overlay)
        fetch(c, 1 - c->running_half, next);
}

static struct look look_at_rules(struct ref_core *c)
{
    struct look l = {.now = c->m->now};

    begin_look(c);
    find_live(c);
    not_before(&l, c->delay_until, STALL_DELAY);
    for (int i = 0; i < op_count(c); i++) {
        check_registers(c, op_of(c, i), &l);
        if (is_live(c, i))
            check_units(c, op_of(c, i), &l);
    }
    check_overlay(c, &l);
    return l;
}

/* cycles beyond those of eight rows one after the other; equal rows are read once */
static int bank_cycles(const struct ref_core *c, const struct isa_op *op)
{
    int64_t banks = c->m->chip.vmem_banks, row[8];
    int count[64] = {0}, most = 0, usual = (int)div_up(8, banks);

    ref_rows(c, op, row);
    for (int i = 0; i < 8; i++) {
        int64_t bank = (row[i] % banks + banks) % banks;
        bool is_first = true;

        for (int j = 0; j < i; j++)
            is_first &= row[j] != row[i];
        if (row[i] != REF_NO_ROW && is_first && ++count[bank] > most)
            most = count[bank];
    }
    return most > usual ? most - usual : 0;
}

static int bundle_bank_cycles(const struct ref_core *c)
{
    int most = 0;

    for (int i = 0; i < op_count(c); i++) {
        const struct isa_op *op = op_of(c, i);

        if (is_live(c, i) && (ref_is_load(op) || ref_is_store(op)) && bank_cycles(c, op) > most)
            most = bank_cycles(c, op);
    }
    return most;
}

static void ask(struct ref_core *c, const struct isa_op *op, enum ref_event_kind kind, int index,
                int target)
{
    c->state = REF_ASKS;
    c->asking = op;
    c->is_refused = false;
    ref_post(c, c->m->now, (struct ref_event){.kind = kind, .target = target, .index = index,
                                              .flag = c->asked_flag, .value = c->asked_value});
}

static void ask_flag(struct ref_core *c, const struct isa_op *op, int index)
{
    struct ref_op x = {.c = c, .op = op};
    bool is_read = op->code == OP_VSYNCMOV || op->code == OP_VSYNCMOV_R;
    int target = op->code == OP_VSYNCMOV_R ? ref_s(&x, 2) : c->number;

    c->asked_flag = ref_s(&x, is_read ? 1 : 0);
    c->asked_value = is_read || op->code == OP_VSYNCPA ? 0 : ref_s(&x, 1);
    if (!ref_check_flag(c, c->m->now, c->asked_flag) || !ref_check_core(c, c->m->now, target))
        return;
    switch (op->code) {
    case OP_VSYNCSET: case OP_VSYNCPA: ask(c, op, REF_ASK_SET, index, target); break;
    case OP_VSYNCMOV: ask(c, op, REF_ASK_READ, index, target); break;
    case OP_VSYNCMOV_R: ask(c, op, REF_ASK_REMOTE_READ, index, target); break;
    default: ask(c, op, REF_ASK_WAIT, index, target); break;
    }
}

static bool is_question(const struct isa_op *op)
{
    switch (isa_info(op->code)->latency_class) {
    case CLASS_DMA: case CLASS_SYNC_RD: return true;
    case CLASS_SYNC:
        return op->code != OP_VSYNCADD && op->code != OP_VSYNCADD_R && op->code != OP_VSYNCSET_R;
    default: return false;
    }
}

/* One question after the other, in the order written; a copy asks only where the queue is full. */
static void settle(struct ref_core *c)
{
    int questions = 0, copies = 0;

    for (int i = 0; i < op_count(c); i++) {
        const struct isa_op *op = op_of(c, i);
        bool is_copy = isa_info(op->code)->latency_class == CLASS_DMA;

        if (!is_live(c, i) || !is_question(op))
            continue;
        copies += is_copy;
        if (questions++ < c->settled)
            continue;
        if (is_copy && c->copies_queued + copies <= c->m->chip.dma_queue_depth) {
            c->settled++;
            continue;
        }
        c->asked_flag = 0;
        c->asked_value = copies;
        if (is_copy)
            ask(c, op, REF_ASK_QUEUE, i, c->number);
        else
            ask_flag(c, op, i);
        return;
    }
    c->look_at = c->m->now + bundle_bank_cycles(c);
    c->state = REF_ISSUES;
}

/* What an operation takes from and what it changes beside registers, in its unit. */
enum {
    ON_VMEM = 1, ON_SMEM = 2, ON_TRACE = 4, ON_RNG = 8, ON_EUP = 16, ON_V2S = 32, ON_DRF = 64,
    ON_CRF = 128, ON_XLU = 256, ON_RESULT = 512, ON_WEIGHTS_PREP = 1024, ON_ROWS_PREP = 2048,
    ON_IAR = 4096, /* two of each from here */ ON_STAGING = 16384, ON_GAIN = 65536
};

static uint32_t matrix_takes(const struct matrix_op *m)
{
    switch (m->kind) {
    case MATRIX_PUSH: return m->uses_prep ? ON_WEIGHTS_PREP : 0;
    case MATRIX_MULTIPLY:
        return (m->uses_prep ? ON_ROWS_PREP : 0u)
               | (m->staging >= 0 ? (uint32_t)ON_STAGING << m->staging
                                  : (uint32_t)ON_GAIN << m->gain);
    case MATRIX_POP: return ON_RESULT;
    default: return 0;
    }
}

static uint32_t matrix_changes(const struct matrix_op *m)
{
    switch (m->kind) {
    case MATRIX_PUSH: return (uint32_t)ON_STAGING << m->staging;
    case MATRIX_PREP_WEIGHTS: return ON_WEIGHTS_PREP;
    case MATRIX_PREP_ROWS: return ON_ROWS_PREP;
    case MATRIX_MULTIPLY: return ON_RESULT | (m->staging >= 0 ? (uint32_t)ON_GAIN << m->gain : 0u);
    case MATRIX_GIVE_UP: return ON_GAIN | ON_GAIN << 1;
    default: return 0;
    }
}

static uint32_t takes(const struct isa_op *op)
{
    struct matrix_op m = matrix_op_of_isa(op);

    switch (op->code) {
    case OP_SLD: case OP_DMA_GENERAL: return ON_SMEM;
    case OP_VLD: case OP_VLD_SSHFL: case OP_DMA_VMEM_REMOTE: case OP_DMA_VMEM_HBM_REMOTE:
        return ON_VMEM;
    case OP_VLD_IAR: return ON_VMEM | (uint32_t)ON_IAR << op->operand[4].value;
    case OP_VST_IAR: return (uint32_t)ON_IAR << op->operand[4].value;
    case OP_VTRACE: return ON_TRACE;
    case OP_VRNG: return ON_RNG;
    case OP_VPOP_EUP: return ON_EUP;
    case OP_SPOP: return ON_V2S;
    case OP_SPOP_DRF: return ON_DRF;
    case OP_VPOP_CRF: return ON_CRF;
    case OP_VPOP_XLANE: case OP_VPOP_PERMUTE: case OP_VPOP_TRF: return ON_XLU;
    default: return matrix_takes(&m);
    }
}

static uint32_t changes(const struct isa_op *op)
{
    struct matrix_op m = matrix_op_of_isa(op);

    switch (op->code) {
    case OP_SST: return ON_SMEM;
    case OP_VST: case OP_VST_SSHFL: case OP_VST_IAR: case OP_VST_MSK: return ON_VMEM;
    case OP_VSETIAR: return (uint32_t)ON_IAR << op->operand[1].value;
    case OP_VSETTM: return ON_TRACE;
    case OP_SETRNGSEED: return ON_RNG;
    case OP_VPUSH: return ON_V2S;
    case OP_SDIVREM: return ON_DRF;
    case OP_CLD: return ON_CRF;
    default: break;
    }
    switch (isa_info(op->code)->latency_class) {
    case CLASS_EUP: return ON_EUP;
    case CLASS_XRED: case CLASS_XPERM: case CLASS_XPOSE: case CLASS_XPOSE_END: return ON_XLU;
    default: return matrix_changes(&m);
    }
}

/* All that is taken is taken before it changes; else in the order written. -1: none is left. */
static int next_to_execute(const struct ref_core *c, uint32_t left)
{
    for (int i = 0; i < op_count(c); i++) {
        const struct isa_op *op = op_of(c, i);
        bool is_free = left >> i & 1u;

        for (int j = 0; j < op_count(c) && is_free; j++)
            is_free = j == i || !(left >> j & 1u) || op_of(c, j)->unit_index != op->unit_index
                      || !(changes(op) & takes(op_of(c, j)));
        if (is_free)
            return i;
    }
    assert_int_equal(left, 0);
    return -1;
}

static void execute(struct ref_core *c, int index)
{
    struct ref_op *x = &c->m->op[index];

    x->c = c;
    x->op = op_of(c, index);
    x->index = index;
    x->at = c->m->now;
    x->splat_count = 0;
    ref_take_unit(x);
    if (c->state != REF_FAULTED)
        ref_function(x->op->code)(x);
}

static void write_result(struct ref_core *c, int index)
{
    const struct ref_op *x = &c->m->op[index];
    const struct isa_op *op = x->op;
    char role = op->operand_count > 0 ? isa_info(op->code)->role[0] : 0;
    int number = op->operand[0].value;
    cycle_t ready_at = x->at + ref_latency(&c->m->chip, op);

    if (role == 'd') {
        memcpy(c->v[number], x->tile, sizeof(x->tile));
        c->v_ready[number] = ready_at;
    } else if (role == 'm') {
        c->mask[number] = x->mask;
        c->mask_ready[number] = ready_at;
    } else if (role == 'e') {
        c->s[number] = x->result.s;
        c->s_ready[number] = ready_at;
    } else if (role == 'q') {
        c->p[number] = x->result.p;
        c->p_ready[number] = ready_at;
    }
}

static void charge_units(struct ref_core *c, cycle_t at)
{
    uint64_t seen = 0;

    for (int i = 0; i < op_count(c); i++) {
        int track = ref_track(c, op_of(c, i));
        struct ref_unit *u = &c->unit[track];

        if (track != REF_DMA && !(seen >> track & 1u))
            u->waiting_cycles += later(0, at - later(c->arrived_at, u->busy_until));
        seen |= 1ull << track;
    }
}

/* the whole wait to what cleared last, but for what has a reason of its own */
static void charge(struct ref_core *c, cycle_t at)
{
    cycle_t bank = bundle_bank_cycles(c);
    cycle_t wait = at - bank - c->resume_cycles - c->arrived_at;

    if (wait > 0)
        c->counters.stall_cycles[c->reason] += wait;
    c->counters.stall_cycles[STALL_SYNC] += c->resume_cycles;
    c->counters.stall_cycles[STALL_BANK] += bank;
    charge_units(c, at);
}

static void count_op(struct ref_core *c, const struct isa_op *op, cycle_t at)
{
    struct matrix_op m = matrix_op_of_isa(op);
    const struct chip *chip = &c->m->chip;
    int track = ref_track(c, op);
    struct ref_unit *u = &c->unit[track];

    c->counters.op_count[op->code]++;
    u->op_count++;
    if (track < REF_DMA && track != REF_EUP && u->last_single_at != at) {
        u->busy_cycles++;
        u->last_single_at = at;
    }
    if (m.kind != MATRIX_MULTIPLY)
        return;
    m.uses_prep = false;
    c->counters.matmul_cycles += ref_matrix_cycles(chip, &m);
    c->counters.matmul_flops += 2 * matrix_rows(m.type) * chip->mxu_size * chip->mxu_size;
}

static void go_to_next_bundle(struct ref_core *c, cycle_t at)
{
    c->counters.issue_cycles++;
    if (c->halts) {
        c->state = REF_HALTED;
        c->halted_at = at + 1;
        return;
    }
    if (c->branch_in > 0 && --c->branch_in == 0)
        c->pc = c->branch_target;
    else
        c->pc++;
    c->state = REF_LOOKS;
    c->arrived_at = c->look_at = at + 1;
    c->settled = 0;
    c->resume_cycles = 0;
    if (c->pc >= c->program->bundle_count)
        ref_fault(c, at, FAULT_NO_HALT, "past the last bundle");
}

static void issue(struct ref_core *c)
{
    cycle_t at = c->m->now;
    uint32_t left = c->live;

    charge(c, at);
    if (at >= c->m->limit)
        ref_fault(c, at, FAULT_NO_HALT, "the cycle limit");
    enter_overlay(c);
    while (c->state != REF_FAULTED && left) {
        int i = next_to_execute(c, left);

        execute(c, i);
        left &= ~(1u << i);
    }
    if (c->state == REF_FAULTED)
        return;
    for (int i = 0; i < op_count(c); i++)
        if (is_live(c, i)) {
            write_result(c, i);
            count_op(c, op_of(c, i), at);
        }
    go_to_next_bundle(c, at);
}

void ref_look(struct ref_core *c)
{
    if (c->state == REF_LOOKS) {
        struct look l = look_at_rules(c);

        if (c->state == REF_FAULTED)
            return;
        if (l.must_wait) {
            c->reason = l.reason;
            c->look_at = l.again_at;
            return;
        }
        c->state = REF_SETTLES;
    }
    if (c->state == REF_SETTLES)
        settle(c);
    if (c->state == REF_ISSUES && c->look_at <= c->m->now)
        issue(c);
}
