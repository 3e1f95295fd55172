/*
 * Vector loads and stores: sublane i of a tile is VMEM row
 * base + offset + i * stride.
 */
#include "sim/core/hooks.h"
#include "sim/core/vregs.h"

#include <string.h>

struct access {
    int64_t row, stride;                /* first row, rows between sublanes */
    uint32_t sublanes;
};

static bool check_access(struct core *c, const struct decoded_op *o, const struct access *a,
                         bool is_write)
{
    if (a->stride == 1 && a->sublanes == 0xff)
        return c->hooks->checks.touch(c, o, SPACE_VMEM, a->row * ROW_BYTES, TILE_BYTES, is_write);
    for (int i = 0; i < 8; i++)
        if ((a->sublanes >> i & 1u)
            && !c->hooks->checks.touch(c, o, SPACE_VMEM, (a->row + i * a->stride) * ROW_BYTES,
                                       ROW_BYTES, is_write))
            return false;
    return true;
}

static bool check_rows(struct core *c, const struct decoded_op *o, const struct access *a)
{
    if (a->row >= 0 && a->row + 7 * a->stride < c->vmem_rows)
        return true;
    for (int i = 0; i < 8; i++) {
        int64_t row = a->row + i * a->stride;

        if ((a->sublanes >> i & 1u) && (row < 0 || row >= c->vmem_rows)) {
            core_fault(c, FAULT_ADDRESS, "vmem address %lld out of 0..%lld rows in %s",
                       (long long)row, (long long)c->vmem_rows - 1, isa_info(o->code)->mnemonic);
            return false;
        }
    }
    return true;
}

/* operands base, offset, stride, sublane mask from `first` on; false after a fault */
static bool access_of(struct core *c, const struct decoded_op *o, int first, struct access *a)
{
    a->row = (int64_t)c->s[o->o[first]] + c->s[o->o[first + 1]];
    a->stride = o->o[first + 2];        /* not negative: isa/check.c */
    a->sublanes = (uint32_t)o->o[first + 3] & 0xffu;
    return check_rows(c, o, a) && (!c->checks || check_access(c, o, a, first == 0));
}

bool core_check_rows(struct core *c, const struct decoded_op *o, int first)
{
    struct access a;

    return access_of(c, o, first, &a);
}

static unsigned char *vmem_row(const struct core *c, int64_t row)
{
    return c->vmem + row * ROW_BYTES;
}

static bool is_tile(const struct access *a)
{
    return a->stride == 1 && a->sublanes == 0xff;
}

void exec_VLD(struct core *c, const struct decoded_op *o)
{
    struct access a;
    uint32_t *tile;

    if (!access_of(c, o, 1, &a))
        return;
    if (is_tile(&a) && vreg_may_borrow(c, o->o[0])) {
        vreg_borrow_rows(c, o->o[0], a.row);
        return;
    }
    tile = vreg_write(c, o->o[0]);
    if (is_tile(&a)) {
        memcpy(tile, vmem_row(c, a.row), TILE_BYTES);
        return;
    }
    for (int i = 0; i < 8; i++)
        if (a.sublanes >> i & 1u)
            memcpy(tile + i * ROW_WORDS, vmem_row(c, a.row + i * a.stride), ROW_BYTES);
        else
            memset(tile + i * ROW_WORDS, 0, ROW_BYTES);
}

/* row of sublane i: base and offset from operand `first` on, and the register; NULL: fault */
static unsigned char *indexed_row(struct core *c, const struct decoded_op *o, int first, int i)
{
    int64_t row = (int64_t)c->s[o->o[first]] + c->s[o->o[first + 1]] + c->iar[o->o[4]][i];

    if (row >= 0 && row < c->vmem_rows)
        return !c->checks || c->hooks->checks.touch(c, o, SPACE_VMEM, row * ROW_BYTES, ROW_BYTES,
                                                    first == 0)
                   ? vmem_row(c, row) : NULL;
    core_fault(c, FAULT_ADDRESS, "vmem address %lld out of 0..%lld rows in sublane %d of %s.iar%d",
               (long long)row, (long long)c->vmem_rows - 1, i, first ? "vld" : "vst",
               (int)o->o[4]);
    return NULL;
}

void core_check_indexed_rows(struct core *c, const struct decoded_op *o)
{
    int first = o->code == OP_VLD_IAR ? 1 : 0;

    for (int i = 0; i < 8; i++)
        if (o->o[first + 2] >> i & 1)
            indexed_row(c, o, first, i);
}

