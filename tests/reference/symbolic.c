#include "tests/reference/symbolic.h"

#include "base/arena.h"
#include "isa/matrix.h"
#include "tests/test.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu + b;

    h ^= h >> 32;
    h *= 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 29;
}

void symbolic_init(struct symbolic *x, const struct chip *chip, int vreg_count, int mask_count)
{
    memset(x, 0, sizeof(*x));
    x->chip = chip;
    x->v = mem_alloc((size_t)vreg_count * sizeof(*x->v));
    x->m = mem_alloc((size_t)mask_count * sizeof(*x->m));
    for (int i = 0; i < SYMBOLIC_ROWS; i++)
        x->vmem[i] = mix(1, (uint64_t)i);
}

void symbolic_fini(struct symbolic *x)
{
    mem_free(x->v);
    mem_free(x->m);
    for (int i = 0; i < SYMBOLIC_QUEUE; i++)
        mem_free(x->queue[i].item);
}

/* Operands of one operation, read before any operation of its bundle writes. */
struct reading {
    const struct isa_op *op;
    bool is_on;
    int32_t scalar[ISA_OPERAND_MAX];    /* value of scalar, immediate and address operands */
    uint64_t row[ISA_OPERAND_MAX][8];   /* of vector and mask operands */
};

static void read_operands(const struct symbolic *x, const struct isa_op *op, struct reading *r)
{
    const struct isa_info *info = isa_info(op->code);

    memset(r, 0, sizeof(*r));
    r->op = op;
    r->is_on = op->pred == ISA_PRED_ALWAYS || x->p[op->pred] != op->pred_is_negated;
    for (int k = 0; k < op->operand_count; k++) {
        const struct isa_operand *o = &op->operand[k];

        r->scalar[k] = o->kind == OPERAND_NONE ? 0 : o->value;
        for (int i = 0; i < 8; i++)
            r->row[k][i] = mix(2, (uint64_t)(int64_t)o->value);
        if (o->kind != OPERAND_REG)
            continue;
        switch (info->role[k]) {
        case 'v': case 'V': memcpy(r->row[k], x->v[o->value], sizeof(r->row[k])); break;
        case 'n': case 'N':
            for (int i = 0; i < 8; i++)
                r->row[k][i] = x->m[o->value];
            break;
        case 'p': r->scalar[k] = x->p[o->value] != o->is_negated; break;
        case 's': case 'S': case 'B': case 'O': case 'F': r->scalar[k] = x->s[o->value]; break;
        default: break;
        }
    }
}

static int64_t row_address(const struct reading *r, int first, int i)
{
    int64_t row = (int64_t)r->scalar[first] + r->scalar[first + 1] +
                  (int64_t)i * r->scalar[first + 2];

    assert_in_range(row, 0, SYMBOLIC_ROWS - 1);
    return row;
}

static struct symbolic_queue *queue_of(struct symbolic *x, const struct isa_op *op, int64_t *depth)
{
    switch (isa_info(op->code)->unit) {
    case UNIT_MXU: *depth = x->chip->mxu_fifo_depth; return &x->queue[op->unit_index];
    case UNIT_XLU: *depth = x->chip->xlu_fifo_depth; return &x->queue[8 + op->unit_index];
    case UNIT_EUP: *depth = x->chip->eup_fifo_depth; return &x->queue[12];
    default: *depth = x->chip->scalar_v2s_depth; return &x->queue[13];
    }
}

static void push(struct symbolic *x, const struct isa_op *op, const uint64_t *row)
{
    int64_t depth;
    struct symbolic_queue *q = queue_of(x, op, &depth);

    assert_true((int64_t)(q->end - q->first) < depth);
    q->item = mem_grow(q->item, &q->capacity, q->end + 1, sizeof(*q->item));
    memcpy(q->item[q->end++], row, sizeof(*q->item));
}

static const uint64_t *pop(struct symbolic *x, const struct isa_op *op)
{
    int64_t depth;
    struct symbolic_queue *q = queue_of(x, op, &depth);

    assert_true(q->first < q->end);
    return q->item[q->first++];
}

