/* systole check shapes: does every shape compile and run, on every chip? */
#include "cli/validate/check.h"
#include "cli/common/options.h"

#include "base/outfile.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/common/fail.h"
#include "cli/validate/shape_run.h"
#include "sim/chip/chip.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CASES_MAX 4096
#define CHIPS_MAX 16
#define COUNT_MAX 10000000
#define VALUES_EVERY 10                 /* one shape of so many is compared with the interpreter */
#define LINE_MAX_BYTES 1024

struct failure {
    struct shape_case c, smallest;
    struct shape_result r, smallest_r;
    bool has_values, is_known;
};

struct arguments {
    const char *text[CASES_MAX], *from, *json, *tpu, *kind, *known, *keep;
    int text_count;
    struct cli_list set;
    int64_t count, first, seed, seconds;
    bool is_random, has_values, is_plain;
};

struct shapes {
    const struct arguments *args;
    struct arena a;
    const char *chip[CHIPS_MAX];
    int chip_count;
    bool wants[SHAPE_KINDS];
    int64_t seed, done, compared, known_failures;
    const char *known[CASES_MAX];       /* shapes that may fail */
    int known_count;
    int64_t count[SHAPE_KINDS][SHAPE_OUTCOMES];
    struct failure *failure;
    size_t failure_count, failure_capacity;
    struct progress progress;
};

#define AT(member) CLI_AT(struct arguments, member)

/* a number, or "random": another each time */
static int parse_seed(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    struct arguments *args = values;

    args->is_random = strcmp(text, "random") == 0;
    if (args->is_random || text_parse_int(text, 0, INT32_MAX, &args->seed) == 0)
        return 0;
    return err_set(e, "--%s is \"%s\", allowed are whole numbers in 0..%d and \"random\"", o->name,
                   text, INT32_MAX);
}

static int add_text(void *values, const char *text, struct err *e)
{
    struct arguments *args = values;

    if (args->text_count == CASES_MAX)
        return err_set(e, "at most %d shapes", CASES_MAX);
    args->text[args->text_count++] = text;
    return 0;
}

static const struct cli_option options[] = {
    {"count", 0, "N", "shapes to draw (default: %s)", 1, CLI_WHOLE, AT(count), .lo = 1,
     .hi = COUNT_MAX},
    {"first", 0, "N", "go on behind so many draws of the seed (default: %s)", 1, CLI_WHOLE,
     AT(first), .lo = 0, .hi = COUNT_MAX},
    {"seed", 0, "N", "of the draws (default: 1); \"random\": another each time", 1, CLI_OTHER,
     .parse = parse_seed},
    {"tpu", 't', "CHIP[,CHIP…]", "only these chips (default: all but tiny, in turn)", 1, CLI_TEXT,
     AT(tpu)},
    CLI_ROW_SET(struct arguments, set, 1),
    {"kind", 0, "KIND[,KIND…]", "only conv, product, window, index, move or sort", 1, CLI_TEXT, AT(kind)},
    {"values", 0, NULL,
     "compare every shape with the interpreter (default: one in ten of those drawn)", 2, CLI_FLAG,
     AT(has_values)},
    {"from", 0, "FILE", "the shapes of a file, one a line, instead of drawn ones", 2, CLI_TEXT,
     AT(from)},
    {"seconds", 0, "N", "draw no more after so many seconds (default: the count alone ends it)", 1,
     CLI_WHOLE, AT(seconds), .lo = 1, .hi = 1 << 20},
    {"known", 0, "FILE", "shapes that may fail, one a line, as a failing one is printed at its "
     "smallest", 2, CLI_TEXT, AT(known)},
    {"keep", 0, "FILE", "add what fails to this file, as --from reads it", 3, CLI_TEXT, AT(keep)},
    {"no-shrink", 0, NULL, "print failing shapes as they were drawn", 2, CLI_FLAG, AT(is_plain)},
    CLI_ROW_JSON(struct arguments, json, 3),
    {0}};

