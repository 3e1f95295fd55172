/* The chain of what the library offers beside the table. */
#include "pjrt/extension/extensions.h"

struct PJRT_Extension_Base *extensions_first(void)
{
    return extension_profiler(extension_shardings(extension_memories(extension_layouts(NULL))));
}
