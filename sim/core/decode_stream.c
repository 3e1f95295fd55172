/*
 * Translates decoded bundles into the steps of timing mode, and leaves to the issue loop what has
 * none.
 */
#include "sim/core/stream.h"

#include "sim/core/core.h"

#include <string.h>

struct writer {
    struct stream_step *step;           /* NULL: only count */
    uint32_t count;
};

/* the step to fill in; what is only counted goes nowhere */
static struct stream_step *add(struct writer *w, enum stream_step_kind kind)
{
    static _Thread_local struct stream_step nowhere;
    struct stream_step *s = w->step ? &w->step[w->count] : &nowhere;

    w->count++;
    memset(s, 0, sizeof(*s));
    s->kind = (uint8_t)kind;
    return s;
}

/* a step of operation `index` of its bundle, behind its guard */
static struct stream_step *add_op(struct writer *w, enum stream_step_kind kind,
                                  const struct decoded_op *op, uint8_t index)
{
    struct stream_step *s;

    if (op[index].is_guarded)
        add(w, STEP_UNLESS)->bit = index;
    s = add(w, kind);
    s->op = &op[index];
    return s;
}

static bool needs_the_loop(const struct decoded_op *o)
{
    return o->timing == TIMING_LOAD_IAR || o->timing == TIMING_STORE_IAR || o->code == OP_SHALT
           || (o->is_guarded && o->bank_extra > 0);
}

static bool is_plain(const struct decoded_bundle *b, const struct decoded_op *op)
{
    for (uint32_t i = 0; i < b->op_count; i++)
        if (needs_the_loop(&op[i]))
            return false;
    return !b->has_sync && !b->is_end && !b->is_entry;
}

static void add_registers(struct writer *w, const uint8_t *reg, uint32_t count)
{
    uint32_t part;

    for (uint32_t i = 0; i < count; i += part) {
        struct stream_step *s = add(w, STEP_REGISTERS);

        part = count - i < STEP_REGISTERS_MAX ? count - i : STEP_REGISTERS_MAX;
        s->count = (uint8_t)part;
        memcpy(s->reg, reg + i, part);
    }
}

static void add_results(struct writer *w, const struct decoded_def *def, uint32_t count)
{
    uint32_t part;

    for (uint32_t i = 0; i < count; i += part) {
        struct stream_step *s = add(w, STEP_RESULTS);

        part = count - i < STEP_RESULTS_MAX ? count - i : STEP_RESULTS_MAX;
        s->count = (uint8_t)part;
        memcpy(s->result, def + i, part * sizeof(*def));
    }
}

/* operands base and offset of a load or store; -1 where its rows lie further apart */
static int base_of(const struct decoded_op *o)
{
    int base = o->timing == TIMING_LOAD ? 1 : 0;

    return (o->timing == TIMING_LOAD || o->timing == TIMING_STORE) && o->o[base + 2] <= 1 ? base
                                                                                          : -1;
}

static void add_access(struct writer *w, enum stream_step_kind kind, const struct decoded_op *op,
                       uint8_t index)
{
    struct stream_step *s = add_op(w, kind, op, index);
    int base = base_of(&op[index]);

    s->a = op[index].o[base];
    s->b = op[index].o[base + 1];
    s->first_to_last = (int32_t)op[index].reach_rows;
}

static void add_wait(struct writer *w, const struct decoded_op *op, uint8_t index)
{
    if (op[index].timing == TIMING_POP)
        add_op(w, STEP_POP, op, index)->pop = op[index].pop;
    else if (op[index].timing == TIMING_LOAD && base_of(&op[index]) >= 0)
        add_access(w, STEP_LOAD, op, index);
    else
        add_op(w, STEP_WAIT, op, index);
}

static void add_take(struct writer *w, const struct decoded_op *op, uint8_t index)
{
    if (base_of(&op[index]) >= 0)
        add_access(w, STEP_STORE, op, index);
    else
        add_op(w, STEP_TAKE, op, index);
}

static enum stream_step_kind execution_of(enum isa_opcode code)
{
    switch (code) {
    case OP_SMOV: return STEP_MOVE;
    case OP_SADD: case OP_SLEA_VMEM: case OP_SLEA_HBM: case OP_SLEA_SMEM: return STEP_ADD;
    case OP_SSUB: return STEP_SUBTRACT;
    case OP_SAND: return STEP_AND;
    case OP_SCMP_LT: return STEP_LESS;
    case OP_SBR: return STEP_BRANCH;
    default: return STEP_EXECUTE;
    }
}

static void add_execution(struct writer *w, const struct decoded_op *op, uint8_t index)
{
    struct stream_step *s;

    if (base_of(&op[index]) >= 0)
        return;                         /* for its address check alone: first_row */
    s = add_op(w, execution_of((enum isa_opcode)op[index].code), op, index);
    s->to = op[index].o[0];
    s->a = op[index].o[1];
    s->b = op[index].o[2];
}

static void write_bundle(struct writer *w, const struct decoded_program *p,
                         const struct decoded_bundle *b)
{
    const struct decoded_op *op = &p->op[b->first_op];
    uint32_t body;

    if (!is_plain(b, op)) {
        add(w, STEP_LEAVE);
        return;
    }
    if (b->has_guard)
        add(w, STEP_GUARDS);
    add_registers(w, decoded_checks(p, b), b->check_count);
    for (uint32_t i = 0; i < b->wait_count; i++)
        add_wait(w, op, decoded_waits(p, b)[i]);
    add(w, STEP_ISSUE)->bank_extra = b->bank_extra;
    for (uint32_t i = 0; i < b->take_count; i++)
        add_take(w, op, decoded_takes(p, b)[i]);
    add_results(w, &p->def[b->first_def], b->def_count);
    body = w->count;
    add(w, STEP_BODY);
    for (uint32_t i = 0; i < b->exec_count; i++)
        add_execution(w, op, decoded_execs(p, b)[i]);
    if (w->step)
        w->step[body].count = (uint8_t)(w->count - body);
    if (b->has_guard)
        add(w, STEP_GUARDED);
    add(w, STEP_NEXT);
}

void decode_stream(struct decoded_program *p)
{
    struct writer counting = {.step = NULL}, w = {.step = NULL};

    for (uint32_t i = 0; i <= p->bundle_count; i++)
        write_bundle(&counting, p, &p->bundle[i]);
    p->step = arena_array(&p->arena, counting.count, sizeof(*p->step));
    w.step = p->step;
    for (uint32_t i = 0; i <= p->bundle_count; i++) {
        p->bundle[i].first_step = w.count;
        write_bundle(&w, p, &p->bundle[i]);
    }
}
