/* Inside viz/app*.c: what actions do. */
#ifndef VIZ_APP_ACTIONS_H
#define VIZ_APP_ACTIONS_H
#include "viz/app.h"

/* looks for `pattern` from the cursor on and shows what it finds */
void app_search(struct app *a, const char *pattern);
#endif
