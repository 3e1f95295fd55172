/* Finds and runs the debugger's commands, prints their help, and has those for scripts. */
#include "cli/debug/debug.h"

#include "base/arena.h"
#include "base/units.h"
#include "cli/debug/debug_expr.h"

#include <ctype.h>
#include <string.h>

static const struct command {
    const char *name, *others, *arguments, *group, *summary, *help;
    debug_command_fn *run;
    bool is_step;
} commands[] = {
#define COMMAND(name, others, function, arguments, group, is_step, summary, help) \
    {name, others, arguments, group, summary, help, debug_command_##function, is_step},
#include "cli/debug/debug_commands.def"
};

/* ---- names ---- */

static bool is_other_name(const struct command *c, const char *word)
{
    const char *at = c->others;
    char other[DEBUG_WORD_MAX];

    while (debug_next_word(&at, other))
        if (strcmp(other, word) == 0)
            return true;
    return false;
}

static const struct command *find_command(const char *word, struct err *e)
{
    const char *names[COUNT_OF(commands)];
    int found;

    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        names[i] = commands[i].name;
        if (is_other_name(&commands[i], word))
            return &commands[i];
    }
    found = debug_find_name(word, "command", names, COUNT_OF(commands), e);
    return found < 0 ? NULL : &commands[found];
}

/* "print/f32 v3": name, flags, the rest */
static const char *split(const char *line, char name[DEBUG_WORD_MAX], char flags[DEBUG_WORD_MAX])
{
    char *slash;

    if (!debug_next_word(&line, name))
        name[0] = '\0';
    slash = strchr(name, '/');
    flags[0] = '\0';
    if (slash) {
        snprintf(flags, DEBUG_WORD_MAX, "%s", slash + 1);
        *slash = '\0';
    }
    return debug_skip_space(line);
}

static bool takes_flags(const struct command *c)
{
    return c->run == debug_command_print || c->run == debug_command_x
           || c->run == debug_command_display;
}

static int run_line(struct debugger *d, const char *line, struct err *e)
{
    char name[DEBUG_WORD_MAX], flags[DEBUG_WORD_MAX];
    const char *text = split(line, name, flags);
    const struct command *c = find_command(name, e);

    if (!c)
        return -1;
    if (flags[0] && !takes_flags(c))
        return err_set(e, "%s has no formats", c->name);
    if (c->run(d, &(struct debug_args){flags, text}, e))
        return -1;
    if (c->is_step)
        snprintf(d->last_step, sizeof(d->last_step), "%s", line);
    else
        d->last_step[0] = '\0';
    return 0;
}

static bool is_comment(const char *line)
{
    line = debug_skip_space(line);
    return *line == '\0' || *line == '#';
}

int debug_execute(struct debugger *d, const char *line, struct err *e)
{
    char copy[DEBUG_LINE_MAX];
    size_t length = strlen(line);

    while (length > 0 && isspace((unsigned char)line[length - 1]))
        length--;
    if (length >= DEBUG_LINE_MAX)
        return err_set(e, "a command of %zu characters; at most %d", length, DEBUG_LINE_MAX - 1);
    memcpy(copy, line, length);
    copy[length] = '\0';
    if (is_comment(copy)) {
        if (length > 0 || !d->options.repeats || !d->last_step[0])
            return 0;
        snprintf(copy, sizeof(copy), "%s", d->last_step);
    }
    return run_line(d, copy, e);
}

/* ---- help ---- */

static void print_commands(const struct debugger *d)
{
    const char *group = "";

    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        const struct command *c = &commands[i];
        char usage[64];

        if (strcmp(group, c->group) != 0)
            fprintf(d->out, "%s%s\n", i ? "\n" : "", group = c->group);
        snprintf(usage, sizeof(usage), "%s %s", c->name, strlen(c->arguments) < 20 ? c->arguments
                                                                                   : "...");
        fprintf(d->out, "  %-22s %s\n", usage, c->summary);
    }
    fputs("\nAny beginning of a name will do where no other command has it. help COMMAND shows\n"
          "examples, help expressions what may be named. An empty line goes on as the last step.\n",
          d->out);
}

