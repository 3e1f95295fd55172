/* Finds which breakpoints and watches an advance of the machine has hit. */
#include "cli/debug/debug_stops.h"

#include "base/floats.h"
#include "isa/disasm.h"

#include <string.h>

/* what a hit of this advance is about */
struct hit {
    int core;
    bool has_arrived;                   /* the core stands in front of another bundle */
    struct core_view view;
};

void debug_stop_read(const struct debugger *d, const struct debug_stop *stop, unsigned char *to)
{
    struct mask_view mask;
    struct err e;

    if (!stop->is_register) {
        machine_memory_read(d->m, stop->core, stop->memory, stop->first, to, stop->bytes, &e);
    } else if (stop->reg == REGISTER_MASK) {
        machine_mask(d->m, stop->core, (int)stop->first, &mask);
        memcpy(to, &mask, sizeof(mask));
    } else {
        memcpy(to, machine_vector(d->m, stop->core, (int)stop->first), (size_t)stop->bytes);
    }
}

void debug_stop_look(const struct debugger *d, struct debug_stop *stop)
{
    struct err e;

    switch (stop->kind) {
    case STOP_FLAG: stop->old_flag = machine_flag(d->m, stop->core, stop->flag); break;
    case STOP_STALL:
        stop->old_stall = machine_stall_cycles(d->m, stop->core, stop->reason);
        break;
    case STOP_WATCH:
        if (debug_evaluate(d->m, stop->core, d->cycle, stop->watched, &stop->old_value, &e))
            stop->old_value = (struct debug_value){.is_float = false};
        break;
    case STOP_WATCH_BYTES: debug_stop_read(d, stop, stop->old_bytes); break;
    default: break;
    }
}

/* ---- before ---- */

static bool touches(const struct debug_access *a, int64_t first, int64_t bytes)
{
    for (int i = 0; i < a->count; i++)
        if (a->first[i] < first + bytes && first < a->first[i] + a->bytes)
            return true;
    return false;
}

static void arm(const struct debugger *d, struct debug_stop *stop)
{
    struct debug_access access[DEBUG_ACCESS_MAX];
    struct core_view v;
    int count;

    stop->is_armed = false;
    machine_core(d->m, stop->core, &v);
    if (v.activity != CORE_IS_READY && v.activity != CORE_WAITS)
        return;
    count = debug_accesses(d, stop->core, v.bundle, access);
    for (int i = 0; i < count; i++)
        if (access[i].memory == stop->memory && access[i].is_write == stop->is_write
            && touches(&access[i], stop->first, stop->bytes)) {
            stop->is_armed = true;
            stop->access = access[i];
            return;
        }
}

void debug_stops_before(struct debugger *d)
{
    for (int i = 0; i < d->stops->end; i++)
        if (d->stops->stop[i].kind == STOP_ACCESS)
            arm(d, &d->stops->stop[i]);
}

/* ---- after ---- */

static void print_change(const struct debugger *d, const struct debug_stop *stop)
{
    int64_t words = stop->bytes / 4, changed = 0, first = 0, i;
    uint32_t old = 0, new = 0;

    for (i = 0; i < words; i++) {
        if (memcmp(stop->old_bytes + 4 * i, stop->new_bytes + 4 * i, 4) == 0)
            continue;
        if (changed++ == 0) {
            first = i;
            memcpy(&old, stop->old_bytes + 4 * i, 4);
            memcpy(&new, stop->new_bytes + 4 * i, 4);
        }
    }
    fprintf(d->out, "%s: %lld of %lld words change, word %lld from 0x%08x (%.6g) to 0x%08x (%.6g)",
            stop->what, (long long)changed, (long long)words, (long long)first, (unsigned)old,
            (double)f32_from_bits(old), (unsigned)new, (double)f32_from_bits(new));
}

static bool value_changes(const struct debugger *d, const struct debug_stop *stop,
                          struct debug_value *value)
{
    struct err e;

    return debug_evaluate(d->m, stop->core, d->cycle, stop->watched, value, &e) == 0
           && !debug_is_same(value, &stop->old_value);
}

