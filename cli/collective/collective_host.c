/* What the cores engine of systole collective would take of this host, and which engine it is. */
#include "cli/collective/collective.h"

#include "base/text.h"
#include "base/units.h"

/*
 * Host time, roughly. Operations and messages cost more on more cores, whose
 * state leaves the caches: up to CROWD_MOST times as much.
 */
#define SECONDS_PER_OPERATION 1.2e-6
#define SECONDS_PER_CHUNK 0.7e-6        /* of a copy; of a message, for each hop */
#define SECONDS_PER_CORE 0.5e-3         /* to make it, and its program */
#define CROWD_CORES 256.0
#define CROWD_MOST 5.0
#define SECONDS_FOR_CORES 3.0           /* auto: the cores where they take no longer */
#define SAMPLES 8                       /* cores whose lists stand for all */

static int hops_between(const struct slice *s, int core, int peer)
{
    int cores_per_chip = s->core_count / s->chip_count, hops = 0;
    int from = core / cores_per_chip, to = peer / cores_per_chip;

    for (int i = 0; i < s->dims; i++) {
        int way = from % s->dim[i] - to % s->dim[i];

        way = way < 0 ? -way : way;
        hops += s->is_ring[i] && 2 * way > s->dim[i] ? s->dim[i] - way : way;
        from /= s->dim[i];
        to /= s->dim[i];
    }
    return hops > 0 ? hops : 1;
}

/* pieces of the copies of one core, and pieces x hops of its messages */
static double chunks_of(const struct collective_plan *p, const struct collective_answer *w,
                        int core)
{
    int count = collective_op_count(p, core);
    double chunks = 0;

    for (int i = 0; i < count; i++) {
        struct collective_op op;

        collective_op(p, core, i, &op);
        if (op.kind == COLLECTIVE_COPY)
            chunks += (double)div_up(op.bytes, w->chip.dma_chunk_bytes);
        else if (op.kind == COLLECTIVE_SEND)
            chunks += (double)div_up(op.bytes, w->chip.dma_chunk_bytes) *
                      hops_between(&w->slice, core, op.peer);
    }
    return chunks;
}

static double seconds_on_cores(const struct collective_plan *p, const struct collective_answer *w)
{
    int cores = w->slice.core_count;
    double operations = 0, chunks = 0, crowd = 1 + cores / CROWD_CORES;

    for (int i = 0; i < cores; i++)
        operations += collective_op_count(p, i);
    for (int64_t i = 0; i < SAMPLES; i++)
        chunks += chunks_of(p, w, (int)((2 * i + 1) * cores / (2 * SAMPLES))) * cores / SAMPLES;
    crowd = crowd < CROWD_MOST ? crowd : CROWD_MOST;
    return crowd * (SECONDS_PER_OPERATION * operations + SECONDS_PER_CHUNK * chunks) +
           SECONDS_PER_CORE * cores;
}

static struct short_text print_duration(double seconds)
{
    struct short_text to;

    if (seconds < 0.1)
        snprintf(to.text, sizeof(to.text), "less than 0.1 s");
    else if (seconds < 120)
        snprintf(to.text, sizeof(to.text), "about %.*f s", seconds < 10 ? 1 : 0, seconds);
    else if (seconds < 7200)
        snprintf(to.text, sizeof(to.text), "about %.0f min", seconds / 60);
    else
        snprintf(to.text, sizeof(to.text), "about %.0f h", seconds / 3600);
    return to;
}

void collective_choose_engine(const struct collective_plan *p, struct collective_answer *w)
{
    double seconds;

    w->engine = w->options.engine;
    if (w->options.costs) {
        w->engine = ENGINE_STEPS;
        snprintf(w->reason, sizeof(w->reason), "costs of %s", w->options.costs_path);
    } else if (w->options.checks) {
        w->engine = ENGINE_CORES;
        snprintf(w->reason, sizeof(w->reason), "only the cores have data to check");
    } else if (w->engine == ENGINE_AUTO) {
        seconds = seconds_on_cores(p, w);
        w->engine = seconds <= SECONDS_FOR_CORES ? ENGINE_CORES : ENGINE_STEPS;
        snprintf(w->reason, sizeof(w->reason), "programs on %d core%s would take %s of this host",
                 w->slice.core_count, w->slice.core_count == 1 ? "" : "s",
                 print_duration(seconds).text);
    } else {
        snprintf(w->reason, sizeof(w->reason), "asked for");
    }
}
