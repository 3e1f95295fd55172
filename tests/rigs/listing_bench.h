/*
 * Listings on the bench: read, placed and assembled for a chip.
 */
#ifndef TESTS_LISTING_BENCH_H
#define TESTS_LISTING_BENCH_H
#include "base/arena.h"
#include "isa/listing/listing.h"
#include "sim/chip/chip.h"
#include "sim/machine/machine.h"

struct listing_bench {
    struct arena arena;
    struct chip chip;
    struct listing listing;
    struct isa_errors errors;
    struct err err;
};

void bench_open(struct listing_bench *b, const char *chip);
void bench_close(struct listing_bench *b);
int bench_scan(struct listing_bench *b, const char *text);
int bench_place(struct listing_bench *b);
void bench_assemble(struct listing_bench *b);

/* all of that on a v6e; nothing may be wrong */
void bench_read(struct listing_bench *b, const char *text);

/* the first with that name; fails the test when there is none */
const struct listing_op *bench_op(const struct listing_bench *b, const char *mnemonic);
const struct listing_allocation *bench_allocation(const struct listing_bench *b, const char *name);

/* a machine with the listing and the registers of its operands on core 0 */
struct machine *bench_machine(struct listing_bench *b, const char *tpu, cycle_t limit);
#endif
