#include "sim/program.h"

#include "sim/core.h"
#include "sim/decode.h"
#include "sim/limits.h"

#include <string.h>

static exec_fn *const exec_table[OP_COUNT] = {
#define OP(id, mnemonic, slot, format, unit, class, effect, meaning) [OP_##id] = exec_##id,
#include "isa/ops.def"
};

static int track_xlu(int index)
{
    return TRACK_XLU + index;
}

static int track_mxu(const struct chip *chip, int index)
{
    return TRACK_XLU + (int)chip->xlu_count + index;
}

static int track_mxu_push(const struct chip *chip, int index)
{
    return track_mxu(chip, (int)chip->mxu_count + index);
}

int track_count(const struct chip *chip)
{
    return track_mxu_push(chip, (int)chip->mxu_count);
}

const char *track_name(const struct chip *chip, int track)
{
    static const char *const fixed[] = {"scalar", "valu", "eup", "load", "store", "misc", "dma"};
    static const char *const xlu[] = {"xlu0", "xlu1", "xlu2", "xlu3"};
    static const char *const mxu[] = {"mxu0", "mxu1", "mxu2", "mxu3",
                                      "mxu4", "mxu5", "mxu6", "mxu7"};
    static const char *const push[] = {"mxu0.push", "mxu1.push", "mxu2.push", "mxu3.push",
                                       "mxu4.push", "mxu5.push", "mxu6.push", "mxu7.push"};

    if (track < TRACK_XLU)
        return fixed[track];
    if (track < track_mxu(chip, 0))
        return xlu[track - TRACK_XLU];
    if (track < track_mxu_push(chip, 0))
        return mxu[track - track_mxu(chip, 0)];
    return push[track - track_mxu_push(chip, 0)];
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash ^= value;
    hash *= 0x100000001b3u;
    return hash ^ hash >> 29;
}

uint64_t program_hash(const struct isa_program *p)
{
    uint64_t hash = 0xcbf29ce484222325u;
    uint32_t i;
    int j;

    for (i = 0; i < p->op_count; i++) {
        const struct isa_op *op = &p->op[i];

        hash = mix(hash, (uint64_t)op->code << 32 | (uint64_t)op->pred << 16
                   | (uint64_t)op->pred_is_negated << 8 | op->unit_index);
        for (j = 0; j < op->operand_count; j++)
            hash = mix(hash, (uint64_t)(uint32_t)op->operand[j].value << 16
                       | (uint64_t)op->operand[j].kind << 8 | op->operand[j].is_negated);
    }
    for (i = 0; i < p->bundle_count; i++)
        hash = mix(hash, (uint64_t)p->bundle[i].first_op << 32
                   | (uint64_t)p->bundle[i].op_count << 24 | (p->bundle[i].line & 0xffffffu));
    return hash;
}

/* Finds constants again by value: open addressing over the pool. */
struct pool {
    uint32_t *slot;                     /* 1 + index of a constant */
    uint32_t mask;
};

struct decoder {
    const struct chip *chip;
    enum run_mode mode;
    struct decoded_program *program;
    struct pool scalars, tiles;
};

static void pool_init(struct pool *p, uint32_t most, struct arena *a)
{
    uint32_t size = 16;

    while (size < 2 * most)
        size *= 2;
    p->slot = arena_array(a, size, sizeof(*p->slot));
    p->mask = size - 1;
}

/* the slot where `value` stands or belongs; value_at tells the value of constant i */
static uint32_t *pool_slot(const struct pool *p, const struct decoded_program *d, bool is_tile,
                           int32_t value)
{
    uint32_t at = ((uint32_t)value * 2654435761u >> 7) & p->mask;

    for (;; at = (at + 1) & p->mask) {
        uint32_t index = p->slot[at];

        if (index == 0)
            return &p->slot[at];
        if ((is_tile ? (int32_t)d->tile[index - 1][0] : d->scalar[index - 1]) == value)
            return &p->slot[at];
    }
}

static int32_t constant_scalar(struct decoder *d, int32_t value)
{
    uint32_t *slot = pool_slot(&d->scalars, d->program, false, value);

    if (*slot == 0) {
        d->program->scalar[d->program->scalar_count] = value;
        *slot = ++d->program->scalar_count;
    }
    return (int32_t)(S_CONST + *slot - 1);
}

