/*
 * Counts how often each bundle issued and waited, piece by piece within a budget, and lists the
 * program's lines.
 */
#include "viz/models/model_code.h"

#include "isa/disasm.h"
#include "viz/models/times_walk.h"

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

struct counting {
    struct code_counts *counts;
    int64_t issued;                     /* bundles, one by one */
};

static void count_run(struct counting *x, const struct trace_record *r, int64_t times)
{
    struct code_counts *c = x->counts;

    for (int64_t i = 0; i < r->value; i++)
        if (r->bundle + (uint64_t)i < c->bundle_count)
            c->issued[r->bundle + (uint64_t)i] += times;
    c->issue_cycles += times * r->value;
    x->issued += r->value;
}

static void count_stall(struct counting *x, const struct trace_record *r, int64_t times)
{
    struct code_counts *c = x->counts;

    if (r->reason >= STALL_COUNT)
        return;
    if (r->bundle < c->bundle_count)
        c->waited[r->bundle][r->reason] += times * r->value;
    c->wait_cycles += times * r->value;
    c->reasons |= 1u << r->reason;
}

static void count_record(void *context, const struct trace_record *r, int64_t times)
{
    if (r->kind == TRACE_RUN)
        count_run(context, r, times);
    else if (r->kind == TRACE_STALL)
        count_stall(context, r, times);
}

cycle_t code_waited(const struct code_counts *c, uint32_t bundle)
{
    cycle_t sum = 0;

    for (int i = 0; i < STALL_COUNT; i++)
        sum += c->waited[bundle][i];
    return sum;
}

static void find_most(struct code_counts *c)
{
    for (uint32_t i = 0; i < c->bundle_count; i++)
        c->most_cycles = later(c->most_cycles, code_cycles(c, i));
}

bool code_counts_advance(struct code_counts *c, struct ntrace *run, int core, int64_t budget)
{
    struct counting x = {.counts = c};
    int64_t records = 0;

    if (c->done >= c->end)
        return true;
    while (c->done < c->end && records + x.issued < budget) {
        const cycle_t end = c->end - c->done > PIECE_CYCLES ? c->done + PIECE_CYCLES : c->end;

        records += times_walk(run, core, c->done, end, count_record, &x);
        c->done = end;
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

bool code_bundle_at(struct ntrace *run, int core, cycle_t cycle, uint32_t *bundle)
{
    struct looking l = {.cycle = cycle};

    ntrace_walk_core(run, core, cycle, cycle + 1, true, false, look, &l);
    if (l.is_found)
        *bundle = l.bundle;
    return l.is_found;
}

/* ---- lines ---- */

static void add_line(struct code_lines *l, enum code_line_kind kind, uint32_t bundle,
                     uint32_t index)
{
    MEM_ADD(l->line, l->count, l->capacity) = (struct code_line){
        .kind = kind, .bundle = bundle, .index = index};
}

void code_lines_init(struct code_lines *l, const struct isa_program *p)
{
    uint32_t symbol = 0, note = 0;

    memset(l, 0, sizeof(*l));
    l->of_bundle = mem_alloc((p->bundle_count + 1u) * sizeof(*l->of_bundle));
    for (uint32_t i = 0; i < p->bundle_count; i++) {
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

    buf[0] = '\0';
    for (uint32_t i = 0; i < b->op_count; i++) {
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
    int ops[SLOT_COUNT], count = 0;

    isa_bundle_ops(p, bundle, ops);
    for (int i = 0; i < SLOT_COUNT; i++)
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
    regex_t regex;
    int status = regcomp(&regex, expression, REG_EXTENDED | REG_ICASE | REG_NOSUB);
    char text[TEXT_MAX];

    memset(is_hit, 0, p->bundle_count * sizeof(*is_hit));
    if (status) {
        regerror(status, &regex, text, sizeof(text));
        return err_set(e, "\"%s\" is no regular expression: %.100s", expression, text);
    }
    for (uint32_t i = 0; i < p->bundle_count; i++) {
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
