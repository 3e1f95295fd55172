/*
 * Inside `systole tune`: a kernel of Pallas lowered with other blocks and the like, each variant timed.
 *
 * A folder has the variants, and a variants.csv that names them (examples/jax/lower_variants.py makes
 * both): the column `file`, a column for each parameter, and `error` where one could not be lowered.
 * tune_lower.c has that script do it, tune_read.c reads the folder, tune_run.c times the variants in processes of their own, tune_table.c tells
 * which is best and writes the table, tune_map.c draws two of the parameters against each other in the
 * terminal, tune_png.c as a picture.
 */
#ifndef CLI_TUNE_H
#define CLI_TUNE_H
#include "cli/kernel/kernel.h"

#define TUNE_AXES_MAX 8
#define TUNE_VALUES_MAX 64

struct tune_result {                    /* shared between processes */
    bool is_done;
    int64_t cycles, vmem_bytes;
    double us, mxu_percent, hbm_percent;
    char message[400];                  /* why it is not */
};

struct tune_variant {
    const char *file;                   /* NULL: it could not be lowered */
    int value[TUNE_AXES_MAX];           /* by axis: number of the value */
    struct tune_result result;
};

struct tune_axis {
    const char *name;
    const char *value[TUNE_VALUES_MAX]; /* as written, numbers rising, else in order */
    int count;
};

struct tune {
    struct kernel_request kernel;       /* chip and options; of each variant in turn */
    const char *folder, *csv, *png, *map;       /* folder: or SCRIPT.py:FUNCTION, which is lowered */
    struct cli_list vary, array;        /* for that: "block_m=128,256", "bf16[512,512]" */
    const char *python, *keep;          /* interpreter; where variants stay, or NULL */
    bool is_for_chip;                   /* the function asks for its chip */
    int64_t jobs, seconds;              /* at once; at most, of one */
    struct arena arena;
    struct tune_axis axis[TUNE_AXES_MAX];
    int axis_count;
    struct tune_variant *variant;
    int count;
    size_t capacity;
    int best;                           /* -1: none ran */
    int rows, columns;                  /* axes of the map; rows -1: one row */
};

/*
 * Where `folder` names a function of a script: lowers its variants, and makes `folder` theirs. *made:
 * the folder to remove in the end; NULL: none.
 */
int tune_lower(struct tune *t, const char **made, struct err *e);
int tune_read(struct tune *t, struct err *e);
/* times all variants, telling on stderr how far it is */
int tune_run(struct tune *t, struct err *e);

void tune_print(const struct tune *t);
int tune_write_csv(const struct tune *t, struct err *e);
/* "block_m=128 block_n=256" */
const char *tune_variant_text(const struct tune *t, const struct tune_variant *v, struct arena *a);

/* axes of the map: as --map says, or the last two that vary */
int tune_choose_axes(struct tune *t, struct err *e);
/* the best variant with these values of the map's axes; or one that does not run; NULL: none */
const struct tune_variant *tune_at(const struct tune *t, int row, int column);
/* how much longer than the best: 0 .. 1 of the colours' range */
double tune_heat(const struct tune *t, const struct tune_variant *v);
/* the number of a reason among those that variants do not run for, from 0 on */
int tune_reason(const struct tune *t, const struct tune_variant *v);
void tune_print_map(const struct tune *t, bool has_colour);
int tune_write_png(const struct tune *t, struct err *e);
#endif
