/* `systole check` holds the simulator against references. */
#include "cli/validate/check.h"
#include "cli/commands/cli.h"

#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/common/options.h"
#include "base/progress.h"
#include "report/numerics/check.h"
#include "stack/hlo/precision.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 128
#define SAMPLES_MAX (1 << 24)
#define UNIT_ROUNDOFF 0x1p-24
#define ORDERS "orders"

/* a comma-separated list, in pieces; none = all */
struct names {
    const char *item[NAMES_MAX];
    size_t count;
};

struct arguments {
    struct cli_target target;
    const char *simd, *csv, *json;
    struct cli_list op_text, dtype_text;
    struct names ops, dtypes;
    int64_t seed, samples;
    bool has_rows;
};

#define AT(member) CLI_AT(struct arguments, member)

static const struct cli_option options[] = {
    {"op", 0, "NAME[,NAME…]", "only these operations, e.g. vadd, matmul, orders", 2, CLI_LIST,
     AT(op_text)},
    {"dtype", 0, "TYPE[,TYPE…]", "only operands of these types: f32, bf16, s8…", 2, CLI_LIST,
     AT(dtype_text)},
    CLI_ROW_SIMD(struct arguments, simd, 3),
    CLI_ROW_SEED(struct arguments, seed, 3, "of the inputs"),
    {"samples", 0, "N",
     "results per operation and kind of inputs (default: %s; products take fewer)", 3, CLI_WHOLE,
     AT(samples), .lo = 1, .hi = SAMPLES_MAX},
    {"rows", 0, NULL, "print a row for each kind of inputs, not one for all", 4, CLI_FLAG,
     AT(has_rows)},
    CLI_ROW_CSV(struct arguments, csv, 4),
    CLI_ROW_JSON(struct arguments, json, 4),
    {0}};

static const struct cli_part parts[] = {
    {&cli_target_options, offsetof(struct arguments, target)}, {0}};

/* ----- products: each precision of f32 beside plain bf16 */

static double bf16_bound(const struct check_product *p, int64_t length, int64_t block_length)
{
    int64_t blocks = div_up(length, block_length);
    double rounding = (double)((length < block_length ? length : block_length) + blocks - 1) *
                      UNIT_ROUNDOFF;

    (void)p;
    return rounding / (1 - rounding);
}

static double f32_bound(const struct check_product *p, int64_t length, int64_t block_length)
{
    return precision_error_bound((enum graph_precision)p->precision, length, block_length);
}

static struct check_product f32_product(enum graph_precision precision)
{
    const struct precision_passes *passes = precision_passes(precision);
    struct check_product p = {.name = "matmul", .dtype = "f32", .storage = "f32",
                              .pass_count = passes->pass_count, .part_count = passes->part_count,
                              .bound = f32_bound, .precision = (int)precision};

    for (int i = 0; i < passes->pass_count; i++) {
        p.pass[i].lhs = (int)passes->pass[i].lhs;
        p.pass[i].rhs = (int)passes->pass[i].rhs;
    }
    return p;
}

/* by type in memory; bf16 also as f32 that the unit rounds */
static const struct { const char *dtype, *storage; } plain_products[] = {
    {"bf16", "f32"}, {"bf16", "bf16"}, {"s8", "s8"}, {"u8", "u8"}, {"s4", "s4"}, {"u4", "u4"},
    {"f8e5m2", "f8e5m2"}, {"f8e4m3fn", "f8e4m3fn"}, {"f8e4m3b11fnuz", "f8e4m3b11fnuz"},
};

#define PRECISION_COUNT 3
#define PRODUCT_COUNT (COUNT_OF(plain_products) + PRECISION_COUNT)

static void make_products(struct check_product product[PRODUCT_COUNT])
{
    for (size_t i = 0; i < COUNT_OF(plain_products); i++)
        product[i] = (struct check_product){
            .name = "matmul", .dtype = plain_products[i].dtype,
            .storage = plain_products[i].storage, .pass_count = 1, .part_count = 1,
            .is_rounded = true, .bound = bf16_bound};
    for (int i = 0; i < PRECISION_COUNT; i++)
        product[COUNT_OF(plain_products) + (size_t)i] = f32_product((enum graph_precision)i);
}

/* ----- names of operations and types */

static void add_name(struct names *n, const char *name)
{
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->item[i], name) == 0)
            return;
    if (n->count < NAMES_MAX)
        n->item[n->count++] = name;
}

static void known_names(const struct check_product *product, struct names *ops,
                        struct names *dtypes)
{
    for (size_t i = 0; i < check_op_count; i++) {
        add_name(ops, check_ops[i].name);
        add_name(dtypes, check_ops[i].dtype);
    }
    for (size_t i = 0; i < PRODUCT_COUNT; i++) {
        add_name(ops, product[i].name);
        add_name(dtypes, product[i].dtype);
    }
    add_name(ops, ORDERS);
}

