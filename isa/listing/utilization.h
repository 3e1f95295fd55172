/*
 * Units used per bundle, as the XLA:TPU compiler counts them beside a listing.
 *
 * The rule is read off its own tables for v6e (docs/listings.md): an operation
 * counts in the column of its slot in its bundle, pushes to the EUP, the
 * cross-lane and the matrix units occupy their unit in later bundles, pops and
 * what loads a matrix unit count nothing.
 */
#ifndef ISA_UTILIZATION_H
#define ISA_UTILIZATION_H
#include "isa/listing/listing.h"

#include <stdio.h>

enum utilization_column {
    COLUMN_MXU, COLUMN_XLU, COLUMN_VALU, COLUMN_EUP, COLUMN_LOAD, COLUMN_STORE, COLUMN_SALU,
    COLUMN_COUNT
};

struct utilization_row {
    int count[COLUMN_COUNT];
};

/* One row per bundle of an assembled listing, in `a`. */
struct utilization_row *utilization_count(const struct listing *l, struct arena *a);

/* In the compiler's format, byte for byte. */
void utilization_print(const struct utilization_row *capacity, const struct utilization_row *row,
                       uint32_t row_count, FILE *to);
#endif
