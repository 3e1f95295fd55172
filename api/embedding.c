/* Makes, looks up and changes embedding tables that are cut over the replicas. */
#include <string.h>

#include "api/api.h"
#include "base/text.h"
#include "stack/hlo/graph_shape.h"

static const sy_tensor invalid = {NODE_NONE};

/* ----- tables and features */

static int read_table(const sy_table *t, struct arena *a, struct embedding_table *out,
                      struct err *e)
{
    if (!t->name || !*t->name)
        return err_set(e, "a table without a name");
    *out = embedding_table_standard(arena_strdup(a, t->name), t->vocabulary_size, t->dim);
    out->rows = t->rows_in_order ? ROWS_DIV : ROWS_MOD;
    if (t->optimizer)
        out->optimizer = arena_strdup(a, t->optimizer);
    if (t->combiner && embedding_combiner_find(t->combiner, &out->combiner, e))
        return -1;
    return t->initializer ? api_initializer(t->initializer, &out->initializer, e) : 0;
}

static int find_table(const char *name, const sy_table *t, int count, const char *feature,
                      struct err *e)
{
    char near[TEXT_NEAR_BYTES];
    int i = text_find(name ? name : "", &t->name, sizeof(*t), (size_t)count, near);

    return i >= 0 ? i : err_set(e, "feature %s: there is no table \"%s\"%s", feature,
                                name ? name : "", near);
}

static int read_all(sy_embedding *m, const sy_table *table, int table_count,
                    const sy_lookup *feature, int feature_count, struct err *e)
{
    struct arena *a = &m->strategy->arena;

    if (table_count < 1 || feature_count < 1 || !table || !feature)
        return err_set(e, "an embedding of %d tables and %d features; at least 1 of both is needed",
                       table_count, feature_count);
    m->table = arena_array(a, (size_t)table_count, sizeof(*m->table));
    m->feature = arena_array(a, (size_t)feature_count, sizeof(*m->feature));
    for (int i = 0; i < table_count; i++)
        if (read_table(&table[i], a, &m->table[i], e))
            return -1;
    for (int i = 0; i < feature_count; i++) {
        const sy_lookup *f = &feature[i];

        if (!f->name || !*f->name)
            return err_set(e, "feature %d has no name", i);
        m->feature[i] = (struct embedding_feature){
            .name = arena_strdup(a, f->name), .is_sequence = f->is_sequence,
            .table = find_table(f->table, table, table_count, f->name, e),
            .max_length = f->max_length ? f->max_length : 1};
        if (m->feature[i].table < 0)
            return -1;
    }
    return 0;
}

/* of a core; 0 on the host */
static int64_t hbm_of_core(const sy_strategy *s)
{
    const struct machine *m = s->cluster->cluster.machine;

    return m ? machine_hbm_share_bytes(m) : 0;
}

sy_status sy_embedding_create(sy_strategy *s, const sy_table *table, int table_count,
                              const sy_lookup *feature, int feature_count, sy_embedding **out)
{
    sy_embedding *m;
    struct err e;
    int before;

    if (API_GIVEN(table, feature, out))
        return SY_ERROR;
    if (api_handle_check(s, API_STRATEGY))
        return SY_ERROR;
    before = s->set.count;
    m = arena_alloc(&s->arena, sizeof(*m));
    m->strategy = s;
    if (read_all(m, table, table_count, feature, feature_count, &e))
        return api_fail(&e);
    if (embedding_build(&m->e, &s->set, m->table, table_count, m->feature, feature_count,
                        sy_strategy_replicas(s), hbm_of_core(s), &e)) {
        s->set.count = before;          /* none of its variables has a place yet */
        return api_fail(&e);
    }
    *out = m;
    return SY_OK;
}

static int find_feature(const sy_embedding *m, const char *name, struct err *e)
{
    char near[TEXT_NEAR_BYTES];
    int i = text_find(name ? name : "", &m->feature->name, sizeof(*m->feature),
                      (size_t)m->e.feature_count, near);

    return i >= 0 ? i : err_set(e, "there is no feature \"%s\"%s", name ? name : "", near);
}

sy_status sy_embedding_check_ids(const sy_embedding *m, const char *feature, const int32_t *ids,
                                 int64_t samples)
{
    struct err e;
    int f;

    if (API_GIVEN(m, feature, ids))
        return SY_ERROR;
    f = find_feature(m, feature, &e);
    if (f < 0 || embedding_check_ids(&m->e, f, ids, samples, &e))
        return api_fail(&e);
    return SY_OK;
}

sy_status sy_embedding_row(const sy_embedding *m, const char *table, int64_t id, int64_t *row)
{
    if (API_GIVEN(m, table, row))
        return SY_ERROR;
    for (int i = 0; table && i < m->e.table_count; i++) {
        if (strcmp(m->table[i].name, table) != 0)
            continue;
        if (id < 0 || id >= m->table[i].vocabulary_size)
            return api_fail_text("table %s: id %lld, allowed are 0..%lld", table, (long long)id,
                                 (long long)m->table[i].vocabulary_size - 1);
        *row = embedding_row(&m->e, i, id);
        return SY_OK;
    }
    return api_fail_text("there is no table \"%s\"", table ? table : "");
}

