/*
 * Nests of loops over two pointers, VMEM rows, and straight code in them: what
 * conv_prep.c and conv_transpose.c are made of.
 */
#ifndef STACK_CONV_NEST_H
#define STACK_CONV_NEST_H
#include "stack/kernels/conv/conv_emit.h"

#define NEST_LEVELS_MAX 8
#define NEST_V_ZERO 0                   /* a vector register for zeros; the body sets it */

/* scalar registers: pointers and counters by level, and one that outlives the nest */
enum {
    NEST_FROM = 0, NEST_TO = NEST_FROM + NEST_LEVELS_MAX + 1,
    NEST_COUNT = NEST_TO + NEST_LEVELS_MAX + 1, NEST_OTHER = ISA_SREG_COUNT - 1
};

struct nest_level { int64_t count, from, to; };
struct conv_nest {
    int levels, label[NEST_LEVELS_MAX];
    struct nest_level level[NEST_LEVELS_MAX];
};

/* outermost first; a level of one round is none */
void conv_nest_level(struct conv_nest *n, int64_t count, int64_t from, int64_t to);
/*
 * Ends the open section and opens that of the body, whose pointers are
 * NEST_FROM + levels and NEST_TO + levels.
 */
void conv_nest_enter(struct conv_gen *g, struct conv_nest *n, struct conv_value from, int64_t to);
void conv_nest_leave(struct conv_gen *g, struct conv_nest *n);

/* straight code; vector registers but NEST_V_ZERO take turns */
struct nest_body { struct conv_gen *g; int from, to, next_v; };
int conv_nest_vector(struct nest_body *b);
/* a tile behind the pointer; `mask` of sublanes */
int conv_nest_load(struct nest_body *b, int64_t tile, int mask);
int conv_nest_store(struct nest_body *b, int not_before, int64_t tile, int mask, int v);
#endif
