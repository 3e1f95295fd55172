#include "viz/model_code.h"

#include "isa/disasm.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

#define PIECE_CYCLES 65536              /* counted between two looks at the budget */
#define TEXT_MAX 4096

/* ---- counts ---- */

void code_counts_init(struct code_counts *c, uint32_t bundle_count)
{
    memset(c, 0, sizeof(*c));
    c->bundle_count = bundle_count;
    c->issued = mem_alloc((bundle_count + 1u) * sizeof(*c->issued));
    c->waited = mem_alloc((bundle_count + 1u) * sizeof(*c->waited));
}

void code_counts_fini(struct code_counts *c)
{
    mem_free(c->issued);
    mem_free(c->waited);
    memset(c, 0, sizeof(*c));
}

void code_counts_restart(struct code_counts *c, cycle_t from, cycle_t end)
{
    memset(c->issued, 0, c->bundle_count * sizeof(*c->issued));
    memset(c->waited, 0, c->bundle_count * sizeof(*c->waited));
    c->from = c->done = from;
    c->end = end;
    c->issue_cycles = c->wait_cycles = c->most_cycles = 0;
    c->reasons = 0;
}

/* A stretch that is counted `times` times. */
struct counting {
    struct code_counts *counts;
    struct strace *run;
    int core;
    cycle_t from, end;
    int64_t times, records;
};

static void count_stretch(struct counting *x);

static void count_run(struct counting *x, const struct trace_record *r, cycle_t from, cycle_t end)
{
    struct code_counts *c = x->counts;
    cycle_t at;

    for (at = from; at < end; at++) {
        uint64_t bundle = r->bundle + (uint64_t)(at - r->at);

        if (bundle < c->bundle_count)
            c->issued[bundle] += x->times;
    }
    c->issue_cycles += x->times * (end - from);
    x->records += end - from;
}

static void count_stall(struct counting *x, const struct trace_record *r, cycle_t from,
                        cycle_t end)
{
    struct code_counts *c = x->counts;

    if (r->reason >= STALL_COUNT)
        return;
    if (r->bundle < c->bundle_count)
        c->waited[r->bundle][r->reason] += x->times * (end - from);
    c->wait_cycles += x->times * (end - from);
    c->reasons |= 1u << r->reason;
}

/* the part of the repeat that lies in the stretch: whole periods, and pieces at both ends */
static void count_repeat(const struct counting *x, const struct trace_repeat *r)
{
    const cycle_t from = later(x->from, r->at) - r->at, last = r->at + r->period * r->count;
    const cycle_t end = (x->end < last ? x->end : last) - r->at, window = r->at - r->period;
    const cycle_t first_whole = round_up(from, r->period), end_whole = end / r->period * r->period;
    struct counting part = *x;          /* a repeat has at least a cycle */

    if (end <= from)
        return;
    if (first_whole > end_whole) {      /* within one period */
        part.from = window + from % r->period;
        part.end = part.from + (end - from);
        count_stretch(&part);
        return;
    }
    if (first_whole > from) {
        part.from = window + from % r->period;
        part.end = r->at;
        count_stretch(&part);
    }
    if (end > end_whole) {
        part.from = window;
        part.end = window + end % r->period;
        count_stretch(&part);
    }
    part.from = window;
    part.end = r->at;
    part.times = x->times * ((end_whole - first_whole) / r->period);
    if (part.times > 0)
        count_stretch(&part);
}

static bool count_record(void *context, const struct trace_record *r,
                         const struct trace_repeat *repeat)
{
    struct counting *x = context;
    cycle_t from, end;

    x->records++;
    if (repeat) {
        count_repeat(x, repeat);
        return true;
    }
    from = later(x->from, r->at);
    end = r->at + r->value < x->end ? r->at + r->value : x->end;
    if (end <= from)
        return true;
    if (r->kind == TRACE_RUN)
        count_run(x, r, from, end);
    else if (r->kind == TRACE_STALL)
        count_stall(x, r, from, end);
    return true;
}

static void count_stretch(struct counting *x)
{
    strace_walk_records(x->run, x->core, x->from, x->end, count_record, x);
}

cycle_t code_waited(const struct code_counts *c, uint32_t bundle)
{
    cycle_t sum = 0;
    int i;

    for (i = 0; i < STALL_COUNT; i++)
        sum += c->waited[bundle][i];
    return sum;
}

static void find_most(struct code_counts *c)
{
    uint32_t i;

    for (i = 0; i < c->bundle_count; i++)
        c->most_cycles = later(c->most_cycles, code_cycles(c, i));
}

