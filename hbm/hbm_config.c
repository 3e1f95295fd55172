/* Checks that the timings of a memory fit together, and computes its peak rate. */
#include "hbm/hbm.h"

#define POWER_OF_TWO(n) ((n) > 0 && ((n) & ((n) - 1)) == 0)

/* the longest that a burst takes from a refresh that is due to the end of its data */
static ps_t around_refresh_ps(const struct hbm_config *c)
{
    return c->front_ps + later(c->tras_ps, c->twr_ps) + c->trp_ps + hbm_refresh_ps(c) +
           c->trcd_ps + later(c->tcl_ps, c->tcwl_ps) + c->burst_ps;
}

const char *hbm_config_fault(const struct hbm_config *c, const char **key)
{
    const struct hbm_map *m = &c->map;
    const int64_t groups = hbm_map_count(m, HBM_GROUP);
    const struct {
        bool ok;
        const char *key, *reason;
    } rules[] = {
        {POWER_OF_TWO(c->row_bytes), "row_bytes", "must be a power of two"},
        {POWER_OF_TWO(c->burst_bytes), "burst_bytes", "must be a power of two"},
        {c->burst_bytes <= c->row_bytes, "burst_bytes", "must not exceed row_bytes"},
        {c->burst_ps > 0, "burst_ps", "must be at least 1"},
        {c->channel_count > 0, "channels", "must be at least 1"},
        {c->bank_count > 0, "banks", "must be at least 1"},
        {c->bank_groups > 0 && c->bank_count % c->bank_groups == 0, "bank_groups",
         "must divide the number of banks"},
        {hbm_map_count(m, HBM_CHANNEL) == c->channel_count, "map",
         "must have as many channels as the memory"},
        {groups * hbm_map_count(m, HBM_BANK) == c->bank_count, "map",
         "must have as many banks, groups times banks in a group, as a channel"},
        {groups == 1 || groups == c->bank_groups, "map",
         "must have as many groups as a channel, or none"},
        {hbm_map_count(m, HBM_COLUMN) == c->row_bytes / c->burst_bytes, "map",
         "must have as many columns as a row has bursts"},
        {c->read_queue > 0, "read_queue", "must be at least 1"},
        {c->write_queue > 0, "write_queue", "must be at least 1"},
        {c->bank_queue > 0, "bank_queue", "must be at least 1"},
        {c->write_low > 0 && c->write_low <= c->write_queue, "write_low",
         "must be at least 1 and not exceed write_queue"},
        {c->trrd_l_ps >= c->trrd_ps, "trrd_l_ps", "must not be below trrd_ps"},
        {c->twtr_l_ps >= c->twtr_ps, "twtr_l_ps", "must not be below twtr_ps"},
        {c->trefi_ps == 0 || c->trefi_ps > around_refresh_ps(c), "trefi_ps",
         "leaves no time for a burst between two refreshes"},
    };

    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        if (!rules[i].ok) {
            *key = rules[i].key;
            return rules[i].reason;
        }
    }
    return NULL;
}

double hbm_peak_bytes_per_second(const struct hbm_config *config)
{
    return (double)config->channel_count * (double)config->burst_bytes * 1e12 /
           (double)config->burst_ps;
}
