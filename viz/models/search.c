/*
 * Matches a regular expression against each bundle once, then finds the next or last time that a
 * match ran.
 */
#include "viz/models/search.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "isa/disasm.h"

struct search {
    struct ntrace *run;
    int core;
    const struct isa_program *program;
    regex_t regex;
    bool *is_match;                     /* by bundle */
    uint32_t *match_before;             /* how many of the bundles before it match */
    uint32_t bundle_count, count;
};

/* what of a bundle matches, into text; false: nothing */
static bool match_bundle(const struct search *s, uint32_t bundle, char *text, size_t bytes)
{
    const struct isa_program *p = s->program;
    const struct isa_bundle *b = &p->bundle[bundle];

    snprintf(text, bytes, "%s", b->note && b->note <= p->note_count ? p->note[b->note - 1] : "");
    if (*text && regexec(&s->regex, text, 0, NULL, 0) == 0)
        return true;
    for (uint32_t i = 0; i < b->op_count; i++) {
        isa_print_op(p, &p->op[b->first_op + i], text, bytes);
        if (regexec(&s->regex, text, 0, NULL, 0) == 0)
            return true;
    }
    snprintf(text, bytes, "line %u", b->line);
    return b->line && regexec(&s->regex, text, 0, NULL, 0) == 0;
}

struct search *search_create(struct ntrace *run, int core, const char *pattern, struct err *e)
{
    struct search *s = mem_alloc(sizeof(*s));
    int status = regcomp(&s->regex, pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB);
    char text[256];

    if (status) {
        regerror(status, &s->regex, text, sizeof(text));
        err_set(e, "\"%s\" is no regular expression: %s", pattern, text);
        mem_free(s);
        return NULL;
    }
    s->run = run;
    s->core = core;
    s->program = ntrace_program(run, core);
    s->bundle_count = s->program ? s->program->bundle_count : 0;
    s->is_match = mem_alloc(s->bundle_count + 1);
    s->match_before = mem_alloc(sizeof(*s->match_before) * (s->bundle_count + 1));
    for (uint32_t i = 0; i < s->bundle_count; i++) {
        s->match_before[i] = s->count;
        s->is_match[i] = match_bundle(s, i, text, sizeof(text));
        s->count += s->is_match[i];
    }
    s->match_before[s->bundle_count] = s->count;
    return s;
}

void search_destroy(struct search *s)
{
    if (!s)
        return;
    regfree(&s->regex);
    mem_free(s->is_match);
    mem_free(s->match_before);
    mem_free(s);
}

uint32_t search_bundle_count(const struct search *s)
{
    return s->count;
}

bool search_has(const struct search *s, uint32_t bundle)
{
    return bundle < s->bundle_count && s->is_match[bundle];
}

struct walk {
    const struct search *s;
    cycle_t after, before;              /* hits begin in after + 1 .. before - 1 */
    bool wants_last;
    bool is_in, has_hit;                /* is_in: the bundle before matches, too */
    cycle_t hit_at;
    uint32_t hit_bundle;
    struct { cycle_t at, period; int64_t count; } repeat;       /* met on the way */
};

/* a hit begins; false: it is the one looked for */
static bool take(struct walk *w, cycle_t at, uint32_t bundle)
{
    if (at <= w->after || at >= w->before)
        return true;
    w->has_hit = true;
    w->hit_at = at;
    w->hit_bundle = bundle;
    return w->wants_last;
}

static bool look_at_run(struct walk *w, const struct trace_record *r)
{
    const struct search *s = w->s;
    uint32_t end = r->bundle + (uint32_t)r->value;

    if (end > s->bundle_count || r->bundle >= end)
        return true;
    if (s->match_before[end] == s->match_before[r->bundle]) {
        w->is_in = false;
        return true;
    }
    for (uint32_t i = r->bundle; i < end; i++) {
        if (s->is_match[i] && !w->is_in && !take(w, r->at + (i - r->bundle), i))
            return false;
        w->is_in = s->is_match[i];
    }
    return true;
}

static bool look(void *context, const struct trace_record *r, const struct trace_repeat *repeat)
{
    struct walk *w = context;

    if (repeat) {                       /* what it repeats is looked for afterwards */
        if (w->has_hit && !w->wants_last)
            return false;
        w->repeat.at = repeat->at;
        w->repeat.period = repeat->period;
        w->repeat.count = repeat->count;
        w->is_in = false;
        return w->wants_last;
    }
    return r->kind != TRACE_RUN || look_at_run(w, r);
}

/* of the window that a repeat repeats: the hit whose next copy after `after` comes first */
struct copies {
    struct walk walk;
    cycle_t after, period, at;          /* at: of the copy found */
    int64_t count;
    uint32_t bundle;
    bool has_copy;
};

