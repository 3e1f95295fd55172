/*
 * The functions behind the table, one for each row of functions.def; the rooms of pjrt/ have them,
 * and one that none has does not link. An error is the caller's to destroy; NULL: none.
 */
#ifndef PJRT_FUNCTIONS_H
#define PJRT_FUNCTIONS_H
#include "pjrt/abi/args.h"

#define FUNCTION(name) struct PJRT_Error *pjrt_##name(struct PJRT_##name##_Args *args);
#define PROCEDURE(name) void pjrt_##name(struct PJRT_##name##_Args *args);
#include "pjrt/abi/functions.def"
#endif
