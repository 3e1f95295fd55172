/* Callbacks of training: when they act, on a model whose numbers the test makes up. */
#include "tests/rigs/train_rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "data/crc32c.h"
#include "tests/rigs/graph_rig.h"
#include "train/fit/callbacks.h"

/* a model of one weight, whose logs are given */
struct watched {
    struct train_rig rig;
    struct model model;
    struct optimizer optimizer;
    struct metric metric;
    struct fit *fit;
    double metric_value;
};

static void open_watched(struct watched *w)
{
    struct shape sample = f32_shape(DIMS(1));
    struct fit_options o;
    struct layer *l;

    memset(w, 0, sizeof(*w));
    train_rig_init(&w->rig, "host", NULL, MODE_BOTH);
    model_init(&w->model, &w->rig.arena, "one");
    model_input(&w->model, "x", &sample);
    l = model_layer(&w->model, LAYER_DENSE, NULL);
    l->c.units = 1;
    train_rig_must(&w->rig, model_add(&w->model, l, &w->rig.err) < 0 ? -1 : 0);
    model_output(&w->model, 1);
    optimizer_init(&w->optimizer, RULE_SGD);
    w->metric = metric_standard(METRIC_MEAN_ABSOLUTE_ERROR);
    o = (struct fit_options){.model = &w->model, .loss = loss_standard(LOSS_MEAN_SQUARED_ERROR),
                             .metric = &w->metric, .metric_count = 1,
                             .optimizer = &w->optimizer, .strategy = w->rig.options, .batch = 2};
    w->fit = fit_create(&o, &w->rig.err);
    train_rig_must(&w->rig, w->fit ? 0 : -1);
}

static void close_watched(struct watched *w)
{
    fit_destroy(w->fit);
    model_fini(&w->model);
    train_rig_fini(&w->rig);
}

/* the next epoch ends with this loss of the validation */
static int tell(struct watched *w, const struct fit_callback *c, int64_t epoch, double loss)
{
    struct fit_log log = {.epoch = epoch, .steps = 3, .loss = 9, .metric = &w->metric_value,
                          .has_validation = true, .validation_loss = loss,
                          .validation_metric = &w->metric_value, .learning_rate = 0.5,
                          .cycles = 77};

    return c->epoch(c->context, w->fit, &log, &w->rig.err);
}

static float weight(struct watched *w)
{
    float value;

    train_rig_must(&w->rig, strategy_read(fit_strategy(w->fit), 0, &value, &w->rig.err));
    return value;
}

static void set_weight(struct watched *w, float value)
{
    train_rig_must(&w->rig, strategy_write(fit_strategy(w->fit), 0, &value, &w->rig.err));
}

TEST(early_stopping_waits_and_puts_the_best_back)
{
    static const double losses[] = {1.0, 0.5, 0.45, 0.6, 0.44, 0.43};
    struct early_stopping o = {.patience = 3, .min_delta = 0.1, .restores_best = true};
    struct fit_callback c;
    struct watched w;

    open_watched(&w);
    callback_early_stopping(&c, &o, &w.rig.arena);
    assert_int_equal(c.begin(c.context, w.fit, &w.rig.err), 0);
    for (int i = 0; i < 5; i++) {
        set_weight(&w, (float)i);
        assert_int_equal(tell(&w, &c, i + 1, losses[i]), i == 4);   /* 0.5 is not beaten by 0.1 */
    }
    assert_int_equal(c.end(c.context, w.fit, &w.rig.err), 0);
    assert_true(weight(&w) == 1);
    close_watched(&w);
}

