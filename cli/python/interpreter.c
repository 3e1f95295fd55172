/* The user's Python: found, asked something, or become. */
#include "cli/python/python.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

/* as a shell finds it; NULL: nowhere */
static const char *find_program(const char *name, struct arena *a)
{
    const char *path = getenv("PATH");

    if (strchr(name, '/'))
        return is_program(name) ? name : NULL;
    while (path && *path) {
        int length = (int)strcspn(path, ":");
        const char *there = arena_printf(a, "%.*s%s%s", length, path, length ? "/" : "./", name);

        if (is_program(there))
            return there;
        path += length + (path[length] == ':');
    }
    return NULL;
}

const char *python_interpreter(const char *asked, struct arena *a, struct err *e)
{
    const char *set = getenv("PYTHON");
    const char *name = asked ? asked : set && *set ? set : "python3";
    const char *path = find_program(name, a);

    if (!path)
        err_set(e, "the Python that %s names is not there: %s",
                asked ? "--python" : name == set ? "PYTHON in the environment"
                                                 : "neither --python nor PYTHON in the environment",
                name);
    return path;
}

static int set_variables(const struct python_variable *v, int count)
{
    for (int i = 0; i < count; i++)
        if (setenv(v[i].name, v[i].value, 1) != 0)
            return -1;
    return 0;
}

int python_become(const char *interpreter, char *const *argument, int count,
                  const struct python_variable *v, int variables, struct err *e)
{
    char **argv = mem_alloc(((size_t)count + 2) * sizeof(*argv));

    argv[0] = (char *)(uintptr_t)interpreter;
    for (int i = 0; i < count; i++)
        argv[1 + i] = argument[i];
    fflush(NULL);
    if (set_variables(v, variables) == 0)
        execv(interpreter, argv);
    err_set(e, "cannot start %s: %s", interpreter, strerror(errno));
    mem_free(argv);
    return -1;
}

/* ----- asked */

/* in the child: its output, both kinds, goes to `to` */
static void run_child(const char *interpreter, const char *program, int to,
                      const struct python_variable *v, int variables)
{
    int null = open("/dev/null", O_RDONLY);

    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(to, STDOUT_FILENO) >= 0 &&
        dup2(to, STDERR_FILENO) >= 0 && set_variables(v, variables) == 0)
        execl(interpreter, interpreter, "-c", program, (char *)NULL);
    _exit(127);
}

/* false: the time is up */
static bool read_output(int from, int seconds, char *text, size_t text_bytes)
{
    time_t end = time(NULL) + seconds;
    size_t have = 0;
    char more[4096];

    for (;;) {
        struct pollfd p = {.fd = from, .events = POLLIN};
        ssize_t got;

        if (time(NULL) >= end)
            return false;
        if (poll(&p, 1, 1000) <= 0)
            continue;
        got = read(from, more, sizeof(more));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if ((size_t)got > text_bytes - 1 - have)
            got = (ssize_t)(text_bytes - 1 - have);
        memcpy(text + have, more, (size_t)got);
        have += (size_t)got;
    }
    text[have] = '\0';
    return true;
}

int python_ask(const char *interpreter, const char *program, const struct python_variable *v,
               int variables, int seconds, char *text, size_t text_bytes, int *status,
               struct err *e)
{
    int ends[2];
    bool is_done;
    pid_t pid;

    if (pipe(ends) != 0)
        return err_set(e, "cannot start %s: %s", interpreter, strerror(errno));
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        run_child(interpreter, program, ends[1], v, variables);
    }
    close(ends[1]);
    is_done = pid > 0 && read_output(ends[0], seconds, text, text_bytes);
    close(ends[0]);
    if (pid < 0)
        return err_set(e, "cannot start %s: %s", interpreter, strerror(errno));
    if (!is_done)
        kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return is_done ? 0 : err_set(e, "%s did not answer within %d s", interpreter, seconds);
}
