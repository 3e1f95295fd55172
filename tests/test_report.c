/*
 * Reports on a hand-made launch of two one-core chips: every number below can
 * be checked by eye against toy_init.
 */
#include "tests/test.h"

#include "report/bound.h"
#include "report/files.h"
#include "report/step_table.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { TRACK_SCALAR, TRACK_VALU, TRACK_LOAD, TRACK_MXU, TRACK_DMA, TRACK_COUNT };

struct toy {
    struct report_view view;
    struct chip chip;
    struct slice slice;
    struct core_counters counters[2];
    const struct core_counters *core[2];
    struct hbm_stats memory[2];
    const struct hbm_stats *hbm[2];
    struct net_link_stats wire[2];
    const struct net_link_stats *link[2];
    struct isa_bundle bundle[4];
    const char *note[2];
    struct isa_program program;
    struct view_trace trace[2];
};

static void toy_chip(struct chip *c)
{
    snprintf(c->chip_name, sizeof(c->chip_name), "Toy");
    c->chip_cores = 1;
    c->chip_clock_mhz = 1000;
    c->mxu_count = 1;
    c->mxu_size = 128;
    c->mxu_matmul_cycles = 8;
    c->hbm_channels = 4;
    c->hbm_burst_bytes = 32;
    c->hbm_burst_ps = 1000;             /* 4 x 32 B per ns: 128 GB/s a chip */
}

static void toy_unit(struct core_counters *c, int track, const char *name, cycle_t busy,
                     cycle_t waiting, int64_t ops, int slots)
{
    c->unit[track] = (struct unit_counters){
        .name = name,
        .busy_cycles = busy,
        .waiting_cycles = waiting,
        .idle_cycles = c->cycles - busy - waiting,
        .op_count = ops,
        .slot_cycles = c->cycles * slots,
    };
}

static void toy_core(struct core_counters *c)
{
    c->cycles = 10000;
    c->issue_cycles = 4000;
    c->idle_cycles = 500;
    c->unit_count = TRACK_COUNT;
    toy_unit(c, TRACK_SCALAR, "scalar", 3000, 0, 4000, 2);
    toy_unit(c, TRACK_VALU, "valu", 2000, 500, 2500, 2);
    toy_unit(c, TRACK_LOAD, "load", 1000, 0, 1000, 1);
    toy_unit(c, TRACK_MXU, "mxu0", 4800, 1000, 600, 1);
    toy_unit(c, TRACK_DMA, "dma", 5000, 0, 20, 1);
    c->op_count[OP_VMATMUL] = 600;
    c->op_count[OP_VLD] = 1000;
    c->matmul_flops = 600LL * 2 * 8 * 128 * 128;
    c->ici_sent_bytes = c->ici_received_bytes = 40960;
}

static void toy_init(struct toy *t)
{
    memset(t, 0, sizeof(*t));
    toy_chip(&t->chip);
    t->slice = (struct slice){"toy-2", "toy", {2, 1, 1}, {false}, 2, 2};
    for (int i = 0; i < 2; i++) {
        toy_core(&t->counters[i]);
        t->memory[i] = (struct hbm_stats){.read_bytes = 300000, .write_bytes = 100000,
                                          .run_count = 1000, .row_hits = 900, .row_closed = 60,
                                          .row_conflicts = 40, .busy_ps = 12500000};
        t->wire[i] = (struct net_link_stats){i, 1 - i, 40960, 45056, 1000000 * (i + 1)};
        t->core[i] = &t->counters[i];
        t->hbm[i] = &t->memory[i];
        t->link[i] = &t->wire[i];
    }
    t->counters[0].stall_cycles[STALL_OPERAND] = 500;
    t->counters[0].stall_cycles[STALL_MXU] = 1000;
    t->counters[0].stall_cycles[STALL_RESULT] = 500;
    t->counters[0].stall_cycles[STALL_HBM] = 2000;
    t->counters[0].stall_cycles[STALL_ICI] = 1000;
    t->counters[0].stall_cycles[STALL_BRANCH] = 500;
    t->counters[1].stall_cycles[STALL_HBM] = 4000;
    t->counters[1].stall_cycles[STALL_ICI] = 1000;
    t->counters[1].stall_cycles[STALL_SYNC] = 500;
    t->note[0] = "dot.1";
    t->note[1] = "add \"two\"";
    for (uint32_t i = 0; i < 4; i++)
        t->bundle[i] = (struct isa_bundle){.line = i + 10, .note = i < 2 ? 1 : i < 3 ? 2 : 0};
    t->program = (struct isa_program){.name = "toy", .bundle = t->bundle, .bundle_count = 4,
                                      .note = t->note, .note_count = 2};
    t->view = (struct report_view){
        .chip = &t->chip, .slice = &t->slice, .program = &t->program, .model_flops = 100000000,
        .parameter_bytes = 40000, .cycles = 10000, .core_count = 2, .core = t->core,
        .chip_count = 2, .hbm = t->hbm, .link_count = 2, .link = t->link,
    };
}