TEST(accuracies_are_better_when_larger_and_losses_when_smaller)
{
    struct early_stopping o = {.monitor = "mean_absolute_error", .mode = MONITOR_MAX};
    struct fit_callback c;
    struct watched w;

    open_watched(&w);
    callback_early_stopping(&c, &o, &w.rig.arena);
    w.metric_value = 0.1;
    assert_int_equal(tell(&w, &c, 1, 0), 0);
    w.metric_value = 0.2;
    assert_int_equal(tell(&w, &c, 2, 0), 0);
    w.metric_value = 0.15;
    assert_int_equal(tell(&w, &c, 3, 0), 1);
    o.monitor = "val_mean_absolute_eror";
    callback_early_stopping(&c, &o, &w.rig.arena);
    assert_int_equal(tell(&w, &c, 1, 0), -1);
    assert_string_equal(w.rig.err.msg, "there is no \"val_mean_absolute_eror\" to watch (did you "
                                       "mean \"mean_absolute_error\"?)");
    close_watched(&w);
}

/* Keras finds out when the first epoch is over */
TEST(what_is_not_there_to_be_watched_is_told_before_training)
{
    struct early_stopping o = {.monitor = "val_acc"};
    struct reduce_on_plateau p = {.monitor = "val_acc"};
    struct fit_callback c;
    struct watched w;

    open_watched(&w);
    callback_early_stopping(&c, &o, &w.rig.arena);
    assert_int_equal(c.begin(c.context, w.fit, &w.rig.err), -1);
    assert_string_equal(w.rig.err.msg, "there is no \"val_acc\" to watch; there are loss, "
                                       "mean_absolute_error, and these with val_ in front");
    callback_reduce_on_plateau(&c, &p, &w.rig.arena);
    assert_int_equal(c.begin(c.context, w.fit, &w.rig.err), -1);
    close_watched(&w);
}

static double rate(struct watched *w)
{
    double r;

    train_rig_must(&w->rig, fit_learning_rate(w->fit, &r, &w->rig.err));
    return r;
}

TEST(plateaus_reduce_the_rate_and_cool_down)
{
    struct reduce_on_plateau o = {.patience = 2, .factor = 0.5, .cooldown = 1, .min_rate = 0.3};
    struct fit_callback c;
    struct watched w;

    open_watched(&w);
    train_rig_must(&w.rig, fit_set_learning_rate(w.fit, 1, &w.rig.err));
    callback_reduce_on_plateau(&c, &o, &w.rig.arena);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(tell(&w, &c, i, 1), 0);
    assert_true(rate(&w) == 0.5);       /* after two epochs without */
    for (int i = 4; i <= 5; i++)
        assert_int_equal(tell(&w, &c, i, 1), 0);
    assert_true(rate(&w) == 0.5 || rate(&w) == (double)0.3f);
    for (int i = 6; i <= 9; i++)
        assert_int_equal(tell(&w, &c, i, 1), 0);
    assert_true(rate(&w) == (double)0.3f);
    close_watched(&w);
}

static double halve(void *context, int64_t epoch, double r)
{
    ++*(int *)context;
    return epoch < 2 ? r : r / 2;
}

TEST(schedules_set_the_rate_of_each_epoch)
{
    struct fit_callback c;
    struct watched w;
    int calls = 0;

    open_watched(&w);
    train_rig_must(&w.rig, fit_set_learning_rate(w.fit, 1, &w.rig.err));
    callback_schedule(&c, halve, &calls, &w.rig.arena);
    for (int i = 1; i <= 4; i++)
        assert_int_equal(c.epoch_begin(c.context, w.fit, i, &w.rig.err), 0);
    assert_true(rate(&w) == 0.25);
    assert_int_equal(calls, 4);
    close_watched(&w);
}

