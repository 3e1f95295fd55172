/* The panel of all cores as a grid of squares, coloured by one share of each core's time. */
#include "viz/draw/layout.h"
#include "viz/models/model_steps.h"
#include "viz/panels/panel.h"
#include "viz/view/quantity.h"
#include "viz/panels/steps_draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEAT_STEPS 5                    /* in the legend */
#define LEGEND_COUNT (HEAT_STEPS + BREAKDOWN_LAST_ON_CORE + 1)

/* What a square's colour is the share of. */
enum measure { BY_COMPUTE, BY_ISSUE, BY_HBM, BY_ICI, MEASURE_COUNT };
static const struct {
    const char *name, *meaning;
} measures[MEASURE_COUNT] = {
    {"MXU busy", "share of cycles in which a matrix unit is busy"},
    {"issue", "share of cycles in which a bundle issues"},
    {"waits for HBM", "share of cycles spent waiting for copies to or from HBM"},
    {"waits for ICI", "share of cycles spent waiting for another core or the network"},
};

struct cores_panel {
    enum measure measure;
    struct view_shown shown;            /* that the next two are of */
    double *share;                      /* [core * MEASURE_COUNT + measure] */
    struct step_parts *parts;           /* by core */
    int next, missing;                  /* core that comes next; how many are still of before */
};

struct cores_places {
    struct rect buttons, words, legend, grid;
    int columns, square, step;
};

static void fini(void *state)
{
    struct cores_panel *p = state;

    mem_free(p->share);
    mem_free(p->parts);
}

static void measure_core(struct cores_panel *p, const struct view *v, int core)
{
    double *share = &p->share[core * MEASURE_COUNT];
    struct step_parts *s = &p->parts[core];

    memset(share, 0, MEASURE_COUNT * sizeof(*share));
    steps_model_range(v->run, core, p->shown.from, p->shown.end, s);
    if (s->cycles == 0)
        return;
    share[BY_COMPUTE] = (double)s->parts.part[BREAKDOWN_COMPUTE] / (double)s->cycles;
    share[BY_ISSUE] = (double)s->issue_cycles / (double)s->cycles;
    share[BY_HBM] = (double)s->parts.part[BREAKDOWN_HBM] / (double)s->cycles;
    share[BY_ICI] = (double)s->parts.part[BREAKDOWN_ICI] / (double)s->cycles;
}

/* in turn, as many as there is time for; the others are still as the view was before */
static void prepare(struct cores_panel *p, const struct view *v)
{
    const int count = ntrace_info(v->run)->core_count;

    if (p->shown.run != v->run) {
        mem_free(p->share);
        mem_free(p->parts);
        p->parts = mem_alloc((size_t)(count + 1) * sizeof(*p->parts));
        p->share = mem_alloc((size_t)(count * MEASURE_COUNT + 1) * sizeof(*p->share));
        p->next = 0;
    }
    if (view_shown_changes(&p->shown, v, 0, 0))
        p->missing = count;
    while (p->missing > 0) {
        measure_core(p, v, p->next);
        p->next = (p->next + 1) % count;
        p->missing--;
        if (view_is_late(v->late_ns))
            break;
    }
}

/* ---- where things are ---- */

static void legend(enum theme t, struct legend_entry entry[LEGEND_COUNT])
{
    static const char *const names[HEAT_STEPS] = {"square 0 %", "25 %", "50 %", "75 %",
                                                  "100 %"};

    for (int i = 0; i < HEAT_STEPS; i++)
        entry[i] = (struct legend_entry){theme_heat(t, (double)i / (HEAT_STEPS - 1)), names[i]};
    for (int i = 0; i <= BREAKDOWN_LAST_ON_CORE; i++)
        entry[HEAT_STEPS + i] = (struct legend_entry){
            steps_part_color(t, (enum breakdown_part)i),
            breakdown_text((enum breakdown_part)i)->name};
}

/* as large squares as fit, those of a chip side by side */
static void place_grid(const struct ntrace_info *info, const struct draw_list *d,
                       struct cores_places *at)
{
    const int gap = draw_scaled(d, 4), cores = (int)info->chip->chip_cores;
    int best = 0;