static bool bytes_change(const struct debugger *d, struct debug_stop *stop)
{
    debug_stop_read(d, stop, stop->new_bytes);
    return memcmp(stop->old_bytes, stop->new_bytes, (size_t)stop->bytes) != 0;
}

/* the copy that has started in this advance and touches the range: its core and index */
static bool find_copy(const struct debugger *d, const struct debug_stop *stop, int *core,
                      int *index)
{
    for (*core = 0; *core < d->core_count; ++*core) {
        int count = machine_copy_count(d->m, *core);

        if (machine_copies_issued(d->m, *core) == d->stops->seen[*core].copies)
            continue;
        for (*index = 0; *index < count; ++*index) {
            struct copy_view v;

            machine_copy(d->m, *core, *index, &v);
            if (v.issued_at + 1 >= d->cycle
                && (stop->is_write ? v.destination : v.source) == stop->memory
                && (stop->is_write ? v.target : *core) == stop->core
                && machine_copy_touches(d->m, *core, *index, stop->is_write, stop->first,
                                        stop->bytes))
                return true;
        }
    }
    return false;
}

static bool bundle_has_touched(const struct debugger *d, const struct debug_stop *stop)
{
    struct core_view v;

    machine_core(d->m, stop->core, &v);
    return stop->is_armed && v.issued > d->stops->seen[stop->core].issued;
}

static cycle_t waited(const struct debugger *d, const struct debug_stop *stop)
{
    return machine_stall_cycles(d->m, stop->core, stop->reason) - stop->old_stall;
}

static bool is_hit(struct debugger *d, struct debug_stop *stop, const struct hit *hit)
{
    const struct isa_program *p = machine_program(d->m, hit->core);
    struct debug_value value;
    int core, index;

    switch (stop->kind) {
    case STOP_BUNDLE: return hit->has_arrived && hit->view.bundle == stop->bundle;
    case STOP_OP:
        return hit->has_arrived && hit->view.bundle < p->bundle_count
               && debug_has_op(p, hit->view.bundle, stop->what);
    case STOP_CYCLE: return d->cycle == stop->cycle;
    case STOP_FLAG: return machine_flag(d->m, stop->core, stop->flag) != stop->old_flag;
    case STOP_STALL: return waited(d, stop) >= stop->least_cycles;
    case STOP_WATCH: return value_changes(d, stop, &value);
    case STOP_WATCH_BYTES: return bytes_change(d, stop);
    case STOP_ACCESS: return bundle_has_touched(d, stop) || find_copy(d, stop, &core, &index);
    default: return false;
    }
}

static void print_touch(struct debugger *d, const struct debug_stop *stop)
{
    const struct isa_program *p = machine_program(d->m, stop->core);
    struct copy_view v;
    char text[600];
    int core, index;

    if (bundle_has_touched(d, stop)) {
        isa_print_op(p, &p->op[stop->access.op], text, sizeof(text));
        debug_print_place(d, stop->core, d->stops->seen[stop->core].bundle, d->out);
        fprintf(d->out, " %s (%s)", stop->is_write ? "writes it" : "reads it", text);
    } else if (find_copy(d, stop, &core, &index)) {
        machine_copy(d->m, core, index, &v);
        fprintf(d->out, "core %d ", core);
        debug_print_place(d, core, v.bundle, d->out);
        fprintf(d->out, " starts a copy that %s it (%s, %lld bytes)",
                stop->is_write ? "writes" : "reads", isa_info(v.code)->mnemonic,
                (long long)v.bytes);
    }
}

static void print_values(struct debugger *d, const struct debug_stop *stop)
{
    struct debug_value value;
    char old[40], new[40];

    if (value_changes(d, stop, &value))
        fprintf(d->out, "%s: %s -> %s", stop->watched,
                debug_value_text(&stop->old_value, old, sizeof(old)),
                debug_value_text(&value, new, sizeof(new)));
}

