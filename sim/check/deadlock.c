/* Explains a deadlock: which cores wait for what, who could end it, and why nobody does. */
#include "sim/check/deadlock.h"

#include "sim/machine/machine_impl.h"
#include "sim/check/raisers.h"

#include <string.h>

#define CORES_TOLD 16
#define HELPERS_TOLD 4

static bool waits_for_queue(const struct core *c)
{
    return isa_info((enum isa_opcode)c->wait_code)->unit == UNIT_DMA;
}

/* "vwait.ge waits for flag 3 >= 4, which is 0" */
static int print_wait(const struct core *c, char *buf, size_t buf_bytes)
{
    static const char *const sign[OP_COUNT] = {
        [OP_VWAIT_EQ] = "==", [OP_VWAIT_NE] = "!=", [OP_VWAIT_GE] = ">=", [OP_VWAIT_GT] = ">",
        [OP_VWAIT_LT] = "<", [OP_VWAIT_LE] = "<=", [OP_VWAIT_DONE] = ">=",
        [OP_VWAIT_NOTDONE] = "<", [OP_DMA_DONE] = ">="};
    enum isa_opcode code = (enum isa_opcode)c->wait_code;

    if (waits_for_queue(c))
        return snprintf(buf, buf_bytes, "%s waits for its dma queue: %d slots, of %lld",
                        isa_info(code)->mnemonic, (int)c->wait_value,
                        (long long)c->chip->dma_queue_depth);
    return snprintf(buf, buf_bytes, "%s waits for flag %d %s %d, which is %d",
                    isa_info(code)->mnemonic, (int)c->wait_flag, sign[code],
                    (int)c->wait_value, (int)c->flag[c->wait_flag]);
}

/* ---- the message ---- */

/* every blocked core as far as the message has room, then how many more */
static void set_message(struct machine *m, int blocked)
{
    struct fault *f = &m->fault;
    size_t used, room = sizeof(f->msg) - 24;
    char text[200];
    int length, told = 0;

    used = (size_t)snprintf(f->msg, sizeof(f->msg), "deadlock: ");
    for (int i = 0; i < m->core_count; i++) {
        const struct core *c = &m->core[i];

        if (c->state != CORE_BLOCKED)
            continue;
        length = core_print_place(c, c->pending.at, text, sizeof(text));
        length += print_wait(c, text + length, sizeof(text) - (size_t)length);
        if (used + (size_t)length + 2 > room)
            break;
        used += (size_t)snprintf(f->msg + used, sizeof(f->msg) - used, "%s%s",
                                 told > 0 ? "; " : "", text);
        told++;
    }
    if (told < blocked)
        snprintf(f->msg + used, sizeof(f->msg) - used, "; and %d more", blocked - told);
}

bool deadlock_find(struct machine *m)
{
    const struct core *first = NULL;
    int blocked = 0;

    for (int i = 0; i < m->core_count; i++)
        if (m->core[i].state == CORE_BLOCKED) {
            first = first ? first : &m->core[i];
            blocked++;
        }
    if (!first)
        return false;
    m->fault = (struct fault){.kind = FAULT_DEADLOCK, .core = first->number,
                              .cycle = first->pending.at, .bundle = first->pc,
                              .line = first->program->source->bundle[first->pc].line};
    set_message(m, blocked);
    return true;
}

/* ---- the graph ---- */

/* Cores with one program at one bundle have one list of what they may still do. */
struct place {
    const struct decoded_program *program;
    uint32_t from, branch_target;
    struct raisers raisers;
};

struct graph {
    const struct machine *m;
    struct place *place;
    size_t place_count, place_capacity;
    int *place_of;                      /* by core; -1: it has no program */
};