    at->columns = cores;
    for (int columns = cores; columns <= info->core_count; columns += cores) {
        const int rows = (info->core_count + columns - 1) / columns;
        const int wide = at->grid.w / columns, high = at->grid.h / rows;
        const int side = (wide < high ? wide : high) - gap;

        if (side > best) {
            best = side;
            at->columns = columns;
        }
    }
    at->square = best < draw_scaled(d, 240) ? best : draw_scaled(d, 240);
    at->step = at->square + gap;
}

static struct cores_places place(const struct view *v, const struct draw_list *d,
                                 struct rect area)
{
    struct rect r = rect_inset(area, draw_scaled(d, 10));
    const int line = draw_line_height(d, TEXT_NORMAL), gap = draw_scaled(d, 8);
    struct legend_entry entry[LEGEND_COUNT];
    struct cores_places at;

    legend(v->theme, entry);
    at.buttons = layout_spare_top(&r, line + draw_scaled(d, 6));
    rect_cut_top(&r, gap);
    at.words = layout_spare_top(&r, 2 * line);
    rect_cut_top(&r, gap);
    at.legend = layout_spare_bottom(&r, layout_legend_height(d, r.w, entry, LEGEND_COUNT));
    rect_cut_bottom(&r, gap);
    at.grid = r;
    place_grid(ntrace_info(v->run), d, &at);
    return at;
}

static struct rect square_of(const struct cores_places *at, int core)
{
    return (struct rect){at->grid.x + core % at->columns * at->step,
                         at->grid.y + core / at->columns * at->step, at->square, at->square};
}

/* the core at a place, -1: none */
static int core_at(const struct view *v, const struct cores_places *at, int x, int y)
{
    for (int core = 0; core < ntrace_info(v->run)->core_count && at->square > 0; core++)
        if (rect_has(square_of(at, core), x, y))
            return core;
    return -1;
}

/* ---- drawing ---- */

/* all that the core did, as in the step breakdown */
static void draw_parts(const struct cores_panel *p, const struct view *v, struct draw_list *d,
                       struct rect r, int core)
{
    const struct step_parts *s = &p->parts[core];
    cycle_t sum = 0;
    int x = r.x, end;

    for (int i = 0; i <= BREAKDOWN_LAST_ON_CORE && s->cycles > 0; i++, x = end) {
        sum += s->parts.part[i];
        end = r.x + (int)((double)sum / (double)s->cycles * r.w);
        if (end > x && r.h > 0)
            draw_rect(d, (struct rect){x, r.y, end - x, r.h},
                      steps_part_color(v->theme, (enum breakdown_part)i));
    }
}

static void draw_square(const struct cores_panel *p, const struct view *v, struct draw_list *d,
                        struct rect r, int core)
{
    const bool has_program = ntrace_program(v->run, core) != NULL;
    const double share = p->share[core * MEASURE_COUNT + (int)p->measure];
    const rgba_t color = has_program ? theme_heat(v->theme, share)
                                     : theme_color(v->theme, COLOR_PANEL);
    const int line = draw_line_height(d, TEXT_SMALL);
    const rgba_t ink = theme_text_on(color);
    const char *name = measures[p->measure].name;
    const struct short_text percent = quantity_percent(share);
    char text[64];

    draw_rect(d, r, color);
    draw_frame(d, r, theme_color(v->theme, core == v->core ? COLOR_CURSOR : COLOR_GRID));
    if (core == v->core)
        draw_frame(d, rect_inset(r, 1), theme_color(v->theme, COLOR_CURSOR));
    r = rect_inset(r, draw_scaled(d, 4));
    if (r.w < draw_text_width(d, TEXT_SMALL, "100 %") || r.h < 2 * line)
        return;
    snprintf(text, sizeof(text), r.w > 8 * draw_char_width(d, TEXT_SMALL) ? "core %d" : "%d", core);
    draw_text_fit(d, rect_cut_top(&r, line), TEXT_SMALL, ink, text);
    snprintf(text, sizeof(text), "%s %s", name, percent.text);
    if (r.w < draw_text_width(d, TEXT_SMALL, text))     /* the button says of what */
        snprintf(text, sizeof(text), "%s", percent.text);
    draw_text_fit(d, rect_cut_top(&r, line), TEXT_SMALL, ink, has_program ? text : "no program");
    draw_parts(p, v, d, rect_cut_bottom(&r, r.h > 4 * line ? line : 0), core);
    if (r.h < line || core % (int)ntrace_info(v->run)->chip->chip_cores)
        return;
    snprintf(text, sizeof(text), "chip %d", core / (int)ntrace_info(v->run)->chip->chip_cores);
    draw_text_fit(d, rect_cut_bottom(&r, line), TEXT_SMALL, ink, text);
}

