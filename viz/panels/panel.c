/* Finds panels by number and name in panels.def. */
#include "viz/panels/panel.h"

#include <string.h>

#include "base/text.h"

static const struct {
    const struct panel_class *class;
    const char *name, *title, *definition;
} panels[PANEL_COUNT] = {
#define PANEL(id, name, title, definition) {&panel_##name, #name, title, definition},
#include "viz/panels/panels.def"
};

const char *panel_name(enum panel_id id)
{
    return panels[id].name;
}

const char *panel_title(enum panel_id id)
{
    return panels[id].title;
}

const char *panel_definition(enum panel_id id)
{
    return panels[id].definition;
}

void *panel_create(enum panel_id id)
{
    const struct panel_class *c = panels[id].class;
    void *state = c->state_bytes ? mem_alloc(c->state_bytes) : NULL;

    if (c->init)
        c->init(state);
    return state;
}

void panel_destroy(enum panel_id id, void *state)
{
    if (panels[id].class->fini)
        panels[id].class->fini(state);
    mem_free(state);
}

void panel_draw(enum panel_id id, void *state, const struct view *v, struct draw_list *d,
                struct rect area)
{
    panels[id].class->draw(state, v, d, area);
}

bool panel_input(enum panel_id id, void *state, struct view *v, const struct input *i,
                 struct rect area)
{
    struct draw_list d;
    bool is_used;

    if (!panels[id].class->input)
        return false;
    draw_init(&d, v->scale_percent);
    is_used = panels[id].class->input(state, v, i, &d, area);
    draw_fini(&d);
    return is_used;
}

const char *panel_hover(enum panel_id id, void *state, const struct view *v, struct rect area, int x,
                        int y, struct arena *a)
{
    const char *text;
    struct draw_list d;

    if (!panels[id].class->hover)
        return "";
    draw_init(&d, v->scale_percent);
    text = panels[id].class->hover(state, v, &d, area, x, y, a);
    draw_fini(&d);
    return text;
}

enum panel_id panel_parse(const char *name, struct err *e)
{
    const char *names[PANEL_COUNT];
    char all[256] = "";

    for (int i = 0; i < PANEL_COUNT; i++) {
        if (strcmp(name, panels[i].name) == 0)
            return (enum panel_id)i;
        strncat(all, i ? ", " : "", sizeof(all) - strlen(all) - 1);
        names[i] = panels[i].name;
        strncat(all, names[i], sizeof(all) - strlen(all) - 1);
    }
    err_set(e, "no panel is called \"%s\"%s; there are %s", name,
            text_did_you_mean(name, names, PANEL_COUNT).text, all);
    return PANEL_COUNT;
}
