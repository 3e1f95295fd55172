/*
 * Where the scalar side of a core has its values from, and whether cycles can depend on them.
 *
 * While a launch in mode both is simulated, each scalar register and word of SMEM has an origin:
 * none where it follows from the program and its entry registers alone, else what it was read
 * from: SMEM as the launch found it, HBM that the launch had not written before, a copy to SMEM
 * of what the launch has worked out itself, or vectors (spop). A value that becomes an address, a
 * size, a flag, a core, a predicate or a delay makes its origins count; one that is only
 * spread over a vector, seeds random numbers or is copied away does not. So a later launch
 * with the same programs, entry registers and bytes at the origins that count has the same cycles,
 * whatever all other values are. SMEM and HBM can be compared before
 * it begins, copies when they arrive: then it is too late to go back but with what has been kept
 * of memories. Vectors are not compared.
 */
#ifndef SIM_ORIGINS_H
#define SIM_ORIGINS_H
#include "sim/core/core.h"

struct origins;

struct origins *origins_create(const struct chip *chip);
void origins_destroy(struct origins *o);

/* a launch begins that is to be followed, from reset registers and SMEM as it is */
void origins_begin(struct origins *o, const struct core *c);
/* before the operations of a bundle execute; c->live says which */
void origins_bundle(struct origins *o, const struct core *c, const struct decoded_bundle *b);
/* the contents of a copy have become visible in this core */
void origins_arrive(struct origins *o, const struct core *c, const struct dma *d);

/* keep only what counts; false: vectors do, or it was too much to keep */
bool origins_end(struct origins *o);
/* between launches: are entry registers and the bytes that count what they were? */
bool origins_are_same(const struct origins *o, const struct core *c);

/* whether copies count that can be compared only when they arrive */
bool origins_has_late(const struct origins *o);
/* how many bytes of HBM the launch has written at most, in whole pages of `page_bytes` */
int64_t origins_written_bytes(const struct origins *o, int64_t page_bytes);
/* of copies that have come to SMEM so far, the contiguous pieces */
int64_t origins_arrivals(const struct origins *o);
/* whether one of these pieces counts and can be compared only when it arrives */
bool origins_count_late(const struct origins *o, int64_t first_piece, int64_t pieces);
/* while comparing: so many pieces that do not count are left out */
void origins_skip(struct origins *o, int64_t pieces);
/* a launch begins in which origins_arrive compares instead of following */
void origins_compare(struct origins *o);
bool origins_differ(const struct origins *o);           /* one was another since */
#endif
