/*
 * Opens what is to be explained, a run folder or a trace, and finds out which command made it with
 * which options.
 */
#include "cli/explain/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "report/explain/explain_places.h"

/* ----- the command */

/* the value of an option behind the command, the last one given; NULL: not given */
static const char *option(const struct command *c, const char *name)
{
    size_t length = strlen(name);
    const char *value = NULL;

    for (int i = 0; i < c->argument_count; i++) {
        const char *word = c->argument[i];

        if (strncmp(word, name, length) != 0)
            continue;
        if (word[length] == '=')
            value = word + length + 1;
        else if (!word[length] && i + 1 < c->argument_count)
            value = c->argument[i + 1];
    }
    return value;
}

bool explain_parse_sides(const char *text, int64_t side[3])
{
    for (int i = 0; i < 3; i++) {
        char word[24];
        size_t length = strcspn(text, "x");

        if (length >= sizeof(word))
            return false;
        memcpy(word, text, length);
        word[length] = '\0';
        if (text_parse_int(word, 1, INT32_MAX, &side[i]) || (text[length] == 'x') != (i < 2))
            return false;
        text += length + 1;
    }
    return true;
}

int explain_bare_sides(const struct command *c, int64_t side[3], int *taken)
{
    int count = 0, first = -1;

    for (int i = 0; i < c->argument_count; i++) {
        int64_t number;

        count = text_parse_int(c->argument[i], 1, INT32_MAX, &number) ? 0 : count + 1;
        first = count >= 3 ? i - 2 : first;
    }
    *taken = first >= 0 ? 3 : 1;
    for (int i = 0; first >= 0 && i < 3; i++)
        text_parse_int(c->argument[first + i], 1, INT32_MAX, &side[i]);
    if (first >= 0 || c->argument_count == 0
        || text_parse_int(c->argument[0], 1, INT32_MAX, &side[0]))
        return first;
    side[1] = side[2] = side[0];
    return 0;
}

/* MxNxK, or M N K, or SIZE, or --m, --n and --k, behind which the last one holds */
static bool read_sides(const struct command *c, int64_t side[3])
{
    static const char *const names[][2] = {{"--m", "-m"}, {"--n", "-n"}, {"--k", "-k"}};
    int64_t sides[3];
    int taken;

    explain_bare_sides(c, side, &taken);
    for (int i = 0; i < c->argument_count; i++)
        if (explain_parse_sides(c->argument[i], sides))
            memcpy(side, sides, sizeof(sides));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (int j = 0; j < 2; j++) {
            const char *value = option(c, names[i][j]);

            if (value && text_parse_int(value, 1, INT32_MAX, &side[i]))
                return false;
        }
    return side[0] && side[1] && side[2];
}

static void read_gemm(struct explain_source *s)
{
    int64_t side[3] = {0};

    if (!read_sides(&s->command, side))
        return;
    s->product = (struct explain_product){.m = div_up(side[0], s->view.active_count),
                                          .n = side[1], .k = side[2], .count = 1};
    s->input.product = &s->product;
    s->input.product_count = 1;
}

/* of an option of train, as the run had it: from its config.ini, its command, or the default */
static const char *train_value_of(const struct explain_source *s, const char *section,
                                  const char *name)
{
    static const struct { const char *name, *standard; } options[] = {
#define OPT(id, section, name, kind, standard, lo, hi, arg, use, meaning) {name, standard},
#include "cli/train/train_options.def"
    };
    const char *value = run_folder_setting(&s->folder,
                                           arena_printf(s->arena, "%s.%s", section, name));

    if (!value && s->has_command)
        value = option(&s->command, arena_printf(s->arena, "--%s", name));
    for (size_t i = 0; !value && i < COUNT_OF(options); i++)
        if (strcmp(options[i].name, name) == 0)
            value = options[i].standard;
    return value ? value : "";
}

