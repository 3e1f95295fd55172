/* What a program costs on one device, counted from its types, as callers of XLA know the names. */
#include "pjrt/program/program.h"

#include "import/program/count.h"
#include "pjrt/abi/functions.h"

#include <math.h>

enum { PROPERTIES = 4 };

static struct PJRT_NamedValue number(const char *name, double value)
{
    struct PJRT_NamedValue v = named_text(name, "");

    v.type = PJRT_NamedValue_kFloat;
    v.float_value = (float)value;
    v.value_size = 1;
    return v;
}

/* no shorter than the matrix units and HBM allow */
static double least_seconds(const struct PJRT_Executable *p, const struct hlo_cost *c)
{
    const struct chip *chip = &p->x.chip;
    double cores = p->x.settings.has_megacore ? (double)chip->chip_cores : 1;
    double flops = chip_core_flops_per_cycle(chip) * 1e6 * (double)chip->chip_clock_mhz * cores;
    double bytes = chip_hbm_peak_bytes_per_second(chip) / (double)chip->chip_cores * cores;

    return fmax(c->flops / flops, c->bytes / bytes);
}

static void count(struct PJRT_Executable *p)
{
    const struct hlo_module *m = p->x.graph.device;
    struct hlo_cost c = hlo_count_computations(m, &p->arena)[m->entry];
    struct PJRT_NamedValue *made = arena_array(&p->arena, PROPERTIES, sizeof(*made));

    made[0] = number("flops", c.flops);
    made[1] = number("transcendentals", c.transcendentals);
    made[2] = number("bytes accessed", c.bytes);
    made[3] = number("optimal_seconds", least_seconds(p, &c));
    p->cost = made;
}

struct PJRT_Error *pjrt_Executable_GetCostAnalysis(struct PJRT_Executable_GetCostAnalysis_Args *args)
{
    pthread_mutex_lock(&args->executable->mutex);
    if (!args->executable->cost)
        count(args->executable);
    pthread_mutex_unlock(&args->executable->mutex);
    args->properties = args->executable->cost;
    args->num_properties = PROPERTIES;
    return NULL;
}
