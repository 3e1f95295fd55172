/* Reads constraints by name and writes them into a graph. */
#include "keras/functions/constraint.h"

#include <stddef.h>

#include "base/text.h"
#include "base/units.h"
#include "keras/call/number.h"
#include "stack/nn/nn.h"

#define EPSILON 1e-7

static const struct { const char *class, *name; } kinds[] = {
#define CONSTRAINT(id, class, name, meaning) {class, name},
#include "keras/functions/constraints.def"
};

static const struct number_field fields[] = {
#define TAKES(of, number, value) \
    {CONSTRAINT_##of, {#number, REAL, 0, 1e30, NULL}, offsetof(struct constraint, number), value},
#include "keras/functions/constraints.def"
};

static int find(const char *name, enum constraint_kind *kind, struct err *e)
{
    char near[TEXT_NEAR_BYTES];
    int i = text_find(name, &kinds[0].name, sizeof(*kinds), COUNT_OF(kinds), near);

    if (i < 0)
        i = text_find(name, &kinds[0].class, sizeof(*kinds), COUNT_OF(kinds), near);
    if (i < 0)
        return err_set(e, "unknown constraint \"%s\"%s", name, near);
    *kind = (enum constraint_kind)(i + 1);
    return 0;
}

/* a number, or a list of them */
static int read_axis(struct constraint *c, const json_t *v, struct err *e)
{
    static const struct hyperparameter axis = {"axis", WHOLE, -GRAPH_RANK_MAX, GRAPH_RANK_MAX - 1,
                                               NULL};
    size_t count = json_is_array(v) ? json_array_size(v) : 1;
    double x;

    if (count < 1 || count > GRAPH_RANK_MAX)
        return err_set(e, "%s: axis has %zu numbers, allowed are 1..%d", kinds[c->kind - 1].class,
                       count, GRAPH_RANK_MAX);
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_is_array(v) ? json_array_get(v, i) : v;

        if (number_read(&axis, kinds[c->kind - 1].class, one, &x, e))
            return -1;
        c->axis[i] = (int)x;
    }
    c->axis_count = (int)count;
    return 0;
}

int constraint_from_json(struct constraint *c, const json_t *v, struct err *e)
{
    static const char *const axis[] = {"axis", NULL};
    struct number_table table = {fields, COUNT_OF(fields), axis};
    const char *name = number_table_name(v);
    const json_t *given;

    *c = (struct constraint){.axis_count = 1};
    if (!name)
        return err_set(e, "a constraint is a name, or an object with class_name and config");
    if (find(name, &c->kind, e))
        return -1;
    if (c->kind == CONSTRAINT_NON_NEG)
        table.others = NULL;
    if (number_table_read(&table, (int)c->kind, v, c, e))
        return -1;
    given = json_object_get(json_object_get(v, "config"), axis[0]);
    return given && !json_is_null(given) ? read_axis(c, given, e) : 0;
}

int constraint_check(const struct constraint *c, const struct shape *s, const char *name,
                     struct err *e)
{
    for (int i = 0; i < c->axis_count && c->kind != CONSTRAINT_NONE &&
                    c->kind != CONSTRAINT_NON_NEG; i++)
        if (c->axis[i] < -s->rank || c->axis[i] >= s->rank)
            return err_set(e, "%s: its constraint %s goes along axis %d, and it has %d dimensions",
                           name, kinds[c->kind - 1].class, c->axis[i], s->rank);
    return 0;
}

/* of the axes' norms, one number each; spread over w again */
static int norms(struct graph *g, const struct constraint *c, int w)
{
    int rank = g->node[w].shape.rank, dims[GRAPH_RANK_MAX], count = 0, x;
    uint32_t mask = 0;

    for (int i = 0; i < c->axis_count; i++)
        mask |= 1u << (c->axis[i] < 0 ? c->axis[i] + rank : c->axis[i]);
    for (int d = 0; d < rank; d++)
        if (!(mask & 1u << d))
            dims[count++] = d;
    x = graph_reduce(g, REDUCE_ADD, nn_multiply(g, w, w), mask);
    x = graph_unary(g, HLO_SQRT, x);
    return graph_broadcast(g, x, g->node[w].shape, dims);
}

int constraint_apply(struct graph *g, const struct constraint *c, int w)
{
    int norm, wanted;

    if (c->kind == CONSTRAINT_NON_NEG)
        return graph_binary(g, HLO_MAXIMUM, w, graph_splat(g, w, 0));
    norm = norms(g, c, w);
    wanted = graph_binary(g, HLO_MINIMUM, norm, graph_splat(g, norm, c->max_value));
    if (c->kind == CONSTRAINT_UNIT_NORM)
        return graph_binary(g, HLO_DIVIDE, w, nn_shift(g, norm, EPSILON));
    if (c->kind == CONSTRAINT_MIN_MAX_NORM) {
        int kept;

        wanted = graph_binary(g, HLO_MAXIMUM, wanted, graph_splat(g, norm, c->min_value));
        kept = nn_scale(g, norm, 1 - c->rate);
        wanted = nn_add(g, nn_scale(g, wanted, c->rate), kept);
    }
    return nn_multiply(g, w, graph_binary(g, HLO_DIVIDE, wanted, nn_shift(g, norm, EPSILON)));
}
