/*
 * Cuts a model's calls into stages whose longest is as short as can be, by dynamic programming
 * over predicted cycles.
 */
#include "train/strategy/model_stages.h"

#include <float.h>
#include <string.h>

#include "base/text.h"

struct chooser {
    const struct model *m;
    const struct model_stages_options *o;
    struct arena *a;
    struct model_stages *out;
    int *call;                          /* by place: calls of layers other than inputs, in order */
    int count;
    double *cost;                       /* by place, of those before it */
    int *variables;                     /* likewise */
    bool *may_begin;                    /* by place */
    int *begin;                         /* by stage: its first place; one more is the end */
};

/* of the layer whose name is all before the first stroke; those of no layer are everybody's */
static int stage_of(const void *user, const char *name)
{
    const struct model_stages *s = user;
    const char *stroke = strchr(name, '/');
    size_t length = stroke ? (size_t)(stroke - name) : strlen(name);

    for (int i = 0; i < s->model->layer_count; i++) {
        const struct layer *l = s->model->layer[i];

        if (strlen(l->name) == length && memcmp(l->name, name, length) == 0)
            return s->layer[i];
    }
    return -1;
}

static struct layer *layer_at(const struct chooser *c, int place)
{
    return c->m->layer[c->m->node[c->call[place]].layer];
}

/* ----- calls and what they cost */

static double cost_of(const struct summary *s, const struct layer *l, bool has_cycles)
{
    for (int i = 0; i < s->row_count; i++)
        if (s->row[i].layer == l)
            return has_cycles ? (double)(s->row[i].forward_cycles + s->row[i].backward_cycles)
                              : (double)s->row[i].flops;
    return 0;
}

/* a stage may not begin between two calls of one layer */
static void forbid_splits(struct chooser *c)
{
    for (int i = 0; i < c->count; i++)
        for (int k = i + 1; k < c->count; k++)
            if (layer_at(c, i) == layer_at(c, k))
                for (int at = i + 1; at <= k; at++)
                    c->may_begin[at] = false;
}

static int list_calls(struct chooser *c, struct err *e)
{
    size_t room = (size_t)c->m->node_count + 1;
    struct summary_options o = {.chip = c->o->chip, .batch = c->o->micro_batch,
                                .has_backward = true};
    struct summary s;

    if (summary_make(c->m, &o, c->a, &s, e))
        return -1;
    c->call = arena_array(c->a, room, sizeof(*c->call));
    c->cost = arena_array(c->a, room, sizeof(*c->cost));
    c->variables = arena_array(c->a, room, sizeof(*c->variables));
    c->may_begin = arena_array(c->a, room, sizeof(*c->may_begin));
    for (int i = 0; i < c->m->node_count; i++) {
        const struct layer *l = c->m->layer[c->m->node[i].layer];
        bool is_first = true;

        if (l->kind == LAYER_INPUT)
            continue;
        c->call[c->count] = i;
        for (int k = 0; k < c->count; k++)
            is_first &= layer_at(c, k) != l;
        c->cost[c->count + 1] = c->cost[c->count] +
                                (is_first ? cost_of(&s, l, c->o->chip != NULL) : 0);
        c->variables[c->count + 1] = c->variables[c->count] + (is_first ? l->variable_count : 0);
        c->may_begin[c->count++] = true;
    }
    forbid_splits(c);
    return 0;
}

/* ----- where stages begin */

/* the layer that a name means; its first place, or -1 naming the nearest */
static int place_of(const struct chooser *c, const char *name, struct err *e)
{
    const char **names = arena_array(c->a, (size_t)c->count + 1, sizeof(*names));

    for (int i = 0; i < c->count; i++) {
        names[i] = layer_at(c, i)->name;
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return err_set(e, "a stage is to begin at %s, but no layer has that name%s", name,
                   text_did_you_mean(name, names, (size_t)c->count).text);
}

static int take_cuts(struct chooser *c, struct err *e)
{
    char *text = arena_strdup(c->a, c->o->cuts), *name, *rest;
    int stage = 1;

    for (name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest), stage++) {
        int at = place_of(c, name, e);

        if (at < 0)
            return -1;
        if (stage >= c->o->count)
            return err_set(e, "%s would begin stage %d, there are %d", name, stage + 1,
                           c->o->count);
        if (at <= c->begin[stage - 1])
            return err_set(e, "stages begin in the model's order; %s comes before or where stage "
                           "%d begins", name, stage - 1);
        if (!c->may_begin[at])
            return err_set(e, "a stage cannot begin at %s: a layer before it is called again "
                           "behind it, and its variables are on one stage", name);
        c->begin[stage] = at;
    }
    return stage == c->o->count ? 0 : err_set(e, "%d stages begin at %d layers beside the first; "
                                              "%s names %d", c->o->count, c->o->count - 1,
                                              c->o->cuts, stage - 1);
}

