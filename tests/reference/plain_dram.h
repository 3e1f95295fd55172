/*
 * A memory controller cycle by cycle: slow, obvious, and nothing of hbm/ in it
 * but the shape of a configuration and its address map. What the fast model
 * promises is held against this one.
 *
 * Each channel has a queue of reads, a buffer of writes and a command queue per
 * bank. A cycle moves one request from the reads, or while writes drain from
 * the writes, to the queue of its bank, and issues at most one column and one
 * row command, banks taking turns, the first request of a bank that is ready
 * going first.
 */
#ifndef TESTS_PLAIN_DRAM_H
#define TESTS_PLAIN_DRAM_H
#include "hbm/hbm.h"

struct plain_dram;

struct plain_result {
    int64_t cycles;                     /* until the last read has its data */
    int64_t reads, writes, row_hits;    /* row_hits: of both, not the first of their open row */
    int64_t latency_cycles, latency_max;        /* of reads, from acceptance to data: their sum */
};

struct plain_access {
    int64_t address;
    bool is_write;
};
typedef struct plain_access plain_access_fn(void *context, int64_t index);

/* `clock_ps`: every time of the configuration is rounded up to such cycles. */
struct plain_dram *plain_dram_create(const struct hbm_config *config, ps_t clock_ps);
void plain_dram_destroy(struct plain_dram *d);

bool plain_dram_offer(struct plain_dram *d, int64_t address, bool is_write);   /* false: refused */
void plain_dram_tick(struct plain_dram *d);
bool plain_dram_is_waiting(const struct plain_dram *d);     /* for data of a read */
const struct plain_result *plain_dram_result(const struct plain_dram *d);

/* `count` accesses in order, up to `per_cycle` in a cycle, stopping at the first refused */
struct plain_result plain_dram_run(const struct hbm_config *config, ps_t clock_ps,
                                   plain_access_fn *fn, void *context, int64_t count,
                                   int per_cycle);
#endif
