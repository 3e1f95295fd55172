/* Runs the points of a sweep as child processes, at most `jobs` at once. */
#include "cli/sweep/sweep.h"

#include "base/outfile.h"
#include "base/text.h"
#include "base/progress.h"
#include "report/view/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS 100000000L              /* how often the progress line moves */
#define MESSAGE_CHARS 300

extern char **environ;

struct running {
    pid_t pid;                          /* 0 = free */
    struct sweep_point *point;
};

struct runner {
    struct sweep *sweep;
    struct running job[SWEEP_JOBS_MAX];
    sigset_t watched, before;           /* signals waited for; the mask that children get */
    struct progress progress;
    size_t done, done_before, next;
    double began_s;
    bool is_interrupted;
};

static char *log_of(struct sweep *s, const struct sweep_point *p)
{
    return arena_printf(&s->arena, "%s.log", p->folder);
}

/* ---- starting ---- */

static int thread_count(const struct sweep *s)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    return cpus > s->jobs ? (int)(cpus / s->jobs) : 1;
}

static bool names_threads(const struct sweep *s)
{
    for (int i = 1; i < s->command_count; i++)
        if (strncmp(s->command[i], "--threads", 9) == 0)
            return true;
    for (int i = 0; i < s->axis_count; i++)
        if (strcmp(s->axis[i].key, "threads") == 0)
            return true;
    return false;
}

/* the command, then the point's values, then what belongs to the sweep */
static char **make_arguments(struct sweep *s, const struct sweep_point *p)
{
    char **argv = arena_array(&s->arena, (size_t)(s->command_count + s->axis_count) + 5,
                              sizeof(*argv));
    int count = 0;

    argv[count++] = arena_strdup(&s->arena, "systole");
    for (int i = 0; i < s->command_count; i++)
        argv[count++] = s->command[i];
    for (int i = 0; i < s->axis_count; i++)
        argv[count++] = arena_printf(&s->arena, "--%s%s=%s", s->axis[i].is_chip ? "set=" : "",
                                     s->axis[i].key, p->value[i]);
    if (sweep_command_takes(s, "threads") && !names_threads(s))
        argv[count++] = arena_printf(&s->arena, "--threads=%d", thread_count(s));
    argv[count++] = arena_printf(&s->arena, "--out=%s", p->folder);
    argv[count++] = arena_strdup(&s->arena, "--no-trace");
    return argv;
}

static int start(struct runner *r, struct running *job, struct sweep_point *p, struct err *e)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    char **argv = make_arguments(r->sweep, p);
    int failed;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log_of(r->sweep, p),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &r->before);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    failed = posix_spawn(&job->pid, "/proc/self/exe", &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (failed) {
        job->pid = 0;
        return err_set(e, "cannot start a run: %s", strerror(failed));
    }
    job->point = p;
    p->state = SWEEP_RUNNING;
    return 0;
}

static int start_waiting(struct runner *r, struct err *e)
{
    struct sweep *s = r->sweep;

    for (int j = 0; j < s->jobs && !r->is_interrupted; j++) {
        if (r->job[j].pid)
            continue;
        while (r->next < s->point_count && s->point[r->next].state != SWEEP_WAITING)
            r->next++;
        if (r->next == s->point_count)
            return 0;
        if (start(r, &r->job[j], &s->point[r->next], e))
            return -1;
    }
    return 0;
}

/* ---- ending ---- */

/* the last thing that the run said, without its name */
static const char *read_message(struct sweep *s, const struct sweep_point *p)
{
    FILE *f = fopen(log_of(s, p), "r");
    char line[MESSAGE_CHARS], last[MESSAGE_CHARS] = "";

    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "systole", 7) == 0 && strchr(line, ':'))
            snprintf(last, sizeof(last), "%s", strchr(line, ':') + 1);
    }
    if (f)
        fclose(f);
    return *last ? arena_strdup(&s->arena, last + strspn(last, " ")) : NULL;
}

static const char *describe_end(struct sweep *s, const struct sweep_point *p, int status)
{
    const char *message = read_message(s, p);

    if (WIFSIGNALED(status))
        return arena_printf(&s->arena, "ended by signal %d (%s)", WTERMSIG(status),
                            strsignal(WTERMSIG(status)));
    return message ? message : arena_printf(&s->arena, "exit status %d", WEXITSTATUS(status));
}

