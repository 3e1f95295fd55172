/* Functions of the interface that the library has not: each says so by its name (missing.def). */
#include "pjrt/abi/functions.h"
#include "pjrt/event/error.h"

#define MISSING(name) \
    struct PJRT_Error *pjrt_##name(struct PJRT_##name##_Args *args) \
    { \
        (void)args; \
        return pjrt_error(PJRT_Error_Code_UNIMPLEMENTED, \
                          "PJRT_" #name " is not there in this version of systole"); \
    }
#include "pjrt/api/missing.def"
