/* The summary at the end of a process: launches, times, what they came to of the peak. */
#include "pjrt/account/account_impl.h"

#include "base/progress.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN 5

/* ----- the dearest of all programs */

struct dear { const char *name, *program; double cycles; };

static int by_cost(const void *x, const void *y)
{
    const struct dear *a = x, *b = y;

    if (a->cycles > b->cycles || a->cycles < b->cycles)
        return a->cycles > b->cycles ? -1 : 1;
    return strcmp(a->name, b->name);
}

static struct dear *list_dear(const struct account *a, size_t *count)
{
    struct dear *list = mem_alloc((size_t)a->program_count * ACCOUNT_OPS_MAX * sizeof(*list) + 1);
    size_t n = 0;

    for (const struct account_program *p = a->first; p; p = p->next)
        for (int i = 0; i < p->op_count; i++)
            list[n++] = (struct dear){p->op[i].name, p->name,
                                      (double)p->op[i].cycles * (double)p->launches};
    if (n > 1)
        qsort(list, n, sizeof(*list), by_cost);
    *count = n;
    return list;
}

static void print_dear(const struct account *a, double all_cycles, FILE *to)
{
    size_t count;
    struct dear *list = list_dear(a, &count);

    if (count > 0)
        text_print_file(to, "  %6s  %14s  dearest operations\n", "time", "cycles");
    for (size_t i = 0; i < count && i < SHOWN; i++)
        text_print_file(to, "  %5.1f %%  %14s  %s, %s\n",
                        all_cycles > 0 ? 100 * list[i].cycles / all_cycles : 0,
                        text_thousands((int64_t)list[i].cycles).text, list[i].name,
                        list[i].program);
    mem_free(list);
}

/* what the programs' products come to, of what the cores could have done in their launches' time */
static double utilization(const struct account *a)
{
    double peak = chip_core_flops_per_cycle(a->client.chip), done = 0, possible = 0;

    for (const struct account_program *p = a->first; p; p = p->next) {
        double launch_cycles = 1e-3 * (double)a->client.chip->launch_program_ns
                               * (double)a->client.chip->chip_clock_mhz;

        done += (double)p->flops * (double)p->launches;
        possible += peak * p->cores * ((double)p->cycles + launch_cycles * (double)p->launches);
    }
    return possible > 0 ? 100 * done / possible : 0;
}

static void print_ms(const char *what, int64_t ps, FILE *to)
{
    text_print_file(to, "%s%.3f ms", what, 1e-9 * (double)ps);
}

void account_print_summary(const struct account *a, FILE *to)
{
    double compile_s = 0, launch_s = 0, cycles = 0;
    int used = 0, found = 0;
    int64_t latest = 0;

    for (const struct account_program *p = a->first; p; p = p->next) {
        compile_s += p->compile_s;
        launch_s += p->launch_s;
        cycles += (double)p->cycles;
        used += p->launches > 0;
        found += p->was_found;
    }
    for (int i = 0; i < a->client.devices; i++)
        latest = a->time_ps[i] > latest ? a->time_ps[i] : latest;
    text_print_file(to, "systole: %s launch%s of %d program%s on %s (%s); %d compiled, %d of them "
                    "found on disk\n", text_thousands(a->launches).text,
                    a->launches == 1 ? "" : "es", used, used == 1 ? "" : "s",
                    a->client.slice->name, a->client.kind, a->program_count, found);
    if (cycles > 0) {
        print_ms("  device time ", latest, to);
        print_ms(": launches ", a->launch_ps, to);
        print_ms(", copies ", a->copy_ps, to);
        text_print_file(to, " of all devices; MFU %.2f %%\n", utilization(a));
    }
    text_print_file(to, "  host time %.2f s: compiling %.2f s, launches %.2f s\n",
                    progress_seconds() - a->began_s, compile_s, launch_s);
    print_dear(a, cycles, to);
    if (a->out)
        text_print_file(to, "  results in %s\n", a->out);
}
