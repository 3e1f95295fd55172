/*
 * Gathers the counters of a machine after a launch into plain numbers, and computes times and
 * rates from them.
 */
#include "report/view/view.h"

#include "sim/observe/inspect.h"

#include <assert.h>
#include <math.h>

static const enum view_group groups[STALL_COUNT] = {
    [STALL_MXU] = GROUP_MXU,
    [STALL_STAGING] = GROUP_MXU,
    [STALL_RESULT] = GROUP_MXU,
    [STALL_OPERAND] = GROUP_VECTOR,
    [STALL_XLU] = GROUP_VECTOR,
    [STALL_EUP] = GROUP_VECTOR,
    [STALL_BANK] = GROUP_VECTOR,
    [STALL_STORE_LOAD] = GROUP_VECTOR,
    [STALL_HBM] = GROUP_HBM,
    [STALL_DMA_QUEUE] = GROUP_HBM,
    [STALL_ICI] = GROUP_ICI,
    [STALL_CMEM] = GROUP_OTHER,
    [STALL_TRANSFER] = GROUP_OTHER,
    [STALL_DIVIDE] = GROUP_OTHER,
    [STALL_FENCE] = GROUP_OTHER,
    [STALL_SYNC] = GROUP_OTHER,
    [STALL_BRANCH] = GROUP_OTHER,
    [STALL_DELAY] = GROUP_OTHER,
    [STALL_FETCH] = GROUP_OTHER,
};

enum view_group view_stall_group(enum stall_reason r)
{
    assert(r < STALL_COUNT && groups[r] != GROUP_NONE);
    return groups[r];
}

const char *view_group_name(enum view_group g)
{
    static const char *const names[GROUP_COUNT] = {
        [GROUP_NONE] = "none",
        [GROUP_MXU] = "MXU",
        [GROUP_VECTOR] = "vector",
        [GROUP_HBM] = "HBM",
        [GROUP_ICI] = "ICI",
        [GROUP_OTHER] = "other",
    };

    return names[g];
}

static void gather_network(const struct machine *m, struct arena *a, struct report_view *v)
{
    const struct net *net = machine_net(m);

    v->link_count = net ? net_link_count(net) : 0;
    v->link = arena_array(a, (size_t)v->link_count, sizeof(*v->link));
    for (int i = 0; i < v->link_count; i++)
        v->link[i] = net_link(net, i);
}

bool view_is_active(const struct report_view *v, int core)
{
    return v->core[core]->issue_cycles > 0;
}

static void count_active(struct report_view *v)
{
    int cores_per_chip = (v->core_count + v->chip_count - 1) / v->chip_count, last_chip = -1;

    for (int i = 0; i < v->core_count; i++) {
        if (!view_is_active(v, i))
            continue;
        v->active_count++;
        v->active_chip_count += i / cores_per_chip != last_chip;
        last_chip = i / cores_per_chip;
    }
}

static void gather_bundles(const struct machine *m, struct arena *a, struct report_view *v)
{
    const struct isa_program *p = machine_program(m, v->ops_core);
    struct view_bundle *bundle = arena_array(a, p->bundle_count, sizeof(*bundle));
    int64_t *executed = arena_array(a, p->op_count + 1, sizeof(*executed));

    for (uint32_t i = 0; i < p->bundle_count; i++) {
        bundle[i] = (struct view_bundle){machine_bundle_count(m, v->ops_core, i),
                                         machine_bundle_stall(m, v->ops_core, i),
                                         *machine_bundle_copies(m, v->ops_core, i)};
        for (int j = 0; j < p->bundle[i].op_count; j++)
            executed[p->bundle[i].first_op + (uint32_t)j]
                = machine_op_executed(m, v->ops_core, i, j);
    }
    v->ops_program = p;
    v->bundle = bundle;
    v->executed = executed;
}

static void gather_details(const struct machine *m, struct arena *a, struct report_view *v)
{
    v->ops_core = -1;
    for (int i = v->core_count - 1; i >= 0; i--) {
        v->has_copies_left |= machine_copy_count(m, i) > 0;
        v->ops_core = view_is_active(v, i) ? i : v->ops_core;
    }
    for (int i = 0; i < MEMORY_COUNT; i++)
        v->memory_bytes[i] = machine_memory_bytes(m, (enum memory)i);
    if (v->ops_core >= 0)
        gather_bundles(m, a, v);
}

static void gather_energy(const struct machine *m, struct arena *a, struct report_view *v)
{
    struct energy_costs *costs = arena_alloc(a, sizeof(*costs));
    struct energy *energy = arena_alloc(a, sizeof(*energy));

    if (v->mode == MODE_FUNCTIONAL)     /* its memory counts no bytes */
        return;
    energy_costs_of(v->chip, costs);
    *energy = energy_of_launch(costs, m);
    v->energy_costs = costs;
    v->energy = energy;
}

