/*
 * Sums each stage's cycles by the notes of its bundles, and computes the time of an ideal pipeline
 * of the same stages.
 */
#include "train/strategy/stage_times.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "sim/observe/inspect.h"
#include "train/strategy/strategy_impl.h"

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* what a bundle's cycles count for, by what it comes from */
static cycle_t *share_of(const struct strategy *s, struct stage_cycles *c, const char *note)
{
    static const char *const sums[] = {"all-reduce", "reduce-scatter", "all-gather"};
    static const char *const rest[] = {"part/", "pipeline/", "steps"};

    if (begins(note, "pipeline/send") || begins(note, "pipeline/receive"))
        return &c->messages;
    for (size_t i = 0; i < COUNT_OF(sums); i++)
        if (begins(note, sums[i]))
            return &c->sums;
    while (begins(note, "gradients/"))
        note += strlen("gradients/");
    if (begins(note, "loss") || begins(note, "metrics") || begins(note, "micro") ||
        s->stages.stage_of(s->stages.user, note) >= 0)
        return &c->passes;
    for (size_t i = 0; i < COUNT_OF(rest); i++)
        if (begins(note, rest[i]))
            return &c->rest;
    return strchr(note, '/') || begins(note, "seed") ? &c->rest : &c->passes;
}

static void add_core(const struct strategy *s, const struct program_part *part, int core,
                     struct stage_cycles *c)
{
    const struct isa_program *p = &part->module.linked[0].program;
    const struct machine *m = s->options.machine;

    for (uint32_t i = 0; i < p->bundle_count; i++) {
        const char *note = p->bundle[i].note ? p->note[p->bundle[i].note - 1] : "";

        *share_of(s, c, note) += machine_bundle_count(m, core, i) +
                                 machine_bundle_stall(m, core, i);
    }
    c->idle += machine_counters(m, core)->idle_cycles;
}

static void divide(struct stage_cycles *c, int replicas)
{
    c->passes /= replicas;
    c->rest /= replicas;
    c->messages /= replicas;
    c->sums /= replicas;
    c->idle /= replicas;
}

/*
 * A micro batch goes through all stages and back, and the longest stage does all others meanwhile;
 * behind them is the longest update. Rounds stand behind each other.
 */
static void compare(struct stage_times *t)
{
    double all = 0, longest = 0, rest = 0, work = 0;

    for (int k = 0; k < t->stage_count; k++) {
        double pass = (double)t->stage[k].passes / (double)(t->rounds * t->micro_batches);

        all += pass;
        longest = pass > longest ? pass : longest;
        rest = fmax(rest, (double)t->stage[k].rest / (double)t->rounds);
        work += (double)(t->stage[k].passes + t->stage[k].rest);
    }
    t->ideal = t->rounds * (cycle_t)(all + (t->micro_batches - 1) * longest + rest);
    t->theory = (double)(t->stage_count - 1) / (t->micro_batches + t->stage_count - 1);
    t->bubble = 1 - work / ((double)t->stage_count * (double)t->ideal);
    t->measured = 1 - work / ((double)t->stage_count * (double)t->cycles);
}

void stage_times_of(const struct strategy *s, const struct strategy_program *p, struct arena *a,
                    struct stage_times *out)
{
    *out = (struct stage_times){.stage_count = p->part_count, .micro_batches = p->micro_batches,
                                .rounds = p->rounds,
                                .cycles = machine_cycles(s->options.machine)};
    out->stage = arena_array(a, (size_t)p->part_count, sizeof(*out->stage));
    for (int d = 0; d < s->device_count; d++)
        add_core(s, strategy_part_of(s, p, d), s->core[d], &out->stage[strategy_stage_of(s, d)]);
    for (int k = 0; k < p->part_count; k++)
        divide(&out->stage[k], s->device_count / p->part_count);
    compare(out);
}
