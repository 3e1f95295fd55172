/*
 * Vector loads and stores: sublane i of a tile is VMEM row
 * base + offset + i * stride.
 */
#include "sim/core.h"

#include <string.h>

struct access {
    int64_t row, stride;                /* first row, rows between sublanes */
    uint32_t sublanes;
};

/* operands base, offset, stride, sublane mask from `first` on; false after a fault */
static bool access_of(struct core *c, const struct decoded_op *o, int first, struct access *a)
{
    int i;

    a->row = (int64_t)c->s[o->o[first]] + o->o[first + 1];
    a->stride = o->o[first + 2];
    a->sublanes = (uint32_t)o->o[first + 3] & 0xffu;
    for (i = 0; i < 8; i++) {
        int64_t row = a->row + i * a->stride;

        if ((a->sublanes >> i & 1u) && (row < 0 || row >= c->vmem_rows)) {
            core_fault(c, FAULT_ADDRESS, "vmem address %lld out of 0..%lld rows in %s",
                       (long long)row, (long long)c->vmem_rows - 1, isa_info(o->code)->mnemonic);
            return false;
        }
    }
    return true;
}

static unsigned char *vmem_row(const struct core *c, int64_t row)
{
    return c->vmem + row * ROW_BYTES;
}

void exec_VLD(struct core *c, const struct decoded_op *o)
{
    uint32_t *tile = c->tile[o->o[0]];
    struct access a;
    int i;

    if (!access_of(c, o, 1, &a))
        return;
    if (a.stride == 1 && a.sublanes == 0xff) {
        memcpy(tile, vmem_row(c, a.row), TILE_BYTES);
        return;
    }
    for (i = 0; i < 8; i++)
        if (a.sublanes >> i & 1u)
            memcpy(tile + i * ROW_WORDS, vmem_row(c, a.row + i * a.stride), ROW_BYTES);
        else
            memset(tile + i * ROW_WORDS, 0, ROW_BYTES);
}

void exec_VST(struct core *c, const struct decoded_op *o)
{
    const uint32_t *tile = c->tile[o->o[4]];
    struct access a;
    int i;

    if (!access_of(c, o, 0, &a))
        return;
    if (a.stride == 1 && a.sublanes == 0xff) {
        memcpy(vmem_row(c, a.row), tile, TILE_BYTES);
        return;
    }
    for (i = 0; i < 8; i++)
        if (a.sublanes >> i & 1u)
            memcpy(vmem_row(c, a.row + i * a.stride), tile + i * ROW_WORDS, ROW_BYTES);
}

void exec_VST_MSK(struct core *c, const struct decoded_op *o)
{
    const uint32_t *tile = c->tile[o->o[5]];
    const uint16_t *mask = c->m[o->o[4]];
    struct access a;
    int i, j;

    if (!access_of(c, o, 0, &a))
        return;
    for (i = 0; i < 8; i++) {
        unsigned char *row = vmem_row(c, a.row + i * a.stride);

        if (!(a.sublanes >> i & 1u))
            continue;
        for (j = 0; j < ROW_WORDS; j++)
            if (mask[(i * ROW_WORDS + j) / 16] >> (j % 16) & 1)
                memcpy(row + 4 * j, &tile[i * ROW_WORDS + j], 4);
    }
}