static const struct cli_syntax syntax = {
    .own = {options, NULL, NULL}, .argument = add_text, .args_doc = "[SHAPE...]",
    .doc =
    "Draw convolutions, products, windows, gathers, moves and sorts of all sizes, compile each for "
    "a chip, run it in timing mode, and one in ten with values beside the interpreter.\v"
    "SHAPE is a command in quotes, which is tried instead of drawn "
    "ones: \"conv 8x14x14x16 3x3x16x32 --grad step --tpu v3\", \"op dot 100x30 30x50 --tpu v2\". "
    "A shape that fails is made smaller, size by size, while it fails in the same way, and printed "
    "as such a command.\n\n"
    "Exit status: 0 all compile, run and agree, 1 one does not, 2 wrong usage.\n\n"
    "Examples:\n"
    "  systole check shapes --count 10000\n"
    "  systole check shapes --kind conv --tpu v3,v6e --seed random\n"
    "  systole check shapes 'conv 129x1x5x2 1x1x1x2 --groups 2 --grad kernel --tpu v3'"};

/* ----- what is asked for */

static int choose_kinds(struct shapes *s, struct err *e)
{
    char *list = arena_strdup(&s->a, s->args->kind ? s->args->kind : ""), *name;

    for (int i = 0; i < SHAPE_KINDS; i++)
        s->wants[i] = !*list;
    while ((name = strtok_r(list, ",", &list))) {
        int kind = 0;

        while (kind < SHAPE_KINDS && strcmp(name, shape_kind_names[kind]))
            kind++;
        if (kind == SHAPE_KINDS)
            return err_set(e, "unknown kind \"%.60s\"; there are conv, product, window, index, "
                           "move, sort",
                           name);
        s->wants[kind] = true;
    }
    return 0;
}

static int choose_chips(struct shapes *s, struct err *e)
{
    size_t count;
    const char *const *names = chip_names(&count);
    char *list = arena_strdup(&s->a, s->args->tpu ? s->args->tpu : ""), *name;

    if (!*list)
        for (size_t i = 0; i < count && s->chip_count < CHIPS_MAX; i++)
            if (strcmp(names[i], "tiny") != 0)
                s->chip[s->chip_count++] = names[i];
    while ((name = strtok_r(list, ",", &list))) {
        bool is_known = false;

        for (size_t i = 0; i < count; i++)
            is_known |= strcmp(name, names[i]) == 0;
        if (!is_known)
            return err_set(e, "unknown chip \"%.60s\"%s (systole chips)", name,
                           text_did_you_mean(name, names, count).text);
        if (s->chip_count < CHIPS_MAX)
            s->chip[s->chip_count++] = name;
    }
    return 0;
}

/* ----- the run */

static void keep_failure(struct shapes *s, const struct failure *f)
{
    MEM_ADD(s->failure, s->failure_count, s->failure_capacity) = *f;
}

static void print_failure(struct shapes *s, const struct failure *f)
{
    const char *text = shape_case_print(&f->smallest, &s->a);

    progress_wipe(&s->progress);
    printf("%s%-8s systole check shapes%s", f->is_known ? "known: " : "",
           shape_outcome_names[f->r.outcome],
           f->has_values ? " --values" : "");
    for (int i = 0; i < s->args->set.count; i++)
        printf(" --set %s", s->args->set.item[i]);
    printf(" '%s'\n", text);
    printf("         %s\n", f->smallest_r.message);
    if (strcmp(text, shape_case_print(&f->c, &s->a)) != 0)
        printf("         drawn as '%s'\n", shape_case_print(&f->c, &s->a));
    fflush(stdout);
}

static bool is_known(struct shapes *s, const struct failure *f)
{
    const char *text = shape_case_print(&f->smallest, &s->a);

    for (int i = 0; i < s->known_count; i++)
        if (strcmp(s->known[i], text) == 0)
            return true;
    return false;
}

/* a comment with what it said, and the shape */
static int add_to_file(struct shapes *s, const struct failure *f, struct err *e)
{
    FILE *to = fopen(s->args->keep, "a");

    if (!to)
        return err_set(e, "%s: cannot be written", s->args->keep);
    fprintf(to, "# seed %lld%s, %s: %s\n%s\n", (long long)s->seed,
            f->has_values ? " with values" : "", shape_outcome_names[f->r.outcome],
            f->smallest_r.message, shape_case_print(&f->smallest, &s->a));
    return fclose(to) ? err_set(e, "%s: cannot be written", s->args->keep) : 0;
}

