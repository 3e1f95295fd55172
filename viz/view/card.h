/*
 * Cards: a few lines of text over a panel, beside the pointer or in a corner.
 */
#ifndef VIZ_CARD_H
#define VIZ_CARD_H
#include "viz/view/view.h"

/*
 * Lines of `text` in a box that lies in `area`, below and to the right of x, y where
 * there is room. The first line is its title. "" draws nothing. Long lines and
 * lines that do not fit below end with an ellipsis.
 */
void card_draw(const struct view *v, struct draw_list *d, struct rect area, int x, int y,
               const char *text);
#endif
