/* Reads files of measurements, and makes a graph of each row's columns. */
#include "cli/hardware/hardware_read.h"

#include "base/units.h"
#include "stack/hlo/rewrite.h"
#include "stack/nn/zoo.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SIZE_MAX_FIELD 1e9
#define BYTES_PER_GIB 1073741824.0

struct hardware_row *hardware_add_row(struct hardware_file *f, int line)
{
    struct hardware_row *r = &MEM_ADD(f->row, f->row_count, f->row_capacity);

    *r = (struct hardware_row){.line = line, .measured_us = NAN, .peer_error_percent = NAN,
                               .simulated_us = {NAN, NAN}, .baseline_us = NAN, .occurrences = 1,
                               .measured_memory_bytes = NAN, .simulated_memory_bytes = NAN, .dtype = "bf16"};
    return r;
}

/* ----- fields */

const char *fields_text(const struct fields *f, const char *column)
{
    return csv_text(f->csv, f->row, csv_find(f->csv, column));
}

double fields_number(struct fields *f, const char *column)
{
    double value = NAN;

    if (!f->is_bad && csv_number(f->csv, f->row, csv_find(f->csv, column), -1e15, 1e15, &value,
                                 f->e))
        f->is_bad = true;
    return value;
}

/* a size of at least 1 */
int64_t fields_size(struct fields *f, const char *column)
{
    double value = fields_number(f, column);

    if (!f->is_bad && (!(value >= 1) || value > SIZE_MAX_FIELD || value != floor(value))) {
        err_at(f->e, f->csv->path, f->csv->row[f->row].line, 0,
               "%s: expected a whole number in 1..%g, found \"%s\"", column, SIZE_MAX_FIELD,
               fields_text(f, column));
        f->is_bad = true;
    }
    return f->is_bad ? 1 : (int64_t)value;
}

/* likewise; 0 where the field is empty */
static int64_t size_or_none(struct fields *f, const char *column)
{
    return isnan(fields_number(f, column)) && !f->is_bad ? 0 : fields_size(f, column);
}

static bool is(const struct fields *f, const char *column, const char *value)
{
    return strcmp(fields_text(f, column), value) == 0;
}

/* the columns that most files have */
static struct hardware_row *begin_row(struct hardware_file *file, struct fields *f,
                                      double us_per_unit)
{
    struct hardware_row *r = hardware_add_row(file, f->csv->row[f->row].line);

    r->workload = fields_text(f, "workload");
    r->group = fields_text(f, "op");
    r->measured_us = fields_number(f, "measured_value") * us_per_unit;
    r->peer_error_percent = fields_number(f, "peer_abs_pct_err");
    return r;
}

void hardware_set_graph(struct hardware_row *r, struct graph *g)
{
    r->work = WORK_GRAPH;
    r->graph = g;
    r->flops = (double)graph_flops(g);
    r->bytes = hardware_graph_bytes(g);
}

void hardware_leave_out(struct hardware_row *r, const char *why_not)
{
    r->work = WORK_NONE;
    r->why_not = why_not;
}

/* the columns of a file, and what its measurements count */
struct hardware_layout {
    void (*read)(struct hardware_row *r, struct fields *f, struct arena *a);
    enum hardware_time time;
    double us_per_unit;
    const char *clock;                  /* NULL, or the column of the MHz that cycles are of */
    /* instead of `read`: all rows */
    int (*read_all)(struct hardware_file *file, const struct csv *c, struct arena *a,
                    struct err *e);
};

static int read_rows(struct hardware_file *file, const struct csv *c, struct arena *a,
                     struct err *e)
{
    const struct hardware_layout *layout = file->layout;
    double mhz = 1;
    int clock = layout->clock ? csv_column(c, layout->clock, e) : -1;
    static const char *const needed[] = {"workload", "op", "measured_value", "measured_unit"};

    for (size_t i = 0; i < COUNT_OF(needed); i++)
        if (csv_column(c, needed[i], e) < 0)
            return -1;
    if (layout->clock && (clock < 0 || (c->row_count && csv_number(c, 0, clock, 1, 1e5, &mhz, e))))
        return -1;
    for (int i = 0; i < c->row_count; i++) {
        struct fields f = {.csv = c, .row = i, .e = e};
        struct hardware_row *r = begin_row(file, &f, layout->us_per_unit / mhz);

        r->time = layout->time;
        if (!f.is_bad && isnan(r->measured_us))
            hardware_leave_out(r, "no measured value");
        else if (!f.is_bad)
            layout->read(r, &f, a);
        if (f.is_bad)
            return -1;
    }
    return 0;
}