static int try(struct shapes *s, const struct shape_case *c, bool has_values, struct err *e)
{
    struct failure f = {.c = *c, .smallest = *c, .has_values = has_values};
    const struct shape_trial t = {has_values, s->seed, &s->args->set};

    if (shape_run(c, &t, &f.r, e))
        return -1;
    s->count[c->kind][f.r.outcome]++;
    s->done++;
    s->compared += has_values && (f.r.outcome == SHAPE_DONE || f.r.outcome == SHAPE_WRONG);
    if (f.r.outcome == SHAPE_DONE)
        return 0;
    f.smallest_r = f.r;
    if (!s->args->is_plain && f.r.outcome != SHAPE_SLOW &&
        shape_shrink(&f.smallest, &t, &f.smallest_r, e))
        return -1;
    f.is_known = is_known(s, &f);
    s->known_failures += f.is_known;
    print_failure(s, &f);
    keep_failure(s, &f);
    return s->args->keep && !f.is_known ? add_to_file(s, &f, e) : 0;
}

/* half of what is drawn are convolutions, which have the most choices */
static enum shape_kind next_kind(const struct shapes *s, struct rng *r)
{
    enum shape_kind kind;

    do
        kind = rng_below(r, 2) ? SHAPE_CONV : (enum shape_kind)rng_below(r, SHAPE_KINDS);
    while (!s->wants[kind] && !(kind == SHAPE_CONV && rng_below(r, 2)));
    while (!s->wants[kind])
        kind = (kind + 1) % SHAPE_KINDS;
    return kind;
}

static int try_drawn(struct shapes *s, struct err *e)
{
    int64_t first = s->args->first, end = first + s->args->count;
    time_t until = time(NULL) + (time_t)s->args->seconds;

    for (int64_t i = first; i < end && (!s->args->seconds || time(NULL) < until); i++) {
        struct shape_case c;
        struct rng r;
        bool has_values = s->args->has_values || i % VALUES_EVERY == VALUES_EVERY - 1;

        rng_init(&r, (uint64_t)s->seed << 32 | (uint64_t)i);
        shape_case_draw(&c, next_kind(s, &r), s->chip[i % s->chip_count], has_values, &r);
        progress_fraction(&s->progress, "shapes", 
                          (double)(i - first) / (double)s->args->count);
        if (try(s, &c, has_values, e))
            return -1;
    }
    return 0;
}

static int try_text(struct shapes *s, const char *text, struct err *e)
{
    struct shape_case c;

    return shape_case_parse(&c, text, &s->a, e) || try(s, &c, s->args->has_values, e) ? -1 : 0;
}

/* the next that is no comment, which '#' begins; NULL: there is none */
static char *next_line(FILE *f, char *line)
{
    while (fgets(line, LINE_MAX_BYTES, f)) {
        line[strcspn(line, "#\n")] = '\0';
        if (line[strspn(line, " ")])
            return line;
    }
    return NULL;
}

static int try_file(struct shapes *s, const char *path, struct err *e)
{
    char line[LINE_MAX_BYTES];
    FILE *f = fopen(path, "r");
    int status = 0;

    if (!f)
        return err_set(e, "%s: cannot be read", path);
    while (status == 0 && next_line(f, line))
        status = try_text(s, line, e);
    fclose(f);
    return status;
}

/* as they are printed, so that how they are written does not matter */
static int read_known(struct shapes *s, struct err *e)
{
    char line[LINE_MAX_BYTES];
    FILE *f = s->args->known ? fopen(s->args->known, "r") : NULL;
    int status = 0;

    if (!f)
        return s->args->known ? err_set(e, "%s: cannot be read", s->args->known) : 0;
    while (status == 0 && next_line(f, line)) {
        struct shape_case c;

        if (s->known_count == CASES_MAX)
            status = err_set(e, "%s: at most %d shapes", s->args->known, CASES_MAX);
        else if ((status = shape_case_parse(&c, line, &s->a, e)) == 0)
            s->known[s->known_count++] = shape_case_print(&c, &s->a);
    }
    fclose(f);
    return status;
}

