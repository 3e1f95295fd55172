/* Versions of the languages of programs that import/ reads. */
#include "pjrt/program/version.h"

#include "pjrt/device/topology.h"

const struct PJRT_NamedValue *version_attributes(size_t *count)
{
    static const int64_t current[] = {1, 20, 0}, minimum[] = {0, 9, 0};
    static struct PJRT_NamedValue attribute[3];

    attribute[0] = named_int("xla_version", 2);
    attribute[1] = named_ints("stablehlo_current_version", current, 3);
    attribute[2] = named_ints("stablehlo_minimum_version", minimum, 3);
    *count = sizeof(attribute) / sizeof(*attribute);
    return attribute;
}