static void read_train(struct explain_source *s)
{
    const char *precision = train_value_of(s, "numerics", "precision");

    if (text_parse_int(train_value_of(s, "data", "batch"), 1, INT32_MAX, &s->input.batch))
        s->input.batch = 0;
    s->input.passes = strcmp(precision, "highest") == 0 ? 6
                      : strcmp(precision, "high") == 0 ? 3 : 1;
}

/* what kind of run it is; one that does not tell is explained, but cannot be run again */
static void read_kind(struct explain_source *s)
{
    const char *name = s->has_command ? s->command.name : "";

    s->input.view = &s->view;
    s->input.passes = 1;
    s->input.command = EXPLAIN_RUN;
    if (run_folder_setting(&s->folder, "model.file") || strcmp(name, "train") == 0) {
        s->input.command = EXPLAIN_TRAIN;
        read_train(s);
    } else if (strcmp(name, "gemm") == 0) {
        s->input.command = EXPLAIN_GEMM;
        read_gemm(s);
    }
}

/* ----- the trace */

/* the last launch that took as long as the step, else the last */
static const struct ntrace_launch *find_launch(const struct ntrace_info *info, cycle_t cycles)
{
    const struct ntrace_launch *found = NULL;

    for (size_t i = 0; i < info->launch_count; i++)
        if (!found || info->launch[i].cycles == cycles || found->cycles != cycles)
            found = &info->launch[i];
    return found;
}

static void read_trace_places(struct explain_source *s)
{
    const struct ntrace_launch *l = find_launch(ntrace_info(s->trace), s->view.cycles);

    if (l)
        explain_places_of_trace(s->trace, l->start, l->start + l->cycles, s->arena, &s->input);
}

static void read_places(struct explain_source *s)
{
    while (!view_is_active(&s->view, s->input.place_core))
        s->input.place_core++;
    explain_places_of_ops(s->folder.stats, s->arena, &s->input);
    if (s->trace)
        read_trace_places(s);
}

/* a trace that the run left, if it is there and can be read: it only tells more */
static void open_trace_of_folder(struct explain_source *s, const char *folder)
{
    const char *path = s->has_command ? option(&s->command, "--trace") : NULL;
    struct err e;

    if (!path)
        path = arena_printf(s->arena, "%s/trace.strace", folder);
    else if (!ntrace_has_suffix(path))
        return;
    else if (*path != '/')
        path = arena_printf(s->arena, "%s/%s", s->command.directory, path);
    s->trace = ntrace_open(path, &e);
    if (!s->trace || run_folder_check_trace(folder, s->trace, &e) == 0)
        return;
    fprintf(stderr, "systole: %s, and is not used\n", e.msg);
    ntrace_close(s->trace);
    s->trace = NULL;
}

/* ----- opening */

static int open_folder(struct explain_source *s, const char *path, struct err *e)
{
    struct err ignored;

    if (run_folder_open(&s->folder, path, s->arena, e) ||
        run_folder_view(&s->folder, s->arena, &s->view, e))
        return -1;
    s->has_command = command_read(path, s->arena, &s->command, &ignored) == 0;
    read_kind(s);
    open_trace_of_folder(s, path);
    return 0;
}

/* all that is needed is in the file */
static int open_trace(struct explain_source *s, const char *path, struct err *e)
{
    s->trace = ntrace_open(path, e);
    if (!s->trace || run_folder_of_trace(&s->folder, s->trace, path, s->arena, e) ||
        run_folder_view(&s->folder, s->arena, &s->view, e))
        return -1;
    s->has_command = command_parse(ntrace_info(s->trace)->command, s->arena, &s->command);
    read_kind(s);
    return 0;
}

int explain_source_open(struct explain_source *s, const char *path, struct arena *a,
                        struct err *e)
{
    int status;

    *s = (struct explain_source){.arena = a};
    status = ntrace_has_suffix(path) ? open_trace(s, path, e) : open_folder(s, path, e);
    if (status) {
        explain_source_close(s);
        return -1;
    }
    read_places(s);
    return 0;
}

void explain_source_close(struct explain_source *s)
{
    ntrace_close(s->trace);
    run_folder_close(&s->folder);
}
