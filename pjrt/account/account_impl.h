/* What the files of the account share and nobody else needs. */
#ifndef PJRT_ACCOUNT_IMPL_H
#define PJRT_ACCOUNT_IMPL_H
#include "pjrt/account/account.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/types.h>

struct machine;
struct ntrace_writer;

#define ACCOUNT_OPS_MAX 8               /* dearest operations that are kept of a program */

struct account_op { char *name; int64_t cycles; };

struct account_program {
    struct account *account;
    struct account_program *next;       /* in the order in which they were compiled */
    int number;                         /* from 1 */
    char *name, *file;                  /* "jit_step"; "003_jit_step", once it has a folder */
    const void *bytes;                  /* as it came; the executable's, until its first launch */
    size_t byte_count;
    double compile_s, launch_s;         /* of the host */
    bool was_found;                     /* on disk */
    int64_t launches, cycles;           /* of all launches */
    int64_t flops;                      /* of a launch, all its devices */
    int cores;                          /* that it runs on */
    struct account_op *op, *in_order;   /* of a launch: the dearest first; all as they follow */
    int op_count, in_order_count;
    struct ntrace_writer *trace;        /* of the first launch, under way */
    char *trace_path;                   /* not published yet */
};

struct account {
    struct account_client client;
    pthread_mutex_t lock;               /* of all below and of programs */
    struct account_program *first, **last;
    int program_count;
    int64_t *time_ps;                   /* by device */
    int64_t launches, launch_ps;        /* of all devices together: device time of launches */
    int64_t copies, copy_ps, copy_bytes;
    double began_s;
    const char *out;                    /* SYSTOLE_OUT, or NULL; freed as out_copy */
    char *out_copy;
    FILE *launch_file, *timeline_file;
    bool is_quiet, is_finished;
    pid_t process;
};

static inline const char *account_copy_name(bool is_to_device)
{
    return is_to_device ? "copy to device" : "copy to host";
}

/* ----- files; they do nothing without SYSTOLE_OUT. The lock is held, but in the folders' */

void account_open_files(struct account *a);
void account_write_launch(struct account *a, const struct account_program *p, const int *device,
                          int devices, int64_t start_ps, int64_t end_ps, int64_t cycles,
                          double seconds);
void account_write_copy(struct account *a, int device, int64_t bytes, bool is_to_device,
                        int64_t start_ps, int64_t end_ps);
void account_close_files(struct account *a);

/* of a program's first launch: its folder, the trace, the reports */
void account_begin_folder(struct account_program *p, struct executable *x);
void account_end_folder(struct account_program *p, struct executable *x, bool is_done);

/* what the summary needs of a launch, and a profile: kept once */
void account_keep_ops(struct account_program *p, const struct executable *x);
void account_keep_order(struct account_program *p, const struct executable *x);
void account_free_ops(struct account_program *p);
void account_print_summary(const struct account *a, FILE *to);

/* for a profile, where one is wanted (pjrt/account/profile.h) */
enum profile_line { PROFILE_LAUNCHES, PROFILE_OPS, PROFILE_COPIES, PROFILE_LINES };
bool account_is_profiled(void);
void account_profile(int device, enum profile_line line, const char *name, int64_t start_ps,
                     int64_t end_ps);

/* tells once what is wrong with the files, and goes on without them */
void account_fail_files(struct account *a, const struct err *e);
#endif
