/* The routines of LAPACK, as OpenBLAS has them, that factorizations use. Matrices by columns. */
#ifndef IMPORT_EVAL_LAPACK_H
#define IMPORT_EVAL_LAPACK_H
#include "import/lanes/lane.h"

void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivot, int *info);
void zgetrf_(const int *m, const int *n, lane_c128 *a, const int *lda, int *pivot, int *info);
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info);
void zgeqrf_(const int *m, const int *n, lane_c128 *a, const int *lda, lane_c128 *tau,
             lane_c128 *work, const int *lwork, int *info);
void dorgqr_(const int *m, const int *n, const int *k, double *a, const int *lda,
             const double *tau, double *work, const int *lwork, int *info);
void zungqr_(const int *m, const int *n, const int *k, lane_c128 *a, const int *lda,
             const lane_c128 *tau, lane_c128 *work, const int *lwork, int *info);
void dsyev_(const char *job, const char *uplo, const int *n, double *a, const int *lda, double *w,
            double *work, const int *lwork, int *info);
void zheev_(const char *job, const char *uplo, const int *n, lane_c128 *a, const int *lda,
            double *w, lane_c128 *work, const int *lwork, double *rwork, int *info);
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void zpotrf_(const char *uplo, const int *n, lane_c128 *a, const int *lda, int *info);
#endif
