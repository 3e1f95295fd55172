/* Concatenations of more parts than a move has sources. */
#ifndef STACK_MOVE_JOIN_H
#define STACK_MOVE_JOIN_H
#include "stack/hlo/graph.h"

/* each such becomes several, and what joins these */
void move_join_by_levels(struct graph *g);
#endif
