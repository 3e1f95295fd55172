/* Checks embedding tables and their features, and lays out each table's rows over the devices. */
#include "keras/embedding/embedding.h"

#include "base/text.h"
#include "base/units.h"
#include "stack/hlo/array.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ROWS_MAX INT32_MAX
#define DIM_MAX 65536
#define LENGTH_MAX 65536

static const char *const combiners[] = {
    [COMBINER_MEAN] = "mean", [COMBINER_SUM] = "sum", [COMBINER_SQRTN] = "sqrtn",
};

struct embedding_table embedding_table_standard(const char *name, int64_t vocabulary_size,
                                                int64_t dim)
{
    struct embedding_table t = {.name = name, .vocabulary_size = vocabulary_size, .dim = dim,
                                .initializer = initializer_standard(INITIALIZER_TRUNCATED_NORMAL),
                                .optimizer = "SGD"};

    t.initializer.b = 1 / sqrt((double)(dim > 0 ? dim : 1));
    return t;
}

int embedding_combiner_find(const char *name, enum embedding_combiner *combiner, struct err *e)
{
    char near[TEXT_NEAR_BYTES];
    int i = text_find(name, combiners, sizeof(*combiners), COUNT_OF(combiners), near);

    if (i < 0)
        return err_set(e, "no combiner \"%.40s\"%s; there are mean, sum, sqrtn", name, near);
    *combiner = (enum embedding_combiner)i;
    return 0;
}

/* ----- building */

static int check_table(const struct embedding_table *t, struct err *e)
{
    if (t->vocabulary_size < 1 || t->vocabulary_size > ROWS_MAX)
        return err_set(e, "table %s: vocabulary_size is %" PRId64 ", allowed are 1..%d", t->name,
                       t->vocabulary_size, ROWS_MAX);
    if (t->dim < 1 || t->dim > DIM_MAX)
        return err_set(e, "table %s: dim is %" PRId64 ", allowed are 1..%d", t->name, t->dim,
                       DIM_MAX);
    return 0;
}

static int check_feature(const struct embedding *m, const struct embedding_feature *f,
                         struct err *e)
{
    if (f->table < 0 || f->table >= m->table_count)
        return err_set(e, "feature %s: its table is number %d of %d", f->name, f->table,
                       m->table_count);
    if (f->max_length < 1 || f->max_length > LENGTH_MAX)
        return err_set(e, "feature %s: max_length is %" PRId64 ", allowed are 1..%d", f->name,
                       f->max_length, LENGTH_MAX);
    return 0;
}

static int check_names(const struct embedding *m, struct err *e)
{
    for (int i = 0; i < m->table_count; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(m->table[i].name, m->table[k].name) == 0)
                return err_set(e, "two tables have the name %s", m->table[i].name);
    for (int i = 0; i < m->feature_count; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(m->feature[i].name, m->feature[k].name) == 0)
                return err_set(e, "two features have the name %s", m->feature[i].name);
    return 0;
}

/* rows that were not asked for must be able to stay as they are */
static int check_optimizer(const struct embedding_table *t, const struct optimizer *o,
                           struct err *e)
{
    static const enum hyper of_whole_tables[] = {
        HYPER_CLIPNORM, HYPER_GLOBAL_CLIPNORM, HYPER_USE_EMA, HYPER_GRADIENT_ACCUMULATION_STEPS};

    if (o->rule != RULE_SGD && o->rule != RULE_ADAGRAD && o->rule != RULE_ADAM)
        return err_set(e, "table %s: its optimizer is %s, allowed are SGD, Adagrad, Adam",
                       t->name, optimizer_name(o->rule));
    for (size_t i = 0; i < COUNT_OF(of_whole_tables); i++)
        if (o->hyper[of_whole_tables[i]] != 0)
            return err_set(e, "table %s: %s goes over rows that nobody asked for", t->name,
                           optimizer_hyper_name(of_whole_tables[i]));
    return 0;
}

static int64_t rows_of_device(const struct embedding *m, int table)
{
    return div_up(m->table[table].vocabulary_size, (int64_t)m->replica_count);
}