/* ----- one layout of columns each */

/* the bytes and FLOPs of all scores, whatever is masked */
static void set_attention(struct hardware_row *r, struct graph_attention *x, struct arena *a)
{
    double sequences = (double)x->sequences, visible = (double)x->q_len * (double)x->kv_len;
    struct graph *g;
    struct err e;

    if (attention_graph(x, a, &g, &e)) {
        hardware_leave_out(r, arena_strdup(a, e.msg));
        return;
    }
    hardware_set_graph(r, g);
    r->flops = sequences * 4.0 * (double)x->heads_q * (double)x->depth * visible;
    r->bytes = sequences * 2.0 * (double)x->depth *
               (2.0 * (double)x->heads_q * (double)x->q_len +
                2.0 * (double)x->heads_kv * (double)x->kv_len);
}

static struct graph_attention attention_sizes(struct fields *f)
{
    return (struct graph_attention){
        .sequences = 1, .heads_q = fields_size(f, "heads_q"), .heads_kv = fields_size(f, "heads_kv"),
        .q_len = fields_size(f, "q_len"), .kv_len = fields_size(f, "kv_len"),
        .depth = fields_size(f, "head_dim")};
}

/*
 * Heads of a ragged row fold its sequences: models of the row's file have 8 heads of keys each. JAX's
 * kernel has blocks of 128 pages of 16 keys. With one query a step has all of a block, with many it
 * has as many keys as the arrays hold, which is what the operation's default says.
 */
enum { KEY_HEADS_OF_A_SEQUENCE = 8, KEYS_OF_A_BLOCK = 128 * 16, KEYS_OF_A_TILE = 128 };

static void set_ragged(struct hardware_row *r, struct fields *f, struct arena *a)
{
    struct graph_attention x = attention_sizes(f);

    x.form = ATTENTION_RAGGED;
    if (x.heads_kv % KEY_HEADS_OF_A_SEQUENCE == 0) {
        x.sequences = x.heads_kv / KEY_HEADS_OF_A_SEQUENCE;
        x.heads_q /= x.sequences;
        x.heads_kv /= x.sequences;
    }
    if (x.q_len == 1)
        x.block_kv = earlier(round_up(x.kv_len, KEYS_OF_A_TILE), KEYS_OF_A_BLOCK);
    set_attention(r, &x, a);
}

static void read_v6e_op(struct hardware_row *r, struct fields *f, struct arena *a)
{
    if (is(f, "op", "gemm")) {
        hardware_set_graph(r, hardware_gemm(fields_size(f, "M"), fields_size(f, "K"), fields_size(f, "N"), a));
    } else if (is(f, "op", "ffn_gated")) {
        hardware_set_graph(r, hardware_ffn_gated(fields_size(f, "M"), fields_size(f, "hidden"),
                                           fields_size(f, "inter"), a));
    } else if (is(f, "op", "ffn_erf")) {
        hardware_set_graph(r, hardware_ffn_erf(fields_size(f, "M"), fields_size(f, "hidden"),
                                         fields_size(f, "inter"), a));
    } else if (is(f, "op", "attention_encoder")) {
        hardware_set_graph(r, hardware_encoder_attention(fields_size(f, "heads_q"), fields_size(f, "q_len"),
                                                fields_size(f, "kv_len"), fields_size(f, "head_dim"), a));
    } else if (is(f, "op", "attention_ragged_paged")) {
        set_ragged(r, f, a);
    } else {
        hardware_leave_out(r, "an operation that is not known here");
    }
}

/* a model of stack/nn/zoo.def, forward, if the row is one */
static bool set_model(struct hardware_row *r, struct fields *f, struct arena *a)
{
    static const char *const names[] = {"resnet18", "resnet50"};
    double batch = fields_number(f, "batch");

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct graph *g;
        int64_t variables;
        char spec[64];
        struct err e;

        if (!is(f, "workload", names[i]) && !is(f, "op", names[i]))
            continue;
        g = arena_alloc(a, sizeof(*g));
        graph_init(g, a, names[i]);
        snprintf(spec, sizeof(spec), "%s:batch=%.0f", names[i], isnan(batch) ? 1 : batch);
        if (zoo_build(g, spec, &variables, &e))
            hardware_leave_out(r, arena_strdup(a, e.msg));
        else
            hardware_set_graph(r, g);
        graph_freeze(g);
        return true;
    }
    return false;
}

