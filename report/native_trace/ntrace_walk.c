/*
 * Records of a core in the order of time. A time inside a repeat is one of the
 * window before it, so the walk goes there again and again, each time told
 * later; windows may hold repeats.
 */
#include "report/native_trace/ntrace_impl.h"

#define NO_TRACK 255
#define DEPTH_MOST 32                   /* of repeats in windows of repeats */
#define BEFORE_CYCLES 8192              /* no operation holds its unit for longer */

#define ITEMS_MOST 65536                /* of a window, decoded once for all its iterations */
struct items {
    struct trace_record *record;        /* kind RECORD_REPEAT: value is the index of a repeat */
    struct trace_repeat *repeat;
    size_t count, capacity, repeat_count, repeat_capacity;
};

struct walk {
    struct ntrace *t;
    struct items *collected;            /* records go here rather than to who asked */
    const struct ntrace_group *group;
    struct ntrace_core_limits limits;
    const struct ntrace_replay *how;
    cycle_t from, end;                  /* wanted, as it happened */
    bool is_over;
    int64_t told, decoded;
};

/* Windows of windows may be made so that little is told after much work: enough is enough. */
#define WORK_MOST 100000000
#define WORK_PER_RECORD 1000
static bool is_in_vain(struct walk *w)
{
    return ++w->decoded > WORK_MOST + WORK_PER_RECORD * w->told;
}

/* Part of the stream, as recorded: what happened in first..last - 1, told `later_by` later. */
struct part {
    cycle_t first, last, later_by;
    int depth;
};

static void replay_part(struct walk *w, const struct part *p);

/* runs and stalls cut to the part */
static bool cut(struct trace_record *r, const struct part *p)
{
    cycle_t end = r->at + r->value;

    if (r->kind != TRACE_RUN && r->kind != TRACE_STALL && r->kind != RECORD_NOTE)
        return r->at >= p->first && (r->at < p->last || (r->kind == TRACE_HALT && p->depth == 0));
    if (r->at < p->first) {
        r->bundle += r->kind == TRACE_RUN ? (uint32_t)(p->first - r->at) : 0;
        r->at = p->first;
    }
    end = end < p->last ? end : p->last;
    r->value = end - r->at;
    return r->value > 0;
}

static void collect(struct items *to, const struct trace_record *r)
{
    MEM_ADD(to->record, to->count, to->capacity) = *r;
}

static void collect_repeat(struct items *to, const struct trace_repeat *r)
{
    to->repeat = mem_grow(to->repeat, &to->repeat_capacity, to->repeat_count + 1,
                          sizeof(*to->repeat));
    to->repeat[to->repeat_count] = *r;
    collect(to, &(struct trace_record){.kind = RECORD_REPEAT,
                                       .value = (int64_t)to->repeat_count++});
}

static void tell(struct walk *w, struct trace_record r, const struct part *p)
{
    if (!cut(&r, p))
        return;
    if (w->collected) {
        collect(w->collected, &r);
        return;
    }
    r.at += p->later_by;
    w->told++;
    w->is_over = !w->how->record(w->how->context, &r, NULL);
}

/* iterations that end before the wanted time may be left out, but for the last ones */
static int64_t first_iteration(const struct walk *w, const struct trace_repeat *r,
                               const struct part *p)
{
    cycle_t before = w->from - BEFORE_CYCLES - (r->at + p->later_by);
    int64_t skipped = before / r->period - 1;

    return w->how->skip && skipped > 0 ? skipped < r->count ? skipped : r->count : 0;
}

static void take_repeat(struct walk *w, const struct trace_repeat *r, const struct part *p);

/* one iteration: from the records of the window where they are at hand, else from the file */
static void replay_window(struct walk *w, const struct items *items, const struct part *p)
{
    if (items->count == 0 || p->depth > DEPTH_MOST) {
        replay_part(w, p);
        return;
    }
    for (size_t i = 0; i < items->count && !w->is_over; i++) {
        const struct trace_record *r = &items->record[i];

        w->is_over = is_in_vain(w);
        if (r->kind == RECORD_REPEAT)
            take_repeat(w, &items->repeat[r->value], p);
        else
            tell(w, *r, p);
    }
}

static void decode_window(struct walk *w, const struct trace_repeat *r, int depth,
                          struct items *to)
{
    struct part window = {.first = r->at - r->period, .last = r->at, .depth = depth};

    w->collected = to;
    replay_part(w, &window);
    w->collected = NULL;
    if (to->count > ITEMS_MOST)
        to->count = 0;
}