static int32_t constant_tile(struct decoder *d, int32_t value)
{
    uint32_t *slot = pool_slot(&d->tiles, d->program, true, value);
    int i;

    if (*slot == 0) {
        uint32_t *tile = d->program->tile[d->program->tile_count];

        for (i = 0; i < SIMD_TILE_WORDS; i++)
            tile[i] = (uint32_t)value;
        *slot = ++d->program->tile_count;
    }
    return (int32_t)(V_CONST + *slot - 1);
}

/* the word of an immediate vector operand: packed logic repeats it for each value */
static int32_t vector_immediate(const struct isa_op *op, int index)
{
    uint32_t value = (uint32_t)op->operand[index].value;

    if (op->code != OP_VLOGIC_PACKED)
        return (int32_t)value;
    if (op->operand[4].value == 0)      /* u16; else u8 */
        return (int32_t)((value & 0xffffu) * 0x00010001u);
    return (int32_t)((value & 0xffu) * 0x01010101u);
}

static int32_t decode_operand(struct decoder *d, const struct isa_op *op, int index)
{
    const struct isa_operand *from = &op->operand[index];
    char role = isa_info(op->code)->role[index];

    switch (role) {
    case 'P':                           /* a constant is the predicate that always holds */
        if (from->kind == OPERAND_IMM)
            return ISA_PRED_ALWAYS * 2 + (from->value == 0);
        return from->value * 2 + (from->is_negated ? 1 : 0);
    case 'p':
        return from->value * 2 + (from->is_negated ? 1 : 0);
    case 'N':
        return from->kind == OPERAND_REG ? from->value : from->value ? M_TRUE : M_FALSE;
    case 'V':
        return from->kind == OPERAND_REG ? from->value
                                         : constant_tile(d, vector_immediate(op, index));
    case 'S': case 'B': case 'O': case 'F': case 'Z':
        return from->kind == OPERAND_REG ? from->value : constant_scalar(d, from->value);
    default:
        return from->value;
    }
}

static enum timing_kind timing_of(enum isa_opcode code)
{
    switch (isa_info(code)->latency_class) {
    case CLASS_VLD: return code == OP_VLD_IAR ? TIMING_LOAD_IAR : TIMING_LOAD;
    case CLASS_VST: return code == OP_VST_IAR ? TIMING_STORE_IAR : TIMING_STORE;
    case CLASS_CLD: return TIMING_CLD;
    case CLASS_EUP: return TIMING_EUP;
    case CLASS_XRED: return TIMING_REDUCE;
    case CLASS_XPERM: return TIMING_PERMUTE;
    case CLASS_XPOSE: return TIMING_XPOSE;
    case CLASS_XPOSE_END: return TIMING_XPOSE_END;
    case CLASS_MATPUSH: return TIMING_MATPUSH;
    case CLASS_MATMUL: return TIMING_MATMUL;
    case CLASS_VDWG: return TIMING_VDWG;
    case CLASS_VPUSH: return TIMING_VPUSH;
    case CLASS_SPOP: return code == OP_SPOP ? TIMING_SPOP : TIMING_POP_DRF;
    case CLASS_SDIV: return TIMING_DIVIDE;
    case CLASS_SST: return TIMING_SST;
    case CLASS_FENCE: return TIMING_FENCE;
    case CLASS_DELAY: return TIMING_DELAY;
    case CLASS_DMA: return TIMING_DMA;
    case CLASS_SYNC_RD: return TIMING_WAIT;
    case CLASS_SYNC:
        return code == OP_VSYNCADD || code == OP_VSYNCADD_R || code == OP_VSYNCSET_R
                       ? TIMING_NONE : TIMING_WAIT;
    case CLASS_POP:
        return code == OP_VPOP_EUP ? TIMING_POP_EUP : code == OP_VPOP_CRF ? TIMING_POP_CRF
               : isa_info(code)->unit == UNIT_MXU ? TIMING_POP_MATRIX : TIMING_POP_XLU;
    default: return TIMING_NONE;
    }
}

static int track_of(const struct decoder *d, const struct isa_op *op)
{
    switch (isa_info(op->code)->unit) {
    case UNIT_SCALAR: return TRACK_SCALAR;
    case UNIT_VALU: return TRACK_VALU;
    case UNIT_EUP: return TRACK_EUP;
    case UNIT_LOAD: return TRACK_LOAD;
    case UNIT_STORE: return TRACK_STORE;
    case UNIT_DMA: return TRACK_DMA;
    case UNIT_XLU: return track_xlu(op->unit_index);
    case UNIT_MXU:
        return timing_of(op->code) == TIMING_MATPUSH ? track_mxu_push(d->chip, op->unit_index)
                                                     : track_mxu(d->chip, op->unit_index);
    default: return TRACK_MISC;
    }
}

