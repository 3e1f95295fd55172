#include "sim/chip.h"

#include "hbm/hbm.h"

struct hbm_config chip_hbm_config(const struct chip *c, int64_t size_bytes)
{
    return (struct hbm_config){
        .size_bytes = size_bytes,
        .channel_count = (int)c->hbm_channels, .bank_count = (int)c->hbm_banks,
        .row_bytes = (int)c->hbm_row_bytes, .interleave_bytes = (int)c->hbm_interleave_bytes,
        .burst_bytes = (int)c->hbm_burst_bytes, .burst_ps = c->hbm_burst_ps,
        .trcd_ps = c->hbm_trcd_ps, .trp_ps = c->hbm_trp_ps, .tras_ps = c->hbm_tras_ps,
        .tcl_ps = c->hbm_tcl_ps, .tcwl_ps = c->hbm_tcwl_ps, .trrd_ps = c->hbm_trrd_ps,
        .tfaw_ps = c->hbm_tfaw_ps, .twtr_ps = c->hbm_twtr_ps, .trtw_ps = c->hbm_trtw_ps,
        .twr_ps = c->hbm_twr_ps, .trtp_ps = c->hbm_trtp_ps, .trefi_ps = c->hbm_trefi_ps,
        .trfc_ps = c->hbm_trfc_ps};
}
