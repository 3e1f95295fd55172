/* Drives the memory with one pattern, and computes rate, share of the peak and row hits. */
#include "cli/memory/mem.h"

#include <string.h>
#include <time.h>

static double thread_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int mem_run_pattern(struct mem_run *r, const struct mem_setup *s, const struct hbm_pattern *p,
                    int64_t bytes, struct arena *a, struct err *e)
{
    struct hbm *h;

    *r = (struct mem_run){.pattern = *p};
    hbm_pattern_print(p, r->name, sizeof(r->name));
    if (hbm_pattern_check(p, e))
        return -1;
    r->driven = arena_alloc(a, sizeof(*r->driven));
    h = hbm_create(&s->config);
    r->host_seconds = -thread_seconds();
    hbm_drive(h, p, &s->injection, div_up(bytes, p->access_bytes), r->driven);
    r->host_seconds += thread_seconds();
    hbm_destroy(h);
    return 0;
}

double mem_gbps(const struct mem_run *r)
{
    const struct hbm_driven *d = r->driven;

    return (double)(d->read_bytes + d->write_bytes) * PS_PER_NS / (double)d->end_ps;
}

double mem_peak_share(const struct mem_run *r, const struct mem_setup *s)
{
    return mem_gbps(r) * 1e9 / hbm_peak_bytes_per_second(&s->config);
}

struct mem_rows mem_rows_of(const struct mem_run *r, const struct mem_setup *s)
{
    const struct hbm_stats *stats = &r->driven->stats;
    double bursts = (double)(stats->busy_ps / s->config.burst_ps);
    struct mem_rows rows = {.closed = (double)stats->row_closed / bursts,
                            .conflict = (double)stats->row_conflicts / bursts};

    rows.hit = 1 - rows.closed - rows.conflict;
    return rows;
}