int bank_extra_cycles(const struct chip *chip, const int64_t row[8], uint32_t sublanes)
{
    int banks = (int)chip->vmem_banks, most = 0, i, j;
    int count[64] = {0};

    for (i = 0; i < 8; i++) {
        int64_t bank = row[i] % banks;

        for (j = 0; j < i && !((sublanes >> j & 1u) && row[j] == row[i]); j++)
            ;
        if (!(sublanes >> i & 1u) || j < i)
            continue;                   /* a row is read once for all its sublanes */
        bank = bank < 0 ? bank + banks : bank;
        if (++count[bank] > most)
            most = count[bank];
    }
    i = most - (int)div_up(8, banks);
    return i > 0 ? i : 0;
}

static int strided_bank_extra(const struct chip *chip, int32_t stride, uint32_t sublanes)
{
    int64_t row[8];
    int i;

    for (i = 0; i < 8; i++)
        row[i] = (int64_t)i * stride;
    return bank_extra_cycles(chip, row, sublanes);
}

static int result_register(const struct touched *t)
{
    return t->write_count > 0 && t->write[0] < REG_COUNT ? t->write[0] : REG_NONE;
}

static void decode_op(struct decoder *d, const struct isa_program *p, uint32_t index,
                      struct decoded_op *out, struct touched *touched)
{
    const struct isa_op *op = &p->op[index];
    const struct isa_info *info = isa_info(op->code);
    int i, first;

    memset(out, 0, sizeof(*out));
    decode_touched(op, touched);
    out->exec = exec_table[op->code];
    if (d->mode == MODE_TIMING)
        out->exec = decode_timing_exec(op->code, out->exec);
    out->code = op->code;
    out->latency = (uint16_t)chip_latency_cycles(d->chip, info->latency_class);
    out->timing = (uint8_t)timing_of(op->code);
    out->unit = op->unit_index;
    out->track = (uint8_t)track_of(d, op);
    out->reg = (uint8_t)result_register(touched);
    out->guard = op->pred;
    out->guard_is_negated = op->pred_is_negated != 0;
    out->is_guarded = op->pred != ISA_PRED_ALWAYS || op->pred_is_negated;
    out->source = index;
    for (i = 0; i < op->operand_count; i++)
        out->o[i] = decode_operand(d, op, i);
    first = out->timing == TIMING_LOAD ? 1 : 0;
    if (out->timing == TIMING_LOAD || out->timing == TIMING_STORE)
        out->bank_extra = (uint8_t)strided_bank_extra(d->chip, out->o[first + 2],
                                              (uint32_t)out->o[first + 3]);
}

static void add_check(struct decoded_program *d, struct decoded_bundle *b, int reg)
{
    uint32_t i;

    if (reg >= REG_COUNT)
        return;
    for (i = 0; i < b->check_count; i++)
        if (d->check[b->first_check + i] == reg)
            return;
    d->check[d->check_count++] = (uint8_t)reg;
    b->check_count++;
}

/* sources, guards, and destinations: a write keeps behind an older one still under way */
static void add_checks(struct decoded_program *d, struct decoded_bundle *b,
                       const struct decoded_op *op, const struct touched *t)
{
    int i;

    for (i = 0; i < t->read_count; i++)
        add_check(d, b, t->read[i]);
    for (i = 0; i < t->write_count; i++)
        add_check(d, b, t->write[i]);
    if (op->is_guarded && op->guard < ISA_PRED_COUNT)
        add_check(d, b, REG_P + op->guard);
}

static void add_lists(struct decoded_program *d, struct decoded_bundle *b,
                      const struct decoded_op *op, uint32_t position)
{
    if (op->exec)
        d->exec[d->exec_count++] = (uint16_t)position;
    if (op->code == OP_COUNT)
        return;
    b->tracks |= 1u << op->track;
    if (op->is_guarded)
        b->has_guard = true;
    else
        b->busy_tracks |= 1u << op->track & TRACKS_SIMPLE;
    if (op->reg != REG_NONE && !op->is_guarded)
        d->def[d->def_count++] = (struct decoded_def){op->reg, op->latency};
    if (op->timing != TIMING_NONE)
        d->special[d->special_count++] = (uint16_t)position;
    if (op->timing == TIMING_DMA || op->timing == TIMING_WAIT)
        b->has_sync = true;
}

