/* Executes what is left: random bits, trace markers, index address registers, loads from CMEM. */
#include "base/threefry.h"
#include "sim/core/hooks.h"
#include "sim/core/vregs.h"

#include <string.h>

void exec_SETRNGSEED(struct core *c, const struct decoded_op *o)
{
    c->rng_seed = (uint32_t)c->s[o->o[0]];
    c->rng_draw = 0;
}

/* block i of a draw gives words i and i + 512 of the tile: docs/numerics.md */
void exec_VRNG(struct core *c, const struct decoded_op *o)
{
    const uint32_t key[2] = {c->rng_seed, (uint32_t)c->number};
    uint32_t *tile = vreg_write(c, o->o[0]), i;

    for (i = 0; i < SIMD_TILE_WORDS / 2; i++) {
        const uint32_t counter[2] = {i, c->rng_draw};
        uint32_t bits[2];

        threefry_2x32(key, counter, bits);
        tile[i] = bits[0];
        tile[i + SIMD_TILE_WORDS / 2] = bits[1];
    }
    c->rng_draw++;
}

void exec_VSETTM(struct core *c, const struct decoded_op *o)
{
    c->trace_mask = (uint32_t)c->s[o->o[0]];
}

void exec_VTRACE(struct core *c, const struct decoded_op *o)
{
    int32_t marker = c->s[o->o[0]];
    const struct decoded_kernel *kernel = NULL;

    if (c->branch_in == 0)
        kernel = decoded_kernel_at(c->program, marker, c->pc);
    if (c->log)
        c->hooks->log.kernel(c->log, c, kernel);
    if (c->replay && kernel)
        c->hooks->replay.kernel(c, kernel);
    if (!(c->trace_mask >> (marker & 31) & 1u))
        return;
    if (c->recorder)
        c->hooks->recorder.mark(c, marker);
}

void exec_VSETIAR(struct core *c, const struct decoded_op *o)
{
    const uint32_t *tile = vreg_read(c, o->o[0]);

    for (int i = 0; i < 8; i++)
        c->iar[o->o[1]][i] = (int32_t)tile[i * ROW_WORDS];
}

/* row of CMEM for sublane i */
static int64_t cmem_row(const struct core *c, const struct decoded_op *o, int i)
{
    return (int64_t)c->s[o->o[0]] + c->s[o->o[1]] + (int64_t)i * o->o[2];
}

bool core_check_cmem_rows(struct core *c, const struct decoded_op *o)
{
    int64_t row_count = c->cmem_bytes / ROW_BYTES;

    for (int i = 0; i < 8; i++) {
        int64_t row = cmem_row(c, o, i);

        if ((o->o[3] >> i & 1) && (row < 0 || row >= row_count)) {
            core_fault(c, FAULT_ADDRESS, "cmem address %lld out of 0..%lld rows in cld",
                       (long long)row, (long long)row_count - 1);
            return false;
        }
        if ((o->o[3] >> i & 1) && c->checks
            && !c->hooks->checks.touch(c, o, SPACE_CMEM, row * ROW_BYTES, ROW_BYTES, false))
            return false;
    }
    return true;
}

void exec_CLD(struct core *c, const struct decoded_op *o)
{
    uint32_t *tile;

    if (!core_check_cmem_rows(c, o))
        return;
    tile = vregs_result(c, &c->crf);
    for (int i = 0; i < 8; i++)
        if (o->o[3] >> i & 1)
            memcpy(tile + i * ROW_WORDS, c->cmem + cmem_row(c, o, i) * ROW_BYTES, ROW_BYTES);
        else
            memset(tile + i * ROW_WORDS, 0, ROW_BYTES);
}

void exec_VPOP_CRF(struct core *c, const struct decoded_op *o)
{
    vreg_pop(c, o->o[0], &c->crf);
}
