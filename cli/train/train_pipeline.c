/* Prints where the time of a step in stages went. */
#include "cli/train/train.h"

#include "base/text.h"
#include "train/strategy/stage_times.h"

/* "d0 .. d3", the layers of a stage */
static const char *layers_of(struct train_run *t, const struct model_stages *s, int stage)
{
    const char *first = NULL, *last = NULL;

    for (int i = 0; i < t->model.node_count; i++) {
        int layer = t->model.node[i].layer;

        if (s->layer[layer] != stage || t->model.layer[layer]->kind == LAYER_INPUT)
            continue;
        last = t->model.layer[layer]->name;
        first = first ? first : last;
    }
    return first == last ? first : arena_printf(&t->arena, "%s .. %s", first, last);
}

static void print_stage(struct train_run *t, const struct strategy_program *p,
                        const struct stage_times *times, int stage)
{
    const struct strategy *s = fit_strategy(t->fit);
    struct strategy_part part = strategy_program_part(s, p, stage);
    const struct stage_cycles *c = &times->stage[stage];
    const cycle_t list[] = {c->passes, c->rest, c->messages, c->sums, c->idle};

    printf("  %5d  %-24.24s", stage, layers_of(t, fit_stages(t->fit), stage));
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        printf("  %9s", text_thousands(list[i]).text);
    printf("  %4d", part.kept_most);
    printf("  %10s", text_bytes(part.variable_bytes).text);
    printf("  %10s", text_bytes(part.module->hbm_bytes).text);
    printf("  %10s\n", text_bytes(part.sent_bytes).text);
}

void train_print_stages(struct train_run *t, const struct strategy_program *p)
{
    struct stage_times times;
    int replicas = strategy_replica_count(fit_strategy(t->fit));
    double exposed;

    if (!fit_stages(t->fit) || !train_is_timed(t) ||
        strategy_stage_count(fit_strategy(t->fit)) == 1)
        return;
    stage_times_of(fit_strategy(t->fit), p, &t->arena, &times);
    exposed = (double)(times.cycles - times.ideal);
    printf("\npipeline of %d stages, %d micro batches", times.stage_count, times.micro_batches);
    if (times.rounds > 1)
        printf(", %lld steps", (long long)times.rounds);
    printf(": cycles of a core, mean of %d replica%s\n", replicas, replicas == 1 ? "" : "s");
    printf("  stage  %-24s  %9s  %9s  %9s  %9s  %9s  %4s  %10s  %10s  %10s\n", "layers", "passes",
           "update", "messages", "sums", "idle", "kept", "variables", "launch", "sent");
    for (int k = 0; k < times.stage_count; k++)
        print_stage(t, p, &times, k);
    printf("  messages: copies and waiting for other stages; kept: micro batches whose backward "
           "pass is to come, at most\n");
    printf("  bubble     %5.1f %% of the cores' time by theory, (S - 1) / (M + S - 1) of equal "
           "stages; %.1f %% with stages as long as these\n", 100 * times.theory,
           100 * times.bubble);
    printf("  measured   %5.1f %% of the time cores do not work: %s cycles, where these stages "
           "without communication take %s\n", 100 * times.measured,
           text_thousands(times.cycles).text, text_thousands(times.ideal).text);
    printf("  exposed    %5.1f %% of the time is communication that nothing hides\n",
           100 * exposed / (double)times.cycles);
}
