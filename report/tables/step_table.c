/* Prints the table of one step: cycles by reason, units, FLOP, HBM, links, and what bounds it. */
#include "report/tables/step_table.h"

#include "base/text.h"
#include "report/view/bound.h"
#include "report/tables/breakdown.h"
#include "report/tables/communication.h"
#include "report/tables/energy_table.h"
#include "report/tables/op_stats.h"
#include "report/view/utilization.h"

#include <inttypes.h>

#define OPS_MAX 20                       /* source operations shown */

static void print_cycles(FILE *to, const struct report_view *v, cycle_t core0, cycle_t sum)
{
    double all = (double)v->cycles;

    fprintf(to, "%14s %6.1f %%", text_thousands(core0).text, view_percent((double)core0, all));
    fprintf(to, "%14s %6.1f %%\n", text_thousands(view_mean(v, (double)sum)).text,
            view_percent((double)sum, all * v->active_count));
}

/* a host that waits for each launch; nothing below counts this in */
static void print_host_time(const struct report_view *v, FILE *to)
{
    fprintf(to, "  host time %.1f us: %d us of dispatch", view_host_us(v),
            (int)v->chip->host_dispatch_us);
    if (v->input_bytes > 0)
        fprintf(to, ", %s B of input over PCIe in %.1f us",
                text_thousands(v->input_bytes).text, view_input_us(v));
    fprintf(to, ", then the device\n");
}

/* what people ask first comes first */
static void print_header(const struct report_view *v, const struct utilization *u, FILE *to)
{
    fprintf(to, "%s on %s; %s at %" PRId64 " MHz\n", v->title,
            slice_print(v->slice).text, v->chip->chip_name, v->chip->chip_clock_mhz);
    fprintf(to, "  MXU %.1f %% of peak, %.1f of %.1f TFLOP/s; HBM %.1f %% of peak, %.1f of %.1f GB/s\n",
            utilization_mxu_percent(u), u->mxu_rate, u->mxu_peak, utilization_hbm_percent(u),
            u->hbm_rate / 1e9, u->hbm_peak / 1e9);
    fprintf(to, "  %s cycles = %.3f us", text_thousands(v->cycles).text, view_seconds(v) * 1e6);
    if (v->active_count < v->core_count)
        fprintf(to, "; %d of %d cores ran", v->active_count, v->core_count);
    fprintf(to, "\n  device time %.3f us, with the launch of a program\n", view_device_us(v));
    print_host_time(v, to);
    fputc('\n', to);
}

static void print_group(const struct report_view *v, enum view_group g, FILE *to)
{
    fprintf(to, "  %-24s", view_group_name(g));
    print_cycles(to, v, view_core_group_cycles(v->core[0], g), view_group_cycles(v, g));
    for (int r = 0; r < STALL_COUNT; r++) {
        enum stall_reason reason = (enum stall_reason)r;

        if (view_stall_group(reason) != g || view_stall_cycles(v, reason) == 0)
            continue;
        fprintf(to, "    %-22s", stall_name(reason));
        print_cycles(to, v, v->core[0]->stall_cycles[r], view_stall_cycles(v, reason));
    }
}

static void print_cycle_table(const struct report_view *v, FILE *to)
{
    cycle_t issue = 0, idle = 0;
    char heading[32];

    for (int i = 0; i < v->core_count; i++) {
        issue += v->core[i]->issue_cycles;
        if (view_is_active(v, i))
            idle += v->core[i]->idle_cycles;
    }
    snprintf(heading, sizeof(heading), "mean of %d core%s", v->active_count,
             v->active_count == 1 ? "" : "s");
    fprintf(to, "%-26s%23s%23s\n", "where the cycles went", "core 0", heading);
    fprintf(to, "  %-24s", "issue");
    print_cycles(to, v, v->core[0]->issue_cycles, issue);
    for (int g = GROUP_NONE + 1; g < GROUP_COUNT; g++)
        print_group(v, (enum view_group)g, to);
    fprintf(to, "  %-24s", "idle");
    print_cycles(to, v, v->core[0]->idle_cycles, idle);
    fprintf(to, "  %-24s", "all");
    print_cycles(to, v, v->core[0]->cycles, v->cycles * v->active_count);
}

/* the same unit of all cores */
static void print_unit(const struct report_view *v, int unit, FILE *to)
{
    double all = (double)v->cycles * v->active_count;
    struct unit_counters u;

    view_sum_unit(v, unit, &u);
    fprintf(to, "  %-10s %8.1f %% %8.1f %% %8.1f %% %14s %12.4f\n", u.name,
            view_percent((double)u.busy_cycles, all), view_percent((double)u.waiting_cycles, all),
            view_percent((double)u.idle_cycles, all),
            text_thousands(view_mean(v, (double)u.op_count)).text,
            u.slot_cycles ? (double)u.op_count / (double)u.slot_cycles : 0.0);
}

static void print_units(const struct report_view *v, FILE *to)
{
    fprintf(to, "\n%-12s %10s %10s %10s %14s %12s\n", "units (mean)", "busy", "waiting", "idle",
            "operations", "per slot");
    for (int i = 0; i < v->core[0]->unit_count; i++)
        print_unit(v, i, to);
}