static char *print_table(const struct report_view *v)
{
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    step_table_print(v, to);
    fclose(to);
    return text;
}

static const char golden[] =
"  10,000 cycles = 10.000 us\n"
"\n"
"where the cycles went                      core 0        mean of 2 cores\n"
"  issue                            4,000   40.0 %         4,000   40.0 %\n"
"  MXU                              1,500   15.0 %           750    7.5 %\n"
"    mxu_busy                       1,000   10.0 %           500    5.0 %\n"
"    result_fifo                      500    5.0 %           250    2.5 %\n"
"  vector                             500    5.0 %           250    2.5 %\n"
"    operand                          500    5.0 %           250    2.5 %\n"
"  HBM                              2,000   20.0 %         3,000   30.0 %\n"
"    hbm_wait                       2,000   20.0 %         3,000   30.0 %\n"
"  ICI                              1,000   10.0 %         1,000   10.0 %\n"
"    ici_wait                       1,000   10.0 %         1,000   10.0 %\n"
"  other                              500    5.0 %           500    5.0 %\n"
"    sync_wait                          0    0.0 %           250    2.5 %\n"
"    branch                           500    5.0 %           250    2.5 %\n"
"  idle                               500    5.0 %           500    5.0 %\n"
"  all                             10,000  100.0 %        10,000  100.0 %\n"
"\n"
"units (mean)       busy    waiting       idle     operations     per slot\n"
"  scalar         30.0 %      0.0 %     70.0 %          4,000       0.2000\n"
"  valu           20.0 %      5.0 %     75.0 %          2,500       0.1250\n"
"  load           10.0 %      0.0 %     90.0 %          1,000       0.1000\n"
"  mxu0           48.0 %     10.0 %     42.0 %            600       0.0600\n"
"  dma            50.0 %      0.0 %     50.0 %             20       0.0020\n"
"\n"
"MXU, all cores\n"
"  issued        314,572,800 FLOP: 31.4573 TFLOP/s of 65.5 peak (48.00 %)\n"
"  of the model  200,000,000 FLOP: 63.6 % of those issued, 30.52 % of peak\n"
"\n"
"HBM, all chips\n"
"  read          600,000 B\n"
"  written       200,000 B\n"
"  rate          80.00 GB/s of 256.0 peak (31.25 %)\n"
"  row hits      90.0 % of 2,000 runs\n"
"\n"
"ICI, mean of a core\n"
"  sent          40,960 B\n"
"  received      40,960 B\n"
"  gradients     40,000 B to all-reduce: a ring sends at least 40,000 B\n"
"  busiest link  chip 1 to 0: used 20.00 % of the time, 40,960 B payload in 45,056 B\n"
"\n"
"bound by MXU: the matrix units are busy 48.0 % of the time, "
"more than any other resource (next: HBM, 31.2 %); cores wait 55.0 % of their cycles\n";

TEST(step_table_of_hand_made_launch_is_as_recorded)
{
    struct toy t;
    char header[200], slice[96];
    char *text;

    toy_init(&t);
    text = print_table(&t.view);
    snprintf(header, sizeof(header), "one step on %s; Toy at 1000 MHz\n",
             slice_print(&t.slice, slice, sizeof(slice)));
    assert_true(strncmp(text, header, strlen(header)) == 0);
    assert_string_equal(text + strlen(header), golden);
    free(text);
}

