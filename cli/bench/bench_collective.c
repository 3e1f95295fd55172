/*
 * systole bench: an all-reduce of 256 MiB on pods of v4 without symmetry, each
 * in a process of its own, whose processor time and memory are what it took.
 */
#include "cli/bench/bench.h"

#include "base/units.h"
#include "cli/collective/collective.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 3                        /* of the small pods */

struct cost {
    double seconds, mib;
    int64_t events;                     /* chips x steps x chunks x what each is made of */
};

static int run_here(const char *tpu, struct cost *out, struct err *e)
{
    struct collective_options o = {
        .target.tpu = tpu, .over = OVER_DEFAULT, .kind = COLLECTIVE_ALL_REDUCE,
        .algo = COLLECTIVE_TORUS,
        .bytes = 256 * MIB, .engine = ENGINE_STEPS, .no_symmetry = true, .shift = 1,
        .thread_count = 1};
    struct collective_answer answer;
    struct rusage use;
    struct arena a;
    int status;

    arena_init(&a);
    status = collective_answer(&o, &a, &answer, e);
    getrusage(RUSAGE_SELF, &use);
    *out = (struct cost){
        .seconds = (double)use.ru_utime.tv_sec + 1e-6 * (double)use.ru_utime.tv_usec,
        .mib = (double)use.ru_maxrss / 1024, .events = answer.result.event_count};
    arena_fini(&a);
    return status;
}

static int run_apart(const char *tpu, struct cost *out, struct err *e)
{
    int ends[2], status;
    bool is_read;
    pid_t child;

    if (pipe(ends) != 0 || (child = fork()) < 0)
        return err_set(e, "no process for a pod of %s", tpu);
    if (child == 0)
        _exit(run_here(tpu, out, e) || write(ends[1], out, sizeof(*out)) != sizeof(*out));
    close(ends[1]);
    is_read = read(ends[0], out, sizeof(*out)) == sizeof(*out);
    close(ends[0]);
    if (waitpid(child, &status, 0) != child || status != 0 || !is_read)
        return err_set(e, "an all-reduce on %s failed", tpu);
    return 0;
}

/* processor seconds per event, the least of some rounds */
static int time_event(const char *tpu, int rounds, double *seconds, struct err *e)
{
    struct cost c;

    for (int i = 0; i < rounds; i++) {
        if (run_apart(tpu, &c, e))
            return -1;
        c.seconds /= (double)c.events;
        *seconds = i == 0 || c.seconds < *seconds ? c.seconds : *seconds;
    }
    return 0;
}

/* the pod of 4096 chips is measured once, for all of its figures */
int bench_collective(struct bench *b, int argument, double *value, struct err *e)
{
    static const char *const smaller[] = {[BENCH_COLLECTIVE_GROWTH_64] = "v4-128",
                                          [BENCH_COLLECTIVE_GROWTH_512] = "v4-1024"};
    static struct cost pod;
    double least;

    (void)b;
    if (pod.events == 0 && run_apart("v4-8192", &pod, e))
        return -1;
    switch (argument) {
    case BENCH_COLLECTIVE_SECONDS: *value = pod.seconds; return 0;
    case BENCH_COLLECTIVE_MEMORY: *value = pod.mib; return 0;
    default:
        if (time_event(smaller[argument], ROUNDS, &least, e))
            return -1;
        *value = pod.seconds / (double)pod.events / least;
        return 0;
    }
}
