/* Two memories that tests of the HBM share: one channel with round numbers, and that of a v3. */
#ifndef TESTS_HBM_RIG_H
#define TESTS_HBM_RIG_H
#include "hbm/hbm.h"

#include "base/units.h"

enum { PIECE_BYTES = 512 };             /* consecutive bytes on one channel */

/* The v3 chip's memory. */
static const struct hbm_config hbm_of_v3 = {
    .size_bytes = 32 * GIB, .channel_count = 64, .bank_count = 16, .bank_groups = 4,
    .row_bytes = 1024, .burst_bytes = 32, .burst_ps = 2276, .tccd_l_ps = 2276, .trcd_ps = 14000,
    .trp_ps = 14000, .tras_ps = 33000, .tcl_ps = 14000, .tcwl_ps = 4000, .trrd_ps = 4000,
    .trrd_l_ps = 6000, .tfaw_ps = 16000, .twtr_ps = 6000, .twtr_l_ps = 8000, .trtw_ps = 2000,
    .twr_ps = 16000, .trtp_ps = 5000, .trefi_ps = 3900000, .trfc_ps = 260000,
    .read_queue = 64, .write_queue = 64, .bank_queue = 16, .write_low = 16,
};

/* pieces change channel, rows change bank, both rotated: the map of the chips */
static inline void interleave(struct hbm_config *c)
{
    c->map = hbm_map_interleaved(c->channel_count, c->bank_count, PIECE_BYTES / c->burst_bytes,
                                 c->row_bytes / c->burst_bytes);
}

#endif
