/*
 * A small transformer that learns to write like Shakespeare, character by character.
 *
 *     make examples
 *     build/examples/shakespeare input.txt --tpu v3-8 --steps 2000
 *
 * The text is any file; its bytes are the vocabulary. The last tenth of it is for validation. Each
 * step takes a global batch of windows begun anywhere, and the labels are the characters one behind
 * each. The model comes from a file as Keras writes it, with windows of 128 characters.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "include/systole.h"

#define LENGTH 128                      /* characters of a window, as the model has it */
#define CLASSES 65                      /* that the model tells apart */
#define BATCH 64                        /* windows of a step, of all replicas */

struct options {
    const char *text, *tpu, *mode, *model;
    int64_t steps, every, validate, sample;
    uint64_t seed;
    int threads;
};

struct text {
    int32_t *number;                    /* of each character: its place in `byte` */
    int64_t count;
    char byte[256];
    int classes;
};

static void fail(const char *what)
{
    fprintf(stderr, "shakespeare: %s\n", what);
    exit(1);
}

static void fail_file(const char *path)
{
    fprintf(stderr, "shakespeare: %s: %s\n", path, strerror(errno));
    exit(1);
}

static void must(sy_status s)
{
    if (s == SY_ERROR)
        fail(sy_message());
}

/* ----- the text */

static void *room(int64_t count, size_t bytes)
{
    void *p = calloc((size_t)count, bytes);

    if (!p)
        fail("out of memory");
    return p;
}

/* read and not mapped: what it is tells the first read (EISDIR), how long it is the end of it */
static unsigned char *read_file(const char *path, int64_t *bytes)
{
    FILE *f = fopen(path, "rb");
    unsigned char *p;

    if (f && fgetc(f) == EOF && ferror(f))
        fail_file(path);

    if (!f || fseek(f, 0, SEEK_END) != 0 || (*bytes = ftell(f)) < 0)
        fail_file(path);
    rewind(f);
    p = room(*bytes + 1, 1);
    if ((int64_t)fread(p, 1, (size_t)*bytes, f) != *bytes)
        fail_file(path);
    fclose(f);
    return p;
}

static void read_text(struct text *t, const char *path)
{
    unsigned char *p = read_file(path, &t->count);
    int place[256] = {0};

    for (int64_t i = 0; i < t->count; i++)
        place[p[i]] = 1;
    for (int b = 0; b < 256; b++)
        if (place[b]) {
            place[b] = t->classes;
            t->byte[t->classes++] = (char)b;
        }
    if (t->classes > CLASSES || t->count < 10 * (LENGTH + 1))
        fail("the model is for texts of at most 65 different bytes, and 1290 of them or more");
    t->number = room(t->count, sizeof(*t->number));
    for (int64_t i = 0; i < t->count; i++)
        t->number[i] = place[p[i]];
    free(p);
}

/* windows of characters and the labels of each */
struct windows {
    int32_t *input, *label;
    const void *inputs[1];
    sy_samples samples;
};

static void make_windows(struct windows *w, int64_t count)
{
    w->input = room(count * LENGTH, sizeof(*w->input));
    w->label = room(count * LENGTH, sizeof(*w->label));
    w->inputs[0] = w->input;
    w->samples = (sy_samples){.count = count, .input = w->inputs, .label = w->label};
}

static void set_window(struct windows *w, int64_t i, const struct text *t, int64_t first)
{
    memcpy(w->input + i * LENGTH, t->number + first, LENGTH * sizeof(int32_t));
    memcpy(w->label + i * LENGTH, t->number + first + 1, LENGTH * sizeof(int32_t));
}

static void free_windows(struct windows *w)
{
    free(w->input);
    free(w->label);
}

/* splitmix64 */
static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ----- training */

struct progress {
    const struct options *o;
    struct timespec begun;
};

static double seconds(const struct progress *p)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - p->begun.tv_sec) +
           1e-9 * (double)(now.tv_nsec - p->begun.tv_nsec);
}

static sy_status tell_step(void *user, sy_model *m, const sy_result *r)
{
    const struct progress *p = user;

    (void)m;
    if (r->step == 1 || r->step % p->o->every == 0 || r->step == p->o->steps) {
        printf("step %5" PRId64 "  loss %.5f nats/char", r->step, r->loss);
        if (r->cycles)
            printf("  %" PRId64 " cycles", r->cycles);
        printf("  (%.1f s on the host so far)\n", seconds(p));
        fflush(stdout);
    }
    return SY_OK;
}

static void train(sy_model *m, const struct text *t, const struct options *o)
{
    int64_t learned = t->count - t->count / 10, done = 0;
    int64_t check = (t->count - learned - 1) / LENGTH;
    struct progress p = {.o = o};
    uint64_t state = o->seed;
    struct windows validation;
    sy_result r;

    make_windows(&validation, check);
    for (int64_t i = 0; i < check; i++)
        set_window(&validation, i, t, learned + i * LENGTH);
    clock_gettime(CLOCK_MONOTONIC, &p.begun);
    for (int64_t epoch = 0; done < o->steps; epoch++) {
        int64_t steps = o->validate < o->steps - done ? o->validate : o->steps - done;
        struct windows w;

        make_windows(&w, steps * BATCH);
        for (int64_t i = 0; i < w.samples.count; i++)
            set_window(&w, i, t, (int64_t)(random_bits(&state) % (uint64_t)(learned - LENGTH)));
        must(sy_model_fit(m, &w.samples, &(sy_fit){
            .initial_epoch = epoch, .epochs = epoch + 1, .no_shuffle = true, .quiet = true,
            .on_step = tell_step, .user = &p}));
        free_windows(&w);
        done += steps;
        must(sy_model_evaluate(m, &validation.samples, &r));
        printf("step %5" PRId64 "  validation loss %.4f nats/char over %" PRId64 " characters\n",
               done, r.loss, check * LENGTH);
        fflush(stdout);
    }
    free_windows(&validation);
}