TEST(rates_are_read_as_tables_and_formulas)
{
    static const struct { const char *text; double at[4]; } rates[] = {
        {"1=0.5, 3=0.25", {1, 0.5, 0.5, 0.25}},
        {"lr * 0.5 ** (epoch // 2)", {1, 1, 0.5, 0.25}},
        {"max(0.25, 1 - epoch / 4) + -0.0", {1, 0.75, 0.5, 0.25}},
        {"exp(-epoch) * 2 ** -1", {0.5, 0.5 * 0.36787944, 0.5 * 0.13533528, 0.5 * 0.04978707}},
    };
    static const char *const wrong[] = {"", "lr *", "lr 2", "(lr", "ecoph", "1=2,1=3", "0.5=1",
                                        "min(lr)", "((((((((((((((((((((((((((((((((((1"};
    struct fit_callback c;
    struct watched w;

    open_watched(&w);
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        train_rig_must(&w.rig, fit_set_learning_rate(w.fit, 1, &w.rig.err));
        assert_int_equal(callback_rate_text(&c, rates[i].text, false, &w.rig.arena, &w.rig.err), 0);
        for (int k = 0; k < 4; k++) {
            train_rig_must(&w.rig, c.epoch_begin(c.context, w.fit, k + 1, &w.rig.err));
            assert_true(fabs(rate(&w) - rates[i].at[k]) < 1e-7);
        }
    }
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(callback_rate_text(&c, wrong[i], false, &w.rig.arena, &w.rig.err), -1);
    close_watched(&w);
}

TEST(a_baseline_that_is_not_beaten_does_not_start_patience_again)
{
    struct early_stopping o = {.patience = 2, .has_baseline = true, .baseline = 0.5};
    struct fit_callback c;
    struct watched w;

    open_watched(&w);
    callback_early_stopping(&c, &o, &w.rig.arena);
    assert_int_equal(tell(&w, &c, 1, 1.0), 0);
    assert_int_equal(tell(&w, &c, 2, 0.9), 1);  /* better than before, and that is all */
    callback_early_stopping(&c, &o, &w.rig.arena);
    assert_int_equal(tell(&w, &c, 1, 0.4), 0);
    assert_int_equal(tell(&w, &c, 2, 0.45), 0);
    assert_int_equal(tell(&w, &c, 3, 0.41), 1);
    close_watched(&w);
}

/* records of a folder's only file: lengths and checksums are right, and so many hold the text */
static int count_records(const char *folder, const char *text)
{
    char command[300], path[300] = "";
    unsigned char record[1024];
    uint32_t sum[2];
    uint64_t length;
    int found = 0;
    FILE *f;

    snprintf(command, sizeof(command), "ls %s/events.out.tfevents.*", folder);
    f = popen(command, "r");
    assert_non_null(fgets(path, sizeof(path), f));
    pclose(f);
    path[strcspn(path, "\n")] = '\0';
    f = fopen(path, "rb");
    assert_non_null(f);
    while (fread(&length, sizeof(length), 1, f) == 1) {
        assert_int_equal(fread(&sum[0], 4, 1, f), 1);
        assert_int_equal(crc32c_masked(&length, sizeof(length)), sum[0]);
        assert_true(length < sizeof(record));
        assert_int_equal(fread(record, 1, length, f), length);
        assert_int_equal(fread(&sum[1], 4, 1, f), 1);
        assert_int_equal(crc32c_masked(record, length), sum[1]);
        for (uint64_t i = 0; i + strlen(text) <= length; i++)
            found += memcmp(record + i, text, strlen(text)) == 0;
    }
    fclose(f);
    return found;
}

TEST(event_files_are_records_of_scalars)
{
    struct tensorboard_options o = {.update_steps = 2, .writes_speed = true};
    struct fit_callback c;
    struct watched w;
    char folder[] = "/tmp/systole-board-XXXXXX";

    open_watched(&w);
    assert_non_null(mkdtemp(folder));
    o.folder = arena_printf(&w.rig.arena, "%s/a/b", folder);
    train_rig_must(&w.rig, callback_tensorboard(&c, &o, &w.rig.arena, &w.rig.err));
    train_rig_must(&w.rig, c.epoch_begin(c.context, w.fit, 1, &w.rig.err));
    for (int step = 1; step <= 5; step++) {
        struct fit_log log = {.epoch = 1, .step = step, .steps = 1, .loss = 1.0 / step};

        train_rig_must(&w.rig, c.step(c.context, w.fit, &log, &w.rig.err));
    }
    assert_int_equal(tell(&w, &c, 1, 0.5), 0);
    c.close(c.context);
    o.folder = arena_printf(&w.rig.arena, "%s/train", o.folder);
    assert_int_equal(count_records(o.folder, "brain.Event:2"), 1);
    assert_int_equal(count_records(o.folder, "batch_loss"), 2);
    assert_int_equal(count_records(o.folder, "epoch_loss"), 1);
    assert_int_equal(count_records(o.folder, "epoch_mean_absolute_error"), 1);
    assert_int_equal(count_records(o.folder, "epoch_learning_rate"), 1);
    assert_int_equal(system(arena_printf(&w.rig.arena, "rm -rf %s", folder)), 0);
    close_watched(&w);
}

