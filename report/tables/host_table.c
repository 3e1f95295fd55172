/* Prints where the host's processor time went while it simulated, as a table and as CSV. */
#include "report/tables/host_table.h"

#include <inttypes.h>
#include <string.h>

#include "base/outfile.h"
#include "base/units.h"

bool host_table_is_collective(const char *note)
{
    static const char *const parts[] = {"all-reduce", "AllReduce", "reduce-scatter", "all-gather",
                                        "collective-permute"};

    for (size_t i = 0; note && i < COUNT_OF(parts); i++)
        if (strstr(note, parts[i]))
            return true;
    return false;
}

static double share(const struct host_times *t, int part)
{
    return t->all_seconds > 0 ? t->seconds[part] / t->all_seconds : 0;
}

void host_table_print(const struct host_times *t, FILE *to)
{
    fprintf(to, "this simulation took %.2f s on %d thread%s: %" PRId64 " launches, %" PRId64
            " of them repeated (values only)", t->elapsed_seconds, t->thread_count,
            t->thread_count == 1 ? "" : "s", t->launches, t->repeats);
    if (t->kernels)
        fprintf(to, ", %" PRId64 " kernels left out there (another core had their results)",
                t->kernels);
    fprintf(to, "\n");
    fprintf(to, "  %-20s %10s %8s\n", "", "thread s", "of all");
    for (int i = 0; i < HOST_PART_COUNT; i++)
        fprintf(to, "  %-20s %10.3f %6.1f %%  %s\n", host_part_name((enum host_part)i),
                t->seconds[i], 100 * share(t, i), host_part_meaning((enum host_part)i));
    fprintf(to, "  %-20s %10.3f %6.1f %%\n", "all", t->all_seconds, 100.0);
}

static void print_csv(const struct host_times *t, FILE *to)
{
    fprintf(to, "part,thread_seconds,share,meaning\n");
    for (int i = 0; i < HOST_PART_COUNT; i++)
        fprintf(to, "%s,%.6f,%.6f,\"%s\"\n", host_part_name((enum host_part)i), t->seconds[i],
                share(t, i), host_part_meaning((enum host_part)i));
}

int host_table_write(const struct host_times *t, const char *folder, struct err *e)
{
    struct outfile f;
    char path[4096];

    if (snprintf(path, sizeof(path), "%s/host_profile.csv", folder) >= (int)sizeof(path))
        return err_set(e, "the path of the folder %.60s… is too long", folder);
    if (outfile_begin(&f, path, e))
        return -1;
    print_csv(t, f.to);
    return outfile_commit(&f, e);
}
