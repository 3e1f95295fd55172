/* Which programs this library reads, as it tells callers, who write theirs accordingly. */
#ifndef PJRT_VERSION_H
#define PJRT_VERSION_H
#include "pjrt/abi/abi.h"

const struct PJRT_NamedValue *version_attributes(size_t *count);
#endif