static void expect_file(const char *path, const char *expected)
{
    char text[1024] = "";
    FILE *f = fopen(path, "r");
    size_t got;

    assert_non_null(f);
    got = fread(text, 1, sizeof(text) - 1, f);
    text[got] = '\0';
    fclose(f);
    assert_string_equal(text, expected);
}

#define HEADING "epoch,loss,mean_absolute_error,val_loss,val_mean_absolute_error,learning_rate," \
                "steps,step_cycles\n"

TEST(csv_is_whole_after_every_epoch_and_can_be_continued)
{
    char path[] = "/tmp/systole-csv-XXXXXX";
    struct fit_callback c;
    struct watched w;

    assert_true(close(mkstemp(path)) == 0);
    open_watched(&w);
    w.metric_value = 0.25;
    train_rig_must(&w.rig, callback_csv(&c, path, false, &w.rig.arena, &w.rig.err));
    assert_int_equal(c.begin(c.context, w.fit, &w.rig.err), 0);
    assert_int_equal(tell(&w, &c, 1, 2), 0);
    expect_file(path, HEADING "1,9,0.25,2,0.25,0.5,3,77\n");
    c.close(c.context);
    train_rig_must(&w.rig, callback_csv(&c, path, true, &w.rig.arena, &w.rig.err));
    assert_int_equal(c.begin(c.context, w.fit, &w.rig.err), 0);
    assert_int_equal(tell(&w, &c, 2, 1), 0);
    expect_file(path, HEADING "1,9,0.25,2,0.25,0.5,3,77\n2,9,0.25,1,0.25,0.5,3,77\n");
    c.close(c.context);
    train_rig_must(&w.rig, callback_csv(&c, path, true, &w.rig.arena, &w.rig.err));
    assert_int_equal(c.begin(c.context, w.fit, &w.rig.err), 0);
    assert_int_equal(tell(&w, &c, 2, 4), 0);    /* done again, from the checkpoint of before */
    assert_int_equal(tell(&w, &c, 3, 1), 0);
    expect_file(path, HEADING "1,9,0.25,2,0.25,0.5,3,77\n2,9,0.25,4,0.25,0.5,3,77\n"
                      "3,9,0.25,1,0.25,0.5,3,77\n");
    c.close(c.context);
    w.metric.name = "mae";
    ((struct fit_options *)fit_options(w.fit))->metric[0].name = "mae";
    assert_int_equal(c.begin(c.context, w.fit, &w.rig.err), -1);
    assert_non_null(strstr(w.rig.err.msg, "other columns than this run's: epoch,loss,mae,"));
    c.close(c.context);
    unlink(path);
    assert_int_equal(callback_csv(&c, "/nowhere/at/all.csv", false, &w.rig.arena, &w.rig.err), -1);
    close_watched(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(early_stopping_waits_and_puts_the_best_back),
        cmocka_unit_test(accuracies_are_better_when_larger_and_losses_when_smaller),
        cmocka_unit_test(what_is_not_there_to_be_watched_is_told_before_training),
        cmocka_unit_test(plateaus_reduce_the_rate_and_cool_down),
        cmocka_unit_test(schedules_set_the_rate_of_each_epoch),
        cmocka_unit_test(rates_are_read_as_tables_and_formulas),
        cmocka_unit_test(a_baseline_that_is_not_beaten_does_not_start_patience_again),
        cmocka_unit_test(event_files_are_records_of_scalars),
        cmocka_unit_test(csv_is_whole_after_every_epoch_and_can_be_continued),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
