/* Finds panels by number and name in panels.def. */
#include "viz/panels/panel.h"

#include <string.h>

#include "base/text.h"

static const struct panel_class *const classes[PANEL_COUNT] = {
#define PANEL(id, name, title, definition) &panel_##name,
#include "viz/panels/panels.def"
};

static const char *const names[PANEL_COUNT] = {
#define PANEL(id, name, title, definition) #name,
#include "viz/panels/panels.def"
};

static const char *const titles[PANEL_COUNT] = {
#define PANEL(id, name, title, definition) title,
#include "viz/panels/panels.def"
};

static const char *const definitions[PANEL_COUNT] = {
#define PANEL(id, name, title, definition) definition,
#include "viz/panels/panels.def"
};

const struct panel_class *panel_class(enum panel_id id)
{
    return classes[id];
}

const char *panel_name(enum panel_id id)
{
    return names[id];
}

const char *panel_title(enum panel_id id)
{
    return titles[id];
}

const char *panel_definition(enum panel_id id)
{
    return definitions[id];
}

enum panel_id panel_parse(const char *name, struct err *e)
{
    char hint[128], all[256] = "";
    int i;

    for (i = 0; i < PANEL_COUNT; i++) {
        if (strcmp(name, names[i]) == 0)
            return (enum panel_id)i;
        strncat(all, i ? ", " : "", sizeof(all) - strlen(all) - 1);
        strncat(all, names[i], sizeof(all) - strlen(all) - 1);
    }
    err_set(e, "no panel is called \"%s\"%s; there are %s", name,
            text_did_you_mean(name, names, PANEL_COUNT, hint, sizeof(hint)), all);
    return PANEL_COUNT;
}