TEST(every_stall_reason_has_a_group)
{
    for (int r = 0; r < STALL_COUNT; r++) {
        assert_true(view_stall_group((enum stall_reason)r) > GROUP_NONE);
        assert_true(view_stall_group((enum stall_reason)r) < GROUP_COUNT);
    }
}

TEST(groups_issue_and_idle_add_up_to_the_cycles)
{
    struct toy t;
    cycle_t sum = 0;

    toy_init(&t);
    for (int i = 0; i < 2; i++)
        sum += t.counters[i].issue_cycles + t.counters[i].idle_cycles;
    for (int g = GROUP_NONE + 1; g < GROUP_COUNT; g++)
        sum += view_group_cycles(&t.view, (enum view_group)g);
    assert_int_equal(sum, 2 * t.view.cycles);
}

TEST(picoseconds_of_many_cycles_do_not_overflow)
{
    struct chip c = {.chip_clock_mhz = 940};

    assert_int_equal(view_ps(&c, 940), 1000000);
    assert_int_equal(view_ps(&c, 1), 1063);
    assert_true(view_ps(&c, 4000000000000000LL) == 4255319148936170212LL);
}

TEST(bound_is_the_most_used_resource)
{
    struct toy t;
    struct bound b;

    toy_init(&t);
    bound_find(&t.view, &b);
    assert_int_equal(b.by, BOUND_MXU);
    assert_true(fabs(b.use[BOUND_MXU] - 0.48) < 1e-9);
    assert_true(fabs(b.use[BOUND_VALU] - 0.125) < 1e-9);
    assert_true(fabs(b.use[BOUND_HBM] - 0.3125) < 1e-9);
    assert_true(fabs(b.use[BOUND_ICI] - 0.2) < 1e-9);
    assert_non_null(strstr(b.sentence, "48.0 %"));
    assert_non_null(strstr(b.sentence, "HBM, 31.2 %"));

    t.memory[1].busy_ps = 36000000;
    bound_find(&t.view, &b);
    assert_int_equal(b.by, BOUND_HBM);
    assert_non_null(strstr(b.sentence, "90.0 %"));
    assert_non_null(strstr(b.sentence, "MXU, 48.0 %"));

    t.wire[0].busy_ps = 9500000;
    bound_find(&t.view, &b);
    assert_int_equal(b.by, BOUND_ICI);
}

TEST(bound_is_latency_when_nothing_is_used_much)
{
    struct toy t;
    struct bound b;

    toy_init(&t);
    for (int i = 0; i < 2; i++) {
        t.counters[i].unit[TRACK_MXU].busy_cycles = 2900;
        t.memory[i].busy_ps = 4000000;
    }
    bound_find(&t.view, &b);
    assert_int_equal(b.by, BOUND_LATENCY);
    assert_int_equal(b.highest, BOUND_MXU);
    assert_string_equal(bound_name(b.by), "latency");
    assert_non_null(strstr(b.sentence, "29.0 %"));
    assert_non_null(strstr(b.sentence, "hbm_wait (30.0 %)"));
}

/* bundles 0 and 1 belong to dot.1, 2 to the add, 3 to nothing */
static const struct trace_event events[] = {
    {.start = 100, .end = 101, .bundle = 0, .code = OP_SMOV, .track = TRACK_SCALAR},
    {.start = 100, .end = 101, .bundle = 0, .code = OP_SADD, .track = TRACK_SCALAR},
    {.start = 101, .end = 900, .bundle = 1, .code = OP_DMA_HBM_VMEM, .track = TRACK_DMA,
     .bytes = 4096},
    {.start = 102, .end = 950, .bundle = 1, .code = OP_DMA_HBM_VMEM, .track = TRACK_DMA,
     .bytes = 8192},
    {.start = 910, .end = 990, .bundle = 1, .code = OP_DMA_HBM_VMEM, .track = TRACK_DMA,
     .bytes = 512},
    {.start = 103, .end = 1000, .bundle = 2, .track = -1, .stall = STALL_HBM},
    {.start = 1000, .end = 1001, .bundle = 2, .code = OP_VADD_F32, .track = TRACK_VALU},
    {.start = 1600, .end = 1600, .bundle = 3, .code = OP_VTRACE, .track = TRACK_SCALAR},
    {.start = 1008, .end = 1016, .bundle = 2, .code = OP_VMATMUL, .track = TRACK_MXU},
};
#define EVENT_COUNT (sizeof(events) / sizeof(events[0]))

