/*
 * Makes the list of changes that could help, each with the options that make it and a model of
 * what it gains.
 */
#include "report/explain/explain_change.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define BATCH_FACTOR 4
#define SET_MAX 11
#define END (-1)

/* ----- experiments with the chip */

static const struct experiment {
    const char *key, *what;
    bool is_compiled;                   /* only of programs that a compiler makes for the chip */
    int cause[5];                       /* whose cycles it removes; ends with END */
    const char *set[SET_MAX + 1];       /* ends with NULL; parameters that are 0 stay so */
} experiments[] = {
    {"links", "links of unlimited rate, without distance", false,
     {CAUSE_ICI_BYTES, CAUSE_ICI_HOPS, END},
     {"ici.link_gbps=100000", "ici.hop_ns=0", NULL}},
    {"memory", "memory of unlimited rate", false,
     {CAUSE_HBM_BYTES, END},
     {"hbm.burst_ps=100", "hbm.tccd_l_ps=100", "dma.core_gbps=100000",
      "dma.staging_bytes=1073741824", NULL}},
    {"copy-start", "copies that start at once", false, {CAUSE_HBM_START, CAUSE_SMALL_DMAS, END},
     {"dma.read_ns=0", "dma.write_ns=0", "dma.issue_cycles=1", NULL}},
    {"rows", "memory without rows and refresh", false, {CAUSE_HBM_ROWS, END},
     {"hbm.trcd_ps=0", "hbm.trp_ps=0", "hbm.tras_ps=0", "hbm.trfc_ps=0",
      "hbm.trfc_bank_ps=0", NULL}},
    {"weights", "weights that are in place at once", false, {CAUSE_WEIGHTS, END},
     {"mxu.push_f32_cycles=1", "mxu.push_bf16_cycles=1", "mxu.push_int8_cycles=1",
      "mxu.push_int4_cycles=1", "mxu.push_fp8_cycles=1", "mxu.push_xpose_factor=1",
      "mxu.latch_cycles=0", NULL}},
    {"mxu-latency", "matrix units whose results come out at once", false, {CAUSE_RESULT, END},
     {"mxu.latency_cycles=1", NULL}},
    {"slots", "twice the slots of the vector side", true, {CAUSE_VECTOR, END},
     {NULL}},                           /* depends on the chip: add_slots */
    {"xlu", "a cross-lane unit that answers at once", false, {CAUSE_XLU, END},
     {"xlu.issue_cycles=1", "xlu.reduce_cycles=1", "xlu.permute_cycles=1",
      "xlu.xpose_issue_cycles=1", "xlu.xpose_packed_issue_cycles=1", "xlu.xpose_gap_cycles=0",
      "xlu.xpose_cycles=1", "xlu.xpose_pop_cycles=1", NULL}},
    {"eup", "a transcendental unit that answers at once", false, {CAUSE_EUP, END},
     {"eup.latency_cycles=1", "eup.issue_cycles=1", NULL}},
    {"operands", "operands that are there at once", false, {CAUSE_OPERAND, END},
     {"valu.alu_cycles=1", "valu.cmp_cycles=1", "valu.sel_cycles=1", "scalar.alu_cycles=1",
      "scalar.mul_cycles=1", "scalar.cmp_cycles=1", "scalar.sld_cycles=1", "scalar.v2s_cycles=1",
      "scalar.div_cycles=1", "vmem.load_cycles=1", "vmem.store_to_load_cycles=1"}},
    {"registers", "64 vector registers", true, {CAUSE_SPILLS, END}, {"core.vregs=64", NULL}},
    {"kernels", "kernels that follow each other at once", true, {CAUSE_KERNELS, END},
     {"launch.kernel_ns=0", NULL}},
    {"resume", "cores that go on at once", false, {CAUSE_RESUME, END},
     {"sync.resume_cycles=1", NULL}},
};

static bool is_word(const char *word, const char *from, const char *end)
{
    size_t length = (size_t)(end - from);

    return strlen(word) == length && strncmp(word, from, length) == 0;
}

/* the chip's value of "mxu.count=8" 's parameter, as text; returns buf */
static const char *present_value(const struct chip *c, const char *set, char *buf, size_t bytes)
{
    const char *dot = strchr(set, '.'), *equals = strchr(set, '=');

    for (size_t i = 0; i < chip_param_count; i++) {
        const struct chip_param *p = &chip_params[i];

        if (is_word(p->section, set, dot) && is_word(p->key, dot + 1, equals))
            return chip_print_param(c, i, buf, bytes);
    }
    assert(false && "a parameter that no chip has");
    return "";
}

static void add_argument(struct explain_change *c, const char *option, const char *value)
{
    assert(c->argument_count + 2 <= EXPLAIN_ARGUMENT_MAX);
    c->argument[c->argument_count++] = option;
    c->argument[c->argument_count++] = value;
}

static void add_set(struct explain_change *c, const struct chip *chip, const char *set)
{
    char now[64];
    const char *value = present_value(chip, set, now, sizeof(now));

    if (strcmp(value, "0") != 0 && strcmp(value, strchr(set, '=') + 1) != 0)
        add_argument(c, "--set", set);
}