static bool has_name(const struct names *n, const char *name)
{
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->item[i], name) == 0)
            return true;
    return false;
}

static bool is_wanted(const struct names *n, const char *name)
{
    return n->count == 0 || has_name(n, name);
}

#define LIST_CHARS 200                  /* a longer list would hide the message */

static void print_names(const struct names *known, char *list, size_t list_bytes)
{
    size_t at = 0;

    for (size_t i = 0; i < known->count && at < list_bytes; i++)
        at += (size_t)snprintf(list + at, list_bytes - at, "%s%s", i ? ", " : "", known->item[i]);
}

static int fail_unknown(const char *what, const char *name, const struct names *known,
                        struct err *e)
{
    struct near_text hint = text_did_you_mean(name, known->item, known->count);
    char list[2000];

    print_names(known, list, sizeof(list));
    if (strlen(list) > LIST_CHARS)
        return err_set(e, "unknown %s \"%.100s\"%s; systole check numerics --help lists all", what,
                       name, hint.text);
    return err_set(e, "unknown %s \"%.100s\"%s; there are %s", what, name, hint.text, list);
}

/* every name in every list given must be known */
static int split_names(const struct cli_list *texts, const char *what, const struct names *known,
                       struct names *out, struct arena *a, struct err *e)
{
    for (int i = 0; i < texts->count; i++) {
        char *rest = arena_strdup(a, texts->item[i]), *name;

        for (name = strtok_r(rest, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
            if (!has_name(known, name))
                return fail_unknown(what, name, known, e);
            add_name(out, name);
        }
    }
    return 0;
}

/* ----- the help */

/* At the end of the help: what --op and --dtype take. */
static char *list_names(int key, const char *text, void *input)
{
    struct check_product product[PRODUCT_COUNT];
    struct names ops = {.count = 0}, dtypes = {.count = 0};
    char op_list[2000], dtype_list[500];
    size_t bytes = sizeof(op_list) + sizeof(dtype_list) + 100;
    char *out;

    (void)input;
    if (key != ARGP_KEY_HELP_EXTRA || !(out = malloc(bytes)))
        return (char *)text;            /* argp's type; it frees what is not its own */
    make_products(product);
    known_names(product, &ops, &dtypes);
    print_names(&ops, op_list, sizeof(op_list));
    print_names(&dtypes, dtype_list, sizeof(dtype_list));
    snprintf(out, bytes, "Operations: %s.\n\nTypes: %s.", op_list, dtype_list);
    return out;
}

static const struct cli_syntax syntax = {
    .own = {options, parts, NULL}, .filter = list_names,
    .doc =
    "Run operations on a simulated core and hold their results against exact integers or double "
    "arithmetic, with the bounds of docs/numerics.md.\v"
    "Inputs: heavy (long-tailed), wide (any exponent), cancel (pairs that nearly cancel), edges "
    "(boundary values, each with each; for products around the smallest normal number), bits "
    "(any bits). An ulp is the unit in the last place of the exact result. Products are matrices "
    "of K x N; packed operands are bf16 in memory, other bf16 is rounded by the unit; x3 and x6 "
    "are passes; S is the sum of |a||b|; BLAS is OpenBLAS's sgemm in f32 on the same operands, "
    "rounded to bf16 where the type is bf16.\n\n"
    "Exit status: 0 all within their bounds, 1 one is not, or something failed.\n\n"
    "Examples:\n"
    "  systole check numerics\n"
    "  systole check numerics --op matmul --dtype f32 --simd c\n"
    "  systole check numerics --op vpow2,vtanh --samples 1000000 --csv eup.csv"};

/* ----- the run */

static bool is_chosen(const struct arguments *args, const char *name, const char *dtype)
{
    return is_wanted(&args->ops, name) && is_wanted(&args->dtypes, dtype);
}

static void say(struct progress *p, const char *name, const char *dtype, int64_t done)
{
    char what[64];

    snprintf(what, sizeof(what), "measuring %s %s", name, dtype);
    progress_say(p, what, done);
}

static int run_chosen(struct check *c, const struct arguments *args,
                      const struct check_product *product, struct progress *p, struct err *e)
{
    int64_t done = 0;

    for (size_t i = 0; i < check_op_count; i++, done++) {
        const struct check_op *op = &check_ops[i];

        if (!is_chosen(args, op->name, op->dtype))
            continue;
        say(p, op->name, op->dtype, done);
        if (check_run_op(c, op, e))
            return -1;
    }
    for (size_t i = 0; i < PRODUCT_COUNT; i++, done++) {
        if (!is_chosen(args, product[i].name, product[i].dtype))
            continue;
        say(p, product[i].name, product[i].dtype, done);
        if (check_run_product(c, &product[i], e))
            return -1;
    }
    return 0;
}

static int run_all(struct check *c, const struct arguments *args,
                   const struct check_product *product, struct err *e)
{
    bool has_orders = args->ops.count ? has_name(&args->ops, ORDERS) : args->dtypes.count == 0;
    struct progress p;
    int status;

    progress_begin(&p, (int64_t)(check_op_count + PRODUCT_COUNT));
    status = run_chosen(c, args, product, &p, e);
    progress_wipe(&p);
    if (status || (has_orders && check_run_orders(c, e)))
        return -1;
    if (c->row_count + c->order_count + c->left_out_count == 0)
        return err_set(e, "none of these operations has operands of these types");
    return 0;
}

static int write_csv(const struct check *c, FILE *to)
{
    check_print_csv(c, to);
    return 0;
}

static int write_file(const struct check *c, const char *path,
                      int (*print)(const struct check *, FILE *), struct err *e)
{
    struct outfile f;

    if (!path)
        return 0;
    if (outfile_begin(&f, path, e))
        return -1;
    if (print(c, f.to)) {
        outfile_abandon(&f);
        return err_set(e, "%s: cannot write", path);
    }
    return outfile_commit(&f, e);
}

static int report(const struct check *c, const struct arguments *args, struct err *e)
{
    size_t failed = check_failed_count(c);

    if (args->has_rows && c->row_count)
        check_print_rows(c, stdout);
    else
        check_print_summary(c, stdout);
    check_print_left_out(c, stdout);
    check_print_orders(c, stdout);
    if (write_file(c, args->csv, write_csv, e) || write_file(c, args->json, check_print_json, e))
        return -1;
    if (failed)
        return err_set(e, "%zu of %zu rows break their bound", failed, c->row_count);
    if (c->row_count)
        printf("%sall %zu rows are within their bounds%s\n",
               c->left_out_count || c->order_count || args->has_rows ? "\n" : "", c->row_count,
               args->has_rows ? "" : "; --rows prints them");
    return 0;
}

static int check_numerics(struct arguments *args, struct arena *a, struct err *e)
{
    struct check_product product[PRODUCT_COUNT];
    struct names ops = {.count = 0}, dtypes = {.count = 0};
    struct slice slice;
    struct chip chip;
    struct check c;
    int status;

    make_products(product);
    known_names(product, &ops, &dtypes);
    if (split_names(&args->op_text, "operation", &ops, &args->ops, a, e) ||
        split_names(&args->dtype_text, "type", &dtypes, &args->dtypes, a, e) ||
        (args->csv && outfile_check(args->csv, e)) ||
        (args->json && outfile_check(args->json, e)) ||
        cli_load_slice(&args->target, &slice, &chip, NULL, a, e))
        return -1;
    status = check_init(&c, &slice, &chip, args->simd, e);
    c.sample_count = args->samples;
    c.seed = (uint64_t)args->seed;
    if (status == 0)
        status = run_all(&c, args, product, e);
    if (status == 0)
        status = report(&c, args, e);
    check_fini(&c);
    return status;
}

static int run_numerics(int argc, char **argv)
{
    struct arguments args = {.target.tpu = "v6e", .simd = "auto", .seed = 1, .samples = 65536};
    struct arena a;
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&a);
    status = check_numerics(&args, &a, &e) ? cli_fail(&e) : 0;
    arena_fini(&a);
    return status;
}