/* ----- writing */

/* drawn by the probabilities that the logits stand for */
static int draw(const float *logit, int classes, uint64_t *state)
{
    double sum = 0, mark = (double)(random_bits(state) >> 11) * 0x1p-53;

    for (int i = 0; i < classes; i++)
        sum += exp((double)logit[i]);
    mark *= sum;
    for (int i = 0; i < classes; i++)
        if ((mark -= exp((double)logit[i])) < 0)
            return i;
    return classes - 1;
}

/* goes on from the last window of the text: one forward pass for each character */
static void write_text(sy_model *m, const struct text *t, const struct options *o)
{
    uint64_t state = o->seed;
    struct windows w;

    make_windows(&w, 1);
    set_window(&w, 0, t, t->count - LENGTH - 1);
    for (int64_t i = 0; i < o->sample; i++) {
        sy_array *logits;
        const float *last;
        int next;

        must(sy_model_predict(m, &w.samples, &logits));
        last = (const float *)sy_array_data(logits) + (LENGTH - 1) * CLASSES;
        next = draw(last, t->classes, &state);
        sy_array_free(logits);
        memmove(w.input, w.input + 1, (LENGTH - 1) * sizeof(*w.input));
        w.input[LENGTH - 1] = next;
        putchar(t->byte[next]);
        fflush(stdout);
    }
    if (o->sample)
        putchar('\n');
    free_windows(&w);
}

/* ----- */

static const char usage[] =
    "usage: shakespeare TEXT [--tpu v3-8|cpu] [--steps N] [--mode both|functional]\n"
    "                   [--threads N] [--seed N] [--every N] [--validate N] [--sample N]\n"
    "                   [--model FILE]\n"
    "  --every     a line after so many steps (10)\n"
    "  --validate  the validation loss after so many steps (200)\n"
    "  --sample    characters to write at the end (0); each takes a forward pass\n"
    "  --model     as Keras's to_json writes it (examples/char_transformer.json)\n"
    "example: shakespeare input.txt --tpu v3-8 --steps 100 --every 1\n";

static int64_t number_of(const char *text, int64_t least)
{
    char *end;
    int64_t v = strtoll(text, &end, 10);

    if (end == text || *end || v < least || v > 1000000000) {
        fprintf(stderr, "shakespeare: %s: expected a number from %" PRId64 " up\n", text, least);
        exit(1);
    }
    return v;
}

static int set_option(struct options *o, const char *name, const char *value)
{
    const struct { const char *name; const char **to; } texts[] = {
        {"--tpu", &o->tpu}, {"--mode", &o->mode}, {"--model", &o->model},
    };
    const struct { const char *name; int64_t *to, least; } numbers[] = {
        {"--steps", &o->steps, 1}, {"--every", &o->every, 1}, {"--validate", &o->validate, 1},
        {"--sample", &o->sample, 0},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (strcmp(name, texts[i].name) == 0)
            return *texts[i].to = value, 0;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (strcmp(name, numbers[i].name) == 0)
            return *numbers[i].to = number_of(value, numbers[i].least), 0;
    if (strcmp(name, "--threads") == 0)
        return o->threads = (int)number_of(value, 1), 0;
    if (strcmp(name, "--seed") == 0)
        return o->seed = (uint64_t)number_of(value, 1), 0;
    return -1;
}

static void read_options(struct options *o, int argc, char **argv)
{
    *o = (struct options){.tpu = "v3-8", .model = "examples/char_transformer.json",
                          .steps = 2000, .every = 10, .validate = 200, .seed = 1};
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-' && !o->text)
            o->text = argv[i];
        else if (i + 1 < argc && set_option(o, argv[i], argv[i + 1]) == 0)
            i++;
        else
            o->text = NULL, i = argc;
    }
    if (!o->text) {
        fputs(usage, stderr);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    sy_cluster *cluster;
    sy_strategy *strategy;
    sy_model *model;
    struct options o;
    struct text t = {0};

    read_options(&o, argc, argv);
    read_text(&t, o.text);
    must(sy_cluster_resolve(o.tpu, &(sy_cluster_options){.mode = o.mode, .threads = o.threads},
                            &cluster));
    must(sy_cluster_initialize(cluster));
    must(sy_strategy_create(cluster, NULL, &(sy_strategy_options){.seed = o.seed}, &strategy));
    must(sy_model_load(strategy, o.model, &model));
    must(sy_model_compile(model, &(sy_compile){
        .optimizer = "AdamW(1e-3)", .batch = BATCH,
        .loss = "SparseCategoricalCrossentropy(from_logits=True)"}));
    printf("%s; %" PRId64 " characters, %d different ones; %" PRId64 " parameters\n",
           sy_cluster_describe(cluster), t.count, t.classes, sy_model_parameters(model, true));
    train(model, &t, &o);
    write_text(model, &t, &o);
    sy_model_free(model);
    sy_strategy_free(strategy);
    sy_cluster_free(cluster);
    free(t.number);
    return 0;
}
