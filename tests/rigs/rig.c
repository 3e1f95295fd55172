#include "tests/rigs/rig.h"

#include "isa/asm.h"
#include "tests/rigs/chip_set.h"
#include "tests/test.h"

void rig_open(struct rig *r, const char *slice, const struct rig_options *options)
{
    static const struct rig_options plain;
    const struct rig_options *o = options ? options : &plain;
    struct machine_options mo = {.thread_count = o->thread_count ? o->thread_count : 1,
                                 .simd = o->simd ? o->simd : "auto",
                                 .mode = o->mode, .no_memo = o->no_memo,
                                 .no_dedup = o->no_dedup,
                                 .check_races = o->check_races,
                                 .check_unwritten = o->check_unwritten,
                                 .shared_hbm = o->shared_hbm,
                                 .cycle_limit = o->cycle_limit ? o->cycle_limit : 1000000};
    struct err e = {.line = 0};
    int i;

    memset(r, 0, sizeof(*r));
    arena_init(&r->arena);
    if (slice_parse(&r->slice, slice, &e)
        || chip_load_builtin(&r->chip, r->slice.chip_name, NULL, &r->arena, &e))
        fail_msg("%s", e.msg);
    for (i = 0; i < (int)COUNT_OF(o->set) && o->set[i]; i++)
        if (chip_set(&r->chip, o->set[i], NULL, &r->arena, &e))
            fail_msg("%s", e.msg);
    r->m = machine_create(&r->slice, &r->chip, &mo, &e);
    if (!r->m)
        fail_msg("%s", e.msg);
    r->is_traced = o->trace;
    if (r->is_traced)
        trace_log_open(&r->log, r->m);
}

void rig_close(struct rig *r)
{
    machine_destroy(r->m);
    if (r->is_traced)
        trace_log_close(&r->log);
    mem_free(r->events.event);
    arena_fini(&r->arena);
}

const struct isa_program *rig_assemble(struct rig *r, const char *text)
{
    struct isa_program *p = arena_alloc(&r->arena, sizeof(*p));
    struct isa_errors errors = {.count = 0};

    if (isa_assemble(text, strlen(text), "test.tasm", &r->arena, p, &errors)) {
        isa_errors_print(&errors, text, strlen(text), stderr);
        fail_msg("the program does not assemble");
    }
    return p;
}

void rig_load(struct rig *r, int core, const char *text)
{
    struct err e = {.line = 0};

    if (machine_load(r->m, core, rig_assemble(r, text), &e))
        fail_msg("%s", e.msg);
}

void rig_check(const struct rig *r)
{
    int i, j;

    for (i = 0; i < machine_core_count(r->m); i++) {
        const struct core_counters *k = machine_counters(r->m, i);
        cycle_t sum = k->issue_cycles + k->idle_cycles;

        for (j = 0; j < STALL_COUNT; j++)
            sum += k->stall_cycles[j];
        assert_int_equal(sum, k->cycles);
        assert_int_equal(k->cycles, machine_cycles(r->m));
        for (j = 0; j < k->unit_count; j++) {
            const struct unit_counters *u = &k->unit[j];

            assert_true(u->busy_cycles >= 0 && u->waiting_cycles >= 0 && u->idle_cycles >= 0);
            assert_int_equal(u->busy_cycles + u->waiting_cycles + u->idle_cycles, k->cycles);
        }
    }
    if (r->is_traced)
        trace_log_check(&r->log, r->m);
}

const struct log_events *rig_events(struct rig *r, int core)
{
    assert_true(r->is_traced);
    mem_free(r->events.event);
    trace_log_expand(&r->log, r->m, core, true, &r->events);
    return &r->events;
}

int rig_run(struct rig *r)
{
    int status;

    memset(&r->err, 0, sizeof(r->err));
    status = machine_run(r->m, &r->err);
    rig_check(r);
    return status;
}

cycle_t rig_cycles(struct rig *r, const char *text)
{
    rig_load(r, 0, text);
    if (rig_run(r))
        fail_msg("%s", r->err.msg);
    return machine_cycles(r->m);
}

cycle_t rig_stall(const struct rig *r, int core, enum stall_reason reason)
{
    return machine_counters(r->m, core)->stall_cycles[reason];
}

const struct unit_counters *rig_unit(const struct rig *r, int core, const char *name)
{
    const struct core_counters *k = machine_counters(r->m, core);
    int i;

    for (i = 0; i < k->unit_count; i++)
        if (strcmp(k->unit[i].name, name) == 0)
            return &k->unit[i];
    fail_msg("no unit %s", name);
    return NULL;
}

static void assert_same_core(const struct core_counters *a, const struct core_counters *b)
{
    int i;

    assert_int_equal(a->cycles, b->cycles);
    assert_int_equal(a->issue_cycles, b->issue_cycles);
    for (i = 0; i < STALL_COUNT; i++)
        if (a->stall_cycles[i] != b->stall_cycles[i])
            fail_msg("%s: %lld cycles, not %lld", stall_name((enum stall_reason)i),
                     (long long)b->stall_cycles[i], (long long)a->stall_cycles[i]);
    for (i = 0; i < a->unit_count; i++) {
        const struct unit_counters *u = &a->unit[i], *v = &b->unit[i];

        if (u->busy_cycles != v->busy_cycles || u->waiting_cycles != v->waiting_cycles
            || u->op_count != v->op_count)
            fail_msg("%s: busy %lld, not %lld; waiting %lld, not %lld; %lld operations, not %lld",
                     u->name, (long long)v->busy_cycles, (long long)u->busy_cycles,
                     (long long)v->waiting_cycles, (long long)u->waiting_cycles,
                     (long long)v->op_count, (long long)u->op_count);
    }
    assert_memory_equal(a, b, sizeof(*a));      /* what has no message of its own */
}

void assert_equal_counters(const struct machine *a, const struct machine *b)
{
    int i;

    for (i = 0; i < machine_core_count(a); i++)
        assert_same_core(machine_counters(a, i), machine_counters(b, i));
}

const char *rig_fault(struct rig *r, enum fault_kind kind)
{
    if (rig_run(r) != -1)
        fail_msg("no fault");
    if (machine_fault(r->m)->kind != kind)
        fail_msg("fault of kind %d instead of %d: %s", (int)machine_fault(r->m)->kind, (int)kind,
                 r->err.msg);
    return r->err.msg;
}

void assert_fault(const char *text, enum fault_kind kind, const char *part)
{
    assert_fault_in(MODE_BOTH, text, kind, part);
}

void assert_fault_in(enum run_mode mode, const char *text, enum fault_kind kind, const char *part)
{
    const struct rig_options options = {.mode = mode};
    struct rig r;

    rig_open(&r, "v3", &options);
    rig_load(&r, 0, text);
    assert_int_equal(rig_run(&r), -1);
    assert_int_equal(machine_fault(r.m)->kind, kind);
    if (!strstr(r.err.msg, part))
        fail_msg("\"%s\" does not contain \"%s\"", r.err.msg, part);
    rig_close(&r);
}