static void toy_trace(struct toy *t)
{
    toy_init(t);
    for (int i = 0; i < 2; i++)
        t->trace[i] = (struct view_trace){events, EVENT_COUNT};
    t->view.trace = t->trace;
}

/* runs of spaces become one */
static void squeeze(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++)
        if (*from != ' ' || from[1] != ' ')
            *to++ = *from;
    *to = '\0';
}

TEST(source_operations_share_all_cycles_before_the_halt)
{
    struct toy t;
    char *text;

    toy_trace(&t);
    text = print_table(&t.view);
    squeeze(text);
    /* idle 500: the core halts at 9500; before the first event and from the marker on: nobody's */
    assert_non_null(strstr(text, "(none) 8,000 80.0 %\n"));
    assert_non_null(strstr(text, "add \"two\" 1,497 15.0 %\n"));
    assert_non_null(strstr(text, "dot.1 3 0.0 %\n"));
    free(text);
    t.view.trace = NULL;
    text = print_table(&t.view);
    assert_null(strstr(text, "by source operation"));
    free(text);
}

static const struct report_epoch epochs[] = {
    {1, 0.5, 0.85, 0.9, 117, 10000, 10.0, 51200000.0, 0.25},
    {2, 0.25, 0.93, 0.9375, 117, 10000, 10.0, 51200000.0, 0.25},
};
static const struct report_step_row rows[] = {
    {1, 1, 2.302585093, 0.125, 10000},
    {2, 1, 1.5, 0.5, 10000},
};
static const struct report_option options[] = {
    {"train", "batch", "512", "command line"},
    {"train", "seed", "1", "default"},
    {"model", "path", "a\nb.json", "command line"},
};

static struct report_run toy_run(void)
{
    return (struct report_run){
        .option = options, .option_count = 3, .epoch = epochs, .epoch_count = 2, .row = rows,
        .row_count = 2, .host_seconds = 0.75,
    };
}

static json_t *print_json(const struct report_run *r, const struct report_view *v)
{
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    json_error_t where;
    json_t *root;

    assert_int_equal(json_print_stats(r, v, to), 0);
    fclose(to);
    root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        fail_msg("line %d: %s", where.line, where.text);
    free(text);
    return root;
}

static json_int_t get_int(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static double get_real(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    assert_true(json_is_real(value));
    return json_real_value(value);
}

TEST(stats_of_a_run_parse_back)
{
    struct toy t;
    struct report_run r = toy_run();
    json_t *root, *host;

    toy_init(&t);
    root = print_json(&r, &t.view);
    host = json_object_get(root, "host");
    assert_string_equal(json_string_value(json_object_get(root, "format")), "systole-stats");
    assert_int_equal(get_int(root, "version"), 1);
    assert_true(get_real(root, "test_accuracy") == 0.9375);
    assert_int_equal(get_int(root, "step_cycles"), 10000);
    assert_true(get_real(root, "step_us") == 10.0);
    assert_true(get_real(root, "host_seconds") == 0.75);
    assert_true(get_real(host, "seconds") == 0.75);
    assert_int_equal(json_array_size(json_object_get(host, "epoch_seconds")), 2);
    assert_int_equal(json_array_size(json_object_get(root, "epochs")), 2);
    assert_int_equal(json_array_size(json_object_get(root, "cores")), 2);
    assert_int_equal(json_array_size(json_object_get(root, "hbm")), 2);
    assert_int_equal(json_array_size(json_object_get(root, "links")), 2);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(root, "bound"), "by")), "MXU");
    json_decref(root);
}

