/*
 * Vector registers: what they hold, or where that stands. A tile is 4 KB, so
 * copies of tiles cost a core's values as much as its arithmetic. A load, a
 * pop, or an unpacking that feeds a matrix unit therefore only notes where its
 * tile stands; who reads the register finds it there. Before rows of VMEM or an
 * entry of a FIFO are overwritten, the registers that stand for them get what
 * they stand for. So values are those of plain copies.
 *
 * A matrix unit's result is not worked out when its rows go in either, where
 * the array is 128 wide: the entry of the FIFO holds them, as bf16, until
 * somebody wants it or the weights change. A sum of a result
 * and of rows, neither of which anybody reads again, is not worked out before
 * somebody wants it: a store that is the last to read it does so in place, and
 * the multiplication with it. What nobody can read again is dropped
 * (decode_live), so that it is not copied on behalf of nobody: behind a
 * fault such a register may hold something else. Only launches that
 * cannot pause do this (core.borrows); machine_vector
 * after a halt finds every register as a plain machine has it.
 */
#ifndef SIM_VREGS_H
#define SIM_VREGS_H
#include "sim/core/core.h"

#include <string.h>

#define FETCHED_LINES 16                /* of 64 bytes, when a load borrows a tile */

/* Temporaries and constants are always there; so is `tile` of registers up to VREG_RESULT. */
enum vreg_form {
    VREG_OWN,                           /* its own tile */
    VREG_CONSTANT,                      /* a constant of the program */
    VREG_ROWS,                          /* 8 rows of VMEM */
    VREG_RESULT,                        /* an entry of a FIFO */
    VREG_UNPACKED,                      /* vunpack.c of 4 rows of VMEM */
    VREG_PRODUCT,                       /* an entry of a FIFO whose rows are to be multiplied */
    VREG_SUM                            /* vadd.f32 of an entry, multiplied or not, and a tile */
};

void vregs_reset(struct core *c);       /* every register its own tile, whatever it holds */
/* work out a register's value into its own tile */
void vreg_settle(struct core *c, int number);
void vregs_settle_all(struct core *c);
/* the product or sum that *v says into `to`, its rows or a tile that shares nothing with them */
void vreg_work_out(struct core *c, const struct vreg *v, uint32_t *to);
/* before [first, end) rows of VMEM, an entry of a FIFO, or weights change */
void vregs_settle_rows(struct core *c, int64_t first, int64_t end);
void vregs_settle_entry(struct core *c, const uint32_t *entry);
void vregs_settle_products(struct core *c, const uint32_t (*pair)[128]);

/* the tile of a register, temporary or constant, to read */
static inline const uint32_t *vreg_read(struct core *c, int32_t index)
{
    if (index < ISA_VREG_MAX && c->vreg[index].form > VREG_RESULT)
        vreg_settle(c, index);
    return c->tile[index];
}

static inline void vreg_forget(struct core *c, int32_t index)
{
    c->vreg_by_rows &= ~(UINT64_C(1) << index);
    c->vreg_by_entry &= ~(UINT64_C(1) << index);
    c->vreg[index].form = VREG_OWN;
}

/* what a temporary holds becomes the register's, which gives its own tile for it */
static inline void vreg_exchange(struct core *c, int32_t index, int32_t temporary)
{
    uint32_t *own = c->own[temporary];

    vreg_forget(c, index);
    c->own[temporary] = c->tile[temporary] = c->own[index];
    c->own[index] = c->tile[index] = own;
}

/*
 * The tile to write all of. Sources of the operation are read before this is
 * called: it makes the register forget what it stood for.
 */
static inline uint32_t *vreg_write(struct core *c, int32_t index)
{
    if (index < ISA_VREG_MAX)
        vreg_forget(c, index);
    return c->tile[index] = c->own[index];
}

/* where a unit puts its next result */
static inline uint32_t *vregs_result(struct core *c, struct fifo *f)
{
    if (c->vreg_by_entry)
        vregs_settle_entry(c, f->tile[f->written & f->mask]);
    return fifo_write(f);
}

/* behind a bundle: what nobody can read again stands for nothing */
static inline void vregs_drop(struct core *c, const struct decoded_bundle *b)
{
    uint64_t live = b->live_vectors;

    if (b->live_unless && c->p[b->unless_predicate] != b->unless_is_negated)
        live &= ~b->live_unless;
    c->vreg_by_rows &= live;
    c->vreg_by_entry &= live;
}

/* rows of VMEM are written next */
static inline void vregs_before_rows(struct core *c, int64_t first, int64_t end)
{
    core_note_vmem(c, first, end);
    if (c->vreg_by_rows)
        vregs_settle_rows(c, first, end);
}

static inline bool vreg_may_borrow(const struct core *c, int32_t index)
{
    return c->borrows && index < ISA_VREG_MAX;
}

static inline const uint32_t *vregs_row(const struct core *c, int64_t row)
{
    return (const uint32_t *)(const void *)(c->vmem + row * ROW_BYTES);
}

/* a tile that never changes */
static inline void vreg_borrow_tile(struct core *c, int32_t index, const uint32_t *tile)
{
    vreg_forget(c, index);
    c->vreg[index].form = VREG_CONSTANT;
    c->tile[index] = (uint32_t *)(uintptr_t)tile;       /* only read */
}

static inline void vreg_borrow_constant(struct core *c, int32_t index, int32_t constant)
{
    vreg_borrow_tile(c, index, c->tile[constant]);
}

/*
 * The first lines of a tile that is about to be read: the host's own prefetcher follows a
 * tile once it has seen it begin, and begins anew on each page, which a tile often is.
 */
static inline void vregs_fetch(const uint32_t *tile)
{
    for (int i = 0; i < FETCHED_LINES; i++)
        __builtin_prefetch(tile + 16 * i);
}

/* field by field: a whole structure is copied by a loop that takes longer than the load itself */
static inline void vreg_set_rows(struct core *c, int32_t index, enum vreg_form form, int64_t row)
{
    c->vreg[index].form = (uint8_t)form;
    c->vreg[index].row = row;
    c->vreg_by_rows |= UINT64_C(1) << index;
}

static inline void vreg_borrow_rows(struct core *c, int32_t index, int64_t row)
{
    vreg_set_rows(c, index, VREG_ROWS, row);
    c->vreg_by_entry &= ~(UINT64_C(1) << index);
    c->tile[index] = (uint32_t *)(void *)(c->vmem + row * ROW_BYTES);   /* only read */
    vregs_fetch(c->tile[index]);
    if (row + 16 <= c->vmem_rows)       /* most programs go through memory in this order */
        c->ahead[c->ahead_next ^= 1] = c->tile[index] + SIMD_TILE_WORDS;
}

/* `pair` NULL: the entry is there */
static inline void vreg_borrow_entry(struct core *c, int32_t index, uint32_t *entry,
                                     const uint32_t (*pair)[128], bool is_finite)
{
    struct vreg *v = &c->vreg[index];

    v->form = pair ? VREG_PRODUCT : VREG_RESULT;
    v->is_finite = is_finite;
    v->entry = entry;
    v->pair = pair;
    v->addend = NULL;
    c->vreg_by_rows &= ~(UINT64_C(1) << index);
    c->vreg_by_entry |= UINT64_C(1) << index;
    c->tile[index] = entry;
}

/* a result is popped into a register */
static inline void vreg_pop(struct core *c, int32_t index, struct fifo *f)
{
    if (vreg_may_borrow(c, index))
        vreg_borrow_entry(c, index, fifo_read(f), NULL, false);
    else
        memcpy(vreg_write(c, index), fifo_read(f), TILE_BYTES);
}
#endif
