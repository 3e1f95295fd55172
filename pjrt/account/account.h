/*
 * The account of a client: which programs it compiled and launched, what the devices' clocks say,
 * and what is left of it in files.
 *
 * Device time is simulated. The launches of a device follow each other, a launch of several devices
 * begins when the last of them is free, and copies between host and device take the time of the
 * host link (host.pcie_gbps) at their place in that order.
 *
 * With SYSTOLE_OUT=DIR, each program that is launched leaves a folder of a run in DIR
 * (docs/report.md): itself, the reports and a trace of its first launch; beside them stand
 * launches.csv, timeline.json and, at the end, programs.csv and summary.txt. A folder that cannot
 * be written is told once on stderr, and is no error of the program.
 *
 * At the end a summary goes to stderr, unless SYSTOLE_QUIET is 1 or nothing was launched. All
 * functions may be called from any thread.
 */
#ifndef PJRT_ACCOUNT_H
#define PJRT_ACCOUNT_H
#include "exec/executable.h"

struct account;
struct account_program;                 /* of one executable */

/* what it is of; the slice, its chip and the texts must live as long */
struct account_client {
    const struct slice *slice;
    const struct chip *chip;
    const char *kind;                   /* "TPU v5 lite" */
    int devices, cores_each;
};

/* reads SYSTOLE_OUT and SYSTOLE_QUIET */
struct account *account_make(const struct account_client *client);
/* writes what is left to write, and prints the summary */
void account_end(struct account *a);

/* A program was compiled for this client in so many seconds. It lives until account_end. */
struct account_program *account_compiled(struct account *a, const struct executable *x,
                                         const void *program, size_t program_bytes,
                                         bool was_found, double seconds);
/* a launch of it; of its first one before the machine runs, and behind it */
void account_begin_launch(struct account_program *p, struct executable *x);
void account_end_launch(struct account_program *p, struct executable *x, bool is_done);
/* it ran on these devices, in so many seconds of the host */
void account_launched(struct account_program *p, const struct executable *x, const int *device,
                      int devices, double seconds);
void account_copied(struct account *a, int device, int64_t bytes, bool is_to_device);

/* of the client that was made last; -1: there is none, or it has no such device */
int64_t sy_device_time_ns(int device);
#endif