static int try_all(struct shapes *s, struct err *e)
{
    int status = 0;

    if (s->args->from)
        return try_file(s, s->args->from, e);
    for (int i = 0; i < s->args->text_count && status == 0; i++)
        status = try_text(s, s->args->text[i], e);
    return s->args->text_count ? status : try_drawn(s, e);
}

/* ----- what came of it */

static int64_t total(const struct shapes *s, enum shape_outcome outcome)
{
    int64_t sum = 0;

    for (int i = 0; i < SHAPE_KINDS; i++)
        sum += s->count[i][outcome];
    return sum;
}

static void print_table(const struct shapes *s)
{
    printf("\nkind       tried  compile    fault    abort     slow    wrong\n");
    for (int i = 0; i < SHAPE_KINDS; i++) {
        const int64_t *c = s->count[i];
        int64_t tried = 0;

        for (int k = 0; k < SHAPE_OUTCOMES; k++)
            tried += c[k];
        if (tried)
            printf("%-8s %7lld  %7lld  %7lld  %7lld  %7lld  %7lld\n", shape_kind_names[i],
                   (long long)tried, (long long)(c[SHAPE_DONE] + c[SHAPE_FAULT] + c[SHAPE_WRONG]),
                   (long long)c[SHAPE_FAULT], (long long)c[SHAPE_ABORT],
                   (long long)c[SHAPE_SLOW], (long long)c[SHAPE_WRONG]);
    }
}

static int print_json(const struct shapes *s, const char *path, struct err *e)
{
    struct outfile f;

    if (outfile_begin(&f, path, e))
        return -1;
    fprintf(f.to, "{\"seed\": %lld, \"tried\": %lld, \"compared\": %lld", (long long)s->seed,
            (long long)s->done, (long long)s->compared);
    for (int k = 0; k < SHAPE_OUTCOMES; k++)
        fprintf(f.to, ", \"%s\": %lld", shape_outcome_names[k],
                (long long)total(s, (enum shape_outcome)k));
    fprintf(f.to, ", \"failures\": [");
    for (size_t i = 0; i < s->failure_count; i++) {
        const struct failure *x = &s->failure[i];

        fprintf(f.to, "%s\n  {\"outcome\": \"%s\", \"shape\": \"%s\", \"smallest\": \"%s\"}",
                i ? "," : "", shape_outcome_names[x->r.outcome],
                shape_case_print(&x->c, (struct arena *)&s->a),
                shape_case_print(&x->smallest, (struct arena *)&s->a));
    }
    fprintf(f.to, "]}\n");
    return outfile_commit(&f, e);
}

static int report(const struct shapes *s, struct err *e)
{
    int64_t failed = s->done - total(s, SHAPE_DONE) - s->known_failures;

    print_table(s);
    printf("\n%lld shapes on %d chip%s, %lld compared with the interpreter", (long long)s->done,
           s->chip_count, s->chip_count == 1 ? "" : "s", (long long)s->compared);
    if (!s->args->text_count && !s->args->from)
        printf("; seed %lld", (long long)s->seed);
    if (s->known_failures)
        printf("; %lld failures are known", (long long)s->known_failures);
    printf("\n");
    if (s->args->json && print_json(s, s->args->json, e))
        return -1;
    if (failed)
        return err_set(e, "%lld of %lld shapes fail", (long long)failed, (long long)s->done);
    return 0;
}

int check_run_shapes(int argc, char **argv)
{
    struct arguments args = {.count = 1000, .seed = 1};
    struct shapes s = {.args = &args};
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&s.a);
    s.seed = args.is_random ? (int64_t)time(NULL) % 1000000 : args.seed;
    status = choose_kinds(&s, &e) || choose_chips(&s, &e) || read_known(&s, &e) ||
             (args.json && outfile_check(args.json, &e)) ? -1 : 0;
    if (status == 0) {
        if (args.is_random)
            printf("seed %lld\n", (long long)s.seed);
        progress_begin(&s.progress, args.count);
        status = try_all(&s, &e);
        progress_wipe(&s.progress);
    }
    if (status == 0)
        status = report(&s, &e);
    status = status ? cli_fail(&e) : 0;
    free(s.failure);
    arena_fini(&s.a);
    return status;
}