static void print_expressions(const struct debugger *d)
{
    fputs("An expression is made of numbers, of these names, and of operators as in C, but with\n"
          "& ^ | in front of comparisons:  ( ) - ! ~  * / %  + -  << >>  &  ^  |  == != < <= > >=  "
          "&&  ||\n\n", d->out);
#define NAME(id, text, count, indices, example, meaning) \
    fprintf(d->out, "  %-16s %s\n", example, meaning);
#include "cli/debug/debug_names.def"
    fputs("  stall.mxu_busy   cycles that the core has waited for a reason; info stalls has them\n"
          "  loop             a label: the number of its bundle\n"
          "  core1.s3         any of these of another core\n"
          "  f32(x) bf16(x)   the bits of x as a float;  s32(x) u32(x): as an integer\n\n"
          "  assert f32(v2[0,5]) == 1.5 && core1.flag[3] < 8\n", d->out);
}

int debug_command_help(struct debugger *d, const struct debug_args *args, struct err *e)
{
    const char *at = args->text;
    char word[DEBUG_WORD_MAX];
    const struct command *c;

    if (!debug_next_word(&at, word)) {
        print_commands(d);
        return 0;
    }
    if (debug_expect_end(at, e))
        return -1;
    if (strcmp(word, "expressions") == 0) {
        print_expressions(d);
        return 0;
    }
    c = find_command(word, e);
    if (!c)
        return -1;
    fprintf(d->out, "%s %s\n  %s\n", c->name, c->arguments, c->summary);
    if (c->others[0])
        fprintf(d->out, "  also: %s\n", c->others);
    fprintf(d->out, "\n%s", c->help);
    return 0;
}

/* ---- scripts ---- */

int debug_command_echo(struct debugger *d, const struct debug_args *args, struct err *e)
{
    (void)e;
    fprintf(d->out, "%s\n", args->text);
    return 0;
}

int debug_command_assert(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_value value;

    if (debug_evaluate(d->m, d->core, d->cycle, args->text, &value, e))
        return -1;
    if (debug_is_true(&value))
        return 0;
    return err_set(e, "assertion is false at cycle %lld: %.300s", (long long)d->cycle,
                   args->text);
}

int debug_command_quit(struct debugger *d, const struct debug_args *args, struct err *e)
{
    if (debug_expect_end(args->text, e))
        return -1;
    d->quits = true;
    return 0;
}

/* ---- beginning and end ---- */

void debug_open(struct debugger *d, struct machine *m, const struct debug_options *options)
{
    *d = (struct debugger){.options = *options, .out = options->out, .m = m,
                           .core_count = machine_core_count(m)};
    d->stalls_at_stop = mem_alloc((size_t)d->core_count * sizeof(*d->stalls_at_stop));
    d->stops = debug_stops_create(d);
    d->history = debug_history_create();
    debug_start(d);
}

void debug_close(struct debugger *d)
{
    debug_stops_destroy(d->stops);
    debug_history_destroy(d->history);
    mem_free(d->stalls_at_stop);
}

void debug_print_welcome(struct debugger *d)
{
    const struct isa_program *p = machine_program(d->m, 0);
    const struct slice *slice = machine_slice(d->m);
    int cores = 0;

    for (int i = 0; i < d->core_count; i++)
        cores += machine_program(d->m, i) != NULL;
    fprintf(d->out, "%s on %s: %u bundles, on %d of %d cores\n", d->options.title, slice->name,
            p ? (unsigned)p->bundle_count : 0, cores, d->core_count);
    fputs("help lists the commands; step, break LABEL, continue, print s, info stalls, quit\n",
          d->out);
    debug_print_stop(d);
}