TEST(stats_of_cores_and_units_keep_their_identities)
{
    struct toy t;
    struct report_run r = toy_run();
    json_t *root, *core, *unit, *cycles;
    const char *name;
    size_t i;

    toy_init(&t);
    root = print_json(&r, &t.view);
    json_array_foreach(json_object_get(root, "cores"), i, core) {
        json_int_t sum = get_int(core, "issue") + get_int(core, "idle");

        assert_int_equal(get_int(core, "core"), i);
        json_object_foreach(json_object_get(core, "stalls"), name, cycles)
            sum += json_integer_value(cycles);
        assert_int_equal(json_object_size(json_object_get(core, "stalls")), STALL_COUNT);
        assert_int_equal(sum, get_int(core, "cycles"));
        assert_int_equal(json_object_size(json_object_get(core, "units")), TRACK_COUNT);
        json_object_foreach(json_object_get(core, "units"), name, unit)
            assert_int_equal(get_int(unit, "busy") + get_int(unit, "waiting") +
                             get_int(unit, "idle"), get_int(core, "cycles"));
        assert_int_equal(json_object_size(json_object_get(core, "ops")), 2);
        assert_int_equal(get_int(json_object_get(core, "ops"), "vld"), 1000);
    }
    json_decref(root);
}

TEST(stats_keep_integers_exact_and_have_no_nan)
{
    struct toy t;
    struct report_run r = toy_run();
    struct report_epoch bad = epochs[0];
    json_t *root;

    toy_init(&t);
    t.memory[0].read_bytes = 9007199254740993LL;        /* 2^53 + 1 is no double */
    bad.loss = NAN;
    r.epoch = &bad;
    r.epoch_count = 1;
    root = print_json(&r, &t.view);
    assert_true(get_int(json_array_get(json_object_get(root, "hbm"), 0), "read_bytes") ==
                9007199254740993LL);
    assert_true(json_is_null(json_object_get(
        json_array_get(json_object_get(root, "epochs"), 0), "loss")));
    json_decref(root);
}

TEST(stats_differ_only_under_host_keys_when_only_host_times_differ)
{
    struct toy t;
    struct report_run r = toy_run();
    struct report_epoch slower[2] = {epochs[0], epochs[1]};
    json_t *one, *two;

    toy_init(&t);
    one = print_json(&r, &t.view);
    slower[0].host_seconds = 9.0;
    r.epoch = slower;
    r.host_seconds = 10.0;
    two = print_json(&r, &t.view);
    assert_false(json_equal(one, two));
    for (int i = 0; i < 2; i++) {
        json_object_del(i ? one : two, "host");
        json_object_del(i ? one : two, "host_seconds");
    }
    assert_true(json_equal(one, two));
    json_decref(one);
    json_decref(two);
}

static char *print_with(void (*print)(const struct report_run *, FILE *),
                        const struct report_run *r)
{
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    print(r, to);
    fclose(to);
    return text;
}

