/* Any text is a formula's costs of a step, in which no number is negative or none, or is refused. */
#include "cli/collective/collective.h"
#include "tests/rigs/round_trip.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct collective_costs c = {.clock_mhz = 0};
    struct err e = {.msg = ""};

    if (collective_costs_read(fuzz_file(data, size), &c, &e) != 0) {
        if (!e.msg[0])
            fuzz_fail("costs are refused without a message", "");
        return 0;
    }
    if (!(c.link_gbps > 0.0) || !isfinite(c.link_gbps) || !(c.arrival_ps_per_byte >= 0.0) ||
        !isfinite(c.arrival_ps_per_byte) || c.arrival_ps < 0 || c.hop_ps < 0 || c.series < 0)
        fuzz_fail("costs are taken that no step can have", "");
    return 0;
}