static void add_slots(struct explain_change *c, const struct chip *chip, struct arena *a)
{
    const struct { const char *key; int64_t count, most; } slots[] = {
        {"valu", chip->slots_valu, 8}, {"load", chip->slots_load, 4},
        {"store", chip->slots_store, 4}};

    for (size_t i = 0; i < COUNT_OF(slots); i++)
        if (2 * slots[i].count <= slots[i].most)
            add_argument(c, "--set", arena_printf(a, "slots.%s=%" PRId64, slots[i].key,
                                                  2 * slots[i].count));
}

static bool make_experiment(const struct explain *x, const struct experiment *e, struct arena *a,
                            struct explain_change *c)
{
    const struct chip *chip = x->input->view->chip;

    *c = (struct explain_change){.key = e->key, .what = e->what, .is_hardware = true, .work = 1};
    if (e->is_compiled && x->input->command == EXPLAIN_RUN)
        return false;
    for (int i = 0; i < SET_MAX && e->set[i]; i++)
        add_set(c, chip, e->set[i]);
    if (e->cause[0] == CAUSE_VECTOR)
        add_slots(c, chip, a);
    for (int i = 0; e->cause[i] != END; i++) {
        const struct explain_row *row = &x->row[e->cause[i]];

        if (row->cycles > 0)
            c->removes[e->cause[i]] = row->gain_cycles / (double)row->cycles;
    }
    return c->argument_count > 0;
}

/* ----- changes of the command */

/* at a place: of the cause, or where its reason is not told, all that the core does by itself */
static cycle_t own_cycles(const struct explain_place *p, enum cause c)
{
    return p->other_stall_cycles > 0 ? p->issue_cycles + p->other_stall_cycles
                                     : explain_place_cycles(p, c);
}

/* share of a cause's cycles that is spent in the optimizer's updates, which no batch changes */
static double optimizer_share(const struct explain_input *in, enum cause c)
{
    cycle_t all = 0, optimizer = 0;

    for (size_t i = 0; i < in->place_count; i++) {
        const struct explain_place *p = &in->place[i];

        if (p->is_bundle)
            continue;
        all += own_cycles(p, c);
        if (strncmp(p->note, "Adam/", 5) == 0 || strncmp(p->note, "SGD/", 4) == 0)
            optimizer += own_cycles(p, c);
    }
    return all > 0 ? (double)optimizer / (double)all : 0.0;
}

/* of the bytes to and from memory: all but the input belong to the variables */
static double variables_share(const struct report_view *v)
{
    double bytes = 0.0;

    for (int i = 0; i < v->chip_count; i++)
        bytes += (double)(v->hbm[i]->read_bytes + v->hbm[i]->write_bytes);
    return bytes > (double)v->input_bytes ? 1.0 - (double)v->input_bytes / bytes : 0.0;
}

/* share of a cause's cycles that stays the same with a larger batch */
static double fixed_share(const struct explain *x, enum cause c)
{
    switch (c) {
    case CAUSE_ICI_BYTES: case CAUSE_ICI_HOPS: case CAUSE_ICI_CORES: case CAUSE_KERNELS:
    case CAUSE_RESUME: case CAUSE_HBM_START: case CAUSE_SMALL_DMAS: case CAUSE_RESULT:
    case CAUSE_DISPATCH: case CAUSE_LAUNCH:
        return 1.0;
    case CAUSE_HBM_BYTES: case CAUSE_HBM_ROWS:
        return variables_share(x->input->view);
    case CAUSE_WEIGHTS:
        return 0.5;                     /* backward, the batch is the depth of products */
    case CAUSE_ISSUE: case CAUSE_VECTOR: case CAUSE_OPERAND: case CAUSE_EUP: case CAUSE_XLU:
    case CAUSE_SPILLS:
        return optimizer_share(x->input, c);
    default:
        return 0.0;
    }
}

static bool make_batch(const struct explain *x, struct arena *a, struct explain_change *c)
{
    *c = (struct explain_change){.key = "batch", .what = "four times the batch",
                                 .work = BATCH_FACTOR};
    if (x->input->command != EXPLAIN_TRAIN || x->input->batch <= 0)
        return false;
    add_argument(c, "--batch", arena_printf(a, "%" PRId64, BATCH_FACTOR * x->input->batch));
    for (int i = 0; i < CAUSE_COUNT; i++)
        if (x->row[i].cycles > 0)
            c->removes[i] = fixed_share(x, (enum cause)i) * (1.0 - 1.0 / BATCH_FACTOR);
    return true;
}

static bool make_precision(const struct explain *x, struct arena *a, struct explain_change *c)
{
    double fewer = 1.0 - 1.0 / (x->input->passes > 1 ? x->input->passes : 1);

    (void)a;
    *c = (struct explain_change){.key = "precision", .what = "one pass per product", .work = 1};
    if (x->input->command != EXPLAIN_TRAIN || x->input->passes <= 1)
        return false;
    add_argument(c, "--precision", "default");
    c->removes[CAUSE_PASSES] = 1.0;
    c->removes[CAUSE_PADDING] = c->removes[CAUSE_UNDERFILL] = fewer;
    c->removes[CAUSE_WEIGHTS] = c->removes[CAUSE_RESULT] = fewer;
    return true;
}

