/* Private to app*.c of viz/app/: declares what actions do. */
#ifndef VIZ_APP_ACTIONS_H
#define VIZ_APP_ACTIONS_H
#include "viz/app/app.h"

/* looks for `pattern` from the cursor on and shows what it finds */
void app_search(struct app *a, const char *pattern);

/* viz/app/app_live.c; without a run that is driven they say how to get one */
void app_live_go(struct app *a);
void app_live_break(struct app *a);
/* "step" and how often, or any other command */
void app_live_send(struct app *a, const char *command, int times);
void app_live_command(struct app *a);           /* one is typed from now on */
/* what has come from the run since: true, draw again */
bool app_live_tick(struct app *a);
int app_live_height(const struct app *a);       /* of its strip above the line below; 0: none */
void app_live_draw(struct app *a, struct draw_list *d, struct rect area);
#endif