/* of a core that has halted, its whole program: what it could have done */
static int find_place(struct graph *g, const struct core *c)
{
    struct place new = {.program = c->program};

    if (!c->program)
        return -1;
    if (c->state == CORE_BLOCKED) {
        new.from = c->pc;
        new.branch_target = c->branch_in > 0 ? c->branch_target : 0;
    }
    for (size_t i = 0; i < g->place_count; i++)
        if (g->place[i].program == new.program && g->place[i].from == new.from
            && g->place[i].branch_target == new.branch_target)
            return (int)i;
    new.raisers = raisers_from(c, new.from);
    g->place = mem_grow(g->place, &g->place_capacity, g->place_count + 1, sizeof(*g->place));
    g->place[g->place_count] = new;
    return (int)g->place_count++;
}

static void graph_init(struct graph *g, const struct machine *m)
{
    *g = (struct graph){.m = m};
    g->place_of = mem_alloc((size_t)m->core_count * sizeof(*g->place_of));
    for (int i = 0; i < m->core_count; i++)
        g->place_of[i] = find_place(g, &m->core[i]);
}

static void graph_fini(struct graph *g)
{
    for (size_t i = 0; i < g->place_count; i++)
        mem_free(g->place[i].raisers.item);
    mem_free(g->place);
    mem_free(g->place_of);
}

/* the operation of core `helper` that helps `waiting` most surely, the first of several */
static const struct raiser *best_raiser(const struct graph *g, const struct core *waiting,
                                        const struct core *helper, enum raiser_likelihood *how)
{
    const struct raiser *best = NULL;
    int place = g->place_of[helper->number];

    *how = RAISE_NEVER;
    if (place < 0 || waits_for_queue(waiting))
        return NULL;
    for (size_t i = 0; i < g->place[place].raisers.count && *how < RAISE_SURELY; i++) {
        const struct raiser *r = &g->place[place].raisers.item[i];
        enum raiser_likelihood likelihood = raiser_helps(helper, r, waiting);

        if (likelihood > *how) {
            *how = likelihood;
            best = r;
        }
    }
    return best;
}

/* the surest way that any core, or any that is not halted, could help */
static enum raiser_likelihood best_of_all(const struct graph *g, const struct core *waiting,
                                          bool is_blocked_only)
{
    enum raiser_likelihood best = RAISE_NEVER, how;

    for (int i = 0; i < g->m->core_count && best < RAISE_SURELY; i++) {
        if (is_blocked_only && g->m->core[i].state != CORE_BLOCKED)
            continue;
        best_raiser(g, waiting, &g->m->core[i], &how);
        best = how > best ? how : best;
    }
    return best;
}

/* "line 9", or "bundle 3" where the program knows no lines */
static void print_line(const struct core *c, uint32_t bundle, FILE *to)
{
    uint32_t line = c->program->source->bundle[bundle].line;

    fprintf(to, line ? "line %u" : "bundle %u", (unsigned)(line ? line : bundle));
}

static void print_helper(const struct core *waiting, const struct core *helper,
                         const struct raiser *r, enum raiser_likelihood how, FILE *to)
{
    const char *verb = how == RAISE_SURELY ? "changes" : "may change";
    char name[ISA_NAME_MAX];

    isa_print_op_mnemonic(&helper->program->source->op[r->op], name, sizeof(name));
    fprintf(to, "    core %d %s it with %s (", helper->number, verb, name);
    print_line(helper, r->bundle, to);
    if (helper->state == CORE_BLOCKED)
        fprintf(to, helper == waiting ? "), behind this wait\n" : "), but waits itself\n");
    else
        fprintf(to, "), issued %llux, but has halted\n",
                (unsigned long long)helper->bundle_count[r->bundle]);
}

static void print_helpers(const struct graph *g, const struct core *waiting, FILE *to)
{
    enum raiser_likelihood wanted = best_of_all(g, waiting, false), how;
    int told = 0, more = 0;

    if (waits_for_queue(waiting)) {
        fprintf(to, "    no copy is under way that could make room\n");
        return;
    }
    for (int i = 0; i < g->m->core_count && wanted > RAISE_NEVER; i++) {
        const struct core *helper = &g->m->core[i];
        const struct raiser *r = best_raiser(g, waiting, helper, &how);

        if (how != wanted)
            continue;
        if (told++ < HELPERS_TOLD)
            print_helper(waiting, helper, r, how, to);
        else
            more++;
    }
    if (told == 0)
        fprintf(to, "    no copy is under way and no program changes it\n");
    if (more > 0)
        fprintf(to, "    and %d more cores\n", more);
}

