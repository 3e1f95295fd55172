/*
 * A model in stages on different cores, through which micro batches pass one behind the other.
 *
 *     build/examples/8_pipeline [TPU]
 *
 * Eight dense layers on numbers that the program draws: four stages by two replicas on a v3-8. The
 * more micro batches, the less the cores wait for each other, until each has too little to do.
 */
#include "examples/tpu_guide/common.h"

#define SAMPLES 1024
#define INPUTS 512
#define CLASSES 10
#define STAGES 4

struct drawn {
    float x[SAMPLES][INPUTS];
    int32_t label[SAMPLES];
};

/* the label is where the largest of the first ten numbers is */
static void draw(struct drawn *d)
{
    unsigned state = 1;

    for (int i = 0; i < SAMPLES; i++) {
        for (int j = 0; j < INPUTS; j++) {
            state = state * 1664525u + 1013904223u;
            d->x[i][j] = (float)(state >> 8) / (float)(1 << 24);
        }
        d->label[i] = 0;
        for (int j = 1; j < CLASSES; j++)
            if (d->x[i][j] > d->x[i][d->label[i]])
                d->label[i] = j;
    }
}

static void train(sy_cluster *cluster, const sy_samples *samples, int micro_batches)
{
    sy_strategy *strategy;
    sy_pipeline p;
    sy_model *model;

    must(sy_strategy_create(cluster, NULL, &(sy_strategy_options){.pipeline_stages = STAGES},
                            &strategy));
    must(sy_model_create(strategy, "deep", &model));
    must(sy_model_add(model, "Dense(512, activation='relu', input_shape=(512,))"));
    for (int i = 0; i < 6; i++)
        must(sy_model_add(model, "Dense(512, activation='relu')"));
    must(sy_model_add(model, "Dense(10)"));
    must(sy_model_compile(model, &(sy_compile){
        .optimizer = "Adam(1e-3)", .loss = "SparseCategoricalCrossentropy(from_logits=True)",
        .batch = SAMPLES, .micro_batches = micro_batches}));
    must(sy_model_fit(model, samples, &(sy_fit){.epochs = 1}));
    if (sy_strategy_pipeline(strategy, &p) == SY_OK)
        printf("%d micro batches: %lld cycles a step; cores wait %.0f %% of it, by theory %.0f %%\n",
               p.micro_batches, (long long)p.cycles, 100 * p.waiting, 100 * p.theory);
    else
        printf("%s\n", sy_message());   /* on the host */
    sy_model_free(model);
    sy_strategy_free(strategy);
}

int main(int argc, char **argv)
{
    static struct drawn d;
    const void *input[] = {d.x};
    sy_samples samples = {.count = SAMPLES, .input = input, .label = d.label};
    sy_cluster *cluster = open_tpu(argc, argv);

    draw(&d);
    for (int micro_batches = 1; micro_batches <= 8; micro_batches *= 2)
        train(cluster, &samples, micro_batches);
    sy_cluster_free(cluster);
    return 0;
}
