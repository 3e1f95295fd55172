/*
 * When operations may issue and when their results are there, beside plain
 * registers: docs/engine.md has the rules in words.
 *
 * timing_wait raises the issue time of a bundle and takes entries off the
 * FIFOs; timing_take, once the time is known, occupies units and puts results
 * into FIFOs (sim/core/timing.h has the parts that nearly every bundle needs).
 * Neither looks at a lane.
 */
#include "sim/core/timing.h"

#include "sim/core/known.h"
#include "sim/chip/limits.h"

struct op_name timing_name(const struct decoded_op *o)
{
    struct op_name name;

    isa_print_mnemonic(o->code, o->unit, o->o + isa_info(o->code)->choice_first, name.text,
                       sizeof(name.text));
    return name;
}

_Static_assert(OP_COUNT <= 1 << POP_KEY_CODE_BITS, "an opcode fits the key of a pop");

static struct op_name name_of_pop(uint16_t key, int unit)
{
    const int32_t type = key >> POP_KEY_CODE_BITS;
    struct op_name name;

    isa_print_mnemonic(key & ((1u << POP_KEY_CODE_BITS) - 1), unit, &type, name.text,
                       sizeof(name.text));
    return name;
}

static bool has_row(const struct access_rows *a, int64_t row)
{
    for (int i = 0; i < 8; i++)
        if ((a->sublanes >> i & 1u) && a->first + i * a->stride == row)
            return true;
    return false;
}

/* strides are not negative (isa/check.c) */
static bool share_rows(const struct access_rows *a, const struct access_rows *b)
{
    if (a->is_scattered || b->is_scattered)
        return true;
    if (a->first + 7 * a->stride < b->first || b->first + 7 * b->stride < a->first)
        return false;
    for (int i = 0; i < 8; i++)
        if ((a->sublanes >> i & 1u) && has_row(b, a->first + i * a->stride))
            return true;
    return false;
}

void timing_wait_for_stores(struct core *c, const struct access_rows *rows, struct issue_time *t)
{
    cycle_t gap = c->chip->vmem_store_to_load_cycles;

    for (uint32_t i = 1; i <= STORE_RING && i <= c->store_count; i++) {
        const struct store_record *s = &c->store[(c->store_count - i) % STORE_RING];

        if (s->at + gap < t->at)
            return;
        if (share_rows(&s->rows, rows)) {
            issue_not_before(t, s->at + gap, STALL_STORE_LOAD);
            return;
        }
    }
}

void timing_note_all_stores(struct core *c)
{
    uint32_t count = c->store_count < STORE_RING ? c->store_count : STORE_RING;

    for (uint32_t i = count; i > 0; i--) {
        const struct store_record *s = &c->store[(c->store_count - i) % STORE_RING];

        timing_note_store(c, &s->rows, s->at);
    }
}

/* by the rows that the index address register holds now */
static void check_iar_banks(struct core *c, const struct decoded_op *o)
{
    int base = o->timing == TIMING_LOAD_IAR ? 1 : 0, extra;
    int64_t row[8];

    if (c->iar_is_unknown[o->o[4]]) {
        core_fault_unknown(c, timing_name(o).text, "row offsets from a vector");
        return;
    }
    for (int i = 0; i < 8; i++)
        row[i] = (int64_t)c->s[o->o[base]] + c->s[o->o[base + 1]] + c->iar[o->o[4]][i];
    extra = decode_bank_extra_cycles(c->chip, row, (uint32_t)o->o[base + 2]);
    if (extra > c->bank_extra)
        c->bank_extra = extra;
}

void timing_refuse_pop(struct core *c, const struct decoded_op *o)
{
    const struct fifo *f = c->fifo[o->pop.fifo];

    if (f->pushed == f->popped)
        core_fault(c, FAULT_FIFO_EMPTY, "%s with nothing pushed to its fifo",
                   timing_name(o).text);
    else
        core_fault(c, FAULT_OPERATION, "%s finds a result for %s at the head of the fifo",
                   timing_name(o).text, name_of_pop(f->code[f->popped & f->mask], o->unit).text);
}

static void check_word_pop(struct core *c, const char *name, const char *push,
                           struct fifo *f, enum stall_reason reason, struct issue_time *t)
{
    if (f->pushed == f->popped) {
        core_fault(c, FAULT_FIFO_EMPTY, "%s with nothing pushed by %s", name, push);
        return;
    }
    issue_not_before(t, f->ready_at[f->popped++ & f->mask], reason);
}

/* a store is taken to be in memory when a load could have it; a word needs the way of sld */
static void check_fence(const struct core *c, struct issue_time *t)
{
    issue_not_before(t, c->last_store_at + c->chip->vmem_store_to_load_cycles, STALL_FENCE);
    issue_not_before(t, c->last_sst_at + c->chip->scalar_sld_cycles, STALL_FENCE);
}

