/*
 * Values that wait long for others, in loops over row tiles.
 *
 * Scores of a softmax wait for their row's maximum, which takes a cross-lane unit more than a hundred
 * cycles, and what a product will be scaled by waits for the product. With a new row tile every eight
 * cycles each such value would keep more than a dozen registers. It goes into memory instead, and
 * comes back when it is wanted: a store, of which there is one slot, for those registers.
 *
 * When an operation's result is there is estimated along the chain of what it is made of: units that
 * answer through a FIFO count, what a VALU does is next to nothing. What depends on no such unit can
 * be made late and does not wait.
 */
#include "stack/kernels/mosaic/tile.h"

#include <string.h>

#include "base/arena.h"
#include "isa/matrix.h"
#include "sim/chip/chip.h"

enum { LONG_CYCLES = 64, QUEUES = 2 * ISA_UNIT_MAX + 1, QUEUE_MAX = 4096 };

struct lives {
    const struct vcode *c;
    size_t block, seen;                 /* operations of its block that have been looked at */
    struct life {                       /* by vector register */
        int ready;                      /* cycles from the iteration's begin */
        bool is_load;
    } *life;
    size_t capacity;
    struct { int at[QUEUE_MAX]; int pushed, popped; } queue[QUEUES];
};

static struct life *life(struct lives *v, int reg)
{
    v->life = mem_grow(v->life, &v->capacity, (size_t)reg + 1, sizeof(*v->life));
    return &v->life[reg];
}

static int queue_of(const struct isa_op *op)
{
    switch (isa_info(op->code)->unit) {
    case UNIT_EUP: return 0;
    case UNIT_XLU: return 1 + op->unit_index;
    case UNIT_MXU: return 1 + ISA_UNIT_MAX + op->unit_index;
    default: return -1;
    }
}

/* results of a push, and cycles until they are there; 0: it gives none */
static int results_of(const struct chip *chip, const struct isa_op *op, int *cycles)
{
    struct matrix_op m;

    switch (isa_info(op->code)->unit) {
    case UNIT_EUP: *cycles = (int)chip->eup_latency_cycles; return 1;
    case UNIT_XLU: *cycles = (int)chip->xlu_reduce_cycles; return 1;
    default: break;
    }
    m = matrix_op_of_isa(op);
    *cycles = (int)chip->mxu_latency_cycles;
    return m.kind == MATRIX_MULTIPLY ? chip_mxu_halves(chip) * matrix_rows(m.type) / 8 : 0;
}

static void look_at(struct lives *v, const struct chip *chip, const struct isa_op *op)
{
    const struct isa_info *info = isa_info(op->code);
    int latest = 0, to = -1, queue = queue_of(op), cycles, results;

    for (int k = 0; k < op->operand_count; k++) {
        const struct isa_operand *o = &op->operand[k];

        if (o->kind != OPERAND_REG || isa_role_file(info->role[k]) != STATE_V)
            continue;
        if (info->role[k] == 'd')
            to = o->value;
        else if (life(v, o->value)->ready > latest)
            latest = life(v, o->value)->ready;
    }
    if (queue >= 0 && to < 0) {
        results = results_of(chip, op, &cycles);
        for (int i = 0; i < results && v->queue[queue].pushed < QUEUE_MAX; i++)
            v->queue[queue].at[v->queue[queue].pushed++] = latest + cycles;
        return;
    }
    if (queue >= 0 && v->queue[queue].popped < v->queue[queue].pushed)
        latest = v->queue[queue].at[v->queue[queue].popped++];
    if (to < 0)
        return;
    *life(v, to) = (struct life){latest + 1, info->unit == UNIT_LOAD};
}

static void look_on(struct tiler *t)
{
    struct lives *v = t->lives;
    size_t block = t->c->block_count - 1;
    const struct vcode_block *b = &t->c->block[block];

    if (v->c != t->c || v->block != block) {
        v->c = t->c;
        v->block = block;
        v->seen = 0;
        if (v->capacity)
            memset(v->life, 0, v->capacity * sizeof(*v->life));
        for (int i = 0; i < QUEUES; i++)
            v->queue[i].pushed = v->queue[i].popped = 0;
    }
    for (; v->seen < b->op_count; v->seen++)
        look_at(v, t->l->chip, &b->op[v->seen].op);
}

void tile_lives_begin(struct tiler *t)
{
    if (!t->lives)
        t->lives = mem_alloc(sizeof(*t->lives));
    t->lives->c = NULL;
    t->spill_count = 0;
}

void tile_lives_fini(struct tiler *t)
{
    if (!t->lives)
        return;
    mem_free(t->lives->life);
    mem_free(t->lives);
    t->lives = NULL;
}

static int ready_of(struct lives *v, const opnd *x)
{
    return x->kind == OPERAND_REG ? life(v, x->value)->ready : 0;
}

int tile_lives_ready(struct tiler *t, const opnd *a, const opnd *b)
{
    int ra, rb;

    if (!t->is_moving || !t->lives)
        return 0;
    look_on(t);
    ra = ready_of(t->lives, a);
    rb = ready_of(t->lives, b);
    return ra > rb ? ra : rb;
}

bool tile_lives_far(int one, int other)
{
    return one - other >= LONG_CYCLES || other - one >= LONG_CYCLES;
}

/* the next one of the loop's places: a tile for each of its row tiles */
static const struct place *next_place(struct tiler *t)
{
    struct mosaic_type type = {.kind = MOSAIC_VECTOR, .element = MOSAIC_F32, .rank = 2,
                               .dim = {t->all * TILE_ROWS, TILE_LANES}, .space = MOSAIC_VMEM};
    struct place *p;

    if (t->spill_count == TILE_SPILLS_MAX)
        return NULL;
    if (t->spill_count >= t->spills_taken && !pallas_has_room(t->l, t->all * TILE_ROWS))
        return NULL;                    /* it waits in a register */
    p = &t->spill[t->spill_count];
    if (t->spill_count++ < t->spills_taken)
        return p;
    t->l->until = t->l->at;
    *p = place_new(t->l, &type, NULL, "a value that waits in a loop");
    pallas_take_for(t->l, NULL);
    t->spills_taken++;
    return t->l->is_failed ? NULL : p;
}

void tile_meet(struct tiler *t, const struct tile_at *at, opnd *a, opnd *b)
{
    const struct place *p;
    struct life waits;
    opnd *early;
    int ra, rb;

    if (!t->is_moving || !t->lives || a->kind != OPERAND_REG || b->kind != OPERAND_REG)
        return;
    look_on(t);
    ra = life(t->lives, a->value)->ready;
    rb = life(t->lives, b->value)->ready;
    early = ra < rb ? a : b;
    waits = *life(t->lives, early->value);
    if ((ra > rb ? ra : rb) - waits.ready < LONG_CYCLES || waits.ready < LONG_CYCLES ||
        waits.is_load || at->all_rows)
        return;
    p = next_place(t);
    if (!p)
        return;
    if (tile_store(t, NULL, p, &(struct tile_at){.row = at->row}, early, 1, NULL))
        *early = tile_load(t, p, &(struct tile_at){.row = at->row});
}