static void unroll(struct walk *w, const struct trace_repeat *r, const struct part *p)
{
    cycle_t end = r->at + r->period * r->count;
    int64_t i = first_iteration(w, r, p), told;
    struct items items = {.count = 0};

    if (i > 0)
        w->how->skip(w->how->context, r->at + p->later_by, i * r->period);
    decode_window(w, r, p->depth + 1, &items);
    for (; i < r->count && !w->is_over; i++) {
        cycle_t start = r->at + i * r->period, last = start + r->period;
        struct part window = {.first = r->at - r->period, .last = r->at,
                              .later_by = p->later_by + start - (r->at - r->period),
                              .depth = p->depth + 1};

        if (last <= p->first)
            continue;
        if (start >= p->last || start + p->later_by >= w->end)
            break;
        if (start < p->first)
            window.first += p->first - start;
        if (last > p->last)
            window.last -= last - p->last;
        told = w->told;
        replay_window(w, &items, &window);
        if (w->told == told && start >= p->first && last < (end < p->last ? end : p->last)
            && last + p->later_by > w->from)
            break;                      /* nothing is recorded of the window */
    }
    mem_free(items.record);
    mem_free(items.repeat);
}

static void take_repeat(struct walk *w, const struct trace_repeat *r, const struct part *p)
{
    struct trace_repeat shifted = *r;

    if (r->at + r->period * r->count <= p->first || r->at >= p->last)
        return;
    if (w->collected) {
        collect_repeat(w->collected, r);
    } else if (w->how->keeps_repeats) {
        shifted.at += p->later_by;
        w->told++;
        w->is_over = !w->how->record(w->how->context, NULL, &shifted);
    } else {
        unroll(w, r, p);
    }
}

static void read_state(struct walk *w, struct ntrace_cursor *in, cycle_t at, bool tells)
{
    cycle_t until[MACHINE_UNIT_MAX] = {0};
    unsigned track;

    while ((track = ntrace_get_byte(in)) != NO_TRACK && !in->is_bad) {
        int64_t busy_until =
            ntrace_get_within(in, (int64_t)ntrace_get_varint(in), 0, NTRACE_TIME_MOST);

        if (track < MACHINE_UNIT_MAX)
            until[track] = busy_until;
        in->is_bad |= track >= MACHINE_UNIT_MAX;
    }
    if (tells && w->how->state)
        w->how->state(w->how->context, at, until);
}

/* false: behind the part */
static bool replay_chunk(struct walk *w, struct ntrace_chunk *c, const struct part *p)
{
    struct ntrace_loaded *l = ntrace_use(w->t, c);
    struct ntrace_core_coder coder = {.at = 0};
    struct trace_repeat repeat;
    struct trace_record r;
    struct ntrace_cursor in;
    bool goes_on = true;

    if (!l)
        return true;
    in = (struct ntrace_cursor){.at = l->data, .end = l->data + c->head.bytes};
    read_state(w, &in, c->head.first, p->depth == 0);
    while (goes_on && !w->is_over && ntrace_get_core_record(&in, &coder, &w->limits, &r, &repeat)) {
        if (r.kind == RECORD_REPEAT)
            take_repeat(w, &repeat, p);
        else
            tell(w, r, p);
        w->is_over |= is_in_vain(w);
        goes_on = coder.at < p->last || p->depth == 0;
        goes_on = goes_on && (w->collected || coder.at + p->later_by <= w->end);
        goes_on = goes_on && (!w->collected || w->collected->count <= ITEMS_MOST);
    }
    ntrace_unuse(w->t, l);
    if (in.is_bad)
        ntrace_tell_bad(w->t, c, "its records make no sense");
    return goes_on;
}

static void replay_part(struct walk *w, const struct part *p)
{
    size_t i = ntrace_first_chunk(w->group, p->first);

    if (p->depth > DEPTH_MOST)
        return;
    for (; i < w->group->count && w->group->chunk[i]->head.first < p->last && !w->is_over; i++)
        if (!replay_chunk(w, w->group->chunk[i], p))
            break;
}

void ntrace_replay(struct ntrace *t, int core, cycle_t from, cycle_t end,
                   const struct ntrace_replay *how)
{
    struct part all = {.first = from, .last = end};
    struct walk w = {.t = t, .how = how, .from = from, .end = end, .limits = t->limits,
                     .group = ntrace_group(t, CHUNK_RECORDS, 0, core)};
    size_t first;

    if (!w.group || core < 0 || core >= t->meta.core_count || from >= end)
        return;
    w.limits.bundle_count = t->of_core[core] ? t->of_core[core]->program.bundle_count : 0;
    if (how->from_chunk) {
        first = ntrace_first_chunk(w.group, later(from - BEFORE_CYCLES, 0));
        all.first = first < w.group->count ? w.group->chunk[first]->head.first : from;
    }
    replay_part(&w, &all);
}

/* ---- records as they are ---- */

struct record_walk {
    ntrace_record_fn *fn;
    void *context;
    cycle_t from;
};