static bool begins_xpose(const struct decoded_op *o)
{
    return o->code == OP_VXPOSE_START || o->code == OP_VXPOSE_ONE;
}

static void check_xlu(struct core *c, const struct decoded_op *o, struct issue_time *t)
{
    const struct xlu *x = &c->xlu[o->unit];

    if (begins_xpose(o))
        issue_not_before(t, x->next_xpose_at, STALL_XLU);
    issue_not_before(t, x->free_at, STALL_XLU);
}

static void check_bank(struct core *c, const struct decoded_op *o)
{
    if (o->bank_extra > c->bank_extra)
        c->bank_extra = o->bank_extra;
}

void timing_wait_other(struct core *c, const struct decoded_op *o, struct issue_time *t)
{
    static const struct access_rows anywhere = {.is_scattered = true};

    switch (o->timing) {
    case TIMING_STORE:
        check_bank(c, o);
        break;
    case TIMING_LOAD_IAR:
        check_iar_banks(c, o);
        timing_wait_for_stores(c, &anywhere, t);
        break;
    case TIMING_STORE_IAR:
        check_iar_banks(c, o);
        break;
    case TIMING_CLD:
        issue_not_before(t, c->cmem_free_at, STALL_CMEM);
        break;
    case TIMING_EUP:
        issue_not_before(t, c->eup_free_at, STALL_EUP);
        break;
    case TIMING_REDUCE: case TIMING_PERMUTE: case TIMING_XPOSE: case TIMING_XPOSE_END:
        check_xlu(c, o, t);
        break;
    case TIMING_POP_ACCUMULATOR:
        timing_wait_accumulator(c, o, t);
        break;
    case TIMING_SPOP:
        check_word_pop(c, "spop", "vpush", &c->v2s, STALL_TRANSFER, t);
        break;
    case TIMING_POP_DRF:
        check_word_pop(c, "spop.drf", "sdivrem", &c->drf, STALL_DIVIDE, t);
        break;
    case TIMING_FENCE:
        check_fence(c, t);
        break;
    case TIMING_DMA:
        issue_not_before(t, c->dma_issue_at, STALL_DMA_QUEUE);
        break;
    default:
        break;
    }
}

void timing_push_result(struct core *c, const struct decoded_op *o, struct fifo *f,
                        uint16_t pop_key, cycle_t ready_at)
{
    uint32_t slot;

    if (f->pushed - f->popped >= f->depth && !(c->is_listing && fifo_grow(f))) {
        core_fault(c, FAULT_FIFO_OVERFLOW, "%s finds its result fifo full: %u results not popped",
                   timing_name(o).text, (unsigned)f->depth);
        return;
    }
    slot = f->pushed & f->mask;
    f->ready_at[slot] = ready_at;
    f->code[slot] = pop_key;
    f->pushed++;
}

static void commit_cld(struct core *c, const struct decoded_op *o, cycle_t at)
{
    cycle_t start = later(at, c->cmem_free_at);

    c->cmem_free_at = start + c->chip->cmem_load_issue_cycles;
    c->cmem_read_bytes += ROW_BYTES * __builtin_popcount((unsigned)o->o[3] & 0xffu);
    timing_push_result(c, o, &c->crf, OP_VPOP_CRF, start + c->chip->cmem_load_cycles);
}

/* an immediate is in range already */
static void commit_delay(struct core *c, const struct decoded_op *o, cycle_t at)
{
    int32_t cycles = c->s[o->o[0]];

    if (cycles < 0)
        core_fault(c, FAULT_OPERATION, "vdelay of %d cycles; 0..2147483647 are possible",
                   (int)cycles);
    else
        c->delay_until = later(c->delay_until, at + 1 + cycles);
}

static void commit_eup(struct core *c, const struct decoded_op *o, cycle_t at)
{
    cycle_t start = later(at, c->eup_free_at);

    c->eup_free_at = start + c->chip->eup_issue_cycles;
    timing_occupy(c, o, start, c->eup_free_at);
    timing_push_result(c, o, &c->eup, OP_VPOP_EUP, start + c->chip->eup_latency_cycles);
}

static void commit_permute(struct core *c, const struct decoded_op *o, cycle_t at)
{
    struct xlu *x = &c->xlu[o->unit];
    cycle_t start = later(at, x->free_at);
    bool is_reduction = o->timing == TIMING_REDUCE;

    x->free_at = start + c->chip->xlu_issue_cycles;
    timing_occupy(c, o, start, x->free_at);
    timing_push_result(c, o, &x->result, is_reduction ? OP_VPOP_XLANE : OP_VPOP_PERMUTE,
                       start + (is_reduction ? c->chip->xlu_reduce_cycles
                                             : c->chip->xlu_permute_cycles));
}