TEST(steps_have_one_line_each_and_no_trailing_comma)
{
    struct report_run r = toy_run();
    char *text = print_with(csv_print_steps, &r);

    assert_string_equal(text, "step,epoch,loss,accuracy,step_cycles\n"
                              "1,1,2.30258509,0.125,10000\n"
                              "2,1,1.5,0.5,10000\n");
    free(text);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static char *read_text(const char *path)
{
    gzFile f = gzopen(path, "rb");      /* reads what is not gzipped as it is */
    size_t room = 1 << 20, used = 0;
    char *text = malloc(room);
    int got;

    assert_non_null(f);
    while ((got = gzread(f, text + used, (unsigned)(room - used - 1))) > 0)
        used += (size_t)got;
    assert_int_equal(got, 0);
    text[used] = '\0';
    gzclose(f);
    return text;
}

static char *make_folder(char *path, size_t path_bytes)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(path, path_bytes, "%s/systole_report_XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

static int remove_folder(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *entry;
    char name[600];
    int count = 0;

    assert_non_null(d);
    while ((entry = readdir(d))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        assert_int_equal(remove(name), 0);
        count++;
    }
    closedir(d);
    assert_int_equal(rmdir(path), 0);
    return count;
}

TEST(configuration_reads_back_as_a_chip_file)
{
    struct toy t;
    struct report_run r = toy_run();
    struct chip chip, again;
    struct chip_origin *origins;
    struct arena a;
    struct err e;
    char folder[200], path[300], *text, *start;
    size_t bytes;
    FILE *to;

    arena_init(&a);
    toy_init(&t);
    origins = arena_array(&a, chip_param_count, sizeof(*origins));
    memset(&chip, 0, sizeof(chip));
    memset(&again, 0, sizeof(again));
    assert_int_equal(chip_load_builtin(&chip, "v3", origins, &a, &e), 0);
    assert_int_equal(chip_set(&chip, "mxu.count=4", origins, &a, &e), 0);
    r.chip_origins = origins;
    t.view.chip = &chip;
    to = open_memstream(&text, &bytes);
    config_print(&r, &t.view, to);
    fclose(to);
    assert_non_null(strstr(text, "[train]\nbatch = 512 ; command line\nseed = 1 ; default\n"));
    assert_non_null(strstr(text, "path = a b.json ; command line\n"));
    assert_non_null(strstr(text, "\ncount = 4 ; --set"));
    start = strstr(text, "[chip]");
    assert_non_null(start);
    for (char *line = start; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") < 198); /* inih's longest line */
    snprintf(path, sizeof(path), "%s/chip.ini", make_folder(folder, sizeof(folder)));
    write_text(path, start);
    if (chip_load_file(&again, path, NULL, &a, &e) != 0)
        fail_msg("%s:%d: %s", e.file, e.line, e.msg);
    assert_memory_equal(&chip, &again, sizeof(chip));
    remove_folder(folder);
    free(text);
    arena_fini(&a);
}

TEST(folder_of_a_host_run_holds_all_files_and_nothing_else)
{
    static const char *const names[] = {"config.ini", "report.txt", "steps.csv", "stats.json"};
    struct report_run r = toy_run();
    struct err e;
    struct stat st;
    char folder[200], path[300];

    make_folder(folder, sizeof(folder));
    assert_int_equal(report_open_folder(folder, &e), 0);
    for (int twice = 0; twice < 2; twice++)
        assert_int_equal(report_write_folder(&r, folder, &e), 0);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_true(st.st_size > 0);
    }
    assert_int_equal(remove_folder(folder), 4);
}

TEST(folder_is_made_when_missing_and_left_empty)
{
    struct err e;
    char folder[200], path[300];

    snprintf(path, sizeof(path), "%s/out", make_folder(folder, sizeof(folder)));
    assert_int_equal(report_open_folder(path, &e), 0);
    assert_int_equal(report_open_folder(path, &e), 0);
    assert_int_equal(remove_folder(path), 0);
    remove_folder(folder);
}

TEST(folder_that_cannot_be_written_is_an_error_with_its_path)
{
    struct report_run r = toy_run();
    struct err e;
    char folder[200], file[300], below[400];

    make_folder(folder, sizeof(folder));
    snprintf(file, sizeof(file), "%s/file", folder);
    snprintf(below, sizeof(below), "%s/below", file);
    write_text(file, "x");
    assert_int_equal(report_open_folder(file, &e), -1);
    assert_non_null(strstr(e.msg, file));
    assert_non_null(strstr(e.msg, "is a file"));
    assert_int_equal(report_open_folder(below, &e), -1);
    assert_non_null(strstr(e.msg, below));
    assert_non_null(strstr(e.msg, "Not a directory"));
    assert_int_equal(report_write_folder(&r, below, &e), -1);
    assert_non_null(strstr(e.msg, "below/config.ini"));
    snprintf(below, sizeof(below), "%s/missing/out", folder);
    assert_int_equal(report_open_folder(below, &e), -1);
    assert_non_null(strstr(e.msg, "No such file or directory"));
    assert_int_equal(remove_folder(folder), 1);
}

TEST(file_that_cannot_be_renamed_leaves_nothing_behind)
{
    struct report_run r = toy_run();
    struct err e;
    char folder[200], path[300];

    make_folder(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/config.ini", folder);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(report_write_folder(&r, folder, &e), -1);
    assert_non_null(strstr(e.msg, path));
    assert_int_equal(remove_folder(folder), 1);
}

static json_t *write_trace(const struct report_view *v, const char *suffix, size_t limit,
                           size_t *left_out, unsigned char magic[2])
{
    char folder[200], path[300], *text;
    json_error_t where;
    struct err e;
    json_t *root;
    FILE *f;

    snprintf(path, sizeof(path), "%s/t.json%s", make_folder(folder, sizeof(folder)), suffix);
    assert_int_equal(chrome_write(v, path, *suffix, limit, left_out, &e), 0);
    f = fopen(path, "rb");
    assert_int_equal(fread(magic, 1, 2, f), 2);
    fclose(f);
    text = read_text(path);
    root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        fail_msg("line %d: %s", where.line, where.text);
    free(text);
    remove_folder(folder);
    return root;
}

TEST(trace_is_the_same_gzipped_or_not)
{
    struct toy t;
    size_t left_out;
    unsigned char magic[2];
    json_t *plain, *zipped;

    toy_trace(&t);
    plain = write_trace(&t.view, "", 0, &left_out, magic);
    assert_int_equal(magic[0], '{');
    zipped = write_trace(&t.view, ".gz", 0, &left_out, magic);
    assert_int_equal(magic[0], 0x1f);
    assert_int_equal(magic[1], 0x8b);
    assert_true(json_equal(plain, zipped));
    assert_string_equal(json_string_value(json_object_get(plain, "displayTimeUnit")), "ns");
    json_decref(plain);
    json_decref(zipped);
}

TEST(trace_event_tells_time_operation_and_source)
{
    struct toy t;
    size_t left_out, i;
    unsigned char magic[2];
    json_t *root, *event, *args;
    int found = 0;

    toy_trace(&t);
    root = write_trace(&t.view, "", 0, &left_out, magic);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
        const char *name = json_string_value(json_object_get(event, "name"));

        args = json_object_get(event, "args");
        if (strcmp(name, "vadd.f32") == 0 && get_int(event, "pid") == 2) {
            assert_true(fabs(get_real(event, "ts") - 1.0) < 1e-12);
            assert_true(fabs(get_real(event, "dur") - 0.001) < 1e-12);
            assert_int_equal(get_int(args, "bundle"), 2);
            assert_int_equal(get_int(args, "line"), 12);
            assert_string_equal(json_string_value(json_object_get(args, "note")), "add \"two\"");
            found++;
        } else if (strcmp(name, "hbm_wait") == 0 || strcmp(name, "vtrace") == 0) {
            found++;
        } else if (strcmp(name, "process_name") == 0 && get_int(event, "pid") == 2) {
            assert_string_equal(json_string_value(json_object_get(args, "name")),
                                "core 1 (chip 1)");
            found++;
        } else if (strcmp(name, "dma.hbm_to_vmem") == 0 && get_int(args, "bundle") == 1) {
            assert_true(get_int(args, "bytes") >= 512);
            found++;
        }
    }
    assert_int_equal(found, 1 + 4 + 1 + 6);
    assert_int_equal(left_out, 0);
    json_decref(root);
}

TEST(trace_events_of_one_thread_never_overlap)
{
    struct toy t;
    size_t left_out, i, thread_count = 0;
    unsigned char magic[2];
    json_t *root, *event;
    struct { json_int_t tid; double end; } thread[32];

    toy_trace(&t);
    t.chip.chip_clock_mhz = 940;        /* a cycle is no whole number of picoseconds */
    root = write_trace(&t.view, "", 0, &left_out, magic);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
        size_t n = 0;

        if (strcmp(json_string_value(json_object_get(event, "ph")), "X") != 0)
            continue;
        while (n < thread_count && thread[n].tid != get_int(event, "tid"))
            n++;
        if (n == thread_count) {
            thread[n].tid = get_int(event, "tid");
            thread[n].end = 0.0;
            thread_count++;
        }
        assert_true(get_real(event, "ts") >= thread[n].end - 1e-9);
        thread[n].end = get_real(event, "ts") + get_real(event, "dur");
    }
    /* per core: two scalar slots, one valu, one mxu, two of three DMAs at a time, stalls */
    assert_int_equal(thread_count, 2 * (2 + 1 + 1 + 2 + 1));
    json_decref(root);
}

TEST(trace_beyond_the_limit_is_left_out_and_counted)
{
    struct toy t;
    size_t left_out, i, events_written = 0;
    unsigned char magic[2];
    json_t *root, *event;

    toy_trace(&t);
    root = write_trace(&t.view, ".gz", EVENT_COUNT + 2, &left_out, magic);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
        if (strcmp(json_string_value(json_object_get(event, "ph")), "M") != 0)
            events_written++;
    assert_int_equal(events_written, EVENT_COUNT + 2);
    assert_int_equal(left_out, EVENT_COUNT - 2);
    assert_int_equal(get_int(json_object_get(root, "otherData"), "left_out_events"),
                     EVENT_COUNT - 2);
    json_decref(root);
}

TEST(trace_path_that_cannot_be_written_is_an_error_with_its_path)
{
    struct toy t;
    struct err e;
    size_t left_out;

    toy_trace(&t);
    assert_int_equal(chrome_write(&t.view, "/dev/null/t.json.gz", true, 0, &left_out, &e), -1);
    assert_non_null(strstr(e.msg, "/dev/null/t.json.gz"));
    assert_non_null(strstr(e.msg, "Not a directory"));
}

TEST(documentation_names_every_stall_reason_group_and_resource)
{
    char *text = read_text("docs/report.md"), name[64];

    for (int r = 0; r < STALL_COUNT; r++) {
        snprintf(name, sizeof(name), "| `%s` |", stall_name((enum stall_reason)r));
        if (!strstr(text, name))
            fail_msg("docs/report.md has no line %s", name);
    }
    for (int r = 0; r <= BOUND_LATENCY; r++) {
        snprintf(name, sizeof(name), "| `%s` |", bound_name((enum bound_resource)r));
        if (!strstr(text, name))
            fail_msg("docs/report.md has no line %s", name);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_table_of_hand_made_launch_is_as_recorded),
        cmocka_unit_test(every_stall_reason_has_a_group),
        cmocka_unit_test(groups_issue_and_idle_add_up_to_the_cycles),
        cmocka_unit_test(picoseconds_of_many_cycles_do_not_overflow),
        cmocka_unit_test(bound_is_the_most_used_resource),
        cmocka_unit_test(bound_is_latency_when_nothing_is_used_much),
        cmocka_unit_test(source_operations_share_all_cycles_before_the_halt),
        cmocka_unit_test(stats_of_a_run_parse_back),
        cmocka_unit_test(stats_of_cores_and_units_keep_their_identities),
        cmocka_unit_test(stats_keep_integers_exact_and_have_no_nan),
        cmocka_unit_test(stats_differ_only_under_host_keys_when_only_host_times_differ),
        cmocka_unit_test(steps_have_one_line_each_and_no_trailing_comma),
        cmocka_unit_test(configuration_reads_back_as_a_chip_file),
        cmocka_unit_test(folder_of_a_host_run_holds_all_files_and_nothing_else),
        cmocka_unit_test(folder_is_made_when_missing_and_left_empty),
        cmocka_unit_test(folder_that_cannot_be_written_is_an_error_with_its_path),
        cmocka_unit_test(file_that_cannot_be_renamed_leaves_nothing_behind),
        cmocka_unit_test(trace_is_the_same_gzipped_or_not),
        cmocka_unit_test(trace_event_tells_time_operation_and_source),
        cmocka_unit_test(trace_events_of_one_thread_never_overlap),
        cmocka_unit_test(trace_beyond_the_limit_is_left_out_and_counted),
        cmocka_unit_test(trace_path_that_cannot_be_written_is_an_error_with_its_path),
        cmocka_unit_test(documentation_names_every_stall_reason_group_and_resource),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