static void read_v3_op(struct hardware_row *r, struct fields *f, struct arena *a)
{
    r->dtype = "bf16 assumed";
    if (set_model(r, f, a))
        return;
    if (is(f, "op", "gemm"))
        hardware_set_graph(r, hardware_gemm(fields_size(f, "M"), fields_size(f, "K"), fields_size(f, "N"), a));
    else if (is(f, "op", "conv2d"))
        hardware_set_graph(r, hardware_conv(fields_size(f, "batch"), fields_size(f, "H"), fields_size(f, "W"), fields_size(f, "Cin"),
                                   fields_size(f, "Cout"), fields_size(f, "kernel"), fields_size(f, "stride"),
                                   size_or_none(f, "pad"), a));
    else if (is(f, "op", "layernorm"))
        hardware_set_graph(r, hardware_layer_norm(fields_size(f, "rows"), fields_size(f, "cols"), DTYPE_BF16, a));
    else if (is(f, "op", "softmax"))
        hardware_set_graph(r, hardware_softmax(1, fields_size(f, "rows"), fields_size(f, "cols"), DTYPE_BF16, a));
    else if (is(f, "op", "encoder_block"))
        hardware_set_graph(r, hardware_encoder_block(fields_size(f, "seq"), fields_size(f, "hidden"), fields_size(f, "heads"),
                                            a));
    else if (is(f, "op", "attention"))
        hardware_set_graph(r, hardware_encoder_attention(fields_size(f, "heads"), fields_size(f, "seq"),
                                                fields_size(f, "seq"), fields_size(f, "head_dim"), a));
    else
        hardware_leave_out(r, "an operation that is not known here");
}

static void read_v3_secondary(struct hardware_row *r, struct fields *f, struct arena *a)
{
    r->dtype = "bf16 assumed";
    if (is(f, "op", "gemm") || is(f, "op", "conv2d_as_gemm"))
        hardware_set_graph(r, hardware_gemm(fields_size(f, "M"), fields_size(f, "K"), fields_size(f, "N"), a));
    else if (is(f, "op", "batched_gemm"))
        hardware_set_graph(r, hardware_batched_dot(fields_size(f, "batch"), fields_size(f, "M"), fields_size(f, "K"),
                                          fields_size(f, "N"), a));
    else if (is(f, "op", "softmax"))
        hardware_set_graph(r, hardware_softmax(fields_size(f, "batch"), fields_size(f, "rows"), fields_size(f, "cols"),
                                      DTYPE_BF16, a));
    else if (is(f, "op", "self_attention"))
        hardware_set_graph(r, hardware_self_attention(fields_size(f, "heads"), fields_size(f, "seq"),
                                             fields_size(f, "hidden"), a));
    else
        hardware_leave_out(r, "a kernel told in words only");
}

static void read_chain(struct hardware_row *r, struct fields *f, struct arena *a)
{
    static const struct { const char *op, *map; } maps[] = {
        {"elementwise_add", "add"}, {"elementwise_exp", "exp"}, {"reduce_read", "read"}};
    int64_t elements = size_or_none(f, "elements");
    double low = fields_number(f, "p10_us"), high = fields_number(f, "p90_us");

    for (size_t i = 0; i < COUNT_OF(maps); i++)
        if (is(f, "op", maps[i].op)) {
            hardware_set_graph(r, hardware_map(maps[i].map, fields_size(f, "elements"), a));
            r->map = maps[i].map;
        }
    r->elements = elements;
    if (r->work == WORK_NONE)
        hardware_leave_out(r, "an operation that is not known here");
    else if (fields_number(f, "vmem_resident") == 1 && !is(f, "op", "reduce_read"))
        r->work = WORK_CHAIN;
    if (high > 1.5 * low)
        r->why_not = "measured values spread by more than half";
}

static void read_attention_row(struct hardware_row *r, struct fields *f, struct arena *a)
{
    double share = fields_number(f, "causal_fraction_computed");
    struct graph_attention x = attention_sizes(f);
    int64_t pages;

    x.sequences = fields_size(f, "batch");
    if (is(f, "op", "attention_decode")) {
        x.form = ATTENTION_PAGED;
        if (sscanf(fields_text(f, "block"), "ps%" SCNd64 "_ppcb%" SCNd64, &x.page_tokens, &pages) != 2) {
            hardware_leave_out(r, "page sizes are not told");
            return;
        }
        x.block_kv = pages * x.page_tokens;
    } else {
        x.form = ATTENTION_FLASH;
        x.is_causal = true;
        if (sscanf(fields_text(f, "block"), "bq%" SCNd64 "_bk%" SCNd64, &x.block_q, &x.block_kv) != 2) {
            hardware_leave_out(r, "block sizes are not told");
            return;
        }
    }
    set_attention(r, &x, a);
    r->flops *= isnan(share) ? 1 : share;
}

