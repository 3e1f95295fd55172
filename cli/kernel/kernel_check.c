/* Races, reads of what nobody has written, accesses outside of arrays: the program on the host. */
#include "cli/kernel/kernel.h"

#include "base/floats.h"
#include "stack/mosaic/run.h"

static const char *const titles[] = {"race", "unwritten", "outside"};

static void print_findings(const struct mosaic_watch *w, bool was_broken_off)
{
    char text[700];

    for (int i = 0; i < w->count; i++) {
        printf("%s: %s", titles[w->finding[i].kind],
               err_format(&w->finding[i].what, text, sizeof(text)));
        if (w->finding[i].times > 1)
            printf("; %lld times in all", (long long)w->finding[i].times);
        printf("\n");
    }
    if (w->count == MOSAIC_FINDINGS_MAX)
        printf("and perhaps others: these are the first %d\n", MOSAIC_FINDINGS_MAX);
    if (!was_broken_off)
        printf("%d %s carried out on the host: %d found\n", w->kernels,
               w->kernels == 1 ? "kernel was" : "kernels were", w->count);
}

bool kernel_is_checked(const struct kernel_request *r)
{
    return r->check_bounds || r->exec.run.engine.check_races || r->exec.run.engine.check_unwritten;
}

/* Of a module alone: arrays of numbers, tables of zeros. */
static int run_alone(const struct mosaic_kernel *k, struct mosaic_watch *w, struct arena *a,
                     struct err *e)
{
    struct mosaic_run_settings s = {.log = stderr, .watch = w};
    uint32_t **array = arena_array(a, (size_t)k->array_count + 1, sizeof(*array));

    if (k->dynamic_count)
        return err_set(e, "kernel %s: bounds of its grid are operands of the call, and here is only "
                       "what it calls", k->name);
    for (int i = 0; i < k->array_count; i++) {
        int64_t count = mosaic_elements(&k->array[i]);

        array[i] = arena_array(a, (size_t)count + 1, sizeof(uint32_t));
        for (int64_t n = 0; n < count && mosaic_is_float(&k->array[i]); n++)
            array[i][n] = f32_bits((float)(n % 17) * 0.0625f - 0.5f);
    }
    return mosaic_run(k, array, &s, e);
}

int kernel_check(const struct kernel_request *r, struct kernel_file *f, struct arena *a, int *found,
                 struct err *e)
{
    struct mosaic_watch *w = arena_alloc(a, sizeof(*w));
    struct exec_options o = r->exec;
    struct chip chip;
    int status, count;

    if (op_devices(&r->exec.run, &chip, &count, a, e))
        return -1;
    *w = (struct mosaic_watch){.races = r->exec.run.engine.check_races,
                               .unwritten = r->exec.run.engine.check_unwritten,
                               .two_cores = chip.chip_megacore && !r->exec.run.no_megacore};
    o.backend = EXEC_ON_HOST;
    o.is_quiet = true;
    o.kernels = w;
    status = f->is_program ? exec_on_host(&o, &f->program, e)
                           : run_alone(f->found[0].kernel, w, a, e);
    print_findings(w, status != 0);
    *found = w->count;
    return status;
}
