/*
 * A run read back: out of its folder, which has stats.json and config.ini
 * (docs/report.md), a stats.json by itself, or a trace that keeps one.
 *
 * What an earlier systole wrote may have keys that this one does not know; they
 * stay in `stats`. Missing numbers read as 0. Texts live in the arena, `stats`
 * until run_folder_close. Events of a trace are not read: report/native_trace/ntrace.h has them.
 */
#ifndef REPORT_RUN_FOLDER_H
#define REPORT_RUN_FOLDER_H
#include "base/arena.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* what stats.json says of itself, under "format" and "version" */
#define STATS_FORMAT "systole-stats"
#define STATS_VERSION 1

struct chip;
struct report_view;
struct ntrace;

struct run_setting {
    const char *name;                   /* "data.batch", "mxu.count" */
    const char *value;
    bool is_chip;                       /* a parameter of the chip, not an option */
};

struct run_folder {
    const char *path;                   /* as given */
    json_t *stats;                      /* an object, its format and version checked */
    struct run_setting *setting;        /* in the order of config.ini; of a trace, the chip's alone;
                                           none of a stats.json by itself */
    size_t setting_count, setting_capacity;
};

/*
 * `path` is a folder, a stats.json by itself, or a .strace. -1: not such a file,
 * damaged, of a newer systole, or a trace without counters, which was cut off
 * before its end; there is then nothing to close.
 */
int run_folder_open(struct run_folder *r, const char *path, struct arena *a, struct err *e);
/* the same of an open trace, of file `path`; `t` may be closed afterwards */
int run_folder_of_trace(struct run_folder *r, const struct ntrace *t, const char *path,
                        struct arena *a, struct err *e);
void run_folder_close(struct run_folder *r);
/*
 * Whether the trace that lies in a folder is of the run whose stats.json lies there, too. -1: it is
 * another's, or was cut off before its counters. A folder without stats.json says nothing: 0.
 */
int run_folder_check_trace(const char *folder, const struct ntrace *t, struct err *e);

const char *run_folder_setting(const struct run_folder *r, const char *name);   /* or NULL */
/*
 * The chip of the run: the built-in one of its slice with every parameter that the
 * settings have. Its texts are the arena's. -1: a run on the host, or damaged.
 */
int run_folder_chip(const struct run_folder *r, struct arena *a, struct chip *chip,
                    struct err *e);
/*
 * What report/view/view.h says of a machine that has just run; there is no program. All
 * that *v points to is the arena's. -1: a run on the host or in functional mode,
 * which has no cycles; no parameters of the chip; numbers that contradict one
 * another. (run_folder_view.c)
 */
int run_folder_view(const struct run_folder *r, struct arena *a, struct report_view *v,
                    struct err *e);
/* "mnist_mlp, v3-8: 4 chips, 8 cores, TPU v3 at 940 MHz", as far as it is known */
char *run_folder_describe(const struct run_folder *r, char *buf, size_t buf_bytes);

/* member of an object, wherever it is of another kind or missing 0, NULL or "" */
int64_t run_int(const json_t *object, const char *key);
double run_real(const json_t *object, const char *key);         /* of integers too */
const char *run_text(const json_t *object, const char *key);
#endif
