/* Parses the command line of systole-view, and finds the trace of a run's folder. */
#include "viz/app/options.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "viz/app/app.h"

enum { KEY_PANEL = 256, KEY_SIZE, KEY_RANGE, KEY_LAUNCH, KEY_CORE, KEY_SCALE, KEY_THEME, KEY_PNG,
       KEY_POINTER, KEY_SELECT, KEY_CURSOR, KEY_WITH, KEY_LIVE, KEY_BENCH, KEY_KEYS };

static const struct argp_option option_table[] = {
    {"panel", KEY_PANEL, "NAME", 0, "The panel to begin with, or to draw (default timeline)", 0},
    {"range", KEY_RANGE, "A:B", 0, "Show cycles A to B (default: the whole run)", 0},
    {"with", KEY_WITH, "OTHER", 0, "Compare with another run: the same as naming it second", 0},
    {"launch", KEY_LAUNCH, "N", 0, "Show launch N, from 0 on, or \"last\"", 0},
    {"select", KEY_SELECT, "A:B", 0, "Select cycles A to B: their sums are shown", 0},
    {"cursor", KEY_CURSOR, "CYCLE", 0,
     "Put the cursor there: panels of an instant show that cycle", 0},
    {"core", KEY_CORE, "N", 0, "Look at core N (default 0)", 0},
    {"theme", KEY_THEME, "NAME", 0, "dark (default) or light", 0},
    {"scale", KEY_SCALE, "PERCENT", 0, "Size of texts and all around them, 50 to 400", 0},
    {"size", KEY_SIZE, "WxH", 0, "Size of the window or picture in pixels (default 1280x720)", 0},
    {"live", KEY_LIVE, "SOCKET", 0, "Drive the run that waits there (systole run --view)", 0},
    {"png", KEY_PNG, "FILE", 0, "Draw one panel into FILE; needs no display", 1},
    {"pointer", KEY_POINTER, "X,Y", 0, "In the picture, show the card for what is at X,Y", 1},
    {"bench", KEY_BENCH, NULL, 0, "Time how long it takes to open, and to draw while zooming", 1},
    {"keys", KEY_KEYS, NULL, 0, "List all keys, as the table in docs/viewer.md", 1},
    {NULL, 0, NULL, 0, NULL, 0}};

static const char doc[] =
    "Shows what a recorded run did, cycle by cycle.\v"
    "RUN is a folder made with --out, or a .strace; OTHER a run to compare it with.\n\n"
    "  systole run examples/03_double_buffered_matmul.tasm --tpu v3 --trace t.strace\n"
    "  systole-view t.strace\n"
    "  systole-view t.strace --range 1000:3000 --png timeline.png\n"
    "  systole-view before.strace after.strace\n\n"
    "In the window, ? lists all keys.";

#define LAST_LAUNCH INT64_MAX

struct parse {
    struct view_options *o;
    struct err *e;
    bool is_bad;
};

static int bad(struct parse *p, int status)
{
    if (status)
        p->is_bad = true;
    return status ? EINVAL : 0;
}

static int parse_two(const char *text, char between, int64_t lo, int64_t hi, int *a, int *b)
{
    const char *middle = strchr(text, between);
    char first[32];
    int64_t x, y;

    if (!middle || (size_t)(middle - text) >= sizeof(first))
        return -1;
    memcpy(first, text, (size_t)(middle - text));
    first[middle - text] = '\0';
    if (text_parse_int(first, lo, hi, &x) || text_parse_int(middle + 1, lo, hi, &y))
        return -1;
    *a = (int)x;
    *b = (int)y;
    return 0;
}

/* "1000:2000" or ":2000", "1000:", of cycles; *end -1 where it is left out */
static int parse_range(const char *text, double *from, double *end, struct err *e)
{
    const char *middle = strchr(text, ':');
    char first[64] = "";

    *from = 0;
    *end = -1;
    if (middle && (size_t)(middle - text) < sizeof(first)) {
        memcpy(first, text, (size_t)(middle - text));
        if ((!*first || !text_parse_double(first, 0, 1e18, from))
            && (!middle[1] || !text_parse_double(middle + 1, 0, 1e18, end))
            && (*end < 0 || *end > *from))
            return 0;
    }
    return err_set(e, "\"%s\" is no range of cycles: write A:B with A less than B, such as "
                      "1000:2500", text);
}

static int parse_theme(const char *text, enum theme *t, struct err *e)
{
    static const char *const names[] = {[THEME_DARK] = "dark", [THEME_LIGHT] = "light"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(text, names[i]) == 0) {
            *t = (enum theme)i;
            return 0;
        }
    return err_set(e, "no theme is called \"%s\"%s; there are dark and light", text,
                   text_did_you_mean(text, names, COUNT_OF(names)).text);
}

static int parse_number(const char *text, const char *name, int64_t lo, int64_t hi, int *to,
                        struct err *e)
{
    int64_t value;

    if (text_parse_int(text, lo, hi, &value))
        return err_set(e, "--%s takes %lld to %lld, not \"%s\"", name, (long long)lo,
                       (long long)hi, text);
    *to = (int)value;
    return 0;
}

/* two runs are there to be compared, unless another panel is asked for */
static int take_other(struct view_options *o, const char *path, struct err *e)
{
    if (o->other)
        return err_set(e, "one run, or two to compare: what is \"%s\"?", path);
    o->other = path;
    o->panel = o->has_panel ? o->panel : PANEL_COMPARE;
    return 0;
}