bool code_counts_advance(struct code_counts *c, struct strace *run, int core, int64_t budget)
{
    struct counting x = {.counts = c, .run = run, .core = core, .times = 1};

    if (c->done >= c->end)
        return true;
    while (c->done < c->end && x.records < budget) {
        x.from = c->done;
        x.end = c->end - c->done > PIECE_CYCLES ? c->done + PIECE_CYCLES : c->end;
        count_stretch(&x);
        c->done = x.end;
    }
    find_most(c);
    return c->done >= c->end;
}

struct looking {
    cycle_t cycle;
    uint32_t bundle;
    bool is_found;
};

static bool look(void *context, const struct trace_event *e)
{
    struct looking *l = context;

    if (e->track == TRACK_IS_STALL || e->track == TRACK_IS_BUNDLE)
        if (e->start <= l->cycle && l->cycle < e->end) {
            l->bundle = e->bundle;
            l->is_found = true;
        }
    return !l->is_found;
}

bool code_bundle_at(struct strace *run, int core, cycle_t cycle, uint32_t *bundle)
{
    struct looking l = {.cycle = cycle};

    strace_walk_core(run, core, cycle, cycle + 1, true, false, look, &l);
    if (l.is_found)
        *bundle = l.bundle;
    return l.is_found;
}

/* ---- lines ---- */

static void add_line(struct code_lines *l, enum code_line_kind kind, uint32_t bundle,
                     uint32_t index)
{
    l->line = mem_grow(l->line, &l->capacity, l->count + 1, sizeof(*l->line));
    l->line[l->count++] = (struct code_line){.kind = kind, .bundle = bundle, .index = index};
}

void code_lines_init(struct code_lines *l, const struct isa_program *p)
{
    uint32_t i, symbol = 0, note = 0;

    memset(l, 0, sizeof(*l));
    l->of_bundle = mem_alloc((p->bundle_count + 1u) * sizeof(*l->of_bundle));
    for (i = 0; i < p->bundle_count; i++) {
        if (p->bundle[i].note != note && p->bundle[i].note > 0 &&
            p->bundle[i].note <= p->note_count)
            add_line(l, CODE_NOTE, i, p->bundle[i].note - 1);
        note = p->bundle[i].note;
        for (; symbol < p->symbol_count && p->symbol[symbol].bundle <= i; symbol++)
            add_line(l, CODE_LABEL, i, symbol);
        l->of_bundle[i] = l->count;
        add_line(l, CODE_BUNDLE, i, 0);
    }
}

void code_lines_fini(struct code_lines *l)
{
    mem_free(l->line);
    mem_free(l->of_bundle);
    memset(l, 0, sizeof(*l));
}

char *code_print_bundle(const struct isa_program *p, uint32_t bundle, char *buf, size_t bytes)
{
    const struct isa_bundle *b = &p->bundle[bundle];
    size_t used = 0;
    uint32_t i;

    buf[0] = '\0';
    for (i = 0; i < b->op_count; i++) {
        char op[512];

        isa_print_op(p, &p->op[b->first_op + i], op, sizeof(op));
        used += (size_t)snprintf(buf + used, bytes - used, "%s%s", i ? " ;; " : "", op);
        if (used >= bytes)
            break;
    }
    return buf;
}

int code_slots(const struct isa_program *p, uint32_t bundle, const struct isa_slots *slots,
               struct code_slot to[SLOT_COUNT])
{
    int ops[SLOT_COUNT], count = 0, i;

    isa_bundle_ops(p, bundle, ops);
    for (i = 0; i < SLOT_COUNT; i++)
        if (slots->count[i] > 0)
            to[count++] = (struct code_slot){.slot = (enum isa_slot)i, .count = slots->count[i],
                                             .taken = ops[i]};
    return count;
}

/* ---- search ---- */

int64_t code_search(const struct isa_program *p, const char *expression, bool *is_hit,
                    struct err *e)
{
    int64_t hits = 0;
    uint32_t i;
    regex_t regex;
    int status = regcomp(&regex, expression, REG_EXTENDED | REG_ICASE | REG_NOSUB);
    char text[TEXT_MAX];

    memset(is_hit, 0, p->bundle_count * sizeof(*is_hit));
    if (status) {
        regerror(status, &regex, text, sizeof(text));
        return err_set(e, "\"%s\" is no regular expression: %.100s", expression, text);
    }
    for (i = 0; i < p->bundle_count; i++) {
        const struct isa_bundle *b = &p->bundle[i];

        code_print_bundle(p, i, text, sizeof(text));
        is_hit[i] = regexec(&regex, text, 0, NULL, 0) == 0;
        if (!is_hit[i] && b->note > 0 && b->note <= p->note_count)
            is_hit[i] = regexec(&regex, p->note[b->note - 1], 0, NULL, 0) == 0;
        hits += is_hit[i];
    }
    regfree(&regex);
    return hits;
}
