/*
 * systole run --from-dump: a compiler's listing, its operands, what of it is
 * not known, and the compiler's count of units.
 */
#ifndef CLI_FROM_DUMP_H
#define CLI_FROM_DUMP_H
#include "cli/common/options.h"
#include "isa/listing/listing.h"
#include "report/folder/report.h"
#include "sim/machine/machine.h"

#include <stdio.h>

struct dump_options {
    const char *path, *utilization;     /* utilization: file to write, or NULL */
    struct cli_list operand, result;    /* "N=FILE.npy" */
    int64_t seed;
};

struct dump_file {
    struct listing_operand *operand;
    const char *path;
};

struct from_dump {
    const struct dump_options *options;
    struct machine *m;
    struct listing listing;
    struct dump_file input[CLI_LIST_MAX], result[CLI_LIST_MAX];
};

/*
 * Reads the listing and checks every option against it. Prints what is wrong
 * with its text and returns the exit status; other mistakes give 1 with *e
 * set and *is_told false.
 */
int from_dump_prepare(struct from_dump *d, const struct dump_options *options, struct machine *m,
                      struct arena *a, bool *is_told, struct err *e);

void from_dump_print_header(const struct from_dump *d, FILE *to);
/* flags left, operations not known: after the run, also a failed one */
void from_dump_print_end(const struct from_dump *d, FILE *to);
/* where the listing's operands and allocations lie, for reports; the arena holds the list */
void from_dump_list_buffers(const struct from_dump *d, struct report_step *step, struct arena *a);
int from_dump_write_results(const struct from_dump *d, struct err *e);
#endif
