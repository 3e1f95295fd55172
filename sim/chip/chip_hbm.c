/* Derives the configuration of the HBM model from a chip's parameters. */
#include "sim/chip/chip.h"

#include <string.h>

#include "hbm/hbm.h"

bool chip_refreshes_single_banks(const struct chip *c)
{
    return strcmp(c->hbm_refresh, "bank") == 0;
}

double chip_refresh_period_ps(const struct chip *c)
{
    return (double)c->hbm_trefi_ps /
           (chip_refreshes_single_banks(c) ? (double)c->hbm_banks : 1.0);
}

int64_t chip_refresh_ps(const struct chip *c)
{
    return chip_refreshes_single_banks(c) ? c->hbm_trfc_bank_ps : c->hbm_trfc_ps;
}

struct hbm_config chip_hbm_config(const struct chip *c, int64_t size_bytes)
{
    return (struct hbm_config){
        .size_bytes = size_bytes,
        .channel_count = (int)c->hbm_channels, .bank_count = (int)c->hbm_banks,
        .bank_groups = (int)c->hbm_bank_groups,
        .row_bytes = (int)c->hbm_row_bytes, .burst_bytes = (int)c->hbm_burst_bytes,
        .map = hbm_map_interleaved((int)c->hbm_channels, (int)c->hbm_banks,
                                   c->hbm_interleave_bytes / c->hbm_burst_bytes,
                                   c->hbm_row_bytes / c->hbm_burst_bytes),
        .burst_ps = c->hbm_burst_ps, .tccd_l_ps = c->hbm_tccd_l_ps,
        .trcd_ps = c->hbm_trcd_ps, .trp_ps = c->hbm_trp_ps, .tras_ps = c->hbm_tras_ps,
        .tcl_ps = c->hbm_tcl_ps, .tcwl_ps = c->hbm_tcwl_ps,
        .trrd_ps = c->hbm_trrd_ps, .trrd_l_ps = c->hbm_trrd_l_ps, .tfaw_ps = c->hbm_tfaw_ps,
        .twtr_ps = c->hbm_twtr_ps, .twtr_l_ps = c->hbm_twtr_l_ps, .trtw_ps = c->hbm_trtw_ps,
        .twr_ps = c->hbm_twr_ps, .trtp_ps = c->hbm_trtp_ps,
        .trefi_ps = c->hbm_trefi_ps, .trfc_ps = c->hbm_trfc_ps,
        .refreshes_single_banks = chip_refreshes_single_banks(c),
        .trfc_bank_ps = c->hbm_trfc_bank_ps,
        .read_queue = (int)c->hbm_read_queue, .write_queue = (int)c->hbm_write_queue,
        .bank_queue = (int)c->hbm_bank_queue, .write_low = (int)c->hbm_write_low};
}
