/* Errors of the interface: a code and a message, which whoever gets one destroys. */
#ifndef PJRT_EVENT_ERROR_H
#define PJRT_EVENT_ERROR_H
#include "base/err.h"
#include "pjrt/abi/abi.h"

#include <stdarg.h>

struct PJRT_Error *pjrt_error(enum PJRT_Error_Code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "file:line:col: message" */
struct PJRT_Error *pjrt_error_of(enum PJRT_Error_Code code, const struct err *e);
struct PJRT_Error *pjrt_error_copy(const struct PJRT_Error *error);     /* NULL of NULL */
void pjrt_error_free(struct PJRT_Error *error);                         /* NULL is nothing */
enum PJRT_Error_Code pjrt_error_code(const struct PJRT_Error *error);
const char *pjrt_error_message(const struct PJRT_Error *error);
#endif
