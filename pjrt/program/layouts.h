/* How arrays are said to lie: an order of dimensions, in the arena of a program or on its own. */
#ifndef PJRT_LAYOUTS_H
#define PJRT_LAYOUTS_H
#include <stddef.h>
#include <stdint.h>

struct PJRT_Layouts_MemoryLayout {
    size_t rank;
    int64_t *minor_to_major;
};
#endif