static int add_table(struct embedding *m, int i, struct err *e)
{
    const struct embedding_table *t = &m->table[i];
    struct optimizer *o = &m->optimizer[i];
    struct variable v = {.shape = {DTYPE_F32, 2, {rows_of_device(m, i) * m->replica_count, t->dim}},
                         .name = arena_printf(m->set->arena, "embedding/%s", t->name),
                         .initializer = t->initializer, .of = -1, .shard_dim = 0};

    if (check_table(t, e) || optimizer_parse(o, t->optimizer, m->set->arena, e) ||
        check_optimizer(t, o, e))
        return -1;
    if (variable_find(m->set, v.name) >= 0)
        return err_set(e, "there is a variable %s already", v.name);
    m->variable[i] = variable_add(m->set, &v);
    m->moves_all[i] = o->rule == RULE_ADAM || o->hyper[HYPER_MOMENTUM] != 0 ||
                      o->hyper[HYPER_WEIGHT_DECAY] != 0;
    o->scope = arena_printf(m->set->arena, "%s/", v.name);
    if (optimizer_build(o, m->set, &m->variable[i], 1, e))
        return -1;
    return optimizer_shard(o, 0, 0, m->replica_count, e);
}

/* of table, gradient and slots, and which rows were asked for where that is needed */
static int64_t table_bytes(const struct embedding *m, int i)
{
    struct shape part = variable_local_shape(&m->set->variable[m->variable[i]],
                                             m->replica_count);
    struct shape column = {DTYPE_F32, 2, {part.dim[0], 1}};
    struct array rows, asked;
    int64_t times = 2;

    array_init(&rows, "", &part, NULL);
    array_init(&asked, "", &column, NULL);
    for (int k = 0; k < OPTIMIZER_SLOTS_MAX; k++)
        times += m->optimizer[i].of[0].slot[k] >= 0;
    return times * rows.bytes + (m->moves_all[i] ? asked.bytes : 0);
}

static int check_bytes(struct embedding *m, int64_t hbm_bytes, struct err *e)
{
    m->device_bytes = 0;
    for (int i = 0; i < m->table_count; i++)
        m->device_bytes += table_bytes(m, i);
    if (hbm_bytes == 0 || m->device_bytes <= hbm_bytes)
        return 0;
    return err_set(e, "tables with their gradients and slots take %s of each device's HBM, which "
                   "is %s: at least %" PRId64 " devices are needed, there %s %d",
                   text_bytes(m->device_bytes).text, text_bytes(hbm_bytes).text,
                   div_up(m->device_bytes * m->replica_count, hbm_bytes),
                   m->replica_count == 1 ? "is" : "are", m->replica_count);
}

int embedding_build(struct embedding *m, struct variable_set *set,
                    const struct embedding_table *table, int table_count,
                    const struct embedding_feature *feature, int feature_count,
                    int replica_count, int64_t hbm_bytes, struct err *e)
{
    *m = (struct embedding){.table = table, .table_count = table_count, .feature = feature,
                            .feature_count = feature_count, .replica_count = replica_count,
                            .set = set};
    m->variable = arena_array(set->arena, (size_t)table_count + 1, sizeof(*m->variable));
    m->moves_all = arena_array(set->arena, (size_t)table_count + 1, sizeof(*m->moves_all));
    m->optimizer = arena_array(set->arena, (size_t)table_count + 1, sizeof(*m->optimizer));
    if (check_names(m, e))
        return -1;
    for (int i = 0; i < feature_count; i++)
        if (check_feature(m, &feature[i], e))
            return -1;
    for (int i = 0; i < table_count; i++)
        if (add_table(m, i, e))
            return -1;
    return check_bytes(m, hbm_bytes, e);
}

int64_t embedding_row(const struct embedding *m, int table, int64_t id)
{
    int64_t devices = m->replica_count;

    return m->table[table].rows == ROWS_DIV
               ? id : id % devices * rows_of_device(m, table) + id / devices;
}

int embedding_check_ids(const struct embedding *m, int feature, const int32_t *ids,
                        int64_t samples, struct err *e)
{
    const struct embedding_feature *f = &m->feature[feature];
    int64_t rows = m->table[f->table].vocabulary_size;

    for (int64_t i = 0; i < samples * f->max_length; i++)
        if (ids[i] < -1 || ids[i] >= rows)
            return err_set(e, "feature %s: id %d of sample %" PRId64 ", place %" PRId64 ", is not "
                           "in 0..%" PRId64 " (-1: none)", f->name, ids[i], i / f->max_length,
                           i % f->max_length, rows - 1);
    return 0;
}