static double cost_between(const struct chooser *c, int from, int to)
{
    return c->cost[to] - c->cost[from];
}

/* best[s][k]: the longest of s + 1 stages over the first k calls, as short as it can be */
static int choose_cuts(struct chooser *c, struct err *e)
{
    int stages = c->o->count, width = c->count + 1;
    double *best = arena_array(c->a, (size_t)(stages * width), sizeof(*best));
    int *from = arena_array(c->a, (size_t)(stages * width), sizeof(*from));

    for (int s = 0; s < stages; s++)
        for (int k = 0; k < width; k++) {
            double *least = &best[s * width + k];

            *least = s == 0 && c->variables[k] > 0 ? c->cost[k] : DBL_MAX;
            for (int i = 1; s > 0 && i < k; i++) {
                double before = best[(s - 1) * width + i], own = cost_between(c, i, k);
                double most = before > own ? before : own;

                if (!c->may_begin[i] || c->variables[i] == c->variables[k] || most >= *least)
                    continue;
                *least = most;
                from[s * width + k] = i;
            }
        }
    if (best[stages * width - 1] >= DBL_MAX)
        return err_set(e, "model %s cannot be cut into %d stages that have variables each; at its "
                       "layers there are fewer places for that", c->m->name, stages);
    for (int s = stages - 1, k = c->count; s > 0; s--)
        c->begin[s] = k = from[s * width + k];
    return 0;
}

static int check_variables(const struct chooser *c, struct err *e)
{
    for (int s = 0; s < c->o->count; s++)
        if (c->variables[c->begin[s]] == c->variables[c->begin[s + 1]])
            return err_set(e, "stage %d, from layer %s to %s, has no variables; a stage has some "
                           "to update", s, layer_at(c, c->begin[s])->name,
                           layer_at(c, c->begin[s + 1] - 1)->name);
    return 0;
}

/* inputs are with the first stage that reads them, which makes no difference: all may have them */
static void assign(struct chooser *c)
{
    struct model_stages *out = c->out;
    double all = c->cost[c->count];

    out->layer = arena_array(c->a, (size_t)c->m->layer_count + 1, sizeof(*out->layer));
    out->share = arena_array(c->a, (size_t)c->o->count, sizeof(*out->share));
    for (int s = 0; s < c->o->count; s++) {
        out->share[s] = all > 0 ? cost_between(c, c->begin[s], c->begin[s + 1]) / all : 0;
        for (int i = c->begin[s]; i < c->begin[s + 1]; i++)
            out->layer[c->m->node[c->call[i]].layer] = s;
    }
    out->model = c->m;
    out->stages = (struct strategy_stages){c->o->count, stage_of, out};
}

int model_stages_choose(const struct model *m, const struct model_stages_options *o,
                        struct arena *a, struct model_stages *out, struct err *e)
{
    struct chooser c = {.m = m, .o = o, .a = a, .out = out};

    if (o->count < 1)
        return err_set(e, "%d stages; there must be at least 1", o->count);
    if (list_calls(&c, e))
        return -1;
    if (o->count > c.count)
        return err_set(e, "%d stages of model %s, which has %d layers", o->count, m->name,
                       c.count);
    c.begin = arena_array(a, (size_t)o->count + 1, sizeof(*c.begin));
    c.begin[o->count] = c.count;
    if (o->cuts ? take_cuts(&c, e) : choose_cuts(&c, e))
        return -1;
    if (check_variables(&c, e))
        return -1;
    assign(&c);
    return 0;
}