static bool check_xpose(struct core *c, const struct decoded_op *o, const struct xlu *x)
{
    bool is_first = begins_xpose(o);
    int rows = isa_xpose_rows(o->o[ISA_XPOSE_TYPE]), most = 128 / rows;

    if (is_first && x->is_open)
        core_fault(c, FAULT_OPERATION, "%s inside an open transpose", timing_name(o).text);
    else if (!is_first && !x->is_open)
        core_fault(c, FAULT_OPERATION, "%s without a start", timing_name(o).text);
    else if (!is_first && x->type != o->o[ISA_XPOSE_TYPE])
        core_fault(c, FAULT_OPERATION, "%s in a transpose of another type",
                   timing_name(o).text);
    else if (!is_first && x->pushed_rows >= 128)
        core_fault(c, FAULT_OPERATION, "%s is tile %d of a transpose of at most %d",
                   timing_name(o).text, most + 1, most);
    return c->state != CORE_FAULTED;
}

static void commit_xpose(struct core *c, const struct decoded_op *o, cycle_t at)
{
    struct xlu *x = &c->xlu[o->unit];
    int rows = isa_xpose_rows(o->o[ISA_XPOSE_TYPE]);
    cycle_t start = later(at, x->free_at), ready_at;

    if (!check_xpose(c, o, x))
        return;
    if (begins_xpose(o))
        x->next_xpose_at = start + c->chip->xlu_xpose_gap_cycles;
    x->free_at = start + chip_xpose_issue_cycles(c->chip, o->o[ISA_XPOSE_TYPE]);
    timing_occupy(c, o, start, x->free_at);
    x->type = o->o[ISA_XPOSE_TYPE];
    x->is_open = o->timing != TIMING_XPOSE_END;
    x->pushed_rows = x->is_open ? x->pushed_rows + rows : 0;
    if (x->is_open)
        return;
    ready_at = start + c->chip->xlu_xpose_cycles;
    for (int i = 0; i < o->o[1] / rows && c->state != CORE_FAULTED; i++)
        timing_push_result(c, o, &x->result, OP_VPOP_TRF,
                           ready_at + i * c->chip->xlu_xpose_pop_cycles);
}

/* quotient and remainder; divisions may follow each other in every bundle */
static void commit_divide(struct core *c, cycle_t at)
{
    struct fifo *f = &c->drf;

    if (f->pushed - f->popped > f->depth - 2 && !(c->is_listing && fifo_grow(f))) {
        core_fault(c, FAULT_FIFO_OVERFLOW, "sdivrem finds its result fifo full: "
                   "%u words not popped, of %u", (unsigned)(f->pushed - f->popped),
                   (unsigned)f->depth);
        return;
    }
    for (int i = 0; i < 2; i++)
        f->ready_at[f->pushed++ & f->mask] = at + c->chip->scalar_div_cycles;
}

static void commit_vpush(struct core *c, cycle_t at)
{
    struct fifo *f = &c->v2s;

    if (f->pushed - f->popped >= f->depth && !(c->is_listing && fifo_grow(f))) {
        core_fault(c, FAULT_FIFO_OVERFLOW, "vpush finds the fifo to the scalar unit full: "
                   "%u words not popped", (unsigned)f->depth);
        return;
    }
    f->ready_at[f->pushed++ & f->mask] = at + c->chip->scalar_v2s_cycles;
}

void timing_take_other(struct core *c, const struct decoded_op *o, cycle_t at)
{
    static const struct access_rows anywhere = {.is_scattered = true};

    switch (o->timing) {
    case TIMING_CLD:
        commit_cld(c, o, at);
        break;
    case TIMING_STORE_IAR:
        timing_take_store(c, &anywhere, at);
        break;
    case TIMING_EUP:
        commit_eup(c, o, at);
        break;
    case TIMING_REDUCE: case TIMING_PERMUTE:
        commit_permute(c, o, at);
        break;
    case TIMING_XPOSE: case TIMING_XPOSE_END:
        commit_xpose(c, o, at);
        break;
    case TIMING_VDWG:
        c->mxu[o->unit].gain_loaded[0] = c->mxu[o->unit].gain_loaded[1] = LOADED_NOTHING;
        break;
    case TIMING_VPUSH:
        commit_vpush(c, at);
        break;
    case TIMING_DIVIDE:
        commit_divide(c, at);
        break;
    case TIMING_SST:
        c->last_sst_at = at;
        break;
    case TIMING_DELAY:
        commit_delay(c, o, at);
        break;
    case TIMING_DMA:
        c->dma_issue_at = at + c->chip->dma_issue_cycles;
        break;
    default:
        break;
    }
}
