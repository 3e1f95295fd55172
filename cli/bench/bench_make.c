/* systole bench: what the project's own make takes, a clean build and the tests. */
#define _XOPEN_SOURCE 700               /* nftw */
#include "cli/bench/bench.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/units.h"
#include "cli/common/scratch.h"

#define TIMES "build/check_seconds"     /* tools/run_tests.sh writes it: programs, scripts */
#define FOLDERS_OPEN 16

static int leave_out(struct err *e)
{
    err_set(e, "not in the project's folder");
    return BENCH_LEFT_OUT;
}

static bool is_in_project(void) { return access("Makefile", R_OK) == 0; }

/* ----- a clean build ----- */

static int64_t bytes_found;             /* nftw has no argument of its caller's */

static int add_file(const char *path, const struct stat *s, int type, struct FTW *where)
{
    (void)path;
    (void)where;
    if (type == FTW_F)
        bytes_found += (int64_t)s->st_size;
    return 0;
}

static int build(struct bench_make *m, const char *place, const char *folder, struct err *e)
{
    const char *const list[] = {"make", "-s", "-j2", "WERROR=1", place, "all", NULL};
    struct bench_cost cost = {0};

    if (bench_process("make", list, "a clean build", &cost, e) != 0)
        return -1;
    bytes_found = 0;
    if (nftw(folder, add_file, FOLDERS_OPEN, FTW_PHYS) != 0)
        return err_set(e, "cannot read %s", folder);
    m->build_seconds = cost.seconds;
    m->build_bytes = (double)bytes_found;
    m->is_built = true;
    return 0;
}

int bench_build(struct bench *b, int which, double *value, struct err *e)
{
    struct bench_make *m = &b->make;
    const char *folder;
    struct arena a;
    int status = 0;

    if (!is_in_project())
        return leave_out(e);
    arena_init(&a);
    if (!m->is_built) {
        folder = scratch_make(&a, e);
        status = folder ? build(m, arena_printf(&a, "BUILD=%s", folder), folder, e) : -1;
        if (folder)
            scratch_remove(folder);
    }
    arena_fini(&a);
    *value = which == BENCH_BUILD_SECONDS ? m->build_seconds : m->build_bytes / (double)MIB;
    return status;
}

/* ----- the tests ----- */

static int read_times(struct bench_make *m, struct err *e)
{
    double *s = m->check_seconds;
    FILE *f = fopen(TIMES, "r");
    int found = f ? fscanf(f, "%lf %lf", &s[BENCH_CHECK_PROGRAMS], &s[BENCH_CHECK_SCRIPTS]) : 0;

    if (f)
        fclose(f);
    return found == 2 ? 0 : err_set(e, "make check has not written " TIMES);
}

int bench_check(struct bench *b, int part, double *value, struct err *e)
{
    const char *const list[] = {"make", "-s", "check", NULL};
    struct bench_make *m = &b->make;
    struct bench_cost cost = {0};

    if (!is_in_project())
        return leave_out(e);
    if (!m->is_checked) {
        unlink(TIMES);
        if (bench_process("make", list, "make check", &cost, e) || read_times(m, e))
            return -1;
        m->check_seconds[BENCH_CHECK_ALL] = cost.seconds;
        m->is_checked = true;
    }
    *value = m->check_seconds[part];
    return 0;
}
