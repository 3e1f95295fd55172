/*
 * Where an address lies: channel, bank, row, column of a burst.
 *
 * A map is a list of steps from the low end of an address upwards. A burst's
 * own bytes come first and are not listed; whatever is left above the last
 * step is the row. Each step takes one digit in base `count` and gives it to
 * its field; a field may be named several times, low digit first. Banks are
 * numbered over all bank groups of a channel, and the group is the low digit:
 * bank = group + groups x bank in the group.
 */
#ifndef HBM_HBM_MAP_H
#define HBM_HBM_MAP_H
#include "base/err.h"

#include <stdint.h>

enum { HBM_MAP_STEPS_MAX = 10 };

/* HBM_BANK without any HBM_GROUP counts the banks of all groups, groups alternating */
enum hbm_field { HBM_COLUMN, HBM_CHANNEL, HBM_GROUP, HBM_BANK, HBM_FIELD_COUNT };

enum hbm_spread {
    HBM_PLAIN,
    HBM_ROTATED,            /* plus the sum of the digits, in this base, of all that lies above */
    HBM_XORED               /* xor the next bits of the row; those that take part share them out */
};

struct hbm_map {
    struct hbm_step {
        enum hbm_field field;
        int count;                      /* at least 1; a power of two where HBM_XORED */
        enum hbm_spread spread;
    } step[HBM_MAP_STEPS_MAX];
    int step_count;
};

struct hbm_place {
    int channel, bank;
    int64_t row, column;                /* of the bank; column counts bursts */
};

/*
 * "column:16 channel:64+ column:2 bank:16+": steps from low to high, FIELD:COUNT,
 * with + where rotated and ^ where xored; separated by spaces or slashes.
 */
int hbm_map_parse(struct hbm_map *m, const char *text, struct err *e);

/* product of the counts of a field's steps; 1 if it has none */
int64_t hbm_map_count(const struct hbm_map *m, enum hbm_field field);
/* consecutive bursts that share channel, bank and row: the columns that come first */
int64_t hbm_map_piece_bursts(const struct hbm_map *m);

/* where burst number `burst` lies; `bank_groups` as in the configuration */
struct hbm_place hbm_map_place(const struct hbm_map *m, int bank_groups, int64_t burst);

/*
 * Pieces of `piece_bursts` change channel, rows change bank, both rotated so that no stride of a
 * tiled array stays on one of them: what the chips take.
 */
struct hbm_map hbm_map_interleaved(int channel_count, int bank_count, int64_t piece_bursts,
                                   int64_t row_bursts);
#endif
