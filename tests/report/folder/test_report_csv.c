/*
 * The CSV files of real runs, parsed back: headers as documented, sums equal to
 * the machine's counters. A training step, a product, cores that talk to each
 * other.
 */
#include "tests/test.h"

#include "cli/commands/cli.h"
#include "tests/rigs/toy.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

/* ---- a CSV file, read by rules of its own ---- */

struct csv {
    char *text;
    char *cell[40000];
    int columns, rows;                  /* rows without the header, which is row 0 */
};

/* one cell from *at on, unquoted in place; tells what ended it */
static char *read_cell(char **at, char *end)
{
    char *cell = *at, *to = cell;

    if (**at == '"') {
        for ((*at)++; **at && !(**at == '"' && (*at)[1] != '"'); (*at)++) {
            *at += **at == '"';
            *to++ = **at;
        }
        (*at)++;
    } else {
        while (**at && **at != ',' && **at != '\n')
            *to++ = *(*at)++;
    }
    *end = **at;
    *at += **at != '\0';
    *to = '\0';
    return cell;
}

static void csv_read(struct csv *c, const char *folder, const char *name)
{
    char path[400], end, *at;
    int count = 0, in_line = 0;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    c->text = toy_read_text(path);
    c->columns = 0;
    for (at = c->text; *at;) {
        assert_true(count < (int)COUNT_OF(c->cell));
        c->cell[count++] = read_cell(&at, &end);
        in_line++;
        assert_true(end == ',' || end == '\n');
        if (end == ',')
            continue;
        c->columns = c->columns ? c->columns : in_line;
        if (in_line != c->columns)
            fail_msg("%s: a line of %d cells, the header has %d", path, in_line, c->columns);
        in_line = 0;
    }
    assert_int_equal(in_line, 0);
    c->rows = count / c->columns - 1;
    for (int i = 0; i < count; i++) {
        assert_null(strstr(c->cell[i], "nan"));
        assert_null(strstr(c->cell[i], "inf"));
    }
}

static void assert_header(const struct csv *c, const char *const *names, int count)
{
    assert_int_equal(c->columns, count);
    for (int i = 0; i < count; i++)
        assert_string_equal(c->cell[i], names[i]);
}

static const char *get(const struct csv *c, int row, const char *column)
{
    for (int i = 0; i < c->columns; i++)
        if (strcmp(c->cell[i], column) == 0)
            return c->cell[(row + 1) * c->columns + i];
    fail_msg("no column %s", column);
    return NULL;
}

static int64_t sum(const struct csv *c, const char *column)
{
    int64_t s = 0;

    for (int i = 0; i < c->rows; i++)
        s += strtoll(get(c, i, column), NULL, 10);
    return s;
}

static double real_sum(const struct csv *c, const char *column)
{
    double s = 0.0;

    for (int i = 0; i < c->rows; i++)
        s += strtod(get(c, i, column), NULL);
    return s;
}

static void assert_close(double a, double b)
{
    if (fabs(a - b) > 1e-5)
        fail_msg("%.9g instead of %.9g", a, b);
}

/* ---- a run ---- */

struct run {
    char folder[200], out[260];
    json_t *stats;
};

/* `line`: a command and its arguments, split at blanks; --out and the folder go behind */
static void run(struct run *r, int (*command)(int, char **), const char *line)
{
    char words[600], *argv[40], *rest = words, *word;
    int argc = 0, null = open("/dev/null", O_WRONLY), kept = dup(1);
    char path[320], *text;

    snprintf(words, sizeof(words), "%s", line);
    while ((word = strtok_r(rest, " ", &rest)) != NULL)
        argv[argc++] = word;
    snprintf(r->out, sizeof(r->out), "%s/out", toy_make_folder(r->folder, sizeof(r->folder)));
    argv[argc++] = (char[]){"--out"};
    argv[argc++] = r->out;
    argv[argc] = NULL;
    fflush(stdout);
    dup2(null, 1);
    assert_int_equal(command(argc, argv), 0);
    fflush(stdout);
    dup2(kept, 1);
    close(kept);
    close(null);
    snprintf(path, sizeof(path), "%s/stats.json", r->out);
    text = toy_read_text(path);
    r->stats = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(r->stats);
    free(text);
}

static void finish(struct run *r)
{
    json_decref(r->stats);
    assert_int_equal(toy_remove_folder(r->out), 14);
    assert_int_equal(toy_remove_folder(r->folder), 0);
}

static const json_t *core(const struct run *r, size_t index)
{
    return json_array_get(json_object_get(r->stats, "cores"), index);
}