/* ----- in a step */

static struct api_lookups *lookups_of(sy_context *c, sy_embedding *m)
{
    struct api_lookups *l;
    struct err e;

    if (!api_is_context(c))
        return NULL;
    l = c->lookups;
    if (!m || m->strategy != c->strategy) {
        err_set(&e, "the embedding is %s", m ? "of another strategy" : "NULL");
        api_invalid(c, &e);
        return NULL;
    }
    while (l && l->embedding != m)
        l = l->next;
    if (l)
        return l;
    l = arena_alloc(c->trace->arena, sizeof(*l));
    *l = (struct api_lookups){.embedding = m, .next = c->lookups};
    embedding_begin(&l->step, c->trace, &m->e);
    c->lookups = l;
    return l;
}

static int check_lookup(const struct api_lookups *l, int f, const struct shape *ids,
                        const struct shape *weights, struct err *e)
{
    const struct embedding_feature *x = &l->embedding->feature[f];
    char has[96], other[96];

    if (ids->dtype != DTYPE_S32 || ids->rank != 2 || ids->dim[1] != x->max_length)
        return err_set(e, "feature %s: ids are %s, s32[samples,%lld] is wanted", x->name,
                       shape_print(ids, has, sizeof(has)), (long long)x->max_length);
    if (l->step.looked[f].samples)
        return err_set(e, "feature %s is looked up twice in a step", x->name);
    if (!weights)
        return 0;
    if (x->is_sequence)
        return err_set(e, "feature %s is a sequence, which takes no weights", x->name);
    if (weights->dtype != DTYPE_F32 || weights->rank != 2 || weights->dim[0] != ids->dim[0] ||
        weights->dim[1] != ids->dim[1])
        return err_set(e, "feature %s: weights are %s for ids of %s; f32 of the same sizes is "
                       "wanted", x->name, shape_print(weights, other, sizeof(other)),
                       shape_print(ids, has, sizeof(has)));
    return 0;
}

sy_tensor sy_embedding_lookup(sy_context *c, sy_embedding *m, const char *feature, sy_tensor ids,
                              const sy_tensor *weights)
{
    struct api_lookups *l = lookups_of(c, m);
    struct err e;
    int f;

    if (api_lacks(c, API_GIVEN(m, feature)))
        return invalid;
    if (!l || !api_are_valid(c, &ids, 1) || (weights && !api_are_valid(c, weights, 1)))
        return invalid;
    f = find_feature(m, feature, &e);
    if (f < 0 || check_lookup(l, f, api_shape_of(c, ids),
                              weights ? api_shape_of(c, *weights) : NULL, &e))
        return api_invalid(c, &e);
    return (sy_tensor){embedding_lookup(&l->step, f, ids.node,
                                        weights ? weights->node : NODE_NONE)};
}

static int check_gradient(const sy_context *c, const struct api_lookups *l, int f, sy_tensor g,
                          struct err *e)
{
    const struct shape *out = api_shape_of(c, (sy_tensor){l->step.looked[f].out});
    const struct shape *has = api_shape_of(c, g);
    char a[96], b[96];

    if (graph_dtype_is_float(has->dtype) && has->rank == out->rank &&
        memcmp(has->dim, out->dim, (size_t)out->rank * sizeof(*out->dim)) == 0)
        return 0;
    return err_set(e, "feature %s: its gradient is %s, what was looked up %s",
                   l->embedding->feature[f].name, shape_print(has, a, sizeof(a)),
                   shape_print(out, b, sizeof(b)));
}

sy_status sy_embedding_apply(sy_context *c, sy_embedding *m, const char *const *feature,
                             const sy_tensor *gradient, int count)
{
    struct api_lookups *l = lookups_of(c, m);
    struct err e;
    int *node;

    if (api_lacks(c, API_GIVEN(m, feature, gradient)))
        return sy_context_status(c);
    if (!l || !api_are_valid(c, gradient, count))
        return sy_context_status(c);
    node = arena_array(c->trace->arena, (size_t)m->e.feature_count, sizeof(*node));
    for (int i = 0; i < m->e.feature_count; i++)
        node[i] = NODE_NONE;
    for (int i = 0; i < count; i++) {
        int f = find_feature(m, feature[i], &e);

        if (f >= 0 && (!l->step.looked[f].samples || node[f] != NODE_NONE))
            f = err_set(&e, "feature %s: %s", feature[i], node[f] != NODE_NONE
                        ? "two gradients" : "a gradient, but it was not looked up");
        if (f < 0 || check_gradient(c, l, f, gradient[i], &e)) {
            api_invalid(c, &e);
            return sy_context_status(c);
        }
        node[f] = gradient[i].node;
    }
    for (int i = 0; i < m->e.feature_count; i++)
        if (l->step.looked[i].samples && node[i] == NODE_NONE)
            l->step.looked[i].samples = 0;      /* read, not trained */
    if (l->is_applied) {
        err_set(&e, "gradients of an embedding are applied twice in a step");
        api_invalid(c, &e);
        return sy_context_status(c);
    }
    l->is_applied = true;
    embedding_apply(&l->step, node);
    return SY_OK;
}
