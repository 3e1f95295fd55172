/*
 * How long units are taken, and the FIFOs between them and their pops.
 */
#include "tests/reference/ref_impl.h"
#include "tests/test.h"

int ref_track(const struct ref_core *c, const struct isa_op *op)
{
    const struct isa_info *info = isa_info(op->code);
    int mxu = REF_XLU + (int)c->m->chip.xlu_count;

    switch (info->unit) {
    case UNIT_SCALAR: return REF_SCALAR;
    case UNIT_VALU: return REF_VALU;
    case UNIT_EUP: return REF_EUP;
    case UNIT_LOAD: return REF_LOAD;
    case UNIT_STORE: return REF_STORE;
    case UNIT_DMA: return REF_DMA;
    case UNIT_XLU: return REF_XLU + op->unit_index;
    case UNIT_MXU:
        return mxu + op->unit_index
               + (info->latency_class == CLASS_MATPUSH ? (int)c->m->chip.mxu_count : 0);
    default: return REF_MISC;
    }
}

int ref_latency(const struct chip *chip, const struct isa_op *op)
{
    switch (isa_info(op->code)->latency_class) {
    case CLASS_SALU: case CLASS_SYNC_RD: return (int)chip->scalar_alu_cycles;
    case CLASS_SMUL: return (int)chip->scalar_mul_cycles;
    case CLASS_SF32: return (int)chip->scalar_f32_cycles;
    case CLASS_SCMP: return (int)chip->scalar_cmp_cycles;
    case CLASS_SLD: return (int)chip->scalar_sld_cycles;
    case CLASS_VALU: return (int)chip->valu_alu_cycles;
    case CLASS_VCMP: return (int)chip->valu_cmp_cycles;
    case CLASS_VSEL: return (int)chip->valu_sel_cycles;
    case CLASS_VLD: return (int)chip->vmem_load_cycles;
    default: return 1;                  /* the next bundle */
    }
}

void ref_occupy(struct ref_core *c, const struct isa_op *op, cycle_t start, cycle_t end)
{
    struct ref_unit *u = &c->unit[ref_track(c, op)];

    assert_true(start >= u->busy_until);
    u->busy_cycles += end - start;
    u->busy_until = end;
}

/* from `start` for so long; the result of what is pushed so much later than the start */
static void take(struct ref_op *x, cycle_t *free_at, int64_t for_cycles, struct ref_fifo *f,
                 int64_t latency_cycles)
{
    cycle_t start = later(x->at, *free_at);

    *free_at = start + for_cycles;
    ref_occupy(x->c, x->op, start, *free_at);
    x->fifo = f;
    x->ready_at = start + latency_cycles;
}

static void take_xpose(struct ref_op *x, struct ref_xlu *u)
{
    const struct chip *chip = &x->c->m->chip;
    bool is_packed = x->op->operand[ISA_XPOSE_TYPE].value != 0;

    if (x->op->code == OP_VXPOSE_START || x->op->code == OP_VXPOSE_ONE)
        u->next_xpose_at = later(x->at, u->free_at) + chip->xlu_xpose_gap_cycles;
    take(x, &u->free_at, is_packed ? chip->xlu_xpose_packed_issue_cycles
                                   : chip->xlu_xpose_issue_cycles,
         &u->result, chip->xlu_xpose_cycles);
}

void ref_take_unit(struct ref_op *x)
{
    struct ref_core *c = x->c;
    const struct chip *chip = &c->m->chip;
    struct ref_xlu *u = &c->xlu[x->op->unit_index & 3];
    cycle_t start;

    switch (isa_info(x->op->code)->latency_class) {
    case CLASS_EUP:
        take(x, &c->eup_free_at, chip->eup_issue_cycles, &c->eup, chip->eup_latency_cycles);
        break;
    case CLASS_XRED:
        take(x, &u->free_at, chip->xlu_issue_cycles, &u->result, chip->xlu_reduce_cycles);
        break;
    case CLASS_XPERM:
        take(x, &u->free_at, chip->xlu_issue_cycles, &u->result, chip->xlu_permute_cycles);
        break;
    case CLASS_XPOSE: case CLASS_XPOSE_END:
        take_xpose(x, u);
        break;
    case CLASS_CLD:                     /* the load slot is taken for a cycle, like that of vld */
        start = later(x->at, c->cld_free_at);
        c->cld_free_at = start + chip->cmem_load_issue_cycles;
        x->fifo = &c->crf;
        x->ready_at = start + chip->cmem_load_cycles;
        break;
    default:
        break;
    }
}

void ref_push(struct ref_op *x, struct ref_fifo *f, cycle_t ready_at, enum isa_opcode pop,
              bool is_integer, const uint32_t (*tile)[LANES])
{
    struct ref_result *r;

    if (x->c->state == REF_FAULTED)
        return;
    if (f->count == f->depth) {
        ref_fault(x->c, x->at, FAULT_FIFO_OVERFLOW, "a push into a full fifo");
        return;
    }
    r = &f->item[(f->first + f->count++) % f->depth];
    r->ready_at = ready_at;
    r->pop = pop;
    r->is_integer = is_integer;
    memcpy(r->tile, tile, sizeof(r->tile));
}

void ref_pop(struct ref_op *x, struct ref_fifo *f)
{
    assert_true(f->count > 0);
    memcpy(x->tile, f->item[f->first].tile, sizeof(x->tile));
    f->first = (f->first + 1) % f->depth;
    f->count--;
}

void ref_push_word(struct ref_op *x, struct ref_words *f, cycle_t ready_at, uint32_t word)
{
    int at = (f->first + f->count) % f->depth;

    if (f->count == f->depth) {
        ref_fault(x->c, x->at, FAULT_FIFO_OVERFLOW, "a word into a full fifo");
        return;
    }
    f->item[at].ready_at = ready_at;
    f->item[at].word = word;
    f->count++;
}

uint32_t ref_pop_word(struct ref_words *f)
{
    uint32_t word = f->item[f->first].word;

    assert_true(f->count > 0);
    f->first = (f->first + 1) % f->depth;
    f->count--;
    return word;
}

struct ref_fifo *ref_fifo_of_pop(struct ref_core *c, const struct isa_op *op)
{
    switch (op->code) {
    case OP_VPOP_EUP: return &c->eup;
    case OP_VPOP_CRF: return &c->crf;
    case OP_VPOP_MRF: return &c->mxu[op->unit_index].result;
    default: return &c->xlu[op->unit_index].result;
    }
}
