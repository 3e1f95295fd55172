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
    bundler_add(&g->b, isa_smov(NEST_FROM, conv_operand(from)));
    bundler_add(&g->b, isa_smov(NEST_TO, I(to)));
    conv_end(g);
    for (int i = 0; i < n->levels; i++) {
        conv_begin(g, NULL);
        bundler_add(&g->b, isa_smov(NEST_FROM + i + 1, R(NEST_FROM + i)));
        bundler_add(&g->b, isa_smov(NEST_TO + i + 1, R(NEST_TO + i)));
        bundler_add(&g->b, isa_smov(NEST_COUNT + i, I(n->level[i].count)));
        conv_end(g);
        n->label[i] = conv_label(g);
        conv_here(g, n->label[i]);
    }
    conv_begin(g, NULL);
}

void conv_nest_leave(struct conv_gen *g, struct conv_nest *n)
{
    for (int i = n->levels - 1; i >= 0; i--) {
        bundler_add(&g->b, isa_sadd(NEST_FROM + i + 1, R(NEST_FROM + i + 1), I(n->level[i].from)));
        bundler_add(&g->b, isa_sadd(NEST_TO + i + 1, R(NEST_TO + i + 1), I(n->level[i].to)));
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

    bundler_add(&b->g->b, isa_vld(v, isa_rows_some(R(b->from), tile * TILE_ROWS, mask)));
    return v;
}

int conv_nest_store(struct nest_body *b, int not_before, int64_t tile, int mask, int v)
{
    return bundler_add_after(&b->g->b, not_before,
                             isa_vst(isa_rows_some(R(b->to), tile * TILE_ROWS, mask), v));
}