void exec_VLD_IAR(struct core *c, const struct decoded_op *o)
{
    uint32_t *tile = vreg_write(c, o->o[0]);

    memset(tile, 0, TILE_BYTES);
    for (int i = 0; i < 8; i++) {
        const unsigned char *row = o->o[3] >> i & 1 ? indexed_row(c, o, 1, i) : NULL;

        if (row)
            memcpy(tile + i * ROW_WORDS, row, ROW_BYTES);
    }
}

void exec_VST_IAR(struct core *c, const struct decoded_op *o)
{
    const uint32_t *tile = vreg_read(c, o->o[3]);

    for (int i = 0; i < 8; i++) {
        unsigned char *row = o->o[2] >> i & 1 ? indexed_row(c, o, 0, i) : NULL;

        if (!row)
            continue;
        vregs_before_rows(c, (row - c->vmem) / ROW_BYTES, (row - c->vmem) / ROW_BYTES + 1);
        memcpy(row, tile + i * ROW_WORDS, ROW_BYTES);
    }
}

static void before_store(struct core *c, const struct access *a)
{
    vregs_before_rows(c, a->row, a->row + 7 * a->stride + 1);
}

static void store(struct core *c, const struct access *a, const uint32_t *tile)
{
    if (is_tile(a)) {
        memmove(vmem_row(c, a->row), tile, TILE_BYTES);
        return;
    }
    for (int i = 0; i < 8; i++)
        if (a->sublanes >> i & 1u)
            memcpy(vmem_row(c, a->row + i * a->stride), tile + i * ROW_WORDS, ROW_BYTES);
}

static void store_register(struct core *c, const struct decoded_op *o, const struct access *a)
{
    before_store(c, a);
    store(c, a, vreg_read(c, o->o[4]));
}

void exec_VST(struct core *c, const struct decoded_op *o)
{
    struct access a;

    if (access_of(c, o, 0, &a))
        store_register(c, o, &a);
}

/* a sum may be worked out where it goes to, also over its own rows */
void exec_last_VST(struct core *c, const struct decoded_op *o)
{
    const struct vreg sum = c->vreg[o->o[4]];
    struct access a;

    if (!access_of(c, o, 0, &a))
        return;
    if (sum.form != VREG_SUM || !is_tile(&a)
        || ((c->vreg_by_rows >> o->o[4] & 1) && sum.row != a.row && sum.row < a.row + 8
            && a.row < sum.row + 8)) {
        store_register(c, o, &a);
        return;
    }
    vreg_write(c, o->o[4]);
    before_store(c, &a);
    vreg_work_out(c, &sum, (uint32_t *)(void *)vmem_row(c, a.row));
}

/* sublane i of the tile is that one of `from` which digit i of the pattern names */
static void shuffle(uint32_t *d, const uint32_t *from, int32_t pattern)
{
    for (int i = 0; i < 8; i++)
        memcpy(d + i * ROW_WORDS, from + ((uint32_t)pattern >> 4 * i & 7) * ROW_WORDS, ROW_BYTES);
}

void exec_VLD_SSHFL(struct core *c, const struct decoded_op *o)
{
    uint32_t loaded[SIMD_TILE_WORDS];

    exec_VLD(c, o);
    memcpy(loaded, vreg_read(c, o->o[0]), TILE_BYTES);
    shuffle(vreg_write(c, o->o[0]), loaded, o->o[5]);
}

void exec_VST_SSHFL(struct core *c, const struct decoded_op *o)
{
    uint32_t shuffled[SIMD_TILE_WORDS];
    struct access a;

    if (!access_of(c, o, 0, &a))
        return;
    before_store(c, &a);
    shuffle(shuffled, vreg_read(c, o->o[5]), o->o[4]);
    store(c, &a, shuffled);
}

void exec_VST_MSK(struct core *c, const struct decoded_op *o)
{
    const struct mask *mask = &c->m[o->o[4]];
    const uint32_t *tile;
    struct access a;

    if (!access_of(c, o, 0, &a))
        return;
    before_store(c, &a);
    tile = vreg_read(c, o->o[5]);
    for (int i = 0; i < 8; i++) {
        uint32_t *row = (uint32_t *)(void *)vmem_row(c, a.row + i * a.stride);

        if (a.sublanes >> i & 1u)
            mask_select_row(c->simd, row, mask, i, tile + i * ROW_WORDS, row);
    }
}