static void draw_buttons(const struct cores_panel *p, const struct view *v, struct draw_list *d,
                         struct rect r)
{
    int x = r.x;

    for (int i = 0; i < MEASURE_COUNT; i++) {
        if (!rect_covers(r, layout_button_rect(d, x, r.y, measures[i].name)))
            return;
        x += layout_button(d, x, r.y, v->theme, i == (int)p->measure, measures[i].name).w +
             draw_scaled(d, 6);
    }
}

static void draw_words(const struct cores_panel *p, const struct view *v, struct draw_list *d,
                       struct rect r)
{
    const int count = ntrace_info(v->run)->core_count;
    char text[500];
    double least = 1, most = 0, sum = 0;
    int active = 0;

    for (int core = 0; core < count; core++) {
        const double share = p->share[core * MEASURE_COUNT + (int)p->measure];

        if (!ntrace_program(v->run, core))
            continue;
        least = share < least ? share : least;
        most = share > most ? share : most;
        sum += share;
        active++;
    }
    snprintf(text, sizeof(text), "%s, in the cycles shown: %s on the mean of %d cores with a "
             "program, %s to %s. A click chooses the core that other panels show.",
             measures[p->measure].meaning, quantity_percent(active ? sum / active : 0).text,
             active, quantity_percent(active ? least : 0).text, quantity_percent(most).text);
    text[0] = (char)(text[0] - 'a' + 'A');
    layout_paragraph(d, r, TEXT_NORMAL, theme_color(v->theme, COLOR_TEXT), text);
}

static void draw(void *state, const struct view *v, struct draw_list *d, struct rect area)
{
    const struct cores_places at = place(v, d, area);
    struct legend_entry entry[LEGEND_COUNT];
    struct cores_panel *p = state;

    prepare(p, v);
    d->is_partial = d->is_partial || p->missing > 0;
    draw_buttons(p, v, d, at.buttons);
    draw_words(p, v, d, at.words);
    for (int core = 0; core < ntrace_info(v->run)->core_count && at.square > 0; core++)
        draw_square(p, v, d, square_of(&at, core), core);
    legend(v->theme, entry);
    layout_legend(d, at.legend, v->theme, entry, LEGEND_COUNT);
}

/* ---- input ---- */

static bool input(void *state, struct view *v, const struct input *i, const struct draw_list *d,
                  struct rect area)
{
    struct cores_panel *p = state;
    struct cores_places at;
    int core, x, m;

    if (i->kind != INPUT_PRESS || i->button != 1)
        return false;
    at = place(v, d, area);
    x = at.buttons.x;
    for (m = 0; m < MEASURE_COUNT; m++) {
        const struct rect r = layout_button_rect(d, x, at.buttons.y, measures[m].name);

        if (rect_covers(at.buttons, r) && rect_has(r, i->x, i->y))
            break;
        x += r.w + draw_scaled(d, 6);
    }
    if (m < MEASURE_COUNT) {
        p->measure = (enum measure)m;
        return true;
    }
    core = core_at(v, &at, i->x, i->y);
    if (core >= 0)
        v->core = core;
    return core >= 0;
}

static const char *hover(void *state, const struct view *v, const struct draw_list *d,
                         struct rect area, int x, int y, struct arena *a)
{
    struct cores_panel *p = state;
    struct cores_places at;
    const char *text;
    int core;

    prepare(p, v);
    at = place(v, d, area);
    core = core_at(v, &at, x, y);
    if (core < 0)
        return "";
    text = arena_printf(a, "core %d of chip %d", core,
                        core / (int)ntrace_info(v->run)->chip->chip_cores);
    for (int m = 0; m < MEASURE_COUNT; m++)
        text = arena_printf(a, "%s\n%s: %s", text, measures[m].name,
                            quantity_percent(p->share[core * MEASURE_COUNT + m]).text);
    return text;
}

const struct panel_class panel_cores = {
    .state_bytes = sizeof(struct cores_panel), .fini = fini, .draw = draw, .input = input,
    .hover = hover};
