/* Reads how much memory the host has left, and refuses what does not go into it. */
#include "cli/common/host_memory.h"

#include <stdio.h>
#include <sys/resource.h>

#include "base/text.h"
#include "base/units.h"

#define MUCH 0.25                       /* of what is free: worth a line */
#define ESTIMATE_ERROR 0.1              /* estimates of trainings are some 3 % off */
#define UNKNOWN 1e18

/* a number behind `name` in a file of lines, in bytes; UNKNOWN where there is none */
static double read_number(const char *path, const char *format, double unit)
{
    FILE *f = fopen(path, "r");
    double value = UNKNOWN / unit;
    char line[128];

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, format, &value) == 1)
            break;
    if (f)
        fclose(f);
    return value * unit;
}

static double least(double a, double b) { return a < b ? a : b; }

double host_memory_free(void)
{
    double all = read_number("/proc/meminfo", "MemAvailable: %lf kB", KIB);
    double group = read_number("/sys/fs/cgroup/memory.max", "%lf", 1);
    double used = read_number("/sys/fs/cgroup/memory.current", "%lf", 1);
    struct rlimit limit;

    if (group < UNKNOWN && used < group)
        all = least(all, group - used);
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        all = least(all, (double)limit.rlim_cur);
    return all;
}

int host_memory_check(double bytes, const char *advice, struct err *e)
{
    double there = host_memory_free();

    if (bytes * (1 - ESTIMATE_ERROR) > there)
        return err_set(e, "this takes about %s of host memory, and %s are free; take %s",
                       text_bytes((int64_t)bytes).text, text_bytes((int64_t)there).text, advice);
    if (bytes > MUCH * there)
        fprintf(stderr, "host memory: about %s of the %s that are free\n",
                text_bytes((int64_t)bytes).text, text_bytes((int64_t)there).text);
    return 0;
}
