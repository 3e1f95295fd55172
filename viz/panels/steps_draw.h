/* Gives the colours of the parts of a step, wherever they are drawn. */
#ifndef VIZ_STEPS_DRAW_H
#define VIZ_STEPS_DRAW_H
#include "report/tables/breakdown.h"
#include "viz/draw/theme.h"

rgba_t steps_part_color(enum theme t, enum breakdown_part part);
#endif