void view_of_step(const struct report_step *s, struct arena *a, struct report_view *v)
{
    const struct machine *m = s->machine;

    *v = (struct report_view){
        .chip = machine_chip(m),
        .slice = machine_slice(m),
        .mode = machine_mode(m),
        .title = s->title,
        .program = s->program,
        .model_flops = s->model_flops,
        .parameter_bytes = s->parameter_bytes, .input_bytes = s->input_bytes,
        .issued_flops = s->issued_flops, .source = s->source, .source_count = s->source_count,
        .layer = s->layer, .layer_count = s->layer_count,
        .buffer = s->buffer, .buffer_count = s->buffer_count,
        .cycles = machine_cycles(m),
        .core_count = machine_core_count(m),
    };
    v->chip_count = v->slice->chip_count;
    v->core = arena_array(a, (size_t)v->core_count, sizeof(*v->core));
    for (int i = 0; i < v->core_count; i++)
        v->core[i] = machine_counters(m, i);
    count_active(v);
    v->hbm = arena_array(a, (size_t)v->chip_count, sizeof(*v->hbm));
    for (int i = 0; i < v->chip_count; i++)
        v->hbm[i] = machine_hbm_stats(m, i);
    gather_network(m, a, v);
    gather_details(m, a, v);
    gather_energy(m, a, v);
}

cycle_t view_stall_cycles(const struct report_view *v, enum stall_reason r)
{
    cycle_t sum = 0;

    for (int i = 0; i < v->core_count; i++)
        sum += v->core[i]->stall_cycles[r];
    return sum;
}

cycle_t view_core_group_cycles(const struct core_counters *c, enum view_group g)
{
    cycle_t sum = 0;

    for (int r = 0; r < STALL_COUNT; r++)
        if (groups[r] == g)
            sum += c->stall_cycles[r];
    return sum;
}

cycle_t view_group_cycles(const struct report_view *v, enum view_group g)
{
    cycle_t sum = 0;

    for (int i = 0; i < v->core_count; i++)
        sum += view_core_group_cycles(v->core[i], g);
    return sum;
}

double view_device_us(const struct report_view *v)
{
    return view_seconds(v) * 1e6 + (double)v->chip->launch_program_ns * 1e-3;
}

double view_input_us(const struct report_view *v)
{
    return (double)v->input_bytes / v->chip_count / v->chip->host_pcie_gbps * 1e-3;
}

double view_host_us(const struct report_view *v)
{
    return view_device_us(v) + view_input_us(v) + (double)v->chip->host_dispatch_us;
}

int64_t view_ps(const struct chip *chip, cycle_t cycles)
{
    int64_t mhz = chip->chip_clock_mhz;

    /* in two parts, so that long runs do not overflow */
    return cycles / mhz * 1000000 + cycles % mhz * 1000000 / mhz;
}

double view_seconds(const struct report_view *v)
{
    return (double)v->cycles / ((double)v->chip->chip_clock_mhz * 1e6);
}

double view_percent(double part, double whole)
{
    return whole > 0.0 ? 100.0 * part / whole : 0.0;
}

int64_t view_mean(const struct report_view *v, double sum)
{
    return v->active_count ? llround(sum / v->active_count) : 0;
}

void view_sum_unit(const struct report_view *v, int unit, struct unit_counters *sum)
{
    *sum = (struct unit_counters){.name = v->core[0]->unit[unit].name};
    for (int i = 0; i < v->core_count; i++) {
        const struct unit_counters *u = &v->core[i]->unit[unit];

        if (!view_is_active(v, i))
            continue;
        sum->busy_cycles += u->busy_cycles;
        sum->waiting_cycles += u->waiting_cycles;
        sum->idle_cycles += u->idle_cycles;
        sum->op_count += u->op_count;
        sum->slot_cycles += u->slot_cycles;
    }
}

double view_hbm_use(const struct report_view *v, int chip)
{
    double room_ps = view_seconds(v) * 1e12 * (double)v->chip->hbm_channels;

    return room_ps > 0.0 ? (double)v->hbm[chip]->busy_ps / room_ps : 0.0;
}

double view_link_use(const struct report_view *v, int link)
{
    double room_ps = view_seconds(v) * 1e12;

    return room_ps > 0.0 ? (double)v->link[link]->busy_ps / room_ps : 0.0;
}

int view_busiest_link(const struct report_view *v)
{
    int busiest = -1;

    for (int i = 0; i < v->link_count; i++)
        if (busiest < 0 || v->link[i]->busy_ps > v->link[busiest]->busy_ps)
            busiest = i;
    return busiest;
}