static void run_mxu(struct symbolic *x, const struct reading *r)
{
    const struct isa_op *op = r->op;
    int mxu = op->unit_index;
    int staging, latch;
    uint64_t row[8];

    switch (op->code) {
    case OP_VPOP_MRF:
        memcpy(x->v[op->operand[0].value], pop(x, op), sizeof(*x->v));
        return;
    case OP_VMATPUSH:
        staging = op->operand[1 + PUSH_STAGING].value;
        for (int i = 0; i < 8; i++)
            x->staging[mxu][staging] = mix(x->staging[mxu][staging], r->row[0][i] +
                                           (uint64_t)op->operand[1 + PUSH_XPOSE].value);
        return;
    default:
        assert_int_equal(op->code, OP_VMATMUL);
        latch = op->operand[1 + MULTIPLY_LATCH].value;
        if (latch)
            x->array[mxu] = x->staging[mxu][latch - 1];
        break;
    }
    for (int i = 0; i < 8; i++)
        row[i] = mix(x->array[mxu], r->row[0][i]);
    push(x, op, row);
}

static void run_xlu(struct symbolic *x, const struct reading *r)
{
    const struct isa_op *op = r->op;
    uint64_t *t = &x->transpose[op->unit_index], row[8];

    switch (isa_info(op->code)->latency_class) {
    case CLASS_POP:
        memcpy(x->v[op->operand[0].value], pop(x, op), sizeof(*x->v));
        return;
    case CLASS_XPOSE: case CLASS_XPOSE_END:
        for (int i = 0; i < 8; i++)
            *t = mix(*t, r->row[0][i] + op->code);
        if (isa_info(op->code)->latency_class == CLASS_XPOSE)
            return;
        for (int k = 0; k < r->scalar[1] / 8; k++) {
            for (int i = 0; i < 8; i++)
                row[i] = mix(*t, (uint64_t)(8 * k + i));
            push(x, op, row);
        }
        *t = 0;
        return;
    default:
        for (int i = 0; i < 8; i++)
            row[i] = mix(r->row[0][i], op->code + (uint64_t)(uint32_t)r->scalar[1]);
        push(x, op, row);
    }
}

static void run_memory(struct symbolic *x, const struct reading *r)
{
    const struct isa_op *op = r->op;
    bool is_load = op->code == OP_VLD;
    int first = is_load ? 1 : 0, value = op->operand_count - 1;
    uint64_t row[8] = {0};

    for (int i = 0; i < 8; i++) {
        uint64_t *at = r->scalar[first + 3] >> i & 1 ? &x->vmem[row_address(r, first, i)] : NULL;

        if (at && is_load)
            row[i] = *at;
        else if (at && op->code == OP_VST)
            *at = r->row[value][i];
        else if (at)
            *at = mix(*at, r->row[value][i] + 3 * r->row[4][i]);
    }
    if (is_load)
        memcpy(x->v[op->operand[0].value], row, sizeof(row));
}

/* a copy touches the scalar memory only if it is from or to there; who waits may wait for such */
static void run_outside(struct symbolic *x, const struct reading *r)
{
    bool has_words = isa_info(r->op->code)->slot != SLOT_DMA ||
                     isa_touches((enum isa_opcode)r->op->code) & ISA_SMEM;

    x->outside = mix(x->outside, r->op->code);
    for (int k = 0; k < r->op->operand_count; k++)
        x->outside = mix(x->outside, (uint64_t)(int64_t)r->scalar[k]);
    for (int i = 0; i < SYMBOLIC_SPILL_ROW; i++)
        x->outside = mix(x->outside, x->vmem[i]);
    for (int i = 0; i < SYMBOLIC_WORDS && has_words; i++)
        x->outside = mix(x->outside, (uint64_t)x->smem[i]);
    for (int i = 0; i < SYMBOLIC_SPILL_ROW; i++)
        x->vmem[i] = mix(x->vmem[i], x->outside);
    for (int i = 0; i < SYMBOLIC_WORDS && has_words; i++)
        x->smem[i] = (int32_t)(x->outside >> 40) + i;
}