static const struct {
    const char *name, *invocation, *summary;
    int (*run)(int argc, char **argv);
} checks[] = {
#define CHECK(name, run, summary) {#name, "systole check " #name, summary, run},
#include "cli/commands/checks.def"
};

static void print_checks(FILE *to)
{
    fprintf(to, "Usage: systole check CHECK [OPTION...]\n"
            "Hold the simulator against references.\n\n");
    for (size_t i = 0; i < COUNT_OF(checks); i++)
        fprintf(to, "  %-11s %s\n", checks[i].name, checks[i].summary);
    fprintf(to, "\n  systole check CHECK --help   its options, with examples\n");
}

int cmd_check(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "", *separator = "";
    char invocation[64];

    if (strcmp(name, "--help") == 0 || strcmp(name, "-?") == 0) {
        print_checks(stdout);
        return 0;
    }
    for (size_t i = 0; i < COUNT_OF(checks); i++)
        if (strcmp(name, checks[i].name) == 0) {
            snprintf(invocation, sizeof(invocation), "%s", checks[i].invocation);
            argv[1] = invocation;
            return checks[i].run(argc - 1, argv + 1);
        }
    fprintf(stderr, "systole check: ");
    if (argc > 1)
        fprintf(stderr, "unknown check \"%s\"; ", name);
    fprintf(stderr, "needs one of: ");
    for (size_t i = 0; i < COUNT_OF(checks); i++, separator = ", ")
        fprintf(stderr, "%s%s", separator, checks[i].name);
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}