static void print_flops(const struct report_view *v, const struct utilization *u, FILE *to)
{
    double seconds = view_seconds(v);

    fprintf(to, "\nMXU, %s\n", v->active_count < v->core_count ? "cores that ran" : "all cores");
    fprintf(to, "  issued        %s FLOP: %.4f TFLOP/s of %.1f peak (%.2f %%)\n",
            text_thousands((int64_t)u->issued_flops).text, u->mxu_rate,
            u->mxu_peak, utilization_mxu_percent(u));
    if (v->model_flops > 0) {
        double model = (double)v->model_flops * v->active_count;

        fprintf(to, "  of the model  %s FLOP: %.1f %% of those issued, %.2f %% of peak\n",
                text_thousands((int64_t)model).text,
                view_percent(model, u->issued_flops),
                seconds > 0.0 ? view_percent(model / seconds / 1e12, u->mxu_peak) : 0.0);
    }
}

static void print_hbm(const struct report_view *v, const struct utilization *u, FILE *to)
{
    int64_t read_bytes = 0, write_bytes = 0, runs = 0, hits = 0;

    for (int i = 0; i < v->chip_count; i++) {
        read_bytes += v->hbm[i]->read_bytes;
        write_bytes += v->hbm[i]->write_bytes;
        runs += v->hbm[i]->run_count;
        hits += v->hbm[i]->row_hits;
    }
    fprintf(to, "\nHBM, %s\n",
            v->active_chip_count < v->chip_count ? "chips of these cores" : "all chips");
    fprintf(to, "  read          %s B\n  written       %s B\n",
            text_thousands(read_bytes).text, text_thousands(write_bytes).text);
    fprintf(to, "  rate          %.2f GB/s of %.1f peak (%.2f %%)\n", u->hbm_rate / 1e9,
            u->hbm_peak / 1e9, utilization_hbm_percent(u));
    fprintf(to, "  row hits      %.1f %% of %s runs\n",
            view_percent((double)hits, (double)runs), text_thousands(runs).text);
}

static void print_links(const struct report_view *v, FILE *to)
{
    int busiest = view_busiest_link(v);
    const struct net_link_stats *l;

    if (busiest < 0) {
        fprintf(to, "  links         none: a single chip\n");
        return;
    }
    l = v->link[busiest];
    fprintf(to, "  busiest link  chip %d to %d: used %.2f %% of the time, %s B payload in %s B\n",
            l->from, l->to, 100.0 * view_link_use(v, busiest),
            text_thousands(l->payload_bytes).text, text_thousands(l->wire_bytes).text);
}

static void print_ici(const struct report_view *v, FILE *to)
{
    double sent = 0.0, received = 0.0;

    for (int i = 0; i < v->core_count; i++) {
        sent += (double)v->core[i]->ici_sent_bytes;
        received += (double)v->core[i]->ici_received_bytes;
    }
    fprintf(to, "\nICI (links between chips), mean of a core\n");
    fprintf(to, "  sent          %s B\n  received      %s B\n",
            text_thousands(view_mean(v, sent)).text, text_thousands(view_mean(v, received)).text);
    if (v->parameter_bytes > 0 && v->core_count > 1) {
        double least = 2.0 * (v->core_count - 1) / v->core_count * (double)v->parameter_bytes;

        fprintf(to,
                "  gradients     %s B to all-reduce: a ring moves at least %s B over each link\n",
                text_thousands(v->parameter_bytes).text,
                text_thousands((int64_t)(least + 0.5)).text);
    }
    print_links(v, to);
}

/* only of programs that reach it */
static void print_host_memory(const struct report_view *v, FILE *to)
{
    double read = 0.0, written = 0.0;

    for (int i = 0; i < v->core_count; i++) {
        read += (double)v->core[i]->host_read_bytes;
        written += (double)v->core[i]->host_write_bytes;
    }
    if (read + written <= 0.0)
        return;
    fprintf(to, "\nhost memory, over PCIe, mean of a core\n");
    fprintf(to, "  read          %s B\n  written       %s B\n",
            text_thousands(view_mean(v, read)).text, text_thousands(view_mean(v, written)).text);
}

static void print_bound(const struct report_view *v, FILE *to)
{
    struct bound b;

    bound_find(v, &b);
    fprintf(to, "\nbound by %s: %s\n", bound_name(b.by), b.sentence);
}

/* source operations, the longest first; nothing for a program without notes */
static void print_ops(const struct report_view *v, FILE *to)
{
    struct arena a;
    struct table ops;
    size_t count;

    if (v->ops_core < 0 || !v->bundle || v->ops_program->note_count == 0)
        return;
    arena_init(&a);
    table_init(&ops, TABLE_OPS, &a);
    op_stats_fill_table(v, &ops);
    count = ops.row_count;
    table_truncate(&ops, OPS_MAX);
    fputc('\n', to);
    table_print_text(&ops, to);
    if (count > OPS_MAX)
        fprintf(to, "  and %zu shorter ones: see ops.csv\n", count - OPS_MAX);
    arena_fini(&a);
}

void step_table_print(const struct report_view *v, FILE *to)
{
    struct utilization u;

    if (v->mode == MODE_FUNCTIONAL) {
        counts_table_print(v, to);
        return;
    }
    utilization_find(v, &u);
    print_header(v, &u, to);
    breakdown_print(v, to);
    print_cycle_table(v, to);
    print_units(v, to);
    print_flops(v, &u, to);
    print_hbm(v, &u, to);
    print_ici(v, to);
    communication_print(v, to);
    print_host_memory(v, to);
    energy_print(v, to);
    print_ops(v, to);
    print_bound(v, to);
}
