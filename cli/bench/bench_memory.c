/*
 * systole bench: how much memory traffic a second of the host simulates. The memory is that of
 * the reference simulators, which simulate 40 and 11 MB in a second.
 */
#include "cli/bench/bench.h"
#include "cli/memory/mem.h"

#define CONFIG "examples/hbm/dramsim3_hbm2.ini"
#define BYTES (1LL << 29)
#define ROUNDS 5

/* a sequence of reads, `access_bytes` each; the best of some rounds */
int bench_memory(struct bench *b, int access_bytes, double *value, struct err *e)
{
    const struct cli_list nothing = {.count = 0};
    struct hbm_pattern p = {.kind = HBM_SEQUENTIAL, .access_bytes = access_bytes,
                            .footprint_bytes = MEM_FOOTPRINT};
    struct mem_setup setup;
    struct arena a;
    int status;

    (void)b;
    *value = 0.0;
    arena_init(&a);
    status = mem_setup_file(&setup, CONFIG, &nothing, &a, e);
    for (int i = 0; i < ROUNDS && status == 0; i++) {
        struct mem_run r;

        status = mem_run_pattern(&r, &setup, &p, BYTES, &a, e);
        if (status == 0 && (double)BYTES * 1e-9 / r.host_seconds > *value)
            *value = (double)BYTES * 1e-9 / r.host_seconds;
    }
    arena_fini(&a);
    return status;
}
