/* Of include/systole.h: statuses, element types and shapes, which all other parts use. */
#ifndef SYSTOLE_STATUS_H
#define SYSTOLE_STATUS_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ----- Statuses ----- */

typedef enum sy_status {
    SY_OK = 0,
    SY_ERROR = -1,                      /* sy_message tells */
    SY_END = 1                          /* of a dataset: there is nothing more */
} sy_status;

/* What the last call of this thread that returned SY_ERROR had to say; "" before the first. */
const char *sy_message(void);
/* The one place where the version stands; its first number is that of the library's soname. */
#define SY_VERSION "0.8.0"
/* SY_VERSION of the library that runs. */
const char *sy_version(void);

/* ----- Element types and shapes ----- */

typedef enum sy_dtype { SY_F32, SY_BF16, SY_S32, SY_PRED, SY_U32, SY_U8 } sy_dtype;

#define SY_RANK_MAX 8

/* A shape by value: sy_dims(2, 3) has rank 2. */
typedef struct sy_shape {
    int rank;
    int64_t dim[SY_RANK_MAX];
} sy_shape;

#define sy_dims(...)                                                                             \
    ((sy_shape){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define sy_scalar() ((sy_shape){0, {0}})

#ifdef __cplusplus
}
#endif
#endif