static void tell(struct runner *r, const struct sweep_point *p)
{
    struct sweep *s = r->sweep;
    struct run_folder f;
    struct err e;
    char text[200];

    progress_wipe(&r->progress);
    fprintf(stderr, "[%zu/%zu] %s: ", r->done, s->point_count,
            sweep_print_point(s, p, text, sizeof(text)));
    if (p->state == SWEEP_FAILED) {
        fprintf(stderr, "failed: %s\n", p->message);
    } else if (run_folder_open(&f, p->folder, &s->arena, &e) == 0) {
        fprintf(stderr, "%s cycles, %.3f us\n",
                text_thousands(run_int(f.stats, "step_cycles")).text, run_real(f.stats, "step_us"));
        run_folder_close(&f);
    } else {
        fprintf(stderr, "done\n");
    }
}

/* What a point that is done has said is of no use to anybody. */
static int remove_log(struct sweep *s, const struct sweep_point *p, struct err *e)
{
    const char *path = log_of(s, p);

    return unlink(path) == 0 ? 0
                             : err_at(e, path, 0, 0, "cannot be removed: %s", strerror(errno));
}

static int end(struct runner *r, struct running *job, int status, struct err *e)
{
    struct sweep_point *p = job->point;
    bool is_done = WIFEXITED(status) && WEXITSTATUS(status) == 0;

    job->pid = 0;
    if (!is_done && r->is_interrupted) {
        p->state = SWEEP_WAITING;
        unlink(log_of(r->sweep, p));
        return 0;
    }
    p->state = is_done ? SWEEP_DONE : SWEEP_FAILED;
    p->message = is_done ? NULL : describe_end(r->sweep, p, status);
    if (!is_done)
        outfile_clean(p->folder);       /* it may have been killed */
    r->done++;
    tell(r, p);
    return is_done && (remove_log(r->sweep, p, e) || sweep_keep(r->sweep, p, e)) ? -1 : 0;
}

static int reap(struct runner *r, struct err *e)
{
    int status, failed = 0;

    for (int j = 0; j < r->sweep->jobs; j++)
        if (r->job[j].pid && waitpid(r->job[j].pid, &status, WNOHANG) == r->job[j].pid)
            failed |= end(r, &r->job[j], status, e);
    return failed;
}

static int running_count(const struct runner *r)
{
    int count = 0;

    for (int j = 0; j < r->sweep->jobs; j++)
        count += r->job[j].pid != 0;
    return count;
}

static void interrupt(struct runner *r)
{
    r->is_interrupted = true;
    for (int j = 0; j < r->sweep->jobs; j++)
        if (r->job[j].pid)
            kill(r->job[j].pid, SIGTERM);
}

/* ---- in between ---- */

static void show_progress(struct runner *r)
{
    double seconds = progress_seconds() - r->began_s;
    size_t now = r->done - r->done_before;
    char text[100];

    if (now)
        snprintf(text, sizeof(text), "%d running, %.2f points/s, %.0f s left; points done",
                 running_count(r), (double)now / seconds,
                 (double)(r->sweep->point_count - r->done) * seconds / (double)now);
    else
        snprintf(text, sizeof(text), "%d running; points done", running_count(r));
    progress_say(&r->progress, text, (int64_t)r->done);
}

static void wait_a_moment(struct runner *r)
{
    struct timespec moment = {.tv_nsec = POLL_NS};
    int signal = sigtimedwait(&r->watched, NULL, &moment);

    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP)
        interrupt(r);
}

static int run_all(struct runner *r, struct err *e)
{
    int status = start_waiting(r, e);

    while (status == 0 && running_count(r)) {
        show_progress(r);
        wait_a_moment(r);
        status = reap(r, e);
        if (status == 0)
            status = start_waiting(r, e);
    }
    if (status) {                       /* the sweep failed: no child outlives it */
        struct err ignored;

        interrupt(r);
        while (running_count(r)) {
            wait_a_moment(r);
            reap(r, &ignored);
        }
    }
    return status;
}

int sweep_run(struct sweep *s, struct err *e)
{
    struct runner r = {.sweep = s, .began_s = progress_seconds()};
    int status;

    for (size_t i = 0; i < s->point_count; i++)
        r.done += s->point[i].state == SWEEP_DONE;
    r.done_before = r.done;
    if (r.done)
        fprintf(stderr, "%zu of %zu points are in %s already\n", r.done, s->point_count, s->out);
    sigemptyset(&r.watched);
    sigaddset(&r.watched, SIGCHLD);
    sigaddset(&r.watched, SIGINT);
    sigaddset(&r.watched, SIGTERM);
    sigaddset(&r.watched, SIGHUP);
    sigprocmask(SIG_BLOCK, &r.watched, &r.before);
    progress_begin(&r.progress, (int64_t)s->point_count);
    status = run_all(&r, e);
    progress_wipe(&r.progress);
    sigprocmask(SIG_SETMASK, &r.before, NULL);
    return status ? -1 : r.is_interrupted;
}
