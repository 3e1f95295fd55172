/* What the devices of a program exchange, once it is cut for them. */
#include "cli/hlo/hlo.h"

#include "import/shard/count.h"
#include "import/shard/shard.h"

#include <stdio.h>

int hlo_print_exchanged(const struct hlo_module *m, struct arena *a, struct err *e)
{
    const struct shard_options options = {0};
    struct shard_boundary boundary;
    struct shard_count count;
    struct hlo_module cut;

    if (!shard_is_wanted(m))
        return 0;
    if (shard_program(m, &options, &cut, a, &boundary, e))
        return -1;
    count = shard_count_collectives(&cut, a);
    printf("\ncut for %lld devices, each exchanges:\n", (long long)boundary.partitions);
    shard_count_print(&count, &cut, stdout);
    hlo_module_fini(&cut);
    return 0;
}
