#include "sim/machine/machine_impl.h"

void launch_parallel(struct machine *m, int count, void (*fn)(void *context, int index),
                     void *context)
{
    int *index = mem_alloc((size_t)count * sizeof(*index)), i;

    for (i = 0; i < count; i++)
        index[i] = i;
    rounds_run(m->rounds, fn, context, index, count);
    mem_free(index);
}
