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

static void print_kernel(const struct module_kernel *k, int number, const int64_t *measured)
{
    char flops[28], bytes[28], predicted[28], simulated[28] = "";

    if (measured)
        text_thousands(measured[number], simulated, sizeof(simulated));
    printf("%4d  %-24.24s %-18.18s %17s %15s %13s %13s  %-13s %.40s\n", number, k->name,
           k->category, text_thousands(k->flops * k->times, flops, sizeof(flops)),
           text_thousands(k->payload_bytes * k->times, bytes, sizeof(bytes)),
           text_thousands(k->segment->cost.total_cycles * k->times, predicted, sizeof(predicted)),
           simulated, bound_of(&k->segment->cost), k->source);
}

void compile_print_kernels(const struct module *m, const struct compile_times *times)
{
    printf("   #  %-24s %-18s %17s %15s %13s %13s  %-13s %s\n", "kernel", "category", "FLOP",
           "bytes", "predicted", times ? "simulated" : "", "bound by", "source");
    for (int i = 0; i < m->kernel_count; i++)
        print_kernel(&m->kernel[i], i, times ? times->kernel_cycles : NULL);
    printf("bytes: elements of operands and results; predicted%s in core cycles\n\n",
           times ? ", simulated" : "");
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

    printf("%s for one core of %s, --codegen %s: %d kernels, %u bundles, %" PRId64
           " overlays, %s FLOP\n\n",
           m->graph.name, chip->chip_name, o->codegen == CODEGEN_BEST ? "best" : "xla",
           m->kernel_count, m->linked[0].program.bundle_count, m->linked[0].overlay_count,
           text_thousands(m->flops, text, sizeof(text)));
    compile_print_kernels(m, times);
    print_memory(m, chip);
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