static void print_hit(struct debugger *d, struct debug_stop *stop, const struct hit *hit)
{
    bool is_watch = stop->kind == STOP_WATCH || stop->kind == STOP_WATCH_BYTES;

    fprintf(d->out, "%s %d, ", is_watch ? "watch" : "breakpoint", stop->number);
    switch (stop->kind) {
    case STOP_FLAG:
        fprintf(d->out, "flag %d of core %d: %d -> %d", stop->flag, stop->core,
                (int)stop->old_flag, (int)machine_flag(d->m, stop->core, stop->flag));
        break;
    case STOP_STALL:
        debug_print_place(d, stop->core, d->stops->seen[stop->core].bundle, d->out);
        fprintf(d->out, " waited %lld cycles for %s", (long long)waited(d, stop),
                stall_name(stop->reason));
        break;
    case STOP_CYCLE: fprintf(d->out, "cycle %lld", (long long)stop->cycle); break;
    case STOP_WATCH: print_values(d, stop); break;
    case STOP_WATCH_BYTES: print_change(d, stop); break;
    case STOP_ACCESS: print_touch(d, stop); break;
    default: debug_print_place(d, hit->core, hit->view.bundle, d->out); break;
    }
    if (stop->hits > 1)
        fprintf(d->out, ", hit %lld", (long long)stop->hits);
    fputc('\n', d->out);
}

static bool condition_holds(struct debugger *d, const struct debug_stop *stop, int core)
{
    struct debug_value value;
    struct err e;

    if (!stop->condition[0])
        return true;
    if (debug_evaluate(d->m, core, d->cycle, stop->condition, &value, &e) == 0)
        return debug_is_true(&value);
    fprintf(d->out, "condition of breakpoint %d: %s\n", stop->number, e.msg);
    return true;
}

static bool is_about_bundles(const struct debug_stop *stop)
{
    return stop->kind == STOP_BUNDLE || stop->kind == STOP_OP;
}

/* true where the launch is to stop; the core of the first hit is the one to look at */
static bool check(struct debugger *d, struct debug_stop *stop, const struct hit *hit,
                  bool is_first)
{
    if (!is_hit(d, stop, hit) || !condition_holds(d, stop, hit->core)
        || ++stop->hits < stop->after)
        return false;
    print_hit(d, stop, hit);
    if (is_first && stop->kind != STOP_CYCLE)
        d->core = hit->core;
    return true;
}

/* breakpoints on bundles ask every core, the others theirs */
static bool check_stop(struct debugger *d, struct debug_stop *stop, bool is_first)
{
    bool is_stopped = false;
    struct hit hit;

    for (hit.core = 0; hit.core < d->core_count; hit.core++) {
        bool is_asked = stop->core < 0 ? is_about_bundles(stop) || hit.core == d->core
                                       : stop->core == hit.core;

        if (!is_asked || (is_about_bundles(stop) && !machine_program(d->m, hit.core)))
            continue;
        machine_core(d->m, hit.core, &hit.view);
        hit.has_arrived = hit.view.issued != d->stops->seen[hit.core].issued
                          && hit.view.activity != CORE_HAS_HALTED;
        if (check(d, stop, &hit, is_first && !is_stopped))
            is_stopped = true;
        if (!is_about_bundles(stop))
            break;
    }
    return is_stopped;
}

static void look_at_cores(struct debugger *d)
{
    struct core_view v;

    for (int i = 0; i < d->core_count; i++) {
        machine_core(d->m, i, &v);
        d->stops->seen[i] = (struct core_seen){v.issued, machine_copies_issued(d->m, i),
                                               v.bundle};
    }
}

bool debug_stops_after(struct debugger *d)
{
    bool is_stopped = false;

    for (int i = 0; i < d->stops->end; i++) {
        struct debug_stop *stop = &d->stops->stop[i];

        if (stop->kind == STOP_FREE)
            continue;
        is_stopped = check_stop(d, stop, !is_stopped) || is_stopped;
        debug_stop_look(d, stop);
    }
    look_at_cores(d);
    return is_stopped;
}

void debug_stops_settle(struct debugger *d, bool is_fresh)
{
    look_at_cores(d);
    for (int i = 0; i < d->stops->end; i++)
        debug_stop_look(d, &d->stops->stop[i]);
    for (int i = 0; is_fresh && i < d->core_count; i++)
        d->stops->seen[i].issued = -1;
}
