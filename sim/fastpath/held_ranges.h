/*
 * What ranges of a store held at some time: whole pages shared until somebody writes to them, the
 * rest as bytes, so that small arrays that lie side by side in a page do not copy it in turns.
 */
#ifndef SIM_HELD_RANGES_H
#define SIM_HELD_RANGES_H
#include "hbm/hbm.h"
#include "sim/core/ranges.h"

struct held_ranges;

struct held_ranges *held_ranges_take(const struct hbm_store *s, const struct range *range,
                                     size_t count);
void held_ranges_free(struct held_ranges *h);           /* or NULL */
/* whether a store holds the same there; whole pages that it does, it shares from then on */
bool held_ranges_match(const struct held_ranges *h, struct hbm_store *s);
void held_ranges_put(const struct held_ranges *h, struct hbm_store *s);

/* a number for some of the bytes of the ranges: equal for equal ones, for others hardly ever */
uint64_t held_ranges_sample(const struct hbm_store *s, const struct range *range, size_t count);
#endif
