/*
 * A whole graph, compiled and run on one simulated core, against the interpreter.
 *
 * Outputs must agree with the interpreter's on the graph as given, within
 * absolute + relative * |expected|; where whole numbers stay exact, bit for bit
 * with both at 0 (any NaN equals any NaN, zeros of either sign).
 */
#ifndef TESTS_MODULE_RIG_H
#define TESTS_MODULE_RIG_H
#include "stack/module/module.h"

struct module_rig {
    const char *slice;                  /* "v3-1"; NULL: "v5e" */
    const char *set;                    /* "section.key=value", several with spaces, or NULL */
    enum codegen codegen;
    int64_t hbm_bytes;                  /* of the core; 0: its share of the chip */
    double relative, absolute;
    bool uses_fractions;                /* inputs in -1..1 instead of -3..3, whole */
    bool may_refuse;                    /* then `refusal` tells */
    bool uses_hlo_inputs;               /* of a graph of tests/generate/random_hlo.h */
    bool megacore;                      /* on both cores of the chip */
    int threads;                        /* of the host; 0: 1 */
    bool check_races;
    bool spoils_vmem;                   /* it is full of NaNs before the launch */
    int launches;                       /* 0: 1; outputs over parameters go on from there */
    bool is_restored;                   /* what runs was saved and restored */

    /* filled in */
    char refusal[512];
    int kernel_count;
    int64_t barrier_count;
    uint32_t outputs_crc;               /* of the bits of all outputs */
    int64_t cycles, hbm_used_bytes, prefetch_count, resident_count, cmem_count, remat_count;
    double worst;                       /* largest difference over what is allowed, 0..1 */
};

void module_rig_check(struct module_rig *r, const struct graph *g, uint64_t seed);
#endif
