/*
 * Data in and out of a core's HBM share: raw files, .npy arrays, printed
 * matrices. A 2-D array lies in HBM as tiles T(8,128) (stack/layout.h).
 */
#ifndef CLI_HBM_DATA_H
#define CLI_HBM_DATA_H
#include "sim/machine.h"

/* Where a matrix of f32 lies. */
struct hbm_matrix {
    int64_t address;                    /* bytes */
    int64_t rows, columns;
};

/* "ADDR=FILE": the file's bytes, or the array in a .npy of f32 or s32, into every core in first..last */
int hbm_data_load(struct machine *m, int first, int last, const char *argument, struct err *e);

/* "ADDR:ROWSxCOLS", ended by `end`; *rest, if wanted, is what follows */
int hbm_matrix_parse(const char *argument, char end, struct hbm_matrix *matrix,
                     const char **rest, struct err *e);
/* the matrix of a core, dense, to be released by mem_free; NULL when it is out of HBM */
float *hbm_matrix_read(struct machine *m, int core, const struct hbm_matrix *matrix,
                       struct err *e);

/* "ADDR:ROWSxCOLS" printed, "ADDR:ROWSxCOLS=FILE" written as .npy */
int hbm_data_dump(struct machine *m, int core, const char *argument, struct err *e);
int hbm_data_save(struct machine *m, int core, const char *argument, struct err *e);
#endif
