/*
 * systole mem: what its files share. cmd_mem.c takes the options, mem_setup.c the memory and
 * how it is driven, mem_print.c prints what came out, mem_reference.c holds rows of another
 * simulator's results against ours.
 */
#ifndef CLI_MEM_H
#define CLI_MEM_H
#include "cli/common/options.h"
#include "hbm/hbm_drive.h"
#include "sim/chip/chip.h"

#define MEM_PATTERN_MAX 32
#define MEM_FOOTPRINT (1LL << 30)       /* where none is asked for, and the memory is as large */

/* A memory, and how it is driven. */
struct mem_setup {
    char name[64];                      /* "v4", or the configuration's file without folders */
    struct hbm_config config;
    struct hbm_injection injection;
    int64_t access_bytes;
    char simulator[32], mapping[64];    /* of the reference rows that it stands for; may be "" */
    bool is_judged;                     /* they have to be met */
};

/* One of the chips: requests of its copy engine, one per core clock. */
int mem_setup_chip(struct mem_setup *s, const struct cli_target *t, struct arena *a,
                   struct err *e);
/*
 * A configuration: [hbm] as in a chip's file, whose other sections may stand there, too;
 * [controller], [driver] and [reference] as docs/memory.md lists them, each key optional.
 */
int mem_setup_file(struct mem_setup *s, const char *path, const struct cli_list *set,
                   struct arena *a, struct err *e);

/* One pattern, driven. */
struct mem_run {
    struct hbm_pattern pattern;
    char name[64];
    struct hbm_driven *driven;          /* in the arena that mem_run_pattern was given */
    double host_seconds;                /* processor time */
};
int mem_run_pattern(struct mem_run *r, const struct mem_setup *s, const struct hbm_pattern *p,
                    int64_t bytes, struct arena *a, struct err *e);

double mem_gbps(const struct mem_run *r);
double mem_peak_share(const struct mem_run *r, const struct mem_setup *s);
/* shares of all bursts, 0..1: those that found their row open or came right behind one that did
   open it, and the first ones of a row in a bank that was closed or had another row open */
struct mem_rows {
    double hit, closed, conflict;
};
struct mem_rows mem_rows_of(const struct mem_run *r, const struct mem_setup *s);

void mem_print_setup(const struct mem_setup *s, FILE *to);
void mem_print_idle(const struct hbm_idle *idle, FILE *to);
void mem_print_one(const struct mem_run *r, const struct mem_setup *s, FILE *to);
void mem_print_table(const struct mem_run *r, int count, const struct mem_setup *s, FILE *to);
void mem_print_csv(const struct mem_run *r, int count, const struct mem_setup *s, FILE *to);
void mem_print_json(const struct mem_run *r, int count, const struct mem_setup *s,
                    const struct hbm_idle *idle, FILE *to);

/*
 * Drives every row of `path` for which one of the setups stands and prints both results.
 * *missed counts the judged rows out of tolerance.
 */
int mem_reference(const char *path, const struct mem_setup *setups, int count, FILE *to,
                  int *missed, struct err *e);
#endif
