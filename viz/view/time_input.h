/*
 * Pointer and wheel over a panel whose pixels from left to right are the cycles
 * shown: the wheel zooms around the pointer, dragging pans, moving sets the
 * cursor.
 */
#ifndef VIZ_TIME_INPUT_H
#define VIZ_TIME_INPUT_H
#include "viz/view/input.h"
#include "viz/view/view.h"

/* true: used up, and the view changed */
bool time_input(struct view *v, const struct input *i, struct rect box);
#endif