static int64_t core_sum(const struct run *r, const char *key)
{
    int64_t s = 0;
    const json_t *c;
    size_t i;

    json_array_foreach(json_object_get(r->stats, "cores"), i, c)
        s += toy_get_int(c, key);
    return s;
}

static int64_t count_of_ops(const json_t *k, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(k, "ops"), name));
}

/* ---- files ---- */

static void check_ops(const struct run *r)
{
    static const char *const header[] = {
        "program_id", "category", "op_text", "framework_op", "occurrences", "total_time_us",
        "avg_time_us", "total_self_time_us", "self_time_pct", "cumulative_self_time_pct",
        "dma_stall_pct", "flop_rate_gflops", "bf16_normalized_flop_rate_gflops",
        "memory_bw_gib_per_s", "hbm_bw_gib_per_s", "operational_intensity_flop_per_byte",
        "bound_by", "rematerialization", "cycles", "issue_cycles", "stall_cycles",
        "dma_stall_cycles", "wasted_cycles", "issued_flop", "model_flop", "hbm_bytes",
        "ici_bytes", "vmem_read_bytes", "vmem_write_bytes", "bundles"};
    static struct csv c;
    const json_t *k = core(r, 0), *stalls = json_object_get(k, "stalls");
    double mhz = (double)toy_get_int(json_object_get(r->stats, "chip"), "clock_mhz");
    int64_t cycles = toy_get_int(k, "cycles"), before = INT64_MAX, flags;

    csv_read(&c, r->out, "ops.csv");
    assert_header(&c, header, COUNT_OF(header));
    assert_int_equal(sum(&c, "cycles"), cycles);
    assert_int_equal(sum(&c, "issue_cycles"), toy_get_int(k, "issue"));
    assert_int_equal(sum(&c, "issue_cycles") + sum(&c, "stall_cycles") + toy_get_int(k, "idle"),
                     cycles);
    assert_int_equal(sum(&c, "issued_flop"), toy_get_int(k, "matmul_flops"));
    assert_int_equal(sum(&c, "dma_stall_cycles"),
                     toy_get_int(stalls, "hbm_wait") + toy_get_int(stalls, "ici_wait") +
                         toy_get_int(stalls, "sync_wait") + toy_get_int(stalls, "dma_queue"));
    assert_int_equal(sum(&c, "hbm_bytes"),
                     toy_get_int(k, "hbm_read_bytes") + toy_get_int(k, "hbm_write_bytes"));
    flags = toy_get_int(k, "ici_sent_bytes") - sum(&c, "ici_bytes");
    assert_true(flags >= 0 && flags <= 32 * count_of_ops(k, "vsyncadd.remote"));
    assert_close(real_sum(&c, "total_time_us"), (double)cycles / mhz);
    assert_close(real_sum(&c, "self_time_pct"), 100.0);
    assert_close(strtod(get(&c, c.rows - 1, "cumulative_self_time_pct"), NULL), 100.0);
    for (int i = 0; i < c.rows; i++) {
        int64_t own = strtoll(get(&c, i, "cycles"), NULL, 10);

        if (strcmp(get(&c, i, "category"), "IDLE") == 0)
            continue;
        assert_true(own <= before);     /* the longest first */
        before = own;
        assert_true(strtoll(get(&c, i, "wasted_cycles"), NULL, 10) <= own);
    }
    free(c.text);
}

static int64_t check_layers(const struct run *r)
{
    static const char *const header[] = {
        "LayerID", "Total Cycles (incl. prefetch)", "Total Cycles", "Stall Cycles",
        "Overall Util %", "Mapping Efficiency %", "Compute Util %", "layer_name",
        "source_operations", "total_time_us", "issue_cycles", "all_stall_cycles", "model_flop",
        "issued_flop", "hbm_bytes", "ici_bytes"};
    static struct csv c;
    const json_t *k = core(r, 0);
    int64_t model;

    csv_read(&c, r->out, "layers.csv");
    assert_header(&c, header, COUNT_OF(header));
    assert_int_equal(sum(&c, "Total Cycles (incl. prefetch)"),
                     toy_get_int(k, "cycles") - toy_get_int(k, "idle"));
    assert_int_equal(sum(&c, "issued_flop"), toy_get_int(k, "matmul_flops"));
    assert_int_equal(sum(&c, "hbm_bytes"),
                     toy_get_int(k, "hbm_read_bytes") + toy_get_int(k, "hbm_write_bytes"));
    for (int i = 0; i < c.rows; i++) {
        double overall = strtod(get(&c, i, "Overall Util %"), NULL);
        double mapping = strtod(get(&c, i, "Mapping Efficiency %"), NULL);
        double compute = strtod(get(&c, i, "Compute Util %"), NULL);

        assert_int_equal(strtoll(get(&c, i, "LayerID"), NULL, 10), i);
        assert_true(overall >= 0 && overall <= compute && compute <= 100 && mapping <= 100);
        assert_int_equal(strtoll(get(&c, i, "Total Cycles"), NULL, 10),
                         strtoll(get(&c, i, "issue_cycles"), NULL, 10)
                             + strtoll(get(&c, i, "all_stall_cycles"), NULL, 10));
    }
    model = sum(&c, "model_flop");
    free(c.text);
    return model;
}

