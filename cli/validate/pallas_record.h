/*
 * What systole check pallas has found, as a file: of each module the measured and the simulated time
 * and memory, or why it was refused; and whether today's are as near to what was measured.
 */
#ifndef CLI_PALLAS_RECORD_H
#define CLI_PALLAS_RECORD_H
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

struct pallas_result {                  /* from the process that ran it */
    bool is_done;
    double us, memory_mb;
    char message[300];
};

struct pallas_row {
    const char *file, *tpu, *op, *arguments;
    double measured_us, measured_mb;
    struct pallas_result got;
};

int pallas_record_write(const char *path, const struct pallas_row *row, int count, struct err *e);
/*
 * Rows whose time is farther from the measured one than the file says, by more than half a per cent
 * of that, or that are refused now: each is printed; their number, or -1. The file may have others.
 */
int pallas_record_worse(const char *path, const struct pallas_row *row, int count, struct arena *a,
                        struct err *e);
#endif
