/*
 * Data in and out of a core's HBM share: raw files, .npy arrays, printed
 * matrices. A 2-D array lies in HBM as tiles T(8,128) (stack/hlo/array.h).
 */
#ifndef CLI_HBM_DATA_H
#define CLI_HBM_DATA_H
#include "sim/machine/machine.h"

#define HBM_MATRIX_ELEMS_MAX (1 << 26)

/* Where a matrix of f32 lies, and what becomes of it after the run. */
struct hbm_matrix {
    int64_t address;                    /* bytes */
    int64_t rows, columns;
    const char *path;                   /* .npy to write; NULL: print it */
};

/* "ADDR=FILE": the file's bytes, or the array in a .npy of f32 or s32, into cores first..last */
int hbm_data_load(struct machine *m, int first, int last, const char *argument, struct err *e);

/* "ADDR:ROWSxCOLS" or, `with_path`, "ADDR:ROWSxCOLS=FILE" */
int hbm_matrix_parse(const char *argument, bool with_path, struct hbm_matrix *matrix,
                     struct err *e);
/* before the run: it lies within a core's HBM, and its file can be written */
int hbm_matrix_check(const struct machine *m, const struct hbm_matrix *matrix, struct err *e);
/* after the run: prints or writes the matrix of a core */
int hbm_matrix_show(struct machine *m, int core, const struct hbm_matrix *matrix, struct err *e);
#endif
