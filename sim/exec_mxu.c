/*
 * Contents of the matrix units. A push into a staging register shifts what is
 * there by 8 rows (or columns): the register is a ring of 16 groups, and a
 * push moves its top. Groups are kept as rows or as columns, whichever the
 * last push was; a change of kind rewrites the register once.
 */
#include "sim/core.h"

#include <string.h>

#define GROUP_WORDS 512                 /* 4 pairs x 128, or 64 pairs x 8 */

/* the register as 64 pairs of rows, 128 wide */
static void staging_read(const struct staging *s, uint32_t array[SIMD_ARRAY_PAIRS][128])
{
    int group, p;

    for (group = 0; group < 16; group++) {
        const uint32_t *from = &s->pair[(s->top + (uint32_t)group) % 16 * GROUP_WORDS];

        if (!s->is_columns) {
            memcpy(array[4 * group], from, GROUP_WORDS * sizeof(*from));
            continue;
        }
        for (p = 0; p < SIMD_ARRAY_PAIRS; p++)
            memcpy(&array[p][8 * group], from + 8 * p, 8 * sizeof(*from));
    }
}

static void make_rows(struct staging *s)
{
    uint32_t array[SIMD_ARRAY_PAIRS][128];

    if (!s->is_columns)
        return;
    staging_read(s, array);
    memcpy(s->pair, array, sizeof(array));
    s->is_columns = false;
    s->top = 0;
}

static void make_columns(struct staging *s)
{
    uint32_t array[SIMD_ARRAY_PAIRS][128];
    int group, p;

    if (s->is_columns)
        return;
    staging_read(s, array);
    for (group = 0; group < 16; group++)
        for (p = 0; p < SIMD_ARRAY_PAIRS; p++)
            memcpy(&s->pair[group * GROUP_WORDS + 8 * p], &array[p][8 * group],
                   8 * sizeof(**array));
    s->is_columns = true;
    s->top = 0;
}

static void push_rows(struct core *c, const struct decoded_op *o, int which)
{
    struct staging *s = &c->mxu[o->unit].staging[which];

    make_rows(s);
    s->top = (s->top + 15) % 16;
    c->simd->pack_rows((uint32_t (*)[128])&s->pair[s->top * GROUP_WORDS], c->tile[o->o[0]]);
}

static void push_columns(struct core *c, const struct decoded_op *o, int which)
{
    struct staging *s = &c->mxu[o->unit].staging[which];

    make_columns(s);
    s->top = (s->top + 15) % 16;
    c->simd->pack_columns((uint32_t (*)[8])&s->pair[s->top * GROUP_WORDS], c->tile[o->o[0]]);
}

void exec_VMATPUSH_A(struct core *c, const struct decoded_op *o)
{
    push_rows(c, o, 0);
}

void exec_VMATPUSH_B(struct core *c, const struct decoded_op *o)
{
    push_rows(c, o, 1);
}

void exec_VMATPUSHT_A(struct core *c, const struct decoded_op *o)
{
    push_columns(c, o, 0);
}

void exec_VMATPUSHT_B(struct core *c, const struct decoded_op *o)
{
    push_columns(c, o, 1);
}

void exec_VMATMUL(struct core *c, const struct decoded_op *o)
{
    struct mxu *m = &c->mxu[o->unit];

    c->simd->matmul(fifo_write(&m->result), c->tile[o->o[0]],
                    (const uint32_t (*)[128])m->array);
}

void exec_VMATMUL_LA(struct core *c, const struct decoded_op *o)
{
    staging_read(&c->mxu[o->unit].staging[0], c->mxu[o->unit].array);
    exec_VMATMUL(c, o);
}

void exec_VMATMUL_LB(struct core *c, const struct decoded_op *o)
{
    staging_read(&c->mxu[o->unit].staging[1], c->mxu[o->unit].array);
    exec_VMATMUL(c, o);
}

void exec_VPOP_MRF(struct core *c, const struct decoded_op *o)
{
    memcpy(c->tile[o->o[0]], fifo_read(&c->mxu[o->unit].result), TILE_BYTES);
}