static bool tell_record(void *context, const struct trace_record *r,
                        const struct trace_repeat *repeat)
{
    struct record_walk *w = context;

    if (r && r->kind >= TRACE_KIND_COUNT)
        return true;
    return w->fn(w->context, r, repeat);
}

void ntrace_walk_records(struct ntrace *t, int core, cycle_t from, cycle_t end,
                         ntrace_record_fn *fn, void *context)
{
    struct record_walk w = {.fn = fn, .context = context};

    ntrace_replay(t, core, from, end, &(struct ntrace_replay){.context = &w, .record = tell_record,
                                                              .keeps_repeats = true});
}

/* ---- expanded to units ---- */

struct core_walk {
    struct trace_expander expander;
    ntrace_event_fn *fn;
    void *context;
    cycle_t from, end;
    bool is_over;
};

static void tell_event(void *context, const struct trace_event *e)
{
    struct core_walk *w = context;
    bool is_in = e->start < w->end && (e->end > w->from || (e->end == e->start
                                                             && e->start >= w->from));

    if (!w->is_over && is_in)
        w->is_over = !w->fn(w->context, e);
}

static void take_state(void *context, cycle_t at, const cycle_t until[MACHINE_UNIT_MAX])
{
    struct core_walk *w = context;

    (void)at;
    memcpy(w->expander.busy_until, until, sizeof(w->expander.busy_until));
}

static void skip(void *context, cycle_t at, cycle_t by)
{
    struct core_walk *w = context;

    for (int i = 0; i < MACHINE_UNIT_MAX; i++)
        if (w->expander.busy_until[i] > at)
            w->expander.busy_until[i] += by;
}

static bool expand_record(void *context, const struct trace_record *r,
                          const struct trace_repeat *repeat)
{
    struct core_walk *w = context;

    (void)repeat;
    if (r->at >= w->end && r->kind != TRACE_MARK)
        return false;
    if (r->kind < TRACE_KIND_COUNT && (w->expander.program || r->kind == TRACE_STALL))
        trace_expand(&w->expander, r, 1);
    return !w->is_over;
}

void ntrace_walk_core(struct ntrace *t, int core, cycle_t from, cycle_t end, bool wants_bundles,
                      bool wants_ops, ntrace_event_fn *fn, void *context)
{
    struct core_walk w = {.fn = fn, .context = context, .from = from, .end = end};

    w.expander = (struct trace_expander){
        .program = ntrace_program(t, core), .op = ntrace_op_table(t, core),
        .wants_bundles = wants_bundles, .wants_ops = wants_ops, .event = tell_event,
        .context = &w};
    ntrace_replay(t, core, from, end, &(struct ntrace_replay){.context = &w, .state = take_state,
                                                              .record = expand_record, .skip = skip,
                                                              .from_chunk = true});
}

/* ---- source operations ---- */

struct op_walk {
    const struct isa_program *program;
    const uint32_t *note_end;
    ntrace_op_fn *fn;
    void *context;
    cycle_t start, end;
    uint32_t note;
    bool is_over;
};

static bool end_interval(struct op_walk *w)
{
    if (!w->is_over && w->end > w->start)
        w->is_over = !w->fn(w->context, w->start, w->end, w->note);
    w->start = w->end;
    return !w->is_over;
}

static bool add_interval(struct op_walk *w, cycle_t at, int64_t count, uint32_t bundle)
{
    uint32_t note = w->program->bundle[bundle].note;

    if (at != w->end || note != w->note) {
        if (!end_interval(w))
            return false;
        w->start = at;
        w->note = note;
    }
    w->end = at + count;
    return true;
}

static bool note_record(void *context, const struct trace_record *r,
                        const struct trace_repeat *repeat)
{
    struct op_walk *w = context;
    uint32_t bundle = r->bundle, end = bundle + (uint32_t)r->value, next;

    (void)repeat;
    if (r->kind == TRACE_STALL || r->kind == RECORD_NOTE)
        return add_interval(w, r->at, r->value, bundle);
    if (r->kind != TRACE_RUN)
        return true;
    for (; bundle < end; bundle = next) {
        next = w->note_end[bundle] < end ? w->note_end[bundle] : end;
        if (!add_interval(w, r->at + (bundle - r->bundle), next - bundle, bundle))
            return false;
    }
    return true;
}

void ntrace_walk_ops(struct ntrace *t, int core, cycle_t from, cycle_t end, ntrace_op_fn *fn,
                     void *context)
{
    struct op_walk w = {.program = ntrace_program(t, core), .fn = fn, .context = context};

    if (!w.program)
        return;
    w.note_end = t->of_core[core]->tally.note_end;
    ntrace_replay(t, core, from, end,
                  &(struct ntrace_replay){.context = &w, .record = note_record});
    end_interval(&w);
}