static int32_t *smem_word(struct symbolic *x, int64_t address)
{
    assert_in_range(address, 0, SYMBOLIC_WORDS * 4 - 1);
    return &x->smem[address / 4];
}

static void run_scalar(struct symbolic *x, const struct reading *r)
{
    const struct isa_op *op = r->op;
    const int32_t *o = r->scalar;
    int to = op->operand[0].value;

    switch (op->code) {
    case OP_SMOV: x->s[to] = o[1]; break;
    case OP_SADD: x->s[to] = (int32_t)((uint32_t)o[1] + (uint32_t)o[2]); break;
    case OP_SSUB: x->s[to] = (int32_t)((uint32_t)o[1] - (uint32_t)o[2]); break;
    case OP_SMUL: x->s[to] = (int32_t)((uint32_t)o[1] * (uint32_t)o[2]); break;
    case OP_SCMP_GT: x->p[to] = o[1] > o[2]; break;
    case OP_SCMP_LT: x->p[to] = o[1] < o[2]; break;
    case OP_SLD: x->s[to] = *smem_word(x, (int64_t)o[1] + o[2]); break;
    case OP_SST: *smem_word(x, (int64_t)o[0] + o[1]) = o[2]; break;
    case OP_SPOP: x->s[to] = (int32_t)(pop(x, op)[0] & 0xffff); break;
    default: fail_msg("%s is not modelled here", isa_info(op->code)->mnemonic);
    }
}

static void run_lanes(struct symbolic *x, const struct reading *r)
{
    const struct isa_op *op = r->op;
    const struct isa_info *info = isa_info(op->code);
    uint64_t row[8], all = 0;

    for (int i = 0; i < 8; i++) {
        row[i] = mix(op->code, (uint64_t)i);
        for (int k = 1; k < op->operand_count; k++)
            row[i] = mix(row[i], info->role[k] == 's' || info->role[k] == 'S'
                                     ? (uint64_t)(int64_t)r->scalar[k] : r->row[k][i]);
        all = mix(all, row[i]);
    }
    if (info->role[0] == 'm')
        x->m[op->operand[0].value] = all;
    else
        memcpy(x->v[op->operand[0].value], row, sizeof(row));
}

static void run_op(struct symbolic *x, const struct reading *r)
{
    const struct isa_op *op = r->op;

    if (!r->is_on)
        return;
    x->ops_run++;
    switch (isa_info(op->code)->unit) {
    case UNIT_MXU: run_mxu(x, r); return;
    case UNIT_XLU: run_xlu(x, r); return;
    case UNIT_LOAD: case UNIT_STORE: run_memory(x, r); return;
    case UNIT_SCALAR: run_scalar(x, r); return;
    case UNIT_VALU: run_lanes(x, r); return;
    case UNIT_EUP:
        if (op->code == OP_VPOP_EUP) {
            memcpy(x->v[op->operand[0].value], pop(x, op), sizeof(*x->v));
        } else {
            uint64_t row[8];

            for (int i = 0; i < 8; i++)
                row[i] = mix(op->code, r->row[0][i]);
            push(x, op, row);
        }
        return;
    default:
        if (op->code == OP_VPUSH)
            push(x, op, r->row[0]);
        else
            run_outside(x, r);
    }
}

void symbolic_run_vcode(struct symbolic *x, const struct vcode *c)
{
    size_t start[16], depth = 0;

    for (size_t b = 0; b < c->block_count; b++) {
        const struct vcode_block *block = &c->block[b];

        if (block->is_loop_start && (!depth || start[depth - 1] != b))
            start[depth++] = b;
        for (size_t i = 0; i < block->op_count; i++) {
            struct reading r;

            read_operands(x, &block->op[i].op, &r);
            run_op(x, &r);
        }
        if (!block->is_loop_end)
            continue;
        if (--x->s[block->counter_sreg] > 0)
            b = start[depth - 1] - 1;
        else
            depth--;
    }
}