/* "pallas bm=512 bk=1024 bn=1024", "pallas 128 fused rhs transpose", "XLA jnp.matmul" */
static void read_pallas_row(struct hardware_row *r, struct fields *f, struct arena *a)
{
    const char *kernel = fields_text(f, "kernel");
    int64_t m = fields_size(f, "M"), *block = r->tiling.size;

    hardware_set_graph(r, hardware_gemm(m, fields_size(f, "K"), fields_size(f, "N"), a));
    r->group = strncmp(kernel, "XLA", 3) == 0 ? "xla" : "pallas";
    if (strcmp(r->group, "pallas") == 0) {
        r->work = WORK_BLOCKS;
        r->tiling.count = 3;
        if (sscanf(kernel, "pallas bm=bk=bn=%" SCNd64, &block[0]) == 1)
            block[1] = block[2] = block[0];
        else if (sscanf(kernel, "pallas bm=%" SCNd64 " bk=%" SCNd64 " bn=%" SCNd64, &block[0],
                        &block[1], &block[2]) != 3)
            hardware_leave_out(r, "another kernel: the right operand is transposed inside");
    }
    if (m < 4096 && !r->why_not)
        r->why_not = "below 4096 the host's dispatch is all there is to see";
}

static void read_microbench_row(struct hardware_row *r, struct fields *f, struct arena *a)
{
    double tflops = r->measured_us;     /* the column holds rates */

    if (!is(f, "op", "gemm")) {
        hardware_leave_out(r, is(f, "op", "hbm_copy") ? "see \"Copies against a TPU\", tools/copies.sh"
                                             : "a collective: systole collective");
        return;
    }
    hardware_set_graph(r, hardware_gemm(fields_size(f, "M"), fields_size(f, "K"), fields_size(f, "N"), a));
    r->measured_us = r->flops / tflops * 1e-6;
    if (strstr(fields_text(f, "hardware"), "v7x") == NULL || strstr(fields_text(f, "timing"), "device") == NULL)
        hardware_leave_out(r, "host time");
}

/* "local M=8192 K=8192 N=16384" */
static void read_sharded_row(struct hardware_row *r, struct fields *f, struct arena *a)
{
    int64_t m, k, n;

    if (!is(f, "op", "gemm_sharded") ||
        sscanf(fields_text(f, "shape"), "local M=%" SCNd64 " K=%" SCNd64 " N=%" SCNd64, &m, &k, &n) != 3)
        hardware_leave_out(r, "a layer or a collective of several cores");
    else if (m < 1 || k < 1 || n < 1 || (double)m > SIZE_MAX_FIELD ||
             (double)k > SIZE_MAX_FIELD || (double)n > SIZE_MAX_FIELD)
        hardware_leave_out(r, "sizes out of range");
    else
        hardware_set_graph(r, hardware_gemm(m, k, n, a));
}

/* what is trained, and how much of it is a step of one core: "", it is not known here */
static const char *spec_of(const struct fields *f, int64_t batch, struct arena *a)
{
    if (is(f, "benchmark", "resnet"))
        return arena_printf(a, "resnet50:train,batch=%" PRId64, batch);
    if (is(f, "benchmark", "bert"))
        return arena_printf(a, "bert-large:train,batch=%" PRId64, batch);
    return "";
}

/* a step of a submission, "tpu-v3-32-TF2.0", as all its cores share it; names count cores */
static void read_training_row(struct hardware_row *r, struct fields *f, struct arena *a)
{
    int64_t batch = size_or_none(f, "global_batch");
    char generation[8];
    int cores;

    r->measured_us = fields_number(f, "derived_step_ms") * 1e3;
    r->flops = r->bytes = 0;
    if (sscanf(fields_text(f, "system"), "tpu-%7[a-z0-9]-%d", generation, &cores) != 2 || cores < 1)
        hardware_leave_out(r, "its slice is not told");
    else if (isnan(r->measured_us))
        hardware_leave_out(r, "no time of a step");
    else if (batch < cores || batch % cores)
        hardware_leave_out(r, "no whole samples for each core");
    else if (!*spec_of(f, batch / cores, a))
        hardware_leave_out(r, "a model that is not tried here");
    else
        r->work = WORK_STEP;
    r->model = r->work == WORK_STEP ? spec_of(f, batch / cores, a) : "";
    r->slice = r->work == WORK_STEP ? arena_printf(a, "%s-%d", generation, cores) : "";
}