static void decode_bundle(struct decoder *d, const struct isa_program *p, uint32_t index)
{
    struct decoded_program *out = d->program;
    struct decoded_bundle *b = &out->bundle[index];
    const struct isa_bundle *from = &p->bundle[index];
    struct decoded_op op[ISA_BUNDLE_OP_MAX];
    struct touched touched[ISA_BUNDLE_OP_MAX];
    uint32_t i;

    b->first_op = out->op_count;
    b->first_check = out->check_count;
    b->first_def = out->def_count;
    b->first_special = out->special_count;
    b->first_exec = out->exec_count;
    for (i = 0; i < from->op_count; i++) {
        decode_op(d, p, from->first_op + i, &op[i], &touched[i]);
        add_checks(out, b, &op[i], &touched[i]);
    }
    b->op_count = (uint16_t)decode_order(op, touched, from->op_count, &out->op[out->op_count]);
    for (i = 0; i < b->op_count; i++)
        add_lists(out, b, &out->op[b->first_op + i], i);
    out->op_count += b->op_count;
    b->def_count = (uint16_t)(out->def_count - b->first_def);
    b->special_count = (uint16_t)(out->special_count - b->first_special);
    b->exec_count = (uint16_t)(out->exec_count - b->first_exec);
}

/* how many constants there can be at most */
static void count_constants(const struct isa_program *p, uint32_t *scalars, uint32_t *tiles)
{
    uint32_t i;
    int j;

    *scalars = *tiles = 0;
    for (i = 0; i < p->op_count; i++)
        for (j = 0; j < p->op[i].operand_count; j++) {
            char role = isa_info(p->op[i].code)->role[j];

            if (p->op[i].operand[j].kind == OPERAND_REG)
                continue;
            if (role == 'V')
                (*tiles)++;
            else if (strchr("SBOFZ", role))
                (*scalars)++;
        }
}

/* a tile is large, so the pool is sized by the constants that differ */
static uint32_t count_distinct_tiles(const struct isa_program *p, struct pool *pool,
                                     uint32_t most, struct arena *a)
{
    int32_t *seen = arena_array(a, most + 1, sizeof(*seen));
    struct decoded_program values = {.scalar = seen};
    uint32_t count = 0, i;
    int j;

    for (i = 0; i < p->op_count; i++)
        for (j = 0; j < p->op[i].operand_count; j++) {
            const struct isa_operand *o = &p->op[i].operand[j];
            uint32_t *slot;
            int32_t value;

            if (o->kind == OPERAND_REG || isa_info(p->op[i].code)->role[j] != 'V')
                continue;
            value = vector_immediate(&p->op[i], j);
            slot = pool_slot(pool, &values, false, value);
            if (*slot == 0) {
                seen[count] = value;
                *slot = ++count;
            }
        }
    memset(pool->slot, 0, ((size_t)pool->mask + 1) * sizeof(*pool->slot));
    return count;
}

static void alloc_lists(struct decoded_program *d, const struct isa_program *p)
{
    struct arena *a = &d->arena;

    d->bundle = arena_array(a, p->bundle_count, sizeof(*d->bundle));
    d->op = arena_array(a, 2 * (size_t)p->op_count, sizeof(*d->op));
    d->check = arena_array(a, p->op_count, ISA_OPERAND_MAX + 3);
    d->def = arena_array(a, p->op_count, sizeof(*d->def));
    d->special = arena_array(a, p->op_count, sizeof(*d->special));
    d->exec = arena_array(a, 2 * (size_t)p->op_count, sizeof(*d->exec));
}

struct decoded_program *program_decode(const struct isa_program *p, const struct chip *chip,
                                       enum run_mode mode)
{
    struct decoded_program *out = mem_alloc(sizeof(*out));
    struct decoder d = {.chip = chip, .mode = mode, .program = out};
    uint32_t scalars, tiles, i;

    arena_init(&out->arena);
    out->source = p;
    out->hash = program_hash(p);
    out->bundle_count = p->bundle_count;
    alloc_lists(out, p);
    count_constants(p, &scalars, &tiles);
    pool_init(&d.scalars, scalars, &out->arena);
    pool_init(&d.tiles, tiles, &out->arena);
    out->scalar = arena_array(&out->arena, scalars, sizeof(*out->scalar));
    out->tile = arena_array(&out->arena, count_distinct_tiles(p, &d.tiles, tiles, &out->arena),
                            sizeof(*out->tile));
    for (i = 0; i < p->bundle_count; i++)
        decode_bundle(&d, p, i);
    return out;
}

void program_destroy(struct decoded_program *p)
{
    arena_fini(&p->arena);
    mem_free(p);
}
