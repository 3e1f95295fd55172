/* `systole bench` starts whole programs as a user does, and measures what each took. */
#define _DEFAULT_SOURCE                 /* wait4 */
#include "cli/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/progress.h"

/* in the child: silent but for its errors */
static void become(const char *program, const char *const *arguments)
{
    int null = open("/dev/null", O_WRONLY);

    if (null >= 0)
        dup2(null, STDOUT_FILENO);
    unsetenv("MAKEFLAGS");              /* of the make that may have started us */
    execvp(program, (char *const *)arguments);
    _exit(127);
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

int bench_process(const char *program, const char *const *arguments, const char *what,
                  struct bench_cost *cost, struct err *e)
{
    double began_s = progress_seconds();
    struct rusage use;
    pid_t child;
    int status;

    fflush(stdout);
    child = fork();
    if (child == 0)
        become(program, arguments);
    if (child < 0)
        return err_set(e, "cannot start %s: %s", what, strerror(errno));
    while (wait4(child, &status, 0, &use) < 0)
        if (errno != EINTR)
            return err_set(e, "cannot wait for %s: %s", what, strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(e, "%s failed", what);
    *cost = (struct bench_cost){.seconds = progress_seconds() - began_s,
                                .processor_seconds = seconds_of(use.ru_utime) +
                                                     seconds_of(use.ru_stime),
                                .peak_bytes = 1024.0 * (double)use.ru_maxrss};  /* KiB of Linux */
    return 0;
}
