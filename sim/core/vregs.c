/*
 * Gives registers that only note where their tile stands the tile itself, before that place is
 * overwritten.
 */
#include "sim/core/vregs.h"

#include "sim/core/hooks.h"

#include <string.h>

/* rows of VMEM that a register stands for */
static int64_t row_count(const struct vreg *v)
{
    return v->form == VREG_UNPACKED ? 4 : 8;
}

void vregs_reset(struct core *c)
{
    c->vreg_by_rows = c->vreg_by_entry = 0;
    memset(c->vreg, 0, sizeof(c->vreg));
    for (int i = 0; i < V_CONST; i++)
        c->tile[i] = c->own[i] = c->registers[i];
}

static void multiply(struct core *c, const struct vreg *v, uint32_t *to)
{
    int before = 0;

    if (c->watch)
        before = c->hooks->watch.work_begin(c, CORE_MULTIPLIES);
    c->simd->matmul_add(to, v->addend, (const uint32_t (*)[64])v->entry, v->pair, v->is_finite,
                        c->ahead);
    if (c->watch)
        c->hooks->watch.work_end(c, before);
}

void vreg_work_out(struct core *c, const struct vreg *v, uint32_t *to)
{
    if (v->pair)
        multiply(c, v, to);
    else
        c->simd->binary[BIN_ADD_F32](to, v->entry, v->addend);
}

void vreg_settle(struct core *c, int number)
{
    const struct vreg v = c->vreg[number];
    uint32_t *own = c->own[number];

    switch (v.form) {
    case VREG_OWN:
        return;
    case VREG_UNPACKED:
        c->simd->unary[UN_UNPACK_C_L](own, vregs_row(c, v.row));
        break;
    case VREG_PRODUCT: case VREG_SUM:
        vreg_work_out(c, &v, own);
        break;
    default:
        memcpy(own, c->tile[number], TILE_BYTES);
        break;
    }
    vreg_forget(c, number);
    c->tile[number] = own;
}

/* after exchanges: whose tile this is gets the one that the register has, and what it holds */
static void take_own(struct core *c, int number)
{
    uint32_t *mine = c->registers[number], *has = c->own[number];
    tile_t held;
    int other = number;

    if (has == mine)
        return;
    while (c->own[other] != mine)
        other++;                        /* those before have their own */
    memcpy(held, mine, TILE_BYTES);
    memcpy(mine, has, TILE_BYTES);
    memcpy(has, held, TILE_BYTES);
    c->own[other] = c->tile[other] = has;
    c->own[number] = c->tile[number] = mine;
}

void vregs_settle_all(struct core *c)
{
    if (c->borrows)
        mxu_finish_results(c);
    for (int i = 0; i < ISA_VREG_MAX; i++)
        vreg_settle(c, i);
    c->vreg_by_rows = c->vreg_by_entry = 0;
    for (int i = 0; i < V_CONST; i++)
        take_own(c, i);
}

void vregs_settle_rows(struct core *c, int64_t first, int64_t end)
{
    for (uint64_t left = c->vreg_by_rows; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        const struct vreg *v = &c->vreg[i];

        if (v->row < end && first < v->row + row_count(v))
            vreg_settle(c, i);
    }
}

void vregs_settle_entry(struct core *c, const uint32_t *entry)
{
    for (uint64_t left = c->vreg_by_entry; left; left &= left - 1) {
        int i = __builtin_ctzll(left);

        if (c->vreg[i].entry == entry)
            vreg_settle(c, i);
    }
}

void vregs_settle_products(struct core *c, const uint32_t (*pair)[128])
{
    for (uint64_t left = c->vreg_by_entry; left; left &= left - 1) {
        int i = __builtin_ctzll(left);

        if (c->vreg[i].pair == pair)
            vreg_settle(c, i);
    }
}
