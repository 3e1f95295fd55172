/* A process for one piece of work, its result in memory that both have. */
#define _DEFAULT_SOURCE             /* MAP_ANONYMOUS */
#include "cli/validate/apart.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE_BYTES 4096

static void read_message(int from, char *text)
{
    size_t used = 0;
    ssize_t got;

    while ((got = read(from, text + used, MESSAGE_BYTES - 1 - used)) > 0)
        used = used + (size_t)got < MESSAGE_BYTES - 1 ? used + (size_t)got : 0;
    while (used && text[used - 1] == '\n')
        used--;
    text[used] = '\0';
}

static void judge(struct apart_end *end, int status, int seconds_max, const char *said)
{
    const char *line = strrchr(said, '\n');

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    end->kind = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU ? APART_SLOW : APART_ABORTED;
    if (end->kind == APART_SLOW)
        snprintf(end->message, sizeof(end->message), "not done in %d s", seconds_max);
    else
        snprintf(end->message, sizeof(end->message), "%s: %.300s",
                 WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "ends",
                 line ? line + 1 : said);
}

static void begin_child(int to, int seconds_max)
{
    const struct rlimit limit = {(rlim_t)seconds_max, (rlim_t)seconds_max + 1}, none = {0, 0};

    dup2(to, STDERR_FILENO);
    setrlimit(RLIMIT_CPU, &limit);
    setrlimit(RLIMIT_CORE, &none);
}

int apart_run(void (*work)(void *user, void *shared), void *user, void *result, size_t bytes,
              int seconds_max, struct apart_end *end, struct err *e)
{
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char said[MESSAGE_BYTES] = "";
    int ends[2], status = 0;
    pid_t child;

    *end = (struct apart_end){.kind = APART_DONE};
    if (shared == MAP_FAILED || pipe(ends))
        return err_set(e, "no process of its own: %s", strerror(errno));
    fflush(NULL);
    child = fork();
    if (child < 0)
        return err_set(e, "no process of its own: %s", strerror(errno));
    if (child == 0) {
        close(ends[0]);
        begin_child(ends[1], seconds_max);
        work(user, shared);
        _exit(0);
    }
    close(ends[1]);
    read_message(ends[0], said);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    judge(end, status, seconds_max, said);
    memcpy(result, shared, bytes);
    munmap(shared, bytes);
    return 0;
}