/* ---- a cycle ---- */

struct walk {
    int *path;                          /* cores that wait for each other, one after the other */
    int *next;                          /* by core: which helper to look at next */
    int depth;
    bool *is_on_path, *is_done;
};

static bool waits_for_core(const struct graph *g, const struct core *waiting, int helper,
                           enum raiser_likelihood wanted)
{
    enum raiser_likelihood how;

    if (g->m->core[helper].state != CORE_BLOCKED)
        return false;
    best_raiser(g, waiting, &g->m->core[helper], &how);
    return how > RAISE_NEVER && how >= wanted;
}

/* from the end of the path on, depth first; the first core of a cycle, or -1 */
static int walk_on(const struct graph *g, struct walk *w)
{
    while (w->depth > 0) {
        int at = w->path[w->depth - 1];
        const struct core *c = &g->m->core[at];
        enum raiser_likelihood wanted = best_of_all(g, c, true);
        int *next = &w->next[at];

        while (*next < g->m->core_count
               && (w->is_done[*next] || !waits_for_core(g, c, *next, wanted)))
            (*next)++;
        if (*next == g->m->core_count) {
            w->is_done[at] = true;
            w->is_on_path[at] = false;
            w->depth--;
        } else if (w->is_on_path[*next]) {
            return *next;
        } else {
            w->is_on_path[*next] = true;
            w->path[w->depth++] = *next;
        }
    }
    return -1;
}

static void print_path(const struct walk *w, int first, FILE *to)
{
    int i = 0, told = 0, end = w->depth;

    while (w->path[i] != first)
        i++;
    fprintf(to, "  a cycle: core %d", first);
    for (i++; i < end && told < CORES_TOLD; i++, told++)
        fprintf(to, " waits for core %d", w->path[i]);
    if (i < end)
        fprintf(to, " waits for %d more, the last of which", end - i);
    fprintf(to, " waits for core %d\n", first);
}

static void print_cycle(const struct graph *g, FILE *to)
{
    size_t count = (size_t)g->m->core_count;
    struct walk w = {mem_alloc(count * sizeof(int)), mem_alloc(count * sizeof(int)), 0,
                     mem_alloc(count), mem_alloc(count)};
    int first = -1;

    for (int i = 0; i < g->m->core_count && first < 0; i++) {
        if (g->m->core[i].state != CORE_BLOCKED || w.is_done[i])
            continue;
        w.path[w.depth++] = i;
        w.is_on_path[i] = true;
        first = walk_on(g, &w);
    }
    if (first >= 0)
        print_path(&w, first, to);
    mem_free(w.path);
    mem_free(w.next);
    mem_free(w.is_on_path);
    mem_free(w.is_done);
}

void machine_print_deadlock(const struct machine *m, FILE *to)
{
    struct graph g;
    char text[200];
    int told = 0, more = 0;

    if (m->fault.kind != FAULT_DEADLOCK)
        return;
    graph_init(&g, m);
    for (int i = 0; i < m->core_count; i++) {
        const struct core *c = &m->core[i];

        if (c->state != CORE_BLOCKED)
            continue;
        if (told++ >= CORES_TOLD) {
            more++;
            continue;
        }
        core_print_place(c, c->pending.at, text, sizeof(text));
        fprintf(to, "  %s", text);
        print_wait(c, text, sizeof(text));
        fprintf(to, "%s\n", text);
        print_helpers(&g, c, to);
    }
    if (more > 0)
        fprintf(to, "  and %d more cores wait\n", more);
    print_cycle(&g, to);
    graph_fini(&g);
}
