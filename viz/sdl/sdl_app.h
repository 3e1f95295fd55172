/*
 * Declares the three things that systole-view does with a run, each of which returns 0, or -1 with
 * *e set.
 */
#ifndef VIZ_SDL_APP_H
#define VIZ_SDL_APP_H
#include "viz/app/live.h"
#include "viz/app/options.h"

/* `live`: of the run that the window drives, or NULL */
int app_window(const struct view_options *o, struct view *v, struct live *live, struct err *e);
int app_picture(const struct view_options *o, struct view *v, struct err *e);
int app_bench(const struct view_options *o, struct view *v, struct err *e);
#endif
