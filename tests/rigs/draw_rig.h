/* What tests look at in a list of drawing commands. */
#ifndef TESTS_DRAW_RIG_H
#define TESTS_DRAW_RIG_H
#include "viz/draw/draw.h"

/* of kinds, colours, places and texts, in order */
uint64_t draw_rig_hash(const struct draw_list *d);
/* true, with both, when two texts share pixels that their clips show */
bool draw_rig_find_overlap(const struct draw_list *d, const struct draw_command **a,
                           const struct draw_command **b);
#endif
