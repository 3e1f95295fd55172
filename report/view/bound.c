/* Computes the use of each resource, and calls the highest the bound of a step. */
#include "report/view/bound.h"

#include <stdio.h>
#include <string.h>

static const struct resource {
    const char *name;
    const char *unit, *suffix;          /* "mxu", ".push": units mxu0.push, mxu1.push…; or NULL */
    bool by_slots;                      /* operations per slot and cycle, else busy cycles */
    const char *measure;                /* what the share is a share of */
} resources[BOUND_RESOURCE_COUNT] = {
    [BOUND_MXU]   = {"MXU", "mxu", "", false, "the matrix units are busy"},
    [BOUND_PUSH]  = {"MXU push", "mxu", ".push", false, "the ports that load weights are busy"},
    [BOUND_VALU]  = {"VALU", "valu", "", true, "the vector ALU slots are filled"},
    [BOUND_EUP]   = {"EUP", "eup", "", false, "the transcendental unit is busy"},
    [BOUND_XLU]   = {"XLU", "xlu", "", false, "the cross-lane units are busy"},
    [BOUND_LOAD]  = {"load", "load", "", true, "the vector load slots are filled"},
    [BOUND_STORE] = {"store", "store", "", true, "the vector store slots are filled"},
    [BOUND_HBM]   = {"HBM", NULL, NULL, false, "the memory's data buses are busy"},
    [BOUND_ICI]   = {"ICI", NULL, NULL, false, "the busiest link between chips is busy"},
};

const char *bound_name(enum bound_resource r)
{
    return r == BOUND_LATENCY ? "latency" : resources[r].name;
}

static bool is_of(const char *unit, const struct resource *r)
{
    size_t length = strlen(r->unit);

    if (strncmp(unit, r->unit, length) != 0)
        return false;
    unit += length;
    return strcmp(unit + strspn(unit, "0123456789"), r->suffix) == 0;
}

/* each of them fills a slot of the vector ALU too */
static double eup_ops(const struct core_counters *c)
{
    double count = 0.0;

    for (int code = 0; code < OP_COUNT; code++)
        if (isa_info((enum isa_opcode)code)->slot == SLOT_EUP)
            count += (double)c->op_count[code];
    return count;
}

/* of all units of the kind together: two matrix units of which one works are half used */
static double core_use(const struct core_counters *c, const struct resource *r)
{
    double used = r == &resources[BOUND_VALU] ? eup_ops(c) : 0.0, room = 0.0;

    for (int i = 0; i < c->unit_count; i++) {
        const struct unit_counters *u = &c->unit[i];

        if (!is_of(u->name, r))
            continue;
        used += r->by_slots ? (double)u->op_count : (double)u->busy_cycles;
        room += r->by_slots ? (double)u->slot_cycles : (double)c->cycles;
    }
    return room > 0.0 ? used / room : 0.0;
}

static double use_of(const struct report_view *v, enum bound_resource r)
{
    double most = 0.0;
    int count = r == BOUND_HBM ? v->chip_count : r == BOUND_ICI ? v->link_count : v->core_count;

    for (int i = 0; i < count; i++) {
        double use = r == BOUND_HBM ? view_hbm_use(v, i)
                   : r == BOUND_ICI ? view_link_use(v, i)
                                    : core_use(v->core[i], &resources[r]);

        if (use > most)
            most = use;
    }
    return most;
}

static enum stall_reason worst_stall(const struct report_view *v)
{
    enum stall_reason worst = (enum stall_reason)0;

    for (int r = 1; r < STALL_COUNT; r++)
        if (view_stall_cycles(v, (enum stall_reason)r) > view_stall_cycles(v, worst))
            worst = (enum stall_reason)r;
    return worst;
}

static enum bound_resource second_highest(const struct bound *b)
{
    enum bound_resource second = b->highest == BOUND_MXU ? BOUND_VALU : BOUND_MXU;

    for (int r = 0; r < BOUND_RESOURCE_COUNT; r++)
        if ((enum bound_resource)r != b->highest && b->use[r] > b->use[second])
            second = (enum bound_resource)r;
    return second;
}

static void explain(const struct report_view *v, struct bound *b)
{
    double all = (double)v->cycles * (double)v->active_count, stalls = 0.0;
    enum stall_reason worst = worst_stall(v);
    enum bound_resource second = second_highest(b);

    for (int r = 0; r < STALL_COUNT; r++)
        stalls += (double)view_stall_cycles(v, (enum stall_reason)r);
    if (b->by == BOUND_LATENCY)
        snprintf(b->sentence, sizeof(b->sentence),
                 "no resource is used more than %.1f %% of the time (%s), while cores wait %.1f %% "
                 "of their cycles, most for %s (%.1f %%)",
                 100.0 * b->use[b->highest], bound_name(b->highest), view_percent(stalls, all),
                 stall_name(worst), view_percent((double)view_stall_cycles(v, worst), all));
    else
        snprintf(b->sentence, sizeof(b->sentence),
                 "%s %.1f %% of the time, more than any other resource (next: %s, %.1f %%); cores "
                 "wait %.1f %% of their cycles",
                 resources[b->by].measure, 100.0 * b->use[b->by], bound_name(second),
                 100.0 * b->use[second], view_percent(stalls, all));
}

void bound_find(const struct report_view *v, struct bound *b)
{
    memset(b, 0, sizeof(*b));
    for (int r = 0; r < BOUND_RESOURCE_COUNT; r++) {
        b->use[r] = use_of(v, (enum bound_resource)r);
        if (b->use[r] > b->use[b->highest])
            b->highest = (enum bound_resource)r;
    }
    b->by = b->use[b->highest] < BOUND_LATENCY_BELOW ? BOUND_LATENCY : b->highest;
    explain(v, b);
}
