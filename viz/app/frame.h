/* Draws what surrounds panels: the line that names run and panel. */
#ifndef VIZ_FRAME_H
#define VIZ_FRAME_H
#include "viz/panels/panel.h"

int frame_title_height(const struct draw_list *d);
/* panel and its definition, then run, chip, cycles and time */
void frame_draw_title(const struct view *v, struct draw_list *d, struct rect r, enum panel_id id);
/* "v3-8 · 8 cores · 12,345 cycles = 13.1 µs" and the name of the run; from the arena */
const char *frame_run_text(const struct view *v, struct arena *a);
#endif
