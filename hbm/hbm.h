/*
 * High-bandwidth memory of one chip: contents and timing, apart.
 *
 * Contents (struct hbm_store) are sparse pages that read as zero until
 * written. Timing (struct hbm) knows pseudo-channels, banks with open rows,
 * activates, turnaround and refresh as "ready at" instants in picoseconds; it
 * never sees a byte. Time is an argument: callers submit accesses in
 * non-decreasing order of `at`, as the event queue delivers them.
 *
 * Not modelled: command-bus slots, power-down, ECC traffic, per-bank refresh,
 * reordering: a channel moves data in the order it was asked, so that reads and
 * writes in turn pay for every turnaround (docs/memory.md).
 */
#ifndef HBM_HBM_H
#define HBM_HBM_H
#include "base/archive.h"
#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hbm_config {
    int64_t size_bytes;
    int channel_count;                  /* pseudo-channels */
    int bank_count;                     /* per pseudo-channel */
    int row_bytes;                      /* of one bank; a power of two */
    int interleave_bytes;               /* on one pseudo-channel; a power of two */
    int burst_bytes;
    ps_t burst_ps;                      /* data bus time of a burst */
    ps_t trcd_ps, trp_ps, tras_ps, tcl_ps, tcwl_ps, trrd_ps, tfaw_ps;
    ps_t twtr_ps, trtw_ps, twr_ps, trtp_ps, trefi_ps, trfc_ps;
};

struct hbm_stats {
    int64_t read_bytes, write_bytes;
    int64_t run_count;                  /* row-granular runs served: the sum of the next line */
    int64_t row_hits, row_closed, row_conflicts;
    int64_t refresh_waits;              /* runs that a refresh held up */
    ps_t busy_ps;                       /* data bus time, summed over pseudo-channels */
};

struct hbm;

struct hbm *hbm_create(const struct hbm_config *config);        /* config is copied */
void hbm_destroy(struct hbm *h);

/* Banks precharged, refresh phase zero, buses free: what a launch finds. Statistics restart. */
void hbm_reset(struct hbm *h);

/*
 * Serve `bytes` bytes from `address` on, asked for at `at`. Returns the instant
 * the last byte is on the data bus (read) or accepted (write). The range lies
 * within size_bytes (asserted; callers check user input before).
 */
ps_t hbm_access(struct hbm *h, ps_t at, int64_t address, int64_t bytes, bool is_write);

const struct hbm_stats *hbm_get_stats(const struct hbm *h);

enum hbm_row { HBM_ROW_HIT, HBM_ROW_CLOSED, HBM_ROW_CONFLICT };

/* Bursts on one row of one bank, one behind the other: of what run_count counts one. */
struct hbm_run {
    ps_t asked_at, data_at, end_at;     /* data bus taken from data_at to end_at */
    int channel, bank;
    enum hbm_row row;
    bool is_write;
    bool has_met_refresh;               /* held up or cut by one: the last of what was cut */
    int64_t bytes;                      /* of those that were asked for */
};

/* Tell `fn` of every run from now on, in the order in which they are asked for; NULL: nobody. */
typedef void hbm_watch_fn(void *context, const struct hbm_run *r);
void hbm_watch(struct hbm *h, hbm_watch_fn *fn, void *context);

/* saves or loads all that a launch changes; the configuration must be the same */
void hbm_archive(struct hbm *h, struct archive *a);
uint32_t hbm_archive_crc(uint32_t crc);         /* archive_table_crc of its tables */

/* of the data buses of all channels together */
double hbm_peak_bytes_per_second(const struct hbm_config *config);

struct hbm_store;

/* Ranges lie within the size, asserted. Reads may run side by side; a write must be alone. */
struct hbm_store *hbm_store_create(int64_t size_bytes);
void hbm_store_destroy(struct hbm_store *s);
void hbm_store_read(const struct hbm_store *s, int64_t address, void *to, size_t bytes);
void hbm_store_write(struct hbm_store *s, int64_t address, const void *from, size_t bytes);
int64_t hbm_store_touched_bytes(const struct hbm_store *s);     /* pages that exist */
void hbm_store_archive(struct hbm_store *s, struct archive *a); /* of a store of the same size */
#endif
