/* Prints what `systole compile` tells: kernels, memory, host time by stage. */
#include "cli/compile/compile.h"

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"

#include <inttypes.h>
#include <string.h>

/* what the kernel waits for most, by its cost model */
static const char *bound_of(const struct kernel_cost *c)
{
    if (c->fixed_cycles > c->compute_cycles && c->fixed_cycles > c->copy_cycles)
        return "start and end";
    return c->copy_cycles > c->compute_cycles ? "copies" : "compute";
}

/* core 1's part of it: what it took, else what is told beforehand */
static struct table_cell peer_cell(const struct module_kernel *k, const struct compile_times *times,
                                   int number)
{
    if (!k->peer_segment)
        return cell_none();
    if (k->peer_segment->cost.is_idle)
        return cell_text("idle");
    return cell_int(times ? times->kernel_cycles[1][number]
                          : k->peer_segment->cost.total_cycles * k->times);
}

enum { KERNELS_SHOWN = 200 };           /* of more, those that take longest */

static int64_t cycles_of(const struct module *m, const struct compile_times *times, int kernel)
{
    return times ? times->kernel_cycles[0][kernel]
                 : m->kernel[kernel].segment->cost.total_cycles * m->kernel[kernel].times;
}

/* the number of cycles from which on a kernel is shown */
static int64_t shown_from(const struct module *m, const struct compile_times *times)
{
    int64_t low = 0, high = INT64_MAX;

    if (m->kernel_count <= KERNELS_SHOWN)
        return INT64_MIN;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int count = 0;

        for (int i = 0; i < m->kernel_count; i++)
            count += cycles_of(m, times, i) >= middle;
        if (count <= KERNELS_SHOWN)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void compile_print_kernels(const struct module *m, const struct compile_times *times)
{
    const struct table_field fields[] = {
        {TABLE_SHOWN(INT, NULL, "#"), .width = 4},
        {TABLE_SHOWN(TEXT, NULL, "kernel"), .width = 24},
        {TABLE_SHOWN(TEXT, NULL, "category"), .width = 18},
        {TABLE_SHOWN(INT, NULL, "FLOP"), .width = 16},
        {TABLE_SHOWN(INT, NULL, "bytes"), .width = 14},
        {TABLE_SHOWN(INT, NULL, "predicted"), .width = 12},
        {.heading = "simulated", .kind = CELL_INT, .is_shown = times != NULL, .width = 12},
        {.heading = "core 1", .kind = CELL_INT, .is_shown = m->core_count > 1, .width = 12},
        {TABLE_SHOWN(TEXT, NULL, "bound by"), .width = 13}, {TABLE_SHOWN(TEXT, NULL, "source")}};
    int64_t from = shown_from(m, times), left_cycles = 0;
    int left = 0;
    struct table t;

    table_begin_count(&t, fields, COUNT_OF(fields), NULL);
    t.indent = "";
    for (int i = 0; i < m->kernel_count; i++) {
        const struct module_kernel *k = &m->kernel[i];

        if (cycles_of(m, times, i) < from) {
            left_cycles += cycles_of(m, times, i);
            left++;
            continue;
        }
        TABLE_ROW(&t, cell_int(i), cell_text(k->name), cell_text(k->category),
                  cell_int(k->flops * k->times), cell_int(k->payload_bytes * k->times),
                  cell_int(k->segment->cost.total_cycles * k->times),
                  times ? cell_int(times->kernel_cycles[0][i]) : cell_none(),
                  peer_cell(k, times, i), cell_text(bound_of(&k->segment->cost)),
                  cell_text(k->source));
    }
    table_print_text(&t, stdout);
    table_end(&t);
    if (left)
        printf("and %d more kernels of less than %" PRId64 " cycles each, %s together\n", left, from,
               text_thousands(left_cycles).text);
    printf("bytes: elements of operands and results; predicted%s in core cycles",
           times ? ", simulated" : "");
    if (m->core_count > 1)
        printf(", of core 0; core 1: %s", times ? "simulated" : "predicted");
    printf("\n\n");
}

static void print_memory(const struct module *m, const struct chip *chip)
{
    double all = (double)(m->payload_bytes + m->padding_bytes);

    printf("HBM   %s, of which %s are alive at once; arrays there hold %s",
           text_bytes(m->hbm_bytes).text, text_bytes(m->alive_bytes).text,
           text_bytes(m->payload_bytes).text);
    printf(" of elements and %s of padding (%.1f %%)\n",
           text_bytes(m->padding_bytes).text, all > 0 ? 100 * (double)m->padding_bytes / all : 0);
    printf("VMEM  %s of %s in use", text_bytes(m->vmem_peak_bytes).text,
           text_bytes(chip->vmem_bytes).text);
    printf("; %" PRId64 " arrays stay there between kernels, %" PRId64 " are fetched ahead\n",
           m->resident_count, m->prefetch_count);
    if (m->cmem_count)
        printf("CMEM  %" PRId64 " arrays stay there between kernels\n", m->cmem_count);
    if (m->remat_count)
        printf("%" PRId64 " values are computed again for want of HBM\n", m->remat_count);
}

static void print_megacore(const struct module *m, const struct compile_times *times)
{
    int idle = 0;

    if (m->core_count < 2)
        return;
    for (int i = 0; i < m->kernel_count; i++)
        idle += m->kernel[i].peer_segment->cost.is_idle;
    printf("megacore: 2 cores, %" PRId64 " barriers; %d of %d kernels run on core 0 alone\n",
           m->barrier_count, idle, m->kernel_count);
    if (times)
        printf("at barriers core 0 has waited for %s cycles, core 1 for %s\n",
               text_thousands(times->barrier_cycles[0]).text,
               text_thousands(times->barrier_cycles[1]).text);
}

/* one collective or all of them */
struct flight {
    int64_t total, exposed;
    int first, last;                    /* kernels: its first and its last part */
};

/* the parts of the collective that kernel `first` begins; kernels between run beside it */
static struct flight flight_of(const struct module *m, const struct compile_times *times,
                               int first)
{
    struct flight f = {.first = first, .last = first};

    for (int i = first; i < m->kernel_count; i++)
        if (m->kernel[i].job.sums
            && m->kernel[i].job.sums->table == m->kernel[first].job.sums->table) {
            f.exposed += times->kernel_cycles[0][i];
            f.last = i;
        }
    for (int i = first; i <= f.last; i++)
        f.total += times->kernel_cycles[0][i];
    return f;
}

static void print_share(const char *name, int64_t cycles, const struct flight *all, int64_t step)
{
    printf("  %-8s %15s cycles, %5.1f %% of it, %5.1f %% of the step\n", name,
           text_thousands(cycles).text, all->total ? 100 * (double)cycles / (double)all->total : 0,
           100 * (double)cycles / (double)step);
}

static void print_communication(const struct module *m, const struct compile_times *times)
{
    struct flight all = {.total = 0};
    int count = 0;

    for (int i = 0; i < m->kernel_count; i++)
        if (m->kernel[i].job.sums && m->kernel[i].job.sums->part == 0) {
            struct flight f = flight_of(m, times, i);

            all.total += f.total;
            all.exposed += f.exposed;
            count++;
        }
    if (!count)
        return;
    printf("\ncommunication: %d collective%s\n", count, count == 1 ? "" : "s");
    print_share("total", all.total, &all, times->total_cycles);
    print_share("hidden", all.total - all.exposed, &all, times->total_cycles);
    print_share("exposed", all.exposed, &all, times->total_cycles);
}

static void print_speed(const struct compile_request *o, const struct compile_times *times,
                        const struct chip *chip, const struct slice *slice)
{
    double seconds = 1e-6 * (double)times->total_cycles / (double)chip->chip_clock_mhz;
    double samples = (double)o->batch * o->replica_count;

    if (o->replica_count > 1 && o->batch)
        printf("%s samples in a step of %d replicas: %.1f samples/s, %.1f per chip\n",
               text_thousands((int64_t)samples).text, o->replica_count,
               samples / seconds, samples / seconds / slice->chip_count);
}

/* Of every stage, however short: which words stand there must not depend on the clock. */
static void print_stages(const struct module *m)
{
    double all = 0;

    for (int i = 0; i < m->stage_count; i++)
        all += m->stage[i].seconds;
    printf("\ncompiled in %.3f s", all);
    for (int i = 0; i < m->stage_count; i++)
        printf("%s %s %.3f s", i ? "," : ":", m->stage[i].name, m->stage[i].seconds);
    printf("\n");
}

/* "both cores", "one core", "each of 8 cores" */
static const char *cores_of(const struct module *m, const struct compile_request *o, char *text,
                            size_t bytes)
{
    snprintf(text, bytes, "each of %d cores", o->replica_count);
    return m->core_count > 1 ? "both cores" : o->replica_count > 1 ? text : "one core";
}

void compile_print_summary(const struct module *m, const struct compile_request *o,
                           const struct slice *slice, const struct chip *chip,
                           const struct compile_times *times)
{
    char cores[40];

    printf("%s for %s of %s, --codegen %s: %d kernels, %u bundles, %" PRId64
           " overlay%s, %s FLOP\n\n",
           m->graph.name, cores_of(m, o, cores, sizeof(cores)), chip->chip_name,
           o->codegen == CODEGEN_BEST ? "best" : "xla",
           m->kernel_count, m->linked[0].program.bundle_count, m->linked[0].overlay_count,
           m->linked[0].overlay_count == 1 ? "" : "s",
           text_thousands(m->flops).text);
    compile_print_kernels(m, times);
    compile_print_categories(m, times);
    print_memory(m, chip);
    print_megacore(m, times);
    if (times)
        print_communication(m, times);
    if (times)
        printf("\n%s cycles = %.2f us on %s\n", text_thousands(times->total_cycles).text,
               (double)times->total_cycles / (double)chip->chip_clock_mhz, o->target.tpu);
    if (times)
        print_speed(o, times, chip, slice);
    print_stages(m);
}

static const char *tell_kernel(const void *context, int kernel)
{
    const struct module *m = context;
    static char text[300];

    snprintf(text, sizeof(text), "%s, %s", m->kernel[kernel].name, m->kernel[kernel].source);
    return text;
}

void compile_print_listing(const struct module *m, const struct compile_times *times, FILE *to)
{
    annotate_print(&m->linked[0].program, &times->counts, tell_kernel, m, to);
}
