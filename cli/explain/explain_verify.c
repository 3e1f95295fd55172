/* The run again, with a change, in a process of its own: the step it takes then. */
#include "cli/explain/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/common/scratch.h"

#define MESSAGE_CHARS 400
#define SHARE_LEAST 0.02                /* of the step: a smaller cause is not worth a run */

extern char **environ;

struct child {
    const struct explain_source *source;
    const struct explain_change *change;
    const char *folder;                 /* for its --out and what it says */
    char **word;
    int count;
};

static void add(struct child *c, const char *word)
{
    c->word[c->count++] = arena_strdup(c->source->arena, word);
}

/*
 * Options that the child must not have: it would fail at them, for it may write below its folder
 * only, or not begin where the run began.
 */
static bool is_left_out(const char *word, bool *has_value)
{
    static const struct { const char *name; bool has_value; } options[] = {
        {"--trace", true}, {"--trace-level", true}, {"--trace-window", true},
        {"--trace-max-events", true}, {"--out", true}, {"--asm", true}, {"--out-npy", true},
        {"--result", true}, {"--save-at", true}, {"--utilization", true}, {"--csv-log", true},
        {"--checkpoint", true}, {"--overwrite", false}, {"--view", false}};
    size_t length = strcspn(word, "=");

    for (size_t i = 0; i < COUNT_OF(options) && length > strlen("--a"); i++) {
        if (strncmp(word, options[i].name, length) != 0)    /* argp takes beginnings of names */
            continue;
        *has_value = options[i].has_value && !word[length];
        return true;
    }
    return false;
}

/* the commands that keep their command line: a trace from elsewhere may name any other */
static bool is_known(const char *name)
{
    static const char *const names[] = {"run", "gemm", "conv", "op", "train"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* sizes of gemm, where the change has other ones */
static bool is_size(const char *word, bool *has_value)
{
    static const char *const names[] = {"--m", "-m", "--n", "-n", "--k", "-k"};
    int64_t side[3];

    *has_value = false;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t length = strlen(names[i]);

        if (strncmp(word, names[i], length) != 0 || (word[length] && word[length] != '='))
            continue;
        *has_value = !word[length];
        return true;
    }
    return explain_parse_sides(word, side);
}

static void make_command(struct child *c)
{
    const struct command *command = &c->source->command;
    struct arena *a = c->source->arena;
    bool has_sizes = c->change->argument[0][0] != '-';
    bool is_train = strcmp(command->name, "train") == 0;    /* there it belongs to --checkpoint */
    int64_t sides[3];
    int taken = 0, bare = has_sizes ? explain_bare_sides(command, sides, &taken) : -1;

    c->word = arena_array(a, (size_t)(command->argument_count + c->change->argument_count) + 8,
                          sizeof(*c->word));
    add(c, "systole");
    add(c, command->name);
    for (int i = 0; i < command->argument_count; i++) {
        bool has_value;

        if (bare >= 0 && i >= bare && i < bare + taken)
            continue;
        if (is_left_out(command->argument[i], &has_value) ||
            (has_sizes && is_size(command->argument[i], &has_value)))
            i += has_value;
        else if (!is_train || strcmp(command->argument[i], "--resume") != 0)
            add(c, command->argument[i]);
    }
    for (int i = 0; i < c->change->argument_count; i++)
        add(c, c->change->argument[i]);
    if (c->source->input.command == EXPLAIN_TRAIN) {    /* all steps have the same cycles */
        add(c, "--epochs=1");
        add(c, "--steps=1");
    }
    add(c, arena_printf(a, "--out=%s/run", c->folder));
    add(c, "--no-trace");
}

/* 0, or what kept the process from ending well */
static int spawn(const struct child *c, const char *log)
{
    posix_spawn_file_actions_t files;
    int status = -1, error, here = open(".", O_RDONLY | O_DIRECTORY);
    pid_t pid;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    error = chdir(c->source->command.directory) ? errno : 0;
    if (!error && setenv(CLI_WRITES_BELOW, c->folder, 1) != 0)
        error = errno;
    error = error ? error
                  : posix_spawn(&pid, "/proc/self/exe", &files, NULL, c->word, environ);
    unsetenv(CLI_WRITES_BELOW);
    posix_spawn_file_actions_destroy(&files);
    if (here >= 0) {
        error = fchdir(here) && !error ? errno : error;
        close(here);
    }
    if (error)
        return error;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : status;
}

/* the last line that the process said, without "systole: " */
static const char *last_words(const char *log, struct arena *a)
{
    static const char prefix[] = "systole: ";
    char line[MESSAGE_CHARS], last[MESSAGE_CHARS] = "it ended early";
    FILE *f = fopen(log, "r");

    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line)
            memcpy(last, line, sizeof(last));
    }
    if (f)
        fclose(f);
    return arena_strdup(a, strncmp(last, prefix, strlen(prefix)) == 0 ? last + strlen(prefix)
                                                                      : last);
}

static void run_child(struct child *c, const struct explain *x, struct explain_verified *v)
{
    struct arena *a = c->source->arena;
    const char *log = arena_printf(a, "%s/log", c->folder);
    struct run_folder folder;
    struct err e;

    *v = (struct explain_verified){.change = c->change};
    if (!is_known(c->source->command.name)) {
        v->message = arena_printf(a, "unknown command \"%s\"", c->source->command.name);
        return;
    }
    make_command(c);
    if (spawn(c, log)) {
        v->message = last_words(log, a);
        return;
    }
    if (run_folder_open(&folder, arena_printf(a, "%s/run", c->folder), a, &e)) {
        v->message = arena_strdup(a, e.msg);
        return;
    }
    v->is_known = true;
    v->step_cycles = run_int(folder.stats, "step_cycles");
    v->gain_cycles = (double)x->step_cycles - (double)v->step_cycles / c->change->work;
    run_folder_close(&folder);
}

/* whether it removes anything of the causes that are told and matter */
static bool is_told(const struct explain *x, const struct explain_change *c, size_t top)
{
    for (size_t i = 0; i < top && i < x->core_count; i++)
        if (c->removes[x->ranked[i]] > 0.0 && explain_share(x, x->ranked[i]) >= SHARE_LEAST)
            return true;
    return false;
}

int explain_verify(const struct explain_source *s, const struct explain *x,
                   const struct explain_change *change, size_t change_count, size_t top,
                   struct explain_verified *verified, struct err *e)
{
    const char *folder;                 /* absolute: the runs start elsewhere */
    int count = 0;

    if (!s->has_command)
        return err_at(e, s->folder.path, 0, 0, "does not tell the command that made it, which "
                      "--verify runs again");
    folder = scratch_make(s->arena, e);
    if (!folder)
        return -1;
    for (size_t i = 0; i < change_count; i++) {
        struct child c = {.source = s, .change = &change[i], .folder = folder};

        if (!is_told(x, &change[i], top))
            continue;
        fprintf(stderr, "simulating again: %s (%s)\n", change[i].what,
                explain_change_text(&change[i], s->arena));
        run_child(&c, x, &verified[count++]);
    }
    scratch_remove(folder);
    return count;
}
