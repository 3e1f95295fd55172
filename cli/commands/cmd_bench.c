/* `systole bench` measures what docs/performance.md promises. */
#include "cli/bench/bench.h"

#include "base/units.h"
#include "cli/commands/cli.h"
#include "cli/common/options.h"
#include "base/outfile.h"

#include <jansson.h>
#include <string.h>

static const struct row {
    const char *name, *unit;
    bool is_at_least;                   /* must be at least, else at most */
    double must;
    bench_fn *measure;
    int argument;
} rows[] = {
    {"mnist_3_epochs_host_seconds", "s", false, 5.0, bench_epochs_seconds, 3},
    {"mnist_3_epochs_reference_gap", "points", false, 0.5, bench_reference_gap, 0},
    {"mnist_20_epochs_host_seconds", "s", false, 30.0, bench_epochs_seconds, 20},
    {"mnist_test_accuracy_seed_1", "share", true, 0.972, bench_accuracy, 1},
    {"mnist_test_accuracy_seed_2", "share", true, 0.972, bench_accuracy, 2},
    {"mnist_test_accuracy_seed_3", "share", true, 0.972, bench_accuracy, 3},
    {"mnist_highest_loss_gap", "share", false, 1e-4, bench_loss_gap, 1},
    {"mnist_default_loss_gap", "share", false, 1e-3, bench_loss_gap, 0},
    {"mnist_bf16_epoch_loss_gap", "share", false, 1e-2, bench_bf16_gap, 0},
    {"mnist_peak_memory", "MiB", false, 1024.0, bench_peak_memory, 0},
    {"two_threads_of_host_scaling", "ratio", true, 0.95, bench_thread_scaling, BENCH_PRODUCTS},
    {"two_threads_training_step", "ratio", true, 0.95, bench_thread_scaling, BENCH_REPEATED},
    {"two_threads_simulated_step", "ratio", true, 0.95, bench_thread_scaling, BENCH_SIMULATED},
    {"trace_on_to_off", "ratio", false, 1.5, bench_trace_ratio, 0},
    {"timing_bundles_per_second", "M", true, 50.0, bench_timing_bundles, 0},
    {"timing_trace_on_to_off", "ratio", false, 2.0, bench_timing_trace, 0},
    {"gemm_2048_both_to_openblas", "ratio", false, 0.9, bench_gemm_ratio, 0},
    {"gemm_2048_avx2_to_haswell", "ratio", false, 1.4, bench_gemm_ratio, 1},
    {"gemm_8192_v5e_timing_seconds", "s", false, 0.1, bench_gemm_timing, 8192},
    {"gemm_trace_on_to_off", "ratio", false, 1.5, bench_gemm_trace, 0},
    {"collective_4096_chips_seconds", "s", false, 10.0, bench_collective, BENCH_COLLECTIVE_SECONDS},
    {"collective_4096_chips_mib", "MiB", false, 4096.0, bench_collective,
     BENCH_COLLECTIVE_MEMORY},
    {"collective_growth_from_64_chips", "ratio", false, 2.0, bench_collective,
     BENCH_COLLECTIVE_GROWTH_64},
    {"collective_growth_from_512_chips", "ratio", false, 2.0, bench_collective,
     BENCH_COLLECTIVE_GROWTH_512},
    {"hbm_rows_gb_per_second", "GB", true, 20.0, bench_memory, 2048},
    {"hbm_bursts_gb_per_second", "GB", true, 5.0, bench_memory, 64},
    {"strace_1gb_open_seconds", "s", false, 3.0, bench_ntrace, BENCH_NTRACE_OPEN},
    {"strace_1gb_scan_seconds", "s", false, 3.0, bench_ntrace, BENCH_NTRACE_SCAN},
    {"strace_bytes_per_bundle", "B", false, 2.0, bench_ntrace, BENCH_NTRACE_BYTES},
    {"strace_write_ns_per_bundle", "ns", false, 17.0, bench_ntrace, BENCH_NTRACE_WRITE},
    {"view_100m_open_seconds", "s", false, 3.0, bench_view, BENCH_VIEW_OPEN},
    {"view_100m_frame_median", "ms", false, 16.0, bench_view, BENCH_VIEW_MEDIAN},
    {"view_100m_frame_99th_percentile", "ms", false, 16.0, bench_view, BENCH_VIEW_P99},
    {"view_100m_frame_worst", "ms", false, 16.0, bench_view, BENCH_VIEW_WORST},
    {"view_100m_other_panels_worst", "ms", false, 16.0, bench_view, BENCH_VIEW_OTHERS},
    {"training_cnn_step_seconds", "s", false, 2.5, bench_cnn_seconds, BENCH_CNN_REPLICATED},
    {"training_cnn_parts_step_seconds", "s", false, 1.5, bench_cnn_seconds, BENCH_CNN_IN_PARTS},
    {"training_cnn_gb", "GB", false, 6.0, bench_cnn_memory, BENCH_CNN_REPLICATED},
    {"training_cnn_parts_gb", "GB", false, 4.0, bench_cnn_memory, BENCH_CNN_IN_PARTS},
    {"training_transformer_step_seconds", "s", false, 0.45, bench_transformer_seconds, 0},
    {"training_resnet50_seconds", "s", false, 60.0, bench_resnet_seconds, 128},
    {"build_clean_seconds", "s", false, 75.0, bench_build, BENCH_BUILD_SECONDS},
    {"build_clean_mib", "MiB", false, 150.0, bench_build, BENCH_BUILD_SIZE},
    {"make_check_seconds", "s", false, 300.0, bench_check, BENCH_CHECK_ALL},
    {"make_check_programs_seconds", "s", false, 200.0, bench_check, BENCH_CHECK_PROGRAMS},
    {"make_check_scripts_seconds", "s", false, 120.0, bench_check, BENCH_CHECK_SCRIPTS},
};

