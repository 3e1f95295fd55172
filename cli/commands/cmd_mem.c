/* `systole mem` drives a memory alone with access patterns. */
#include "cli/commands/cli.h"

#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/memory/mem.h"

#include <stdio.h>
#include <string.h>

enum { SETUPS_MAX = 16, STANDARD_BYTES = 64 * MIB };

static const char default_tpu[] = "v3";

struct arguments {
    struct cli_target target;
    const char *csv, *json, *reference, *patterns;
    const char *config[SETUPS_MAX];
    int config_count;
    int64_t bytes, access, footprint, per_cycle, in_flight;     /* -1: not given */
    bool writes;
};

#define AT(member) CLI_AT(struct arguments, member)

#define SIZE_MAX_BYTES (1LL << 50)

static int add_config(struct arguments *args, const char *path, struct err *e)
{
    if (args->config_count == SETUPS_MAX)
        return err_set(e, "at most %d configurations", SETUPS_MAX);
    args->config[args->config_count++] = path;
    return 0;
}

static int parse_config(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    (void)o;
    return add_config(values, text, e);
}

static const struct cli_option options[] = {
    {"pattern", 'p', "NAME[,NAME…]",
     "seq, stride:BYTES, random, each with _wr behind it for writes; copy, mix:PERCENT and "
     "random_mix:PERCENT of reads; all: a table of several (default: seq)", 1, CLI_TEXT,
     AT(patterns)},
    {"bytes", 'b', "SIZE", "bytes to move, as 4096, 64K, 256M, 1G (default: 64M)", 1, CLI_BYTES,
     AT(bytes), .lo = 1, .hi = SIZE_MAX_BYTES},
    {"writes", 0, NULL, "write where seq, stride and random would read", 1, CLI_FLAG, AT(writes)},
    {"footprint", 0, "SIZE", "addresses wrap here (default: 1G, or all of a smaller memory)", 1,
     CLI_BYTES, AT(footprint), .lo = 1, .hi = SIZE_MAX_BYTES},
    {"config", 0, "FILE", "the memory and the driver of this file, instead of a chip's", 2,
     CLI_OTHER, .parse = parse_config},
    {"access", 'a', "SIZE", "of an access (default: dma.chunk_bytes of the chip)", 3, CLI_BYTES,
     AT(access), .lo = 1, .hi = SIZE_MAX_BYTES},
    {"per-cycle", 0, "N", "accesses that may go in at each cycle of the driver", 3, CLI_WHOLE,
     AT(per_cycle), .lo = 1, .hi = 1024},
    {"in-flight", 0, "N", "accesses that may be unfinished; 0: as many as the memory takes", 3,
     CLI_WHOLE, AT(in_flight), .hi = 1000000},
    CLI_ROW_CSV(struct arguments, csv, 4),
    CLI_ROW_JSON(struct arguments, json, 4),
    {"reference", 0, "CSV",
     "hold rows of another simulator's results against ours; the configurations that they were "
     "made with follow as arguments", 5, CLI_TEXT, AT(reference)},
    {0}};

static int take_config(void *values, const char *text, struct err *e)
{
    struct arguments *args = values;

    if (!args->reference)
        return err_set(e, "no argument expected: %s (--pattern, --tpu and --config name what "
                       "is wanted; configurations follow --reference)", text);
    return add_config(args, text, e);
}

static int check(void *values, struct err *e)
{
    const struct arguments *args = values;

    if (args->target.tpu != default_tpu && args->config_count)
        return err_set(e, "--tpu and --config do not go together");
    if (!args->reference && args->config_count > 1)
        return err_set(e, "only --reference takes several configurations");
    if (!args->reference)
        return 0;
    if (!args->config_count)
        return err_set(e, "--reference needs the configurations that its rows were made with");
    if (args->patterns || args->bytes >= 0 || args->access >= 0 || args->footprint >= 0 ||
        args->per_cycle >= 0 || args->in_flight >= 0 || args->writes || args->csv || args->json)
        return err_set(e, "--reference drives what its rows say; it goes with configurations and "
                       "--set only");
    return 0;
}

