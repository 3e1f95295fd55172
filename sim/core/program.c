/*
 * Decodes a program for the issue loop: for each bundle the registers to wait for, and lists of
 * what needs more.
 */
#include "sim/core/program.h"

#include "sim/core/decode.h"
#include "sim/chip/limits.h"
#include "sim/core/stream.h"

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash ^= value;
    hash *= 0x100000001b3u;
    return hash ^ hash >> 29;
}

uint64_t program_hash(const struct isa_program *p)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (uint32_t i = 0; i < p->op_count; i++) {
        const struct isa_op *op = &p->op[i];

        hash = mix(hash, (uint64_t)op->code << 32 | (uint64_t)op->pred << 16
                   | (uint64_t)op->pred_is_negated << 8 | op->unit_index);
        for (int j = 0; j < op->operand_count; j++)
            hash = mix(hash, (uint64_t)(uint32_t)op->operand[j].value << 16
                       | (uint64_t)op->operand[j].kind << 8 | op->operand[j].is_negated);
    }
    for (uint32_t i = 0; i < p->bundle_count; i++)
        hash = mix(hash, (uint64_t)p->bundle[i].first_op << 32
                   | (uint64_t)p->bundle[i].op_count << 24 | (p->bundle[i].line & 0xffffffu));
    return hash;
}

/* a result that is there in the next cycle is never waited for */
static void add_check(struct decoder *d, struct decoded_bundle *b, int reg)
{
    struct decoded_program *out = d->program;

    if (reg >= REG_COUNT || !d->is_slow[reg])
        return;
    for (uint32_t i = 0; i < b->check_count; i++)
        if (out->list[b->first_list + i] == reg)
            return;
    out->list[out->list_count++] = (uint8_t)reg;
    b->check_count++;
}

/* sources, guards, and destinations: a write keeps behind an older one still under way */
static void add_checks(struct decoder *d, struct decoded_bundle *b, const struct decoded_op *op,
                       const struct touched *t)
{
    for (int i = 0; i < t->read_count; i++)
        add_check(d, b, t->read[i]);
    for (int i = 0; i < t->write_count; i++)
        add_check(d, b, t->write[i]);
    if (op->is_guarded && op->guard < ISA_PRED_COUNT)
        add_check(d, b, REG_P + op->guard);
}

static bool may_wait(const struct decoded_op *o)
{
    switch (o->timing) {
    case TIMING_STORE: return o->is_guarded && o->bank_extra > 0;
    case TIMING_NONE: case TIMING_VDWG: case TIMING_VPUSH: case TIMING_DIVIDE: case TIMING_SST:
    case TIMING_DELAY: case TIMING_WAIT: return false;
    default: return true;
    }
}

/* units, places in FIFOs, and what later operations ask for */
static bool takes(const struct decoded_op *o)
{
    switch (o->timing) {
    case TIMING_NONE: case TIMING_LOAD: case TIMING_LOAD_IAR: case TIMING_POP:
    case TIMING_POP_ACCUMULATOR: case TIMING_SPOP: case TIMING_POP_DRF: case TIMING_FENCE:
    case TIMING_WAIT: return false;
    default: return true;
    }
}

static bool is_executed(const struct decoded_op *o)
{
    return o->exec != NULL;
}

static bool has_guard(const struct decoded_op *o)
{
    return o->is_guarded;
}

/* the operations for which `belongs` holds; returns how many */
static uint8_t add_list(struct decoded_program *d, const struct decoded_bundle *b,
                        bool (*belongs)(const struct decoded_op *o))
{
    const struct decoded_op *op = &d->op[b->first_op];
    uint8_t count = 0;

    for (uint8_t i = 0; i < b->op_count; i++)
        if (belongs(&op[i])) {
            d->list[d->list_count++] = i;
            count++;
        }
    return count;
}

static bool is_sync(const struct decoded_op *op)
{
    return op->timing == TIMING_DMA || op->timing == TIMING_WAIT;
}

static void add_marks(struct decoded_program *d, struct decoded_bundle *b,
                      const struct decoded_op *op, uint32_t position)
{
    if (op->code == OP_COUNT)
        return;
    b->tracks |= 1u << op->track;
    if (op->is_guarded)
        b->has_guard = true;
    else
        b->busy_tracks |= 1u << op->track & TRACKS_SIMPLE;
    if (op->reg != REG_NONE && !op->is_guarded && op->latency > 1)
        d->def[d->def_count++] = (struct decoded_def){op->reg, op->latency};
    if (op->timing != TIMING_NONE)
        d->special[d->special_count++] = (uint16_t)position;
    if (is_sync(op))
        b->has_sync = true;
    if (op->code == OP_SBR)
        b->has_branch = true;
    if (!op->is_guarded && op->bank_extra > b->bank_extra)
        b->bank_extra = op->bank_extra;
}

