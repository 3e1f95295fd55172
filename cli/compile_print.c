/* What systole compile prints: kernels, memory, host time by stage. */
#include "cli/compile.h"

#include "base/text.h"

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
static void print_peer(const struct module_kernel *k, const int64_t *measured, int number)
{
    char text[28];
    int64_t cycles = measured ? measured[number] : k->peer_segment->cost.total_cycles * k->times;

    printf(" %13s", k->peer_segment->cost.is_idle
                        ? "idle" : text_thousands(cycles, text, sizeof(text)));
}

static void print_kernel(const struct module_kernel *k, int number,
                         const struct compile_times *times)
{
    char flops[28], bytes[28], predicted[28], simulated[28] = "";

    if (times)
        text_thousands(times->kernel_cycles[0][number], simulated, sizeof(simulated));
    printf("%4d  %-24.24s %-18.18s %17s %15s %13s %13s", number, k->name, k->category,
           text_thousands(k->flops * k->times, flops, sizeof(flops)),
           text_thousands(k->payload_bytes * k->times, bytes, sizeof(bytes)),
           text_thousands(k->segment->cost.total_cycles * k->times, predicted, sizeof(predicted)),
           simulated);
    if (k->peer_segment)
        print_peer(k, times ? times->kernel_cycles[1] : NULL, number);
    printf("  %-13s %.40s\n", bound_of(&k->segment->cost), k->source);
}

void compile_print_kernels(const struct module *m, const struct compile_times *times)
{
    printf("   #  %-24s %-18s %17s %15s %13s %13s", "kernel", "category", "FLOP", "bytes",
           "predicted", times ? "simulated" : "");
    if (m->core_count > 1)
        printf(" %13s", "core 1");
    printf("  %-13s %s\n", "bound by", "source");
    for (int i = 0; i < m->kernel_count; i++)
        print_kernel(&m->kernel[i], i, times);
    printf("bytes: elements of operands and results; predicted%s in core cycles",
           times ? ", simulated" : "");
    if (m->core_count > 1)
        printf(", of core 0; core 1: %s", times ? "simulated" : "predicted");
    printf("\n\n");
}

static void print_memory(const struct module *m, const struct chip *chip)
{
    char a[32], b[32];
    double all = (double)(m->payload_bytes + m->padding_bytes);

    printf("HBM   %s at most at a time; arrays there hold %s",
           text_bytes(m->hbm_bytes, a, sizeof(a)), text_bytes(m->payload_bytes, b, sizeof(b)));
    printf(" of elements and %s of padding (%.1f %%)\n",
           text_bytes(m->padding_bytes, a, sizeof(a)),
           all > 0 ? 100 * (double)m->padding_bytes / all : 0);
    printf("VMEM  %s of %s in use", text_bytes(m->vmem_peak_bytes, a, sizeof(a)),
           text_bytes(chip->vmem_bytes, b, sizeof(b)));
    printf("; %" PRId64 " arrays stay there between kernels, %" PRId64 " are fetched ahead\n",
           m->resident_count, m->prefetch_count);
    if (m->remat_count)
        printf("%" PRId64 " values are computed again for want of HBM\n", m->remat_count);
}

static void print_megacore(const struct module *m, const struct compile_times *times)
{
    int idle = 0;
    char a[28], b[28];

    if (m->core_count < 2)
        return;
    for (int i = 0; i < m->kernel_count; i++)
        idle += m->kernel[i].peer_segment->cost.is_idle;
    printf("megacore: 2 cores, %" PRId64 " barriers; %d of %d kernels run on core 0 alone\n",
           m->barrier_count, idle, m->kernel_count);
    if (times)
        printf("at barriers core 0 has waited for %s cycles, core 1 for %s\n",
               text_thousands(times->barrier_cycles[0], a, sizeof(a)),
               text_thousands(times->barrier_cycles[1], b, sizeof(b)));
}

static void print_stages(const struct module *m)
{
    double all = 0;

    printf("\ncompiled in");
    for (int i = 0; i < m->stage_count; i++) {
        all += m->stage[i].seconds;
        printf("%s %s %.3f s", i ? "," : "", m->stage[i].name, m->stage[i].seconds);
    }
    printf("; %.3f s\n", all);
}

void compile_print_summary(const struct module *m, const struct compile_request *o,
                           const struct chip *chip, const struct compile_times *times)
{
    char text[28];

    printf("%s for %s of %s, --codegen %s: %d kernels, %u bundles, %" PRId64
           " overlays, %s FLOP\n\n",
           m->graph.name, m->core_count > 1 ? "both cores" : "one core", chip->chip_name,
           o->codegen == CODEGEN_BEST ? "best" : "xla",
           m->kernel_count, m->linked[0].program.bundle_count, m->linked[0].overlay_count,
           text_thousands(m->flops, text, sizeof(text)));
    compile_print_kernels(m, times);
    print_memory(m, chip);
    print_megacore(m, times);
    if (times)
        printf("\n%s cycles = %.2f us on %s\n", text_thousands(times->total_cycles, text,
                                                               sizeof(text)),
               (double)times->total_cycles / (double)chip->chip_clock_mhz, o->tpu);
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
