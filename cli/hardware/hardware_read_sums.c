/* Reads an all-reduce of a profile: what each device has before it, and how many devices there are. */
#include "cli/hardware/hardware_read.h"

#include <stdlib.h>
#include <string.h>

/* elements of an array whose dimensions begin at `at`, "128,64]" */
static int64_t elements_of(const char *at)
{
    int64_t count = 1;

    for (; *at && *at != ']'; at += *at == ',') {
        char *behind;
        long long size = strtoll(at, &behind, 10);

        if (behind == at || size < 0 || size > INT32_MAX || count > INT64_MAX / 8 / INT32_MAX)
            return 0;
        count *= size;
        at = behind;
    }
    return count;
}

/* of all results, which are of one type; 0: of none that is summed here, or of several */
static int64_t bytes_of(const char *at, const char *end, enum collective_type *type)
{
    int64_t bytes[2] = {0, 0};

    for (; at < end; at++) {
        bool is_wide = strncmp(at, "f32[", 4) == 0, is_narrow = strncmp(at, "bf16[", 5) == 0;

        if (is_wide || is_narrow)
            bytes[is_narrow] += (is_wide ? 4 : 2) * elements_of(at + (is_wide ? 4 : 5));
    }
    *type = bytes[1] ? COLLECTIVE_BF16 : COLLECTIVE_F32;
    return bytes[0] && bytes[1] ? 0 : bytes[0] + bytes[1];
}

/* members of the one group, "replica_groups={{0,1,2,3}}"; 0: none is told, or there are several */
static int members_of(const char *text)
{
    const char *at = strstr(text, "replica_groups={{");
    int count = 1;

    if (!at)
        return 0;
    for (at += strlen("replica_groups={{"); *at && *at != '}'; at++)
        count += *at == ',';
    return strncmp(at, "}}", 2) == 0 ? count : 0;
}

bool hardware_read_all_reduce(const char *hlo, struct hardware_collective *to)
{
    const char *results = strstr(hlo, " = "), *end = strstr(hlo, " all-reduce(");

    *to = (struct hardware_collective){.kind = COLLECTIVE_ALL_REDUCE};
    if (!results || !end || end < results)
        return false;
    to->bytes = bytes_of(results, end, &to->type);
    to->cores = members_of(hlo);
    return to->bytes > 0 && to->cores > 1;
}