/* Questions are put in the order written: those operations change places among themselves. */
static void sort_questions(struct decoded_program *d, struct decoded_bundle *b)
{
    const struct decoded_op *op = &d->op[b->first_op];
    uint16_t *special = &d->special[b->first_special];

    for (uint32_t i = 0; i < b->special_count; i++)
        for (uint32_t j = i + 1; j < b->special_count; j++)
            if (is_sync(&op[special[i]]) && is_sync(&op[special[j]])
                && op[special[j]].source < op[special[i]].source) {
                uint16_t earlier = special[j];

                special[j] = special[i];
                special[i] = earlier;
            }
}

static void decode_bundle(struct decoder *d, const struct isa_program *p, uint32_t index)
{
    struct decoded_program *out = d->program;
    struct decoded_bundle *b = &out->bundle[index];
    const struct isa_bundle *from = &p->bundle[index];
    struct decoded_op op[ISA_BUNDLE_OP_MAX];
    struct touched touched[ISA_BUNDLE_OP_MAX];

    b->first_op = out->op_count;
    b->first_list = out->list_count;
    b->first_def = out->def_count;
    b->first_special = out->special_count;
    for (uint32_t i = 0; i < from->op_count; i++) {
        decode_op(d, p, from->first_op + i, &op[i], &touched[i]);
        add_checks(d, b, &op[i], &touched[i]);
    }
    b->op_count = (uint8_t)decode_order(op, touched, from->op_count, &out->op[out->op_count]);
    for (uint32_t i = 0; i < b->op_count; i++)
        add_marks(out, b, &out->op[b->first_op + i], i);
    b->wait_count = add_list(out, b, may_wait);
    b->take_count = add_list(out, b, takes);
    b->exec_count = add_list(out, b, is_executed);
    b->guarded_count = add_list(out, b, has_guard);
    out->op_count += b->op_count;
    b->def_count = (uint8_t)(out->def_count - b->first_def);
    b->special_count = (uint8_t)(out->special_count - b->first_special);
    if (b->has_sync)
        sort_questions(out, b);
}

/* which registers have results that are not there in the next cycle */
static void find_slow_registers(struct decoder *d, const struct isa_program *p)
{
    struct touched t;

    for (uint32_t i = 0; i < p->op_count; i++) {
        if (chip_latency_cycles(d->chip, isa_info(p->op[i].code)->latency_class) <= 1)
            continue;
        decode_touched(&p->op[i], &t);
        for (int j = 0; j < t.write_count; j++)
            if (t.write[j] < REG_COUNT)
                d->is_slow[t.write[j]] = true;
    }
}

#define LISTS 4                         /* of a bundle's operations */

static void alloc_lists(struct decoded_program *d, const struct isa_program *p)
{
    struct arena *a = &d->arena;
    size_t ops = 2 * (size_t)p->op_count;       /* each may need a copy out of a temporary */

    d->bundle = arena_array(a, p->bundle_count + 1, sizeof(*d->bundle));
    d->op = arena_array(a, ops, sizeof(*d->op));
    d->list = arena_array(a, ops, ISA_OPERAND_MAX + 3 + LISTS);
    d->def = arena_array(a, p->op_count, sizeof(*d->def));
    d->special = arena_array(a, p->op_count, sizeof(*d->special));
}

struct decoded_program *program_decode(const struct isa_program *p, const struct chip *chip,
                                       enum run_mode mode)
{
    struct decoded_program *out = mem_alloc(sizeof(*out));
    struct decoder d = {.chip = chip, .mode = mode, .program = out};

    arena_init(&out->arena);
    out->source = p;
    out->hash = program_hash(p);
    out->bundle_count = p->bundle_count;
    alloc_lists(out, p);
    decode_constants_init(&d, p);
    find_slow_registers(&d, p);
    for (uint32_t i = 0; i < p->bundle_count; i++)
        decode_bundle(&d, p, i);
    out->bundle[p->bundle_count].is_end = true;
    isa_overlays(p, chip->core_imem_bundles, (int)chip->core_branch_delay_bundles, &out->arena,
                 &out->overlays);
    for (uint32_t i = 0; i < p->bundle_count && out->overlays.count > 1; i++)
        out->bundle[i].is_entry = out->overlays.is_entry[i];
    if (mode == MODE_TIMING) {
        decode_ready(out, chip);
        decode_stream(out);
    } else {
        decode_live(out, chip);
    }
    return out;
}

void program_destroy(struct decoded_program *p)
{
    arena_fini(&p->arena);
    mem_free(p->kernel);
    mem_free(p);
}