static void take_copy(struct copies *c, cycle_t hit_at, uint32_t bundle)
{
    int64_t copy = c->after < hit_at ? 1 : (c->after - hit_at) / c->period + 1;
    cycle_t at = hit_at + (copy < 1 ? 1 : copy) * c->period;

    if (copy > c->count || (c->has_copy && c->at <= at))
        return;
    c->has_copy = true;
    c->at = at;
    c->bundle = bundle;
}

static bool look_in_window(void *context, const struct trace_record *r,
                           const struct trace_repeat *repeat)
{
    struct copies *c = context;
    const struct search *s = c->walk.s;

    if (repeat || r->kind != TRACE_RUN || r->bundle + (uint64_t)r->value > s->bundle_count)
        return true;
    for (uint32_t i = r->bundle; i < r->bundle + (uint32_t)r->value; i++) {
        if (s->is_match[i] && !c->walk.is_in && c->walk.wants_last)
            take_copy(c, r->at + (i - r->bundle), i);
        c->walk.is_in = s->is_match[i];
    }
    return true;
}

static bool hit_in_repeat(const struct search *s, cycle_t at, cycle_t period, int64_t count,
                          cycle_t after, struct walk *out)
{
    struct copies c = {.walk = {.s = s}, .after = after, .period = period, .count = count};

    for (int pass = 0; pass < 2; pass++) {  /* the window follows itself: how it ends, then hits */
        c.walk.wants_last = pass;
        ntrace_walk_records(s->run, s->core, at - period, at, look_in_window, &c);
    }
    out->hit_at = c.at;
    out->hit_bundle = c.bundle;
    return c.has_copy;
}

static void describe(const struct search *s, cycle_t at, uint32_t bundle, struct search_hit *hit)
{
    hit->at = at;
    hit->bundle = bundle;
    hit->end = at + 1;
    while (bundle + 1 < s->bundle_count && s->is_match[bundle + 1]
           && s->program->bundle[bundle + 1].note == s->program->bundle[bundle].note) {
        bundle++;
        hit->end++;
    }
    match_bundle(s, hit->bundle, hit->text, sizeof(hit->text));
}

bool search_next(struct search *s, cycle_t after, struct search_hit *hit)
{
    cycle_t all = ntrace_info(s->run)->cycles, from = after < 0 ? 0 : after;

    while (s->count && from < all) {
        struct walk w = {.s = s, .after = after, .before = all}, inside;

        ntrace_walk_records(s->run, s->core, from, all, look, &w);
        if (!w.has_hit && w.repeat.count) {
            if (hit_in_repeat(s, w.repeat.at, w.repeat.period, w.repeat.count, after, &inside)) {
                describe(s, inside.hit_at, inside.hit_bundle, hit);
                return true;
            }
            from = w.repeat.at + w.repeat.period * w.repeat.count;
            after = from - 1 > after ? from - 1 : after;
            continue;
        }
        if (w.has_hit)
            describe(s, w.hit_at, w.hit_bundle, hit);
        return w.has_hit;
    }
    return false;
}

bool search_last(struct search *s, cycle_t before, struct search_hit *hit)
{
    cycle_t window = 4096, from, end = before;

    for (; s->count && end > 0; window *= 4) {
        struct search_hit h;
        cycle_t at;
        bool found = false;

        from = end > window ? end - window : 0;
        for (at = from - 1; search_next(s, at, &h) && h.at < before; at = h.at) {
            *hit = h;
            found = true;
        }
        if (found)
            return true;
        end = from;
    }
    return false;
}

struct stall_walk {
    cycle_t after, before, least;
    uint32_t hidden;
    bool wants_last, has_hit;
    struct trace_record hit;
};

static bool look_for_stall(void *context, const struct trace_record *r,
                           const struct trace_repeat *repeat)
{
    struct stall_walk *w = context;

    if (repeat || r->kind != TRACE_STALL || r->value < w->least || (w->hidden >> r->reason & 1)
        || r->at <= w->after || r->at >= w->before)
        return true;
    w->has_hit = true;
    w->hit = *r;
    return w->wants_last;
}

bool search_next_stall(struct ntrace *t, int core, cycle_t after, cycle_t least, uint32_t hidden,
                       struct trace_record *hit)
{
    cycle_t all = ntrace_info(t)->cycles;
    struct stall_walk w = {.after = after, .before = all, .least = least, .hidden = hidden};

    ntrace_walk_records(t, core, after < 0 ? 0 : after, all, look_for_stall, &w);
    *hit = w.hit;
    return w.has_hit;
}

bool search_last_stall(struct ntrace *t, int core, cycle_t before, cycle_t least, uint32_t hidden,
                       struct trace_record *hit)
{
    cycle_t window = 4096, end = before;

    for (; end > 0; window *= 4) {
        cycle_t from = end > window ? end - window : 0;
        struct stall_walk w = {.after = -1, .before = before, .least = least, .hidden = hidden,
                               .wants_last = true};

        ntrace_walk_records(t, core, from, end, look_for_stall, &w);
        if (w.has_hit) {
            *hit = w.hit;
            return true;
        }
        end = from;
    }
    return false;
}
