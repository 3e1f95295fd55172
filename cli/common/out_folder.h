/*
 * --out DIR of the commands that run one program: what goes into the folder
 * beside the launch itself. systole train has epochs and steps besides, and
 * fills its own.
 */
#ifndef CLI_OUT_FOLDER_H
#define CLI_OUT_FOLDER_H
#include "report/folder/report.h"

#define OUT_OPTIONS_MAX 24

struct out_folder {
    const char *path;                   /* NULL: nothing is asked for, and nothing is done */
    struct command command;
    const struct chip_origin *chip_origins;
    struct report_option option[OUT_OPTIONS_MAX];
    size_t option_count;
};

/* for config.ini; `value` NULL: no such option here */
void out_folder_add(struct out_folder *f, const char *section, const char *key, const char *value,
                    bool is_given);
/* --mode, --threads, --simd and the checks, given where they are not as by default */
void out_folder_add_engine(struct out_folder *f, const struct machine_options *engine,
                           struct arena *a);
/* origins of a chip that no file and no --set told, as that of a snapshot */
const struct chip_origin *out_folder_origins(const char *origin, struct arena *a);

/* The run that `path` means: of a folder of several programs the dearest, which stderr is told. */
const char *out_folder_run(const char *path, struct arena *a);

/* Writes the folder and says so; of a run without a fault. */
int out_folder_write(const struct out_folder *f, const struct report_step *step,
                     double host_seconds, struct err *e);
#endif