static void add_sides(struct explain_change *c, int64_t m, int64_t n, int64_t k, struct arena *a)
{
    c->argument[c->argument_count++] =
        arena_printf(a, "%" PRId64 "x%" PRId64 "x%" PRId64, m, n, k);
}

static int64_t whole(int64_t x, int64_t of)
{
    return (x + of - 1) / of * of;
}

/* Sizes that fill the units: the cycles stay, the work grows. */
static bool make_sizes(const struct explain *x, struct arena *a, struct explain_change *c)
{
    const struct report_view *v = x->input->view;
    const struct explain_product *p = x->input->product;
    int64_t m, n, k;

    *c = (struct explain_change){.key = "sizes", .what = "sizes that fill units"};
    if (x->input->command != EXPLAIN_GEMM || x->input->product_count != 1)
        return false;
    m = whole(p->m, 16) * v->active_count;
    n = whole(p->n, v->chip->mxu_size * v->chip->mxu_count);
    k = whole(p->k, v->chip->mxu_size);
    c->work = (double)m * (double)n * (double)k /
              ((double)p->m * v->active_count * (double)p->n * (double)p->k);
    add_sides(c, m, n, k, a);
    for (int i = 0; i < CAUSE_COUNT; i++)
        if (!cause_is_host((enum cause)i))
            c->removes[i] = 1.0 - 1.0 / c->work;
    return c->work > 1.0;
}

/* Eight times the products for four times the bytes; the ends of the program stay. */
static bool make_larger(const struct explain *x, struct arena *a, struct explain_change *c)
{
    static const enum cause halved[] = {CAUSE_HBM_BYTES, CAUSE_HBM_ROWS, CAUSE_HBM_START,
                                        CAUSE_SMALL_DMAS};
    static const enum cause fixed[] = {CAUSE_WEIGHTS, CAUSE_RESULT, CAUSE_RESUME, CAUSE_OPERAND};
    const struct explain_product *p = x->input->product;

    if (make_sizes(x, a, c) && c->work > 2.0)
        return false;                   /* first things first */
    *c = (struct explain_change){.key = "larger", .what = "twice M, N and K", .work = 8};
    if (x->input->command != EXPLAIN_GEMM || x->input->product_count != 1)
        return false;
    add_sides(c, 2 * p->m * x->input->view->active_count, 2 * p->n, 2 * p->k, a);
    for (size_t i = 0; i < COUNT_OF(halved); i++)
        c->removes[halved[i]] = 0.75;
    for (size_t i = 0; i < COUNT_OF(fixed); i++)
        c->removes[fixed[i]] = 1.0 - 1.0 / c->work;
    return true;
}

/* ----- all of them */

static double sum_gain(const struct explain *x, const struct explain_change *c)
{
    double sum = 0.0;

    for (int i = 0; i < CAUSE_COUNT; i++)
        if (!cause_is_host((enum cause)i))
            sum += c->removes[i] * (double)x->row[i].cycles;
    return sum;
}

static bool comes_before(const struct explain_change *a, const struct explain_change *b)
{
    if (a->is_hardware != b->is_hardware)
        return !a->is_hardware;
    return a->gain_cycles > b->gain_cycles;
}

static void insert(const struct explain *x, struct explain_change *list, size_t *count,
                   struct explain_change *c)
{
    size_t i = *count;

    c->gain_cycles = sum_gain(x, c);
    if (c->gain_cycles < 0.5)
        return;
    assert(*count < EXPLAIN_CHANGE_MAX);
    for (; i > 0 && comes_before(c, &list[i - 1]); i--)
        list[i] = list[i - 1];
    list[i] = *c;
    (*count)++;
}

size_t explain_changes(const struct explain *x, struct arena *a,
                       struct explain_change change[EXPLAIN_CHANGE_MAX])
{
    typedef bool make_fn(const struct explain *, struct arena *, struct explain_change *);
    static make_fn *const makers[] = {make_batch, make_precision, make_sizes, make_larger};
    struct explain_change c;
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(makers); i++)
        if (makers[i](x, a, &c))
            insert(x, change, &count, &c);
    for (size_t i = 0; i < COUNT_OF(experiments); i++)
        if (make_experiment(x, &experiments[i], a, &c))
            insert(x, change, &count, &c);
    return count;
}

const struct explain_change *explain_change_for(const struct explain_change *change,
                                                size_t count, enum cause c)
{
    for (size_t i = 0; i < count; i++)
        if (change[i].removes[c] > 0.0)
            return &change[i];
    return NULL;
}

const char *explain_change_text(const struct explain_change *change, struct arena *a)
{
    const char *text = "";

    for (int i = 0; i < change->argument_count; i++)
        text = arena_printf(a, "%s%s%s", text, *text ? " " : "", change->argument[i]);
    return text;
}