/* XProf's statistics of operations: text of the HLO operation, average time, rates */
static int read_profile(struct hardware_file *file, const struct csv *c, struct arena *a,
                        struct err *e)
{
    static const char *const needed[] = {"Category", "HLO op", "Avg. self time (us)", "#Occurrences",
                                         "Measured GFLOP/s", "Measured Memory BW (GiB/s)"};

    for (size_t i = 0; i < COUNT_OF(needed); i++)
        if (csv_column(c, needed[i], e) < 0)
            return -1;
    for (int i = 0; i < c->row_count; i++) {
        struct fields f = {.csv = c, .row = i, .e = e};
        struct hardware_row *r = hardware_add_row(file, c->row[i].line);
        const char *why_not = NULL;
        double bytes;

        r->workload = fields_text(&f, "HLO op");
        r->group = fields_text(&f, "Category");
        r->measured_us = fields_number(&f, "Avg. self time (us)");
        r->occurrences = fields_number(&f, "#Occurrences");
        r->flops = fields_number(&f, "Measured GFLOP/s") * r->measured_us * 1e3;
        bytes = fields_number(&f, "Measured Memory BW (GiB/s)") * BYTES_PER_GIB * r->measured_us * 1e-6;
        r->time = TIME_KERNEL;
        r->all_cores = r->has_layouts = true;
        if (f.is_bad)
            return -1;
        r->graph = hardware_rebuild(r->workload, r->group, r->flops, bytes, a, &why_not);
        if (!(r->measured_us > 0))
            hardware_leave_out(r, "no time of its own");
        else if (hardware_read_all_reduce(r->workload, &r->collective))
            r->work = WORK_COLLECTIVE;
        else if (r->graph)
            hardware_set_graph(r, r->graph);
        else
            hardware_leave_out(r, why_not);
    }
    return 0;
}

/* ----- the files */

#define LAYOUT(name, fn, what, ...) \
    static const struct hardware_layout layout_##name = {.read = fn, .time = what, __VA_ARGS__};
LAYOUT(v6e_ops, read_v6e_op, TIME_DEVICE, .us_per_unit = 1)
LAYOUT(v3_ops, read_v3_op, TIME_KERNEL, .us_per_unit = 1, .clock = "clock_mhz_assumed")
LAYOUT(v3_mixed, read_v3_secondary, TIME_KERNEL, .us_per_unit = 1)
LAYOUT(chains, read_chain, TIME_KERNEL, .us_per_unit = 1)
LAYOUT(attention, read_attention_row, TIME_KERNEL, .us_per_unit = 1)
LAYOUT(pallas, read_pallas_row, TIME_HOST, .us_per_unit = 1)
LAYOUT(microbench, read_microbench_row, TIME_DEVICE, .us_per_unit = 1)
LAYOUT(sharded, read_sharded_row, TIME_KERNEL, .us_per_unit = 1e3)
LAYOUT(training, read_training_row, TIME_KERNEL, .us_per_unit = 1)
LAYOUT(profile, NULL, TIME_KERNEL, .read_all = read_profile)
LAYOUT(kernels, NULL, TIME_DEVICE, .read_all = hardware_read_kernels)
LAYOUT(plain, NULL, TIME_DEVICE, .read_all = hardware_read_plain)

int hardware_files(struct hardware_file **files, struct arena *a)
{
    static const struct hardware_file known[] = {
#define FILE(path, tpu, reader, nth, step, whose, first, text) \
        {.name = path, .chip = tpu, .layout = &layout_##reader, .every = nth, .part_step = step, .peer = whose, \
         .heading = first, .about = text},
#include "cli/hardware/hardware.def"
    };

    *files = arena_alloc(a, sizeof(known));
    memcpy(*files, known, sizeof(known));
    return COUNT_OF(known);
}

int hardware_read(struct hardware_file *f, const struct csv *c, struct arena *a, struct err *e)
{
    int status = f->layout->read_all ? f->layout->read_all(f, c, a, e) : read_rows(f, c, a, e);

    for (int i = 0; i < f->row_count; i += f->every)
        f->row[i / f->every] = f->row[i];
    f->row_count = (f->row_count + f->every - 1) / f->every;
    for (int i = 0; i < f->row_count; i++)
        f->row[i].is_in_part = f->part_step && i % f->part_step == 0;
    return status;
}
