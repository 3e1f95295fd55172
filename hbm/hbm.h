/*
 * High-bandwidth memory of one chip: contents and timing, apart.
 *
 * Contents (struct hbm_store) are sparse pages that read as zero until
 * written. Timing (struct hbm) knows pseudo-channels, banks with open rows,
 * activates, turnaround and refresh as "ready at" instants in picoseconds; it
 * never sees a byte. Time is an argument: callers submit accesses in
 * non-decreasing order of `at`, as the event queue delivers them, and get
 * their end at once: nothing is ticked, nobody is called back.
 */
#ifndef HBM_HBM_H
#define HBM_HBM_H
#include "base/archive.h"
#include "base/units.h"
#include "hbm/hbm_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every number is positive unless it says otherwise; "channel" is a pseudo-channel throughout. */
struct hbm_config {
    int64_t size_bytes;
    int channel_count;
    int bank_count, bank_groups;        /* per channel; bank b is in group b % bank_groups */
    int row_bytes, burst_bytes;         /* of one bank, of one access to it: powers of two */
    struct hbm_map map;                 /* its counts agree with those above */
    ps_t front_ps;                      /* from the request to the first command; may be 0 */
    ps_t burst_ps;                      /* data bus time of a burst; tCCD_S is never longer */
    ps_t tccd_l_ps;                     /* column to column in one bank group, if above burst_ps */
    ps_t trcd_ps, trp_ps, tras_ps, tcl_ps, tcwl_ps;
    ps_t trrd_ps, trrd_l_ps, tfaw_ps;   /* activates: any two, two of one group, windows of four */
    ps_t twtr_ps, twtr_l_ps;            /* end of write data to a read: any bank, the same group */
    ps_t trtw_ps;                       /* end of read data to write data */
    ps_t twr_ps, trtp_ps;               /* end of write data, read: to precharge */
    ps_t trefi_ps, trfc_ps;             /* trefi_ps 0: no refresh */
    bool refreshes_single_banks;        /* from the last down, all of them in trefi_ps */
    ps_t trfc_bank_ps;                  /* then: of one bank */
    int read_queue, write_queue;        /* bursts that a channel holds back, each */
    int bank_queue;                     /* bursts on their way to one bank, beside those */
    int write_low;                      /* so many bursts are written once no read waits */
};

/* What is wrong with it, NULL if nothing; `key` names the field to blame. */
const char *hbm_config_fault(const struct hbm_config *config, const char **key);

struct hbm_stats {
    int64_t read_bytes, write_bytes;
    int64_t run_count;                  /* row-granular runs served: the sum of the next line */
    int64_t row_hits, row_closed, row_conflicts;        /* a read of a write held back: a hit */
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
 * the last byte is on the data bus (read), or the channel has taken the last
 * one over (write): it moves to its bank later, together with others. The range lies
 * within size_bytes (asserted; callers check user input before).
 */
ps_t hbm_access(struct hbm *h, ps_t at, int64_t address, int64_t bytes, bool is_write);

/*
 * Whether the queue for such accesses of that address's channel takes one more burst at `at`, and
 * from when on it does (`at` if so). hbm_access itself accepts more than a queue holds. For both,
 * `at` is not before that of the latest access.
 */
ps_t hbm_room_at(struct hbm *h, ps_t at, int64_t address, bool is_write);

/* At the end of a launch: writes still held back move, and count. Returns the end of all data. */
ps_t hbm_settle(struct hbm *h);

const struct hbm_stats *hbm_get_stats(const struct hbm *h);

enum hbm_row { HBM_ROW_HIT, HBM_ROW_CLOSED, HBM_ROW_CONFLICT };

/* Bursts on one row of one bank, one behind the other: of what run_count counts one. */
struct hbm_run {
    ps_t asked_at;                      /* the access under which it was planned, in order */
    ps_t data_at, end_at;               /* data bus taken from data_at to end_at; equal where
                                           a read was served by a write that is held back */
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

/* what a refresh takes, of all banks or of the one that it is for, beside tRP */
static inline ps_t hbm_refresh_ps(const struct hbm_config *c)
{
    return c->refreshes_single_banks ? c->trfc_bank_ps : c->trfc_ps;
}

/* of the data buses of all channels together */
double hbm_peak_bytes_per_second(const struct hbm_config *config);

struct hbm_store;

/* Ranges lie within the size, asserted. Reads may run side by side; a write must be alone. */
struct hbm_store *hbm_store_create(int64_t size_bytes);
void hbm_store_destroy(struct hbm_store *s);
void hbm_store_read(const struct hbm_store *s, int64_t address, void *to, size_t bytes);
void hbm_store_write(struct hbm_store *s, int64_t address, const void *from, size_t bytes);
/*
 * What a range holds now, without a copy of it: writes to its pages go to copies of these from now
 * on. `put` where the address is the same modulo HBM_STORE_PAGE_BYTES; whole pages are shared then.
 * Stores of different threads may hold and put the same pages.
 */
struct hbm_hold;
struct hbm_hold *hbm_store_hold(const struct hbm_store *s, int64_t address, size_t bytes);
void hbm_store_put(struct hbm_store *s, int64_t address, const struct hbm_hold *h);
/* bytes of it from `at` on */
void hbm_hold_read(const struct hbm_hold *h, size_t at, void *to, size_t bytes);
/*
 * Whether whole pages from `address` on are what they were there for `h`, which is the same number
 * of whole pages. Those up to the first other one are shared with it from then on.
 */
bool hbm_store_match(struct hbm_store *s, int64_t address, const struct hbm_hold *h);
void hbm_hold_free(struct hbm_hold *h);
/*
 * From hbm_store_keep on, pages are kept as they were before they are written to, until they are
 * put back or let go. Room for their list stays with the store.
 */
void hbm_store_keep(struct hbm_store *s);
void hbm_store_put_back(struct hbm_store *s);
void hbm_store_let_go(struct hbm_store *s);
void hbm_store_free_kept(struct hbm_store *s);          /* the room, too */
#define HBM_STORE_PAGE_BYTES 65536
void hbm_store_archive(struct hbm_store *s, struct archive *a); /* of a store of the same size */
#endif
