/*
 * Back in time: the nearest snapshot before the cycle asked for, then forward
 * again. Going forward is exact, so both ways to a cycle end in the same state.
 *
 * A snapshot is kept whenever the launch has gone on far enough since the last.
 * When they take too much memory every other one is dropped, and the next ones
 * come at twice the distance.
 */
#include "cli/debug/debug.h"

#include "base/arena.h"
#include "base/units.h"
#include "cli/debug/trace_gate.h"
#include "sim/snapshot/snapshot.h"

#include <string.h>

#define KEPT_MAX 64
#define KEPT_BYTES (256 * MIB)
#define FIRST_DISTANCE_CYCLES 10000

struct kept {
    cycle_t cycle;
    struct bytes bytes;
};

struct debug_history {
    struct kept kept[KEPT_MAX];         /* in the order of their cycles; the first stays */
    int count;
    size_t used_bytes;
    cycle_t distance_cycles;
    struct bytes start;                 /* where the debugger began */
};

struct debug_history *debug_history_create(void)
{
    struct debug_history *h = mem_alloc(sizeof(*h));

    h->distance_cycles = FIRST_DISTANCE_CYCLES;
    return h;
}

static void drop(struct debug_history *h, int index)
{
    h->used_bytes -= h->kept[index].bytes.size;
    mem_free(h->kept[index].bytes.data);
    h->count--;
    memmove(&h->kept[index], &h->kept[index + 1],
            (size_t)(h->count - index) * sizeof(h->kept[0]));
    h->kept[h->count] = (struct kept){.cycle = 0};
}

void debug_history_destroy(struct debug_history *h)
{
    while (h->count > 0)
        drop(h, h->count - 1);
    mem_free(h->start.data);
    mem_free(h);
}

static void thin_out(struct debug_history *h)
{
    for (int i = h->count - 1; i > 0; i--)
        if (i % 2 == 1)
            drop(h, i);
    h->distance_cycles *= 2;
}

static void keep(struct debugger *d)
{
    struct debug_history *h = d->history;
    struct kept *k = &h->kept[h->count++];

    k->cycle = d->cycle;
    machine_save(d->m, &k->bytes);
    h->used_bytes += k->bytes.size;
    while (h->count == KEPT_MAX || (h->count > 2 && h->used_bytes > KEPT_BYTES))
        thin_out(h);
}

void debug_history_note(struct debugger *d)
{
    const struct debug_history *h = d->history;

    if (!debug_has_ended(d)
        && d->cycle - h->kept[h->count - 1].cycle >= h->distance_cycles)
        keep(d);
}

/* history begins here */
static void begin(struct debugger *d)
{
    while (d->history->count > 0)
        drop(d->history, d->history->count - 1);
    d->history->distance_cycles = FIRST_DISTANCE_CYCLES;
    keep(d);
}

void debug_history_start(struct debugger *d)
{
    machine_save(d->m, &d->history->start);
    begin(d);
}

/* a snapshot of this machine's own cannot fail */
static void restore(struct debugger *d, const struct bytes *bytes)
{
    struct err e;

    if (d->options.gate)
        trace_gate_close(d->options.gate);
    if (machine_restore(d->m, bytes->data, bytes->size, &e))
        fprintf(d->out, "a snapshot cannot be restored: %s\n", e.msg);
}

/* the last snapshot at or before `cycle`, or the first; returns its index */
static int restore_before(struct debugger *d, cycle_t cycle)
{
    const struct debug_history *h = d->history;
    int index = h->count - 1;

    while (index > 0 && h->kept[index].cycle > cycle)
        index--;
    restore(d, &h->kept[index].bytes);
    debug_settle(d, h->kept[index].cycle);
    return index;
}

static void arrive(struct debugger *d)
{
    debug_stops_settle(d, false);
    debug_print_end(d);
    debug_print_stop(d);
}

static int go_to_cycle(struct debugger *d, cycle_t cycle, struct err *e)
{
    if (cycle < d->history->kept[0].cycle)
        return err_set(e, "cycle %lld is before %lld, where this history begins",
                       (long long)cycle, (long long)d->history->kept[0].cycle);
    if (cycle < d->cycle || debug_has_ended(d))
        restore_before(d, cycle);
    debug_settle(d, cycle);
    arrive(d);
    return 0;
}

