/*
 * Access patterns: the addresses that a memory is tried with.
 *
 * With accesses of A bytes, a footprint of F bytes and i = 0, 1, 2, ... :
 *
 *   sequential  address A i mod F
 *   stride S    (i S) mod F + A ((i S / F) mod (S / A)): after a round through the
 *               footprint the next access of each stride, so that all is touched
 *   random      A (x mod F / A), x the i-th number of xorshift64 with shifts 13, 7 and 17
 *               from seed 88172645463325252 (G. Marsaglia's published generator)
 *   copy        even i read A (i / 2) mod F / 2, odd i write F / 2 behind it
 *   mix R       sequential; a read where x mod 100 < R, x as above, else a write
 *   random mix  random, one x for the address, the next one for the direction
 */
#ifndef HBM_HBM_PATTERN_H
#define HBM_HBM_PATTERN_H
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hbm_pattern_kind {
    HBM_SEQUENTIAL, HBM_STRIDE, HBM_RANDOM, HBM_COPY, HBM_MIX, HBM_RANDOM_MIX
};

struct hbm_pattern {
    enum hbm_pattern_kind kind;
    bool is_write;                      /* of the first three */
    int read_percent;                   /* of a mix */
    int64_t stride_bytes;
    int64_t access_bytes, footprint_bytes;
};

/*
 * "seq", "stride:512", "random", "copy", "mix:70", "random_mix:70"; with _rd or _wr behind the
 * first three, and as others spell them: stride512, rand_rd, copy64. Sets all but the sizes.
 * Whether it fits its sizes, hbm_pattern_check says.
 */
int hbm_pattern_parse(struct hbm_pattern *p, const char *text, struct err *e);
/* sizes that do not fit each other: a message that names the nearest that do */
int hbm_pattern_check(const struct hbm_pattern *p, struct err *e);
/* as hbm_pattern_parse reads it: "stride_wr:512"; returns buf */
char *hbm_pattern_print(const struct hbm_pattern *p, char *buf, size_t buf_bytes);

struct hbm_walk {
    const struct hbm_pattern *pattern;  /* checked, and there as long as the walk */
    int64_t index;                      /* of the next access */
    int64_t address;                    /* of the next one of a sequence, or of a stride's round */
    int64_t round;                      /* of a stride */
    uint64_t random;
};

void hbm_walk_init(struct hbm_walk *w, const struct hbm_pattern *p);
/* the next access */
int64_t hbm_walk_next(struct hbm_walk *w, bool *is_write);
/*
 * The next accesses as far as they follow each other in one direction: `count` of them, at
 * most `most`, which is at least 1. Returns the address of the first.
 */
int64_t hbm_walk_run(struct hbm_walk *w, int64_t most, int64_t *count, bool *is_write);
#endif