static const struct cli_part parts[] = {
    {&cli_target_options, offsetof(struct arguments, target)}, {0}};

static const struct cli_syntax syntax = {
    .own = {options, parts, check}, .argument = take_config,
    .args_doc = "\n--reference=CSV CONFIG...",
    .doc =
    "Drives the memory of a chip alone, without cores, with a pattern of accesses, and prints "
    "bandwidth, row hits and latencies.\v"
    "Accesses go in strictly in order, so many per cycle, and stop at the first that the memory "
    "has no room for. A chip's are those of its copy engine: dma.chunk_bytes each, one per core "
    "clock, at most dma.queue_depth in flight. Patterns, latencies and configuration files: "
    "docs/memory.md.\n\n"
    "Examples:\n"
    "  systole mem --tpu v4\n"
    "  systole mem --pattern all --tpu v5e --set hbm.tfaw_ps=30000\n"
    "  systole mem --pattern stride:2048 --access 64 --bytes 12800000 \\\n"
    "      --config examples/hbm/dramsim3_hbm2.ini\n"
    "  systole mem --pattern mix:70,random_mix:70 --csv mixes.csv\n"
    "  systole mem --reference hbm2_patterns.csv examples/hbm/*.ini"};

static int load_setups(const struct arguments *args, struct mem_setup *s, int *count,
                       struct arena *a, struct err *e)
{
    if (!args->config_count) {
        *count = 1;
        return mem_setup_chip(s, &args->target, a, e);
    }
    for (*count = 0; *count < args->config_count; ++*count)
        if (mem_setup_file(&s[*count], args->config[*count], &args->target.set, a, e))
            return -1;
    return 0;
}

/* options change what the chip or the file says */
static int change_setup(struct mem_setup *s, const struct arguments *args, struct err *e)
{
    if (args->access >= 0)
        s->access_bytes = args->access;
    if (args->per_cycle >= 0)
        s->injection.per_cycle = (int)args->per_cycle;
    if (args->in_flight >= 0)
        s->injection.in_flight = (int)args->in_flight;
    if (s->access_bytes > s->config.size_bytes) {
        return err_set(e, "an access of %s does not fit into the %s of %s",
                       text_bytes(s->access_bytes).text,
                       text_bytes(s->config.size_bytes).text, s->name);
    }
    return 0;
}

/* `given` or its default, which is cut to what fits */
static int check_bytes(const char *option, const struct mem_setup *s, int64_t given,
                       int64_t standard, int64_t *bytes, struct err *e)
{
    *bytes = given >= 0 ? given : standard;
    if (*bytes <= s->config.size_bytes)
        return 0;
    if (given < 0) {
        *bytes = s->config.size_bytes;
        return 0;
    }
    return err_set(e, "%s is %s, %s has %s", option, text_bytes(*bytes).text,
                   s->name, text_bytes(s->config.size_bytes).text);
}

/* a footprint that was not asked for is cut to what the pattern can use */
static void set_sizes(struct hbm_pattern *p, const struct mem_setup *s, int64_t footprint,
                      bool is_given)
{
    int64_t unit = p->kind == HBM_STRIDE ? p->stride_bytes : s->access_bytes;

    if (p->kind == HBM_COPY)
        unit *= 2;
    p->access_bytes = s->access_bytes;
    p->footprint_bytes = footprint;
    if (!is_given && footprint >= unit)
        p->footprint_bytes -= footprint % unit;
}

/* strides of 8 and of 32 accesses, as 512 and 2048 bytes are of 64 */
static void print_all_patterns(char *text, size_t text_bytes, int64_t access)
{
    snprintf(text, text_bytes, "seq,seq_wr,stride:%lld,stride:%lld,random,random_wr,copy,mix:70,"
             "random_mix:70", (long long)(8 * access), (long long)(32 * access));
}