struct options {
    struct bench bench;
    const char *out;
    const char *only;
    int64_t sgemm;                      /* 0, or only time sgemm of that side */
};

#define AT(member) CLI_AT(struct options, member)

static const struct cli_option options[] = {
    {"out", 0, "FILE", "list of measured figures, JSON (default: %s)", 1, CLI_TEXT, AT(out)},
    {"data", 0, "DIR", "folder with the MNIST files, for the training runs", 1, CLI_TEXT,
     AT(bench.data)},
    {"model", 0, "FILE", "Keras model of the figures mnist_* (default: %s)", 1, CLI_TEXT,
     AT(bench.model)},
    {"cnn", 0, "FILE", "Keras model of the figures training_cnn_* (default: %s)", 1, CLI_TEXT,
     AT(bench.cnn)},
    {"text", 0, "FILE", "text that the transformer learns, as tinyshakespeare", 1, CLI_TEXT,
     AT(bench.text)},
    {"only", 0, "TEXT", "only figures whose name contains TEXT", 1, CLI_TEXT, AT(only)},
    {"sgemm", 0, "SIDE",
     "only print the seconds of OpenBLAS's sgemm of that side; OPENBLAS_CORETYPE and "
     "OPENBLAS_NUM_THREADS choose its kernels and threads", 1, CLI_WHOLE, AT(sgemm), .lo = 1,
     .hi = 16384},
    {0}};

static const struct cli_syntax syntax = {
    .own.row = options,
    .doc = "Measures the promised figures on this host and says which are met.\v"
           "Exit status 0: all that was measured is met; 1: not, or something failed.\n"
           "Of the time, training_cnn_* take some minutes: four runs of a CNN, and up to 6 GB "
           "of memory; training_transformer_* and training_resnet50_* take less than one each. "
           "What lacks its data, a program or memory is left out, and a line says so.\n\n"
           "Examples:\n  systole bench --data mnist/ --text input.txt --out build/bench.json\n"
           "  systole bench --data mnist/ --only training_cnn"};

static bool is_met(const struct row *r, double value)
{
    return r->is_at_least ? value >= r->must : value <= r->must;
}

static void print_row(const struct row *r, double value)
{
    printf("%-32s %12.4g %-7s %s %-9g %s\n", r->name, value, r->unit, r->is_at_least ? ">=" : "<=",
           r->must, is_met(r, value) ? "ok" : "MISSED");
    fflush(stdout);
}

static void add_row(json_t *list, const struct row *r, double value)
{
    char must[32];
    json_t *o = json_object();

    snprintf(must, sizeof(must), "%s %g", r->is_at_least ? ">=" : "<=", r->must);
    json_object_set_new(o, "name", json_string(r->name));
    json_object_set_new(o, "value", json_real(value));
    json_object_set_new(o, "unit", json_string(r->unit));
    json_object_set_new(o, "must", json_string(must));
    json_object_set_new(o, "ok", json_boolean(is_met(r, value)));
    json_array_append_new(list, o);
}

static int measure_rows(struct options *o, json_t *list, int *missed, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct row *r = &rows[i];
        double value = 0.0;
        int status;

        if (o->only && !strstr(r->name, o->only))
            continue;
        status = r->measure(&o->bench, r->argument, &value, e);
        if (status < 0)
            return -1;
        if (status == BENCH_LEFT_OUT) {
            printf("%-32s left out: %s\n", r->name, e->msg);
            continue;
        }
        print_row(r, value);
        add_row(list, r, value);
        *missed += !is_met(r, value);
    }
    return 0;
}

static int check_only(const char *only, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!only || strstr(rows[i].name, only))
            return 0;
    return err_set(e, "--only \"%s\": no figure's name contains it", only);
}

static int bench(struct options *o, int *missed, struct err *e)
{
    json_t *list = json_array();
    struct outfile f;
    int status = check_only(o->only, e);

    if (status == 0)
        status = outfile_begin(&f, o->out, e);     /* before minutes of work */
    if (status == 0) {
        printf("%-32s %12s %-7s %-12s\n", "figure", "value", "unit", "must be");
        fflush(stdout);
        status = measure_rows(o, list, missed, e);
        json_dumpf(list, f.to, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
        fputc('\n', f.to);
        if (status == 0)
            status = outfile_commit(&f, e);
        else
            outfile_abandon(&f);
    }
    json_decref(list);
    return status;
}

int cmd_bench(int argc, char **argv)
{
    struct options o = {.out = "build/bench.json", .bench = {.model = "examples/mnist_mlp.json",
                                                            .cnn = "examples/mnist_cnn.json"}};
    struct err e;
    int missed = 0;

    cli_parse(&syntax, argc, argv, &o);
    if (o.sgemm)
        return bench_time_sgemm(o.sgemm);
    if (bench(&o, &missed, &e) != 0)
        return cli_fail(&e);
    if (missed)
        printf("%d missed\n", missed);
    return missed ? EXIT_USER_ERROR : 0;
}
