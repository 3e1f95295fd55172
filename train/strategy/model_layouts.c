/*
 * Parses a mesh and patterns of variables' names, and sets how each variable that matches is cut
 * over the mesh's axes.
 */
#include "train/strategy/model_layouts.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ----- axes */

static int add_axis(struct mesh *m, const char *text, struct err *e)
{
    char *equals = strchr(text, '='), *end = NULL;
    long size = equals && equals[1] >= '0' && equals[1] <= '9' ? strtol(equals + 1, &end, 10) : 0;

    if (!equals || equals == text || size < 1 || size > 65536 || *end)
        return err_set(e, "axes of logical devices: \"%.60s\" is not a name, = and a size, as in "
                       "\"model=2\"", text);
    *equals = '\0';
    if (m->axis_count == MESH_AXES_MAX)
        return err_set(e, "axes of logical devices: there may be %d beside the replicas",
                       MESH_AXES_MAX - 1);
    for (int i = 0; i < m->axis_count; i++)
        if (strcmp(m->axis[i].name, text) == 0)
            return err_set(e, "axes of logical devices: two have the name \"%s\"%s", text,
                           i ? "" : ", which is that of the replicas");
    m->axis[m->axis_count].name = text;
    m->axis[m->axis_count++].size = (int)size;
    return 0;
}

int model_mesh_read(const char *text, struct arena *a, struct mesh *m, struct err *e)
{
    char *rest, *one;

    *m = (struct mesh){1, {{"replicas", 1}}};
    for (one = strtok_r(arena_strdup(a, text), ", ", &rest); one; one = strtok_r(NULL, ", ", &rest))
        if (add_axis(m, one, e))
            return -1;
    return 0;
}

/* ----- layouts */

static int find_axis(const struct mesh *m, const char *name, const char *what, struct err *e)
{
    char near[TEXT_NEAR_BYTES];
    int i = text_find(name, &m->axis[1].name, sizeof(*m->axis), (size_t)m->axis_count - 1, near);

    if (i >= 0)
        return i + 1;
    if (strcmp(name, m->axis[0].name) == 0)
        return err_set(e, "layout of %s: axis %s is that of the replicas, each of which has all "
                       "of it", what, name);
    return err_set(e, "layout of %s: the logical devices have no axis \"%s\"%s", what, name, near);
}

/* "-,model" */
static int read_axes(const struct mesh *m, const char *what, char *text, struct sharding *s,
                     struct err *e)
{
    char *rest, *one;
    int d = 0;

    *s = (struct sharding){{0}};
    for (one = strtok_r(text, ", ", &rest); one; one = strtok_r(NULL, ", ", &rest), d++) {
        int axis = strcmp(one, "-") == 0 ? 0 : find_axis(m, one, what, e);

        if (axis < 0)
            return -1;
        if (d == GRAPH_RANK_MAX)
            return err_set(e, "layout of %s: %d dimensions at most", what, GRAPH_RANK_MAX);
        s->axis[d] = (int8_t)axis;
    }
    return d ? 0 : err_set(e, "layout of %s: say for each dimension which axis cuts it, or -",
                           what);
}

static int refuse_name(const struct model *m, const char *pattern, struct arena *a, struct err *e)
{
    const char **names = arena_array(a, (size_t)m->variable_count + 1, sizeof(*names));

    for (int i = 0; i < m->variable_count; i++)
        names[i] = m->set->variable[m->first_variable + i].name;
    return err_set(e, "layout of %s: no variable of model %s has that name%s", pattern, m->name,
                   text_did_you_mean(pattern, names, (size_t)m->variable_count).text);
}

/* all that the pattern means; by[] says which pattern has cut a variable */
static int lay_out(const struct model *m, const struct mesh *mesh, const char *pattern,
                   const struct sharding *s, const char **by, struct err *e)
{
    int found = 0;

    for (int i = 0; i < m->variable_count; i++) {
        struct variable *v = &m->set->variable[m->first_variable + i];

        if (fnmatch(pattern, v->name, 0) != 0)
            continue;
        if (by[i])
            return err_set(e, "variable %s is laid out by %s and by %s", v->name, by[i], pattern);
        if (sharding_check(mesh, &v->shape, s, v->name, e))
            return -1;
        v->sharding = *s;
        by[i] = pattern;
        found++;
    }
    return found;
}

int model_layouts_set(const struct model *m, const struct mesh *mesh, const char *text,
                      struct arena *a, struct err *e)
{
    const char **by = arena_array(a, (size_t)m->variable_count + 1, sizeof(*by));
    char *rest, *one;

    for (one = strtok_r(arena_strdup(a, text), ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
        char *pattern = one + strspn(one, " "), *equals = strchr(one, '=');
        struct sharding s;
        int found;

        if (!equals || equals == pattern)
            return err_set(e, "layouts: \"%.60s\" is not a variable, = and axes, as in "
                           "\"dense/kernel=-,model\"", pattern);
        *equals = '\0';
        if (read_axes(mesh, pattern, equals + 1, &s, e))
            return -1;
        found = lay_out(m, mesh, pattern, &s, by, e);
        if (found <= 0)
            return found ? -1 : refuse_name(m, pattern, a, e);
    }
    return 0;
}