static int parse_patterns(const struct arguments *args, const struct mem_setup *s,
                          int64_t footprint, struct hbm_pattern *p, int *count, struct err *e)
{
    const char *text = args->patterns ? args->patterns : "seq";
    char all[160];

    if (strcmp(text, "all") == 0) {
        print_all_patterns(all, sizeof(all), s->access_bytes);
        text = all;
    }
    for (*count = 0; text; ++*count) {
        size_t length = strcspn(text, ",");
        char word[64];

        if (*count == MEM_PATTERN_MAX)
            return err_set(e, "at most %d patterns may be given", MEM_PATTERN_MAX);
        snprintf(word, sizeof(word), "%.*s", (int)length, text);
        if (hbm_pattern_parse(&p[*count], word, e))
            return -1;
        if (args->writes && p[*count].kind <= HBM_RANDOM)
            p[*count].is_write = true;
        set_sizes(&p[*count], s, footprint, args->footprint >= 0);
        if (hbm_pattern_check(&p[*count], e))
            return -1;
        text = text[length] ? text + length + 1 : NULL;
    }
    return 0;
}

static int check_files(const struct arguments *args, struct err *e)
{
    return (args->csv && outfile_check(args->csv, e)) ||
           (args->json && outfile_check(args->json, e)) ? -1 : 0;
}

static int write_files(const struct arguments *args, const struct mem_run *r, int count,
                       const struct mem_setup *s, const struct hbm_idle *idle, struct err *e)
{
    struct outfile f;

    if (args->csv) {
        if (outfile_begin(&f, args->csv, e))
            return -1;
        mem_print_csv(r, count, s, f.to);
        if (outfile_commit(&f, e))
            return -1;
    }
    if (args->json) {
        if (outfile_begin(&f, args->json, e))
            return -1;
        mem_print_json(r, count, s, idle, f.to);
        return outfile_commit(&f, e);
    }
    return 0;
}

static int drive(const struct arguments *args, struct mem_setup *s, struct arena *a,
                 struct err *e)
{
    struct hbm_pattern p[MEM_PATTERN_MAX];
    struct mem_run run[MEM_PATTERN_MAX];
    struct hbm_idle idle;
    int64_t bytes, footprint;
    int count;

    if (change_setup(s, args, e) ||
        check_bytes("--bytes", s, args->bytes, STANDARD_BYTES, &bytes, e) ||
        check_bytes("--footprint", s, args->footprint, MEM_FOOTPRINT, &footprint, e) ||
        parse_patterns(args, s, footprint, p, &count, e) || check_files(args, e))
        return -1;
    for (int i = 0; i < count; i++)
        if (mem_run_pattern(&run[i], s, &p[i], bytes, a, e))
            return -1;
    hbm_drive_idle(&s->config, s->access_bytes, &idle);
    mem_print_setup(s, stdout);
    if (count == 1)
        mem_print_one(&run[0], s, stdout);
    else
        mem_print_table(run, count, s, stdout);
    fputc('\n', stdout);
    mem_print_idle(&idle, stdout);
    return write_files(args, run, count, s, &idle, e);
}

int cmd_mem(int argc, char **argv)
{
    struct arguments args = {.target.tpu = default_tpu, .bytes = -1, .access = -1,
                             .footprint = -1, .per_cycle = -1, .in_flight = -1};
    struct mem_setup setups[SETUPS_MAX];
    int count, missed = 0, status;
    struct arena a;
    struct err e;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&a);
    status = load_setups(&args, setups, &count, &a, &e);
    if (status == 0)
        status = args.reference ? mem_reference(args.reference, setups, count, stdout, &missed, &e)
                                : drive(&args, &setups[0], &a, &e);
    arena_fini(&a);
    if (status)
        return cli_fail(&e);
    return missed ? EXIT_USER_ERROR : 0;
}
