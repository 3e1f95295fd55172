/* Emits nested loops that advance two pointers, and loads and stores as straight code in them. */
#include "stack/kernels/conv/conv_nest.h"

#include <assert.h>

#define TILE_ROWS 8                     /* VMEM rows of a tile */

void conv_nest_level(struct conv_nest *n, int64_t count, int64_t from, int64_t to)
{
    assert(n->levels < NEST_LEVELS_MAX);
    if (count > 1)
        n->level[n->levels++] = (struct nest_level){count, from, to};
}

void conv_nest_enter(struct conv_gen *g, struct conv_nest *n, struct conv_value from, int64_t to)
{
    PUT(g, OP_SMOV, REG(NEST_FROM), conv_operand(from));
    PUT(g, OP_SMOV, REG(NEST_TO), IMM(to));
    conv_end(g);
    for (int i = 0; i < n->levels; i++) {
        conv_begin(g, NULL);
        PUT(g, OP_SMOV, REG(NEST_FROM + i + 1), REG(NEST_FROM + i));
        PUT(g, OP_SMOV, REG(NEST_TO + i + 1), REG(NEST_TO + i));
        PUT(g, OP_SMOV, REG(NEST_COUNT + i), IMM(n->level[i].count));
        conv_end(g);
        n->label[i] = conv_label(g);
        conv_here(g, n->label[i]);
    }
    conv_begin(g, NULL);
}

void conv_nest_leave(struct conv_gen *g, struct conv_nest *n)
{
    for (int i = n->levels - 1; i >= 0; i--) {
        PUT(g, OP_SADD, REG(NEST_FROM + i + 1), REG(NEST_FROM + i + 1), IMM(n->level[i].from));
        PUT(g, OP_SADD, REG(NEST_TO + i + 1), REG(NEST_TO + i + 1), IMM(n->level[i].to));
        conv_loop_end(g, n->label[i], NEST_COUNT + i);
        conv_begin(g, NULL);
    }
    conv_end(g);
}

/* ----- straight code */

int conv_nest_vector(struct nest_body *b)
{
    int v = 1 + b->next_v;

    b->next_v = (b->next_v + 1) % ((int)b->g->chip->core_vregs - 1);
    return v;
}

int conv_nest_load(struct nest_body *b, int64_t tile, int mask)
{
    int v = conv_nest_vector(b);

    PUT(b->g, OP_VLD, REG(v), REG(b->from), IMM(tile * TILE_ROWS), IMM(1), IMM(mask));
    return v;
}

int conv_nest_store(struct nest_body *b, int not_before, int64_t tile, int mask, int v)
{
    return PUT_AT(b->g, not_before, OP_VST, REG(b->to), IMM(tile * TILE_ROWS), IMM(1), IMM(mask),
                  REG(v));
}