/* The misc slot takes the loads and stores beyond their own slots, one of each at most. */
static void check_slots(const struct chip *c, const int used[SLOT_COUNT])
{
    int64_t load = used[SLOT_LOAD] - c->slots_load, store = used[SLOT_STORE] - c->slots_store;

    assert_in_range(used[SLOT_SCALAR] + used[SLOT_DMA] * c->slots_dma_scalar, 0, c->slots_scalar);
    assert_in_range(used[SLOT_VALU] + used[SLOT_EUP], 0, c->slots_valu);
    assert_in_range(used[SLOT_EUP], 0, c->slots_eup);
    assert_in_range(used[SLOT_PUSH], 0, c->slots_push);
    assert_in_range(used[SLOT_POP], 0, c->slots_pop);
    assert_in_range(used[SLOT_DMA], 0, c->slots_dma);
    assert_true(load <= c->slots_misc_load && store <= c->slots_misc_store);
    assert_in_range(used[SLOT_MISC] + used[SLOT_DMA] * c->slots_dma_misc +
                    (load > 0 ? load : 0) + (store > 0 ? store : 0), 0, c->slots_misc);
}

static void check_bundle(const struct symbolic *x, const struct isa_op *op, int count)
{
    int used[SLOT_COUNT] = {0};
    bool written[256][64] = {{false}};

    assert_in_range(count, 0, ISA_BUNDLE_OP_MAX);
    for (int i = 0; i < count; i++) {
        const struct isa_info *info = isa_info(op[i].code);

        used[info->slot]++;
        for (int k = 0; k < op[i].operand_count; k++) {
            unsigned char role = (unsigned char)info->role[k];

            if (op[i].operand[k].kind != OPERAND_REG)
                continue;
            if (strchr("dvV", role))
                assert_in_range(op[i].operand[k].value, 0, x->chip->core_vregs - 1);
            if (!strchr("demq", role))
                continue;
            assert_false(written[role][op[i].operand[k].value]);
            written[role][op[i].operand[k].value] = true;
        }
    }
    check_slots(x->chip, used);
}

void symbolic_run_program(struct symbolic *x, const struct isa_program *p)
{
    int64_t branch_in = -1;
    uint32_t target = 0;

    for (uint32_t pc = 0;; pc++) {
        const struct isa_op *op;
        struct reading r[ISA_BUNDLE_OP_MAX];

        if (branch_in-- == 0)
            pc = target;
        assert_in_range(pc, 0, p->bundle_count - 1);
        op = &p->op[p->bundle[pc].first_op];
        check_bundle(x, op, p->bundle[pc].op_count);
        x->bundles_run++;
        for (int i = 0; i < p->bundle[pc].op_count; i++)
            read_operands(x, &op[i], &r[i]);
        /* last first: nothing may depend on the order within a bundle */
        for (int i = p->bundle[pc].op_count - 1; i >= 0; i--) {
            if (op[i].code == OP_SHALT)
                return;
            if (op[i].code != OP_SBR) {
                run_op(x, &r[i]);
            } else if (r[i].is_on) {
                assert_true(branch_in < 0);
                branch_in = x->chip->core_branch_delay_bundles;
                target = (uint32_t)op[i].operand[0].value;
            }
        }
    }
}

void symbolic_assert_equal(const struct symbolic *x, const struct symbolic *y)
{
    for (int i = 0; i < SYMBOLIC_SPILL_ROW; i++)
        if (x->vmem[i] != y->vmem[i])
            fail_msg("VMEM row %d differs", i);
    assert_memory_equal(x->smem, y->smem, sizeof(x->smem));
    assert_memory_equal(x->s, y->s, sizeof(x->s));
    assert_true(x->outside == y->outside);
    for (int i = 1; i < ISA_PRED_COUNT; i++)    /* p0 belongs to loops */
        assert_int_equal(x->p[i], y->p[i]);
    for (int i = 0; i < SYMBOLIC_QUEUE; i++)
        assert_int_equal(y->queue[i].first, y->queue[i].end);
}
