/* Says which layouts windows like, for whoever chooses layouts. */
#ifndef STACK_WINDOW_H
#define STACK_WINDOW_H
#include "stack/hlo/graph.h"

/*
 * Order of dimensions, minor first, in which reduce-window and
 * select-and-scatter combine whole tiles: dimensions that no window runs along
 * are lanes and rows, the longest one lanes; the others keep their order. false:
 * there are no two such dimensions, and every order is slow.
 */
bool window_order(const struct shape *shape, const struct graph_window *window, int *order);
#endif