int debug_command_goto(struct debugger *d, const struct debug_args *args, struct err *e)
{
    const char *text = debug_skip_space(args->text);
    int64_t cycle = -1;

    if (debug_parse_only_number(text + (*text == '@'), "the cycle", 0, INT64_MAX / 4, &cycle, e))
        return -1;
    if (cycle < 0)
        return err_set(e, "which cycle? for example: goto 1000");
    return go_to_cycle(d, cycle, e);
}

/* ---- back by bundles of the core ---- */

static int64_t issued_by(const struct debugger *d)
{
    struct core_view v;

    machine_core(d->m, d->core, &v);
    return v.issued;
}

/*
 * To the cycle in which the core has just issued so many. No more than one
 * bundle issues in a cycle, so going on for as many cycles as bundles are
 * missing never goes too far.
 */
static void go_to_issued(struct debugger *d, int64_t issued)
{
    cycle_t before = d->cycle;

    while (restore_before(d, before) > 0 && issued_by(d) >= issued)
        before = d->cycle - 1;
    while (issued_by(d) < issued && !debug_has_ended(d))
        debug_settle(d, machine_next_cycle(d->m) + issued - issued_by(d));
}

int debug_command_back(struct debugger *d, const struct debug_args *args, struct err *e)
{
    int64_t count = 1, issued = issued_by(d);

    if (debug_parse_only_number(args->text, "the count", 1, 1 << 30, &count, e))
        return -1;
    if (issued == 0)
        return err_set(e, "core %d has issued nothing yet", d->core);
    go_to_issued(d, count < issued ? issued - count : 0);
    arrive(d);
    return 0;
}

int debug_command_run(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_goal goal = {.until = CYCLE_NEVER, .core = d->core};

    if (debug_expect_end(args->text, e))
        return -1;
    restore(d, &d->history->start);
    debug_settle(d, machine_next_cycle(d->m));
    begin(d);
    debug_stops_settle(d, true);
    if (debug_stops_after(d))
        debug_print_stop(d);
    else
        debug_go(d, &goal);
    return 0;
}

/* ---- files ---- */

static int file_name(const struct debugger *d, const struct debug_args *args, char *path,
                     struct err *e)
{
    const char *at = args->text;

    if (!d->options.has_files)
        return err_set(e, "files are not used here");
    if (!debug_next_word(&at, path))
        return err_set(e, "which file?");
    return debug_expect_end(at, e);
}

int debug_command_save(struct debugger *d, const struct debug_args *args, struct err *e)
{
    char path[DEBUG_WORD_MAX];

    if (file_name(d, args, path, e) || snapshot_write(d->m, d->options.title, path, e))
        return -1;
    fprintf(d->out, "snapshot of cycle %lld written to %s\n", (long long)d->cycle, path);
    return 0;
}

/* what is there now comes back when the file is none of this machine's */
static int restore_file(struct debugger *d, const char *path, struct arena *a, struct err *e)
{
    struct bytes now = {.data = NULL};
    struct snapshot s;
    int status;

    if (snapshot_read(path, a, &s, e))
        return -1;
    machine_save(d->m, &now);
    status = machine_restore(d->m, s.state, s.state_bytes, e);
    if (status != 0) {
        restore(d, &now);
        debug_settle(d, d->cycle);
    }
    mem_free(now.data);
    return status;
}

/* nothing happens before the next cycle, so that is where it stands */
int debug_command_restore(struct debugger *d, const struct debug_args *args, struct err *e)
{
    char path[DEBUG_WORD_MAX];
    struct arena a;
    int status;

    if (file_name(d, args, path, e))
        return -1;
    arena_init(&a);
    status = restore_file(d, path, &a, e);
    arena_fini(&a);
    if (status != 0)
        return -1;
    debug_settle(d, machine_next_cycle(d->m));
    begin(d);
    arrive(d);
    return 0;
}
