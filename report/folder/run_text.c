/* Prints report.txt: the epochs of a training run, and the tables of one step. */
#include "report/folder/files.h"

#include "base/text.h"
#include "report/folder/report.h"
#include "report/tables/step_table.h"

#include <inttypes.h>
#include <math.h>

static void print_epoch(const struct report_epoch *p, FILE *to)
{
    char test[32] = "-";

    if (!isnan(p->test_accuracy))
        snprintf(test, sizeof(test), "%.2f %%", 100.0 * p->test_accuracy);
    fprintf(to, "%5d %10.6f %9.2f %% %11s %7" PRId64 " %14s %12.3f %14s\n", p->epoch, p->loss,
            100.0 * p->train_accuracy, test, p->steps,
            text_thousands(p->step_cycles).text, p->step_us,
            text_thousands((int64_t)(p->samples_per_second + 0.5)).text);
}

void run_text_print(const struct report_run *r, const struct report_view *v, FILE *to)
{
    double epochs_seconds = 0.0;

    if (r->epoch_count)
        fprintf(to, "%5s %10s %11s %11s %7s %14s %12s %14s\n", "epoch", "loss", "train acc",
                "test acc", "steps", "cycles/step", "us/step", "samples/s");
    for (size_t i = 0; i < r->epoch_count; i++) {
        print_epoch(&r->epoch[i], to);
        epochs_seconds += r->epoch[i].host_seconds;
    }
    if (r->epoch_count)
        fputc('\n', to);
    if (v)
        step_table_print(v, to);
    else
        fprintf(to, "no step table: the host reference interpreter has no cycles\n");
    fprintf(to, "\nhost time %.2f s, of which epochs %.2f s\n", r->host_seconds, epochs_seconds);
}

void report_print_step(const struct report_step *s, FILE *to)
{
    struct arena a;
    struct report_view v;

    arena_init(&a);
    view_of_step(s, &a, &v);
    step_table_print(&v, to);
    arena_fini(&a);
}
