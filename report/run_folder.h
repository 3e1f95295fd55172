/*
 * A run folder read back: stats.json and config.ini (docs/report.md).
 *
 * A folder of another version of systole may have keys that this one does not
 * know; they stay in `stats`. Missing numbers read as 0. Texts live in the arena,
 * `stats` until run_folder_close.
 */
#ifndef REPORT_RUN_FOLDER_H
#define REPORT_RUN_FOLDER_H
#include "base/arena.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_setting {
    const char *name;                   /* "data.batch", "mxu.count" */
    const char *value;
    bool is_chip;                       /* a parameter of the chip, not an option */
};

struct run_folder {
    const char *path;
    json_t *stats;                      /* an object, its format and version checked */
    struct run_setting *setting;        /* in the order of config.ini; none without that file */
    size_t setting_count, setting_capacity;
};

/* `path` is a folder, or a stats.json by itself. After -1 there is nothing to close. */
int run_folder_open(struct run_folder *r, const char *path, struct arena *a, struct err *e);
void run_folder_close(struct run_folder *r);

const char *run_folder_setting(const struct run_folder *r, const char *name);   /* or NULL */
/* "mnist_mlp, v3-8: 4 chips, 8 cores, TPU v3 at 940 MHz", as far as it is known */
char *run_folder_describe(const struct run_folder *r, char *buf, size_t buf_bytes);

/* member of an object, wherever it is of another kind or missing 0, NULL or "" */
int64_t run_int(const json_t *object, const char *key);
double run_real(const json_t *object, const char *key);         /* of integers too */
const char *run_text(const json_t *object, const char *key);
#endif