static void check_links(const struct run *r)
{
    static const char *const header[] = {
        "link", "from_chip", "from_x", "from_y", "from_z", "to_chip", "to_x", "to_y", "to_z",
        "payload_bytes", "wire_bytes", "busy_ps", "utilization_pct", "wire_gb_per_s"};
    const json_t *links = json_object_get(r->stats, "links");
    static struct csv c;

    csv_read(&c, r->out, "links.csv");
    assert_header(&c, header, COUNT_OF(header));
    assert_int_equal(c.rows, json_array_size(links));
    for (int i = 0; i < c.rows; i++) {
        const json_t *l = json_array_get(links, (size_t)i);
        int apart = 0;

        assert_int_equal(strtoll(get(&c, i, "payload_bytes"), NULL, 10),
                         toy_get_int(l, "payload_bytes"));
        assert_int_equal(strtoll(get(&c, i, "busy_ps"), NULL, 10), toy_get_int(l, "busy_ps"));
        assert_true(strtod(get(&c, i, "utilization_pct"), NULL) <= 100.0);
        for (int axis = 0; axis < 3; axis++)        /* a link joins neighbours */
            apart += atoi(c.cell[(i + 1) * c.columns + 2 + axis])
                     != atoi(c.cell[(i + 1) * c.columns + 6 + axis]);
        assert_int_equal(apart, 1);
    }
    assert_true(sum(&c, "payload_bytes") >= core_sum(r, "ici_sent_bytes"));
    assert_true(sum(&c, "wire_bytes") >= sum(&c, "payload_bytes"));
    free(c.text);
}

/* buffers that live at the same time do not overlap, but for parts of others; the peak is theirs */
static void check_memory(const struct run *r, int least_rows)
{
    static const char *const header[] = {
        "memory", "buffer", "inside", "offset_bytes", "bytes", "padded_bytes", "padding_bytes",
        "padding_pct", "live_first_bundle", "live_last_bundle", "is_at_peak",
        "memory_peak_bytes", "memory_size_bytes"};
    static struct csv c;
    int64_t at_peak = 0, peak = 0;

    csv_read(&c, r->out, "memory.csv");
    assert_header(&c, header, COUNT_OF(header));
    assert_true(c.rows >= least_rows);
    for (int i = 0; i < c.rows; i++) {
        int64_t from = strtoll(get(&c, i, "offset_bytes"), NULL, 10);
        int64_t end = from + strtoll(get(&c, i, "padded_bytes"), NULL, 10);
        int64_t first = strtoll(get(&c, i, "live_first_bundle"), NULL, 10);
        int64_t last = strtoll(get(&c, i, "live_last_bundle"), NULL, 10);

        assert_true(first <= last && from >= 0 && end > from);
        assert_true(end <= strtoll(get(&c, i, "memory_size_bytes"), NULL, 10));
        assert_true(strtoll(get(&c, i, "padding_bytes"), NULL, 10) >= 0);
        if (strcmp(get(&c, i, "memory"), "VMEM") != 0 || *get(&c, i, "inside"))
            continue;
        peak = strtoll(get(&c, i, "memory_peak_bytes"), NULL, 10);
        if (strcmp(get(&c, i, "is_at_peak"), "yes") == 0)
            at_peak += end - from;
        for (int j = 0; j < i; j++) {
            int64_t other = strtoll(get(&c, j, "offset_bytes"), NULL, 10);
            int64_t other_end = other + strtoll(get(&c, j, "padded_bytes"), NULL, 10);

            if (strcmp(get(&c, j, "memory"), "VMEM") != 0 || *get(&c, j, "inside")
                || strtoll(get(&c, j, "live_first_bundle"), NULL, 10) > last
                || strtoll(get(&c, j, "live_last_bundle"), NULL, 10) < first)
                continue;
            if (other < end && from < other_end)
                fail_msg("%s and %s overlap", get(&c, i, "buffer"), get(&c, j, "buffer"));
        }
    }
    assert_int_equal(at_peak, peak);
    free(c.text);
}

