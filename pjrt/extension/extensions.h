/* What the library offers beside the table: a chain of tables that callers look through. */
#ifndef PJRT_EXTENSIONS_H
#define PJRT_EXTENSIONS_H
#include "pjrt/abi/abi.h"

struct PJRT_Extension_Base *extensions_first(void);     /* NULL: none */
/* one each, with what follows it in the chain */
struct PJRT_Extension_Base *extension_profiler(struct PJRT_Extension_Base *next);
struct PJRT_Extension_Base *extension_shardings(struct PJRT_Extension_Base *next);
struct PJRT_Extension_Base *extension_memories(struct PJRT_Extension_Base *next);
struct PJRT_Extension_Base *extension_layouts(struct PJRT_Extension_Base *next);
#endif
