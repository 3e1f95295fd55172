/* Arrays of a program for several devices: the whole ones of the user, and the parts of devices. */
#include "cli/exec/exec.h"

#include "import/shard/slices.h"

#include <string.h>

static int64_t partition_of(const struct exec_program *p, int number)
{
    return number % p->graph.module->partition_count;   /* replicas have the same inputs */
}

void *exec_part_of(const struct exec_program *p, int i, int number, struct arena *a)
{
    const struct shard_leaf *leaf;
    struct shard_slice slice;
    void *part;

    if (!p->graph.is_cut)
        return p->parameter[i].data;
    leaf = &p->graph.boundary.parameter[i];
    slice = shard_slice_of(&leaf->sharding, &leaf->whole, partition_of(p, number));
    part = arena_alloc(a, hlo_type_bytes(&leaf->part) + 1);
    shard_slice_take(&slice, &leaf->whole, p->parameter[i].data, part);
    return part;
}

void exec_join_part(const struct exec_program *p, int i, int number, const void *part)
{
    const struct shard_leaf *leaf;
    struct shard_slice slice;

    if (!p->graph.is_cut) {
        if (number == 0)
            memcpy(p->result[i].data, part, hlo_type_bytes(&p->result[i].type));
        return;
    }
    if (number >= p->graph.module->partition_count)
        return;
    leaf = &p->graph.boundary.result[i];
    slice = shard_slice_of(&leaf->sharding, &leaf->whole, partition_of(p, number));
    shard_slice_put(&slice, &leaf->whole, part, p->result[i].data);
}