static int parse_launch(const char *text, int64_t *to, struct err *e)
{
    if (text_parse_int(text, 0, LAST_LAUNCH - 1, to))
        return err_set(e, "--launch takes a number, from 0 on, or \"last\", not \"%s\"", text);
    return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct parse *p = state->input;
    struct view_options *o = p->o;

    switch (key) {
    case KEY_PANEL:
        o->panel = panel_parse(arg, p->e);
        o->has_panel = true;
        return bad(p, o->panel == PANEL_COUNT);
    case KEY_SIZE:
        return bad(p, parse_two(arg, 'x', 200, 16384, &o->width, &o->height)
                          ? err_set(p->e, "\"%s\" is no size: write WIDTHxHEIGHT in pixels, each "
                                          "200 to 16384, such as 1280x720", arg) : 0);
    case KEY_RANGE:
        o->has_range = true;
        return bad(p, parse_range(arg, &o->from, &o->end, p->e));
    case KEY_WITH: return bad(p, take_other(o, arg, p->e));
    case KEY_LAUNCH:
        o->launch = LAST_LAUNCH;
        o->has_launch = true;
        return strcmp(arg, "last") == 0 ? 0 : bad(p, parse_launch(arg, &o->launch, p->e));
    case KEY_SELECT:
        o->has_selection = true;
        return bad(p, parse_range(arg, &o->select_from, &o->select_end, p->e));
    case KEY_CURSOR:
        return bad(p, text_parse_double(arg, 0, 1e18, &o->cursor)
                          ? err_set(p->e, "--cursor takes a cycle, 0 or more, not \"%s\"", arg)
                          : 0);
    case KEY_CORE:
        return bad(p, parse_number(arg, "core", 0, 1 << 20, &o->core, p->e));
    case KEY_SCALE:
        return bad(p, parse_number(arg, "scale", 50, 400, &o->scale_percent, p->e));
    case KEY_THEME:
        return bad(p, parse_theme(arg, &o->theme, p->e));
    case KEY_PNG: o->png = arg; return 0;
    case KEY_POINTER:
        return bad(p, parse_two(arg, ',', 0, 16384, &o->pointer_x, &o->pointer_y)
                          ? err_set(p->e, "\"%s\" is no place: write X,Y in pixels", arg) : 0);
    case KEY_LIVE: o->live = arg; return 0;
    case KEY_BENCH: o->bench = true; return 0;
    case KEY_KEYS: action_print_table(stdout); exit(0);
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            return bad(p, take_other(o, arg, p->e));
        o->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->live)
            return state->arg_num || o->png || o->bench
                       ? bad(p, err_set(p->e, "--live opens a window on its own run, without "
                                              "RUN, --png and --bench")) : 0;
        return state->arg_num ? 0 : bad(p, err_set(
            p->e, "name a run: a folder made with --out, or a .strace (see systole-view --help)"));
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int view_options_parse(struct view_options *o, int argc, char **argv, struct err *e)
{
    static const struct argp argp = {option_table, parse_option, "RUN [OTHER]", doc, NULL, NULL,
                                     NULL};
    struct parse p = {.o = o, .e = e};

    *o = (struct view_options){.width = 1280, .height = 720, .scale_percent = 100, .end = -1,
                               .cursor = -1, .pointer_x = -1, .pointer_y = -1};
    e->msg[0] = '\0';
    if (!argp_parse(&argp, argc, argv, 0, NULL, &p))
        return 0;
    if (!p.is_bad)
        err_set(e, "see systole-view --help");
    return -1;
}

static int show_launch(const struct view_options *o, struct view *v, struct err *e)
{
    const struct ntrace_info *i = ntrace_info(v->run);
    const struct ntrace_launch *l;

    if (i->launch_count == 0 || (o->launch != LAST_LAUNCH
                                 && o->launch >= (int64_t)i->launch_count))
        return err_set(e, i->launch_count ? "there is no launch %lld: the run has launches 0 to %zu"
                                          : "no launch has ended in this trace",
                       (long long)o->launch, i->launch_count - 1);
    l = &i->launch[o->launch == LAST_LAUNCH ? i->launch_count - 1 : (size_t)o->launch];
    view_show(v, (double)l->start, (double)(l->start + l->cycles));
    return 0;
}

int view_options_apply(const struct view_options *o, struct view *v, struct err *e)
{
    const struct ntrace_info *i = ntrace_info(v->run);

    if (o->core >= i->core_count)
        return err_set(e, "there is no core %d: the run has cores 0 to %d", o->core,
                       i->core_count - 1);
    if (o->has_range && o->from >= (double)i->cycles)
        return err_set(e, "the run ends at cycle %lld, before %.0f", (long long)i->cycles, o->from);
    if (o->cursor >= (double)i->cycles)
        return err_set(e, "the run ends at cycle %lld: there is no --cursor %.0f",
                       (long long)i->cycles, o->cursor);
    v->core = o->core;
    v->cursor = o->cursor;
    v->theme = o->theme;
    v->scale_percent = o->scale_percent;
    if (o->has_launch && show_launch(o, v, e))
        return -1;
    if (o->has_range)
        view_show(v, o->from, o->end < 0 ? (double)i->cycles : o->end);
    v->has_selection = o->has_selection;
    v->selection_from = o->select_from;
    v->selection_end = o->select_end < 0 ? (double)i->cycles : o->select_end;
    return 0;
}

const char *view_trace_path(const char *run, struct arena *a, struct err *e)
{
    const char *path;
    struct stat s;

    if (stat(run, &s) != 0 || !S_ISDIR(s.st_mode))
        return run;
    path = arena_printf(a, "%s/trace.strace", run);
    if (stat(path, &s) == 0)
        return path;
    err_set(e, "%s has no trace.strace: run again with --trace %s", run, path);
    return NULL;
}
