/*
 * Kanata's log, version 4, which Konata shows: one core, its bundles as
 * instructions, at level slot its operations too. A bundle has the stages W
 * (waits; in lane 1 the reason) and I (issues); an operation I, Q (its unit is
 * still busy) and X (occupies the unit).
 *
 * The log only goes forward in time, so what will happen waits in a heap until
 * the walk has come that far.
 */
#include "base/outfile.h"
#include "report/export/export_names.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct line {
    cycle_t at;
    uint64_t order;                     /* of lines of one cycle */
    int64_t id;
    char command;                       /* S, E, R */
    int lane;
    const char *stage;
};

struct kanata {
    struct export_run *r;
    FILE *to;
    int core;
    cycle_t now;
    int64_t next_id, retired_count;
    int64_t waiting_id;                 /* of the bundle that waits, -1: none does */
    cycle_t issued_at;                  /* of the last bundle */
    uint32_t issued;
    struct line *heap;
    size_t count, capacity;
    uint64_t order;
};

/* ----- the heap */

static bool comes_before(const struct line *a, const struct line *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void push(struct kanata *w, cycle_t at, int64_t id, char command, int lane,
                 const char *stage)
{
    size_t i = w->count;

    MEM_ADD(w->heap, w->count, w->capacity) = (struct line){
        at, w->order++, id, command, lane, stage};
    for (size_t up; i > 0 && comes_before(&w->heap[i], &w->heap[up = (i - 1) / 2]); i = up) {
        struct line swapped = w->heap[up];

        w->heap[up] = w->heap[i];
        w->heap[i] = swapped;
    }
}

static struct line pop(struct kanata *w)
{
    struct line first = w->heap[0], last = w->heap[--w->count];
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < w->count; i = child) {
        if (child + 1 < w->count && comes_before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!comes_before(&w->heap[child], &last))
            break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = last;
    return first;
}

/* ----- the log */

static void go_to(struct kanata *w, cycle_t at)
{
    if (at > w->now)
        fprintf(w->to, "C\t%" PRId64 "\n", at - w->now);
    w->now = at > w->now ? at : w->now;
}

/* all that happens before `at`, then the clock is there */
static void advance(struct kanata *w, cycle_t at)
{
    while (w->count && w->heap[0].at <= at) {
        struct line l = pop(w);

        go_to(w, l.at);
        if (l.command == 'R')
            fprintf(w->to, "R\t%" PRId64 "\t%" PRId64 "\t0\n", l.id, w->retired_count++);
        else
            fprintf(w->to, "%c\t%" PRId64 "\t%d\t%s\n", l.command, l.id, l.lane, l.stage);
    }
    go_to(w, at);
}

static void stage(struct kanata *w, int64_t id, int lane, const char *name, cycle_t from,
                  cycle_t to)
{
    push(w, from, id, 'S', lane, name);
    push(w, to, id, 'E', lane, name);
}

/* tabs and line ends would end the label */
static void put_text(struct kanata *w, const char *text)
{
    for (; *text; text++)
        putc((unsigned char)*text < ' ' ? ' ' : *text, w->to);
}

static void put_label(struct kanata *w, int64_t id, int kind, const char *first,
                      const char *second)
{
    fprintf(w->to, "L\t%" PRId64 "\t%d\t", id, kind);
    put_text(w, first);
    if (*first && *second)
        putc(' ', w->to);
    put_text(w, second);
    putc('\n', w->to);
}

static int64_t begin(struct kanata *w)
{
    int64_t id = w->next_id++;

    fprintf(w->to, "I\t%" PRId64 "\t%" PRId64 "\t%d\n", id, id, w->core);
    w->r->result.event_count++;
    return id;
}

static int64_t begin_bundle(struct kanata *w, uint32_t bundle)
{
    struct export_programs *p = w->r->programs;
    const struct export_names *n = w->r->names;
    uint32_t note = export_note_name(p, w->core, export_bundle_note(p, w->core, bundle));
    uint32_t name = export_bundle_name(p, w->core, bundle);
    uint32_t source = export_bundle_source(p, w->core, bundle);
    int64_t id = begin(w);
    char number[32];

    snprintf(number, sizeof(number), "%" PRIu32 ":", bundle);
    put_label(w, id, 0, number, export_text(n, name));
    put_label(w, id, 1, export_text(n, note), export_text(n, source));
    return id;
}

static void put_stall(struct kanata *w, const struct trace_event *e)
{
    advance(w, e->start);
    if (w->waiting_id < 0) {
        w->waiting_id = begin_bundle(w, e->bundle);
        push(w, e->start, w->waiting_id, 'S', 0, "W");
    }
    stage(w, w->waiting_id, 1, stall_name((enum stall_reason)e->stall), e->start, e->end);
}

static void put_bundle(struct kanata *w, const struct trace_event *e)
{
    int64_t id = w->waiting_id;

    advance(w, e->start);
    if (id < 0)
        id = begin_bundle(w, e->bundle);
    else
        push(w, e->start, id, 'E', 0, "W");
    stage(w, id, 0, "I", e->start, e->end);
    push(w, e->end, id, 'R', 0, NULL);
    w->waiting_id = -1;
    w->issued_at = e->start;
    w->issued = e->bundle;
}

/* the walk may tell of an operation that starts later than the next bundle issues */
static void put_op(struct kanata *w, const struct trace_event *e)
{
    bool is_of_last = e->bundle == w->issued && w->issued_at <= e->start;
    cycle_t issued_at = is_of_last ? w->issued_at : e->start;
    uint32_t name = export_op_text(w->r->programs, w->core, e->op);
    int64_t id;

    if (issued_at < w->now || e->end <= e->start)
        return;
    advance(w, issued_at);
    id = begin(w);
    put_label(w, id, 0, name ? export_text(w->r->names, name)
                             : isa_info((enum isa_opcode)e->code)->mnemonic, "");
    put_label(w, id, 1, ntrace_unit_name(w->r->t, e->track), "");
    if (e->start > issued_at)
        stage(w, id, 0, "Q", issued_at, e->start);
    stage(w, id, 0, "X", e->start, e->end);
    push(w, e->end, id, 'R', 0, NULL);
}

static bool put_event(void *context, const struct trace_event *e)
{
    struct kanata *w = context;

    if (e->track == TRACK_IS_STALL)
        put_stall(w, e);
    else if (e->track == TRACK_IS_BUNDLE)
        put_bundle(w, e);
    else if (e->track >= 0 && w->r->options.level == TRACE_SLOT)
        put_op(w, e);
    return true;
}

/* what the limit left out, as a last instruction that a reader finds */
static void put_left_out(struct kanata *w)
{
    const struct export_result *result = &w->r->result;
    char text[200];
    int64_t id;

    if (result->left_out_cycles == 0)
        return;
    id = begin(w);
    w->r->result.event_count--;
    snprintf(text, sizeof(text), "left out by the limit of events: %" PRId64 " cycles, %" PRId64
             " bundles", result->left_out_cycles, result->left_out_bundles);
    put_label(w, id, 0, text, "");
    stage(w, id, 0, "W", w->now, w->now + 1);
    push(w, w->now + 1, id, 'R', 0, NULL);
}

int export_write_kanata(struct export_run *r, FILE *to, struct err *e)
{
    struct kanata w = {.r = r, .to = to, .core = r->options.core, .now = r->options.first,
                       .waiting_id = -1, .issued_at = -1};

    errno = 0;
    fprintf(to, "Kanata\t0004\nC=\t%" PRId64 "\n", w.now);
    if (r->end > r->options.first)
        ntrace_walk_core(r->t, w.core, r->options.first, r->end, true,
                         r->options.level == TRACE_SLOT, put_event, &w);
    if (w.waiting_id >= 0) {            /* cut, or ended by a fault, while it waited */
        push(&w, r->end, w.waiting_id, 'E', 0, "W");
        push(&w, r->end, w.waiting_id, 'R', 0, NULL);
    }
    put_left_out(&w);
    while (w.count)                     /* the file ends with its last event */
        advance(&w, w.heap[0].at);
    mem_free(w.heap);
    return ferror(to) ? err_set(e, "cannot write %s: %s", r->path, strerror(outfile_code(to)))
                      : 0;
}