static void check_counters(const struct run *r)
{
    static const char *const header[] = {"counter", "achieved", "peak", "unit", "percent"};
    static struct csv c;
    int64_t loads = 0;
    const json_t *k;
    size_t i;

    csv_read(&c, r->out, "counters.csv");
    assert_header(&c, header, COUNT_OF(header));
    json_array_foreach(json_object_get(r->stats, "cores"), i, k)
        loads += toy_get_int(json_object_get(json_object_get(k, "units"), "load"), "ops");
    for (int row = 0; row < c.rows; row++) {
        int64_t achieved = strtoll(get(&c, row, "achieved"), NULL, 10);

        assert_true(achieved <= strtoll(get(&c, row, "peak"), NULL, 10));
        if (strcmp(get(&c, row, "counter"), "Vmem Loads") == 0)
            assert_int_equal(achieved, loads);
        if (strcmp(get(&c, row, "counter"), "ICI (Write)") == 0)
            assert_int_equal(achieved, core_sum(r, "ici_sent_bytes"));
    }
    free(c.text);
}

static void check_all(const struct run *r, int memory_rows)
{
    check_ops(r);
    check_layers(r);
    check_links(r);
    check_memory(r, memory_rows);
    check_counters(r);
    assert_int_equal(core_sum(r, "ici_sent_bytes"), core_sum(r, "ici_received_bytes"));
}

TEST(files_of_a_training_step_agree_with_the_machine)
{
    static struct csv steps;
    struct run r;
    int64_t cycles;

    run(&r, cmd_train, "train examples/mnist_mlp.json --tpu v3-8 --batch 64 --steps 3 --threads 2");
    check_all(&r, 20);
    cycles = toy_get_int(r.stats, "step_cycles");
    csv_read(&steps, r.out, "steps.csv");
    assert_int_equal(steps.rows, 3);
    assert_int_equal(sum(&steps, "step_cycles"), 3 * cycles);
    /* forward and backward products of 784 - 128 - 10 with 8 images a core; no gradient of x */
    assert_int_equal(check_layers(&r), 2 * 8 * (2 * 784 * 128 + 3 * 128 * 10));
    free(steps.text);
    finish(&r);
}

TEST(files_of_a_product_agree_with_the_machine)
{
    struct run r;

    run(&r, cmd_gemm, "gemm 200x300x400 --tpu v5e --mode timing");
    check_all(&r, 5);
    assert_int_equal(check_layers(&r), 2 * 200 * 300 * 400);
    finish(&r);
}

TEST(files_of_a_product_on_several_cores_agree_with_the_machine)
{
    struct run r;

    run(&r, cmd_gemm, "gemm 300x200x300 --tpu v3-8 --out-type bf16");
    check_all(&r, 5);
    finish(&r);
}

TEST(files_of_cores_that_talk_agree_with_the_machine)
{
    struct run r;

    run(&r, cmd_run, "run examples/07_two_core_exchange.tasm --tpu v5p-8 --all-cores");
    check_all(&r, 0);
    finish(&r);
}

/* what differs from run to run stands in two files, and nowhere else */
TEST(files_are_the_same_for_any_threads)
{
    static const char *const names[] = {"ops.csv", "collectives.csv", "layers.csv", "links.csv", "memory.csv",
                                        "counters.csv", "energy.csv", "energy_ops.csv",
                                        "steps.csv"};
    struct run one, two;
    char path[400], *a, *b;

    run(&one, cmd_train, "train examples/mnist_mlp.json --tpu v3-8 --batch 32 --steps 1 "
        "--threads 1");
    run(&two, cmd_train, "train examples/mnist_mlp.json --tpu v3-8 --batch 32 --steps 1 "
        "--threads 3 --simd c");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", one.out, names[i]);
        a = toy_read_text(path);
        snprintf(path, sizeof(path), "%s/%s", two.out, names[i]);
        b = toy_read_text(path);
        assert_string_equal(a, b);
        free(a);
        free(b);
    }
    finish(&one);
    finish(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_a_training_step_agree_with_the_machine),
        cmocka_unit_test(files_of_a_product_agree_with_the_machine),
        cmocka_unit_test(files_of_a_product_on_several_cores_agree_with_the_machine),
        cmocka_unit_test(files_of_cores_that_talk_agree_with_the_machine),
        cmocka_unit_test(files_are_the_same_for_any_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
