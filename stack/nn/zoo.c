/* Names the models of the zoo and their options, and builds them with their variables. */
#include "stack/nn/zoo.h"

#include "base/text.h"
#include "base/units.h"
#include "stack/nn/zoo_impl.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define BATCH_MAX 65536
#define SEQUENCE_MAX 65536

static const struct {
    struct zoo_model model;
    void (*build)(struct zoo *z);
} models[] = {
#define ZOO(text, builder, images, positions, type, what) \
    {{text, what, {.batch = images, .sequence = positions, .dtype = DTYPE_##type}}, \
     zoo_##builder},
#include "stack/nn/zoo.def"
};

int zoo_count(void)
{
    return (int)COUNT_OF(models);
}

const struct zoo_model *zoo_model(int index)
{
    return &models[index].model;
}

void zoo_print(FILE *to)
{
    for (int i = 0; i < zoo_count(); i++) {
        const struct zoo_options *o = &zoo_model(i)->defaults;

        fprintf(to, "  %-10s  %s\n              batch=%" PRId64, zoo_model(i)->name,
                zoo_model(i)->meaning, o->batch);
        if (o->sequence)
            fprintf(to, ",sequence=%" PRId64, o->sequence);
        fprintf(to, ",dtype=%s\n", o->dtype == DTYPE_F32 ? "f32" : "bf16");
    }
    fputs("Options follow the name: NAME:train,batch=N,sequence=N,dtype=f32|bf16,dropout=RATE;\n"
          "without `train` the graph is that of inference.\n", to);
}

/* ---- options ---- */

static int find_model(const char *name, struct err *e)
{
    const char *names[COUNT_OF(models)];

    for (int i = 0; i < zoo_count(); i++) {
        names[i] = zoo_model(i)->name;
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return err_set(e, "no model is called \"%s\"%s, and a file has a dot or a slash in its name", name,
                   text_did_you_mean(name, names, COUNT_OF(names)).text);
}

static int bad_value(const char *key, const char *value, const char *range, struct err *e)
{
    return err_set(e, "%s is \"%s\"; it must be %s", key, value, range);
}

static int set_option(const struct zoo_model *m, const char *key, const char *value,
                      struct zoo_options *o, struct err *e)
{
    static const char *const keys[] = {"train", "forward", "batch", "sequence", "dtype",
                                       "dropout"};
    bool has_text = m->defaults.sequence > 0;

    if (strcmp(key, "train") == 0 || strcmp(key, "forward") == 0) {
        o->is_training = key[0] == 't';
        return *value ? err_set(e, "%s takes no value", key) : 0;
    }
    if (strcmp(key, "batch") == 0)
        return text_parse_int(value, 1, BATCH_MAX, &o->batch) == 0
                   ? 0 : bad_value(key, value, "1 to 65536", e);
    if (strcmp(key, "dtype") == 0) {
        o->dtype = strcmp(value, "bf16") == 0 ? DTYPE_BF16 : DTYPE_F32;
        return o->dtype == DTYPE_BF16 || strcmp(value, "f32") == 0
                   ? 0 : bad_value(key, value, "f32 or bf16", e);
    }
    if (!has_text && (strcmp(key, "sequence") == 0 || strcmp(key, "dropout") == 0))
        return err_set(e, "%s has no %s", m->name, key);
    if (strcmp(key, "sequence") == 0)
        return text_parse_int(value, 2, SEQUENCE_MAX, &o->sequence) == 0
                   ? 0 : bad_value(key, value, "2 to 65536", e);
    if (strcmp(key, "dropout") == 0)
        return text_parse_double(value, 0.0, 0.9, &o->dropout) == 0
                   ? 0 : bad_value(key, value, "0 to 0.9", e);
    return err_set(e, "%s knows no option \"%s\"%s; there are train, forward, batch, dtype and, "
                   "of texts, sequence, dropout", m->name, key,
                   text_did_you_mean(key, keys, COUNT_OF(keys)).text);
}

/* "train,batch=8"; `text` is cut up */
static int read_options(const struct zoo_model *m, char *text, struct zoo_options *o,
                        struct err *e)
{
    while (text && *text) {
        char *end = strchr(text, ','), *value;

        if (end)
            *end++ = '\0';
        value = strchr(text, '=');
        if (value)
            *value++ = '\0';
        if (set_option(m, text, value ? value : "", o, e) != 0)
            return -1;
        text = end;
    }
    return 0;
}

/* ---- parts and parameters ---- */

static const char *path_name(struct zoo *z, const char *name)
{
    const char *path = "";

    for (int i = 0; i < z->depth; i++)
        path = arena_printf(z->g->arena, "%s%s/", path, z->path[i]);
    return arena_printf(z->g->arena, "%s%s", path, name);
}

void zoo_enter(struct zoo *z, const char *part)
{
    assert(z->depth < (int)COUNT_OF(z->path));
    z->g->source = path_name(z, part);
    z->path[z->depth++] = arena_strdup(z->g->arena, part);
}

void zoo_leave(struct zoo *z)
{
    z->depth--;
    z->g->source = "";
    if (z->depth > 0) {
        const char *part = z->path[--z->depth];

        zoo_enter(z, part);
    }
}

/* its number of elements is that of the whole */
static void add_variable(struct zoo *z, int node, int64_t elems, int update)
{
    bool is_part = shape_elems(&z->g->node[node].shape) != elems;

    MEM_ADD(z->variable, z->count, z->capacity) =
        (struct zoo_variable){node, is_part, elems, update};
}

static int new_variable(struct zoo *z, const char *name, const struct shape *s)
{
    int held, node = zoo_hold(z, path_name(z, name), s, &held);

    add_variable(z, held, shape_elems(s), NODE_NONE);
    return node;
}

int zoo_variable(struct zoo *z, const char *name, int rank, const int64_t *dim)
{
    struct shape s = shape_make(DTYPE_F32, rank, dim);

    return new_variable(z, name, &s);
}

int zoo_weight(struct zoo *z, const char *name, int rank, const int64_t *dim)
{
    struct shape s = shape_make(z->o->dtype, rank, dim);

    return new_variable(z, name, &s);
}

int zoo_state(struct zoo *z, const char *name, int rank, const int64_t *dim)
{
    struct shape s = shape_make(DTYPE_F32, rank, dim);
    int node = graph_parameter(z->g, s, path_name(z, name));

    add_variable(z, node, shape_elems(&s), node);
    return node;
}

void zoo_set_state(struct zoo *z, int node, int update)
{
    for (int i = 0; i < z->count; i++)
        if (z->variable[i].node == node)
            z->variable[i].update = update;
}

static int64_t count_elements(const struct zoo *z)
{
    int64_t count = 0;

    for (int i = 0; i < z->count; i++)
        if (z->variable[i].update == NODE_NONE)
            count += z->variable[i].elems;
    return count;
}

/* *index: of the model; the options are those of its defaults or of the text behind the name */
static int read_spec(const char *spec, struct arena *a, int *index, struct zoo_options *o,
                     struct err *e)
{
    char *text = arena_strdup(a, spec), *options = strchr(text, ':');

    if (options)
        *options++ = '\0';
    *index = find_model(text, e);
    if (*index < 0)
        return -1;
    *o = models[*index].model.defaults;
    return read_options(&models[*index].model, options, o, e);
}

int zoo_batch(const char *spec, int64_t *batch, struct err *e)
{
    struct zoo_options o;
    struct arena a;
    int index, status;

    arena_init(&a);
    status = read_spec(spec, &a, &index, &o, e);
    arena_fini(&a);
    if (status == 0)
        *batch = o.batch;
    return status;
}

int zoo_build(struct graph *g, const char *spec, int64_t *variable_count, struct err *e)
{
    return zoo_build_replica(g, spec, 1, variable_count, e);
}

int zoo_build_replica(struct graph *g, const char *spec, int replica_count,
                      int64_t *variable_count, struct err *e)
{
    struct zoo z = {.g = g, .loss = NODE_NONE, .seed = NODE_NONE, .replica_count = replica_count};
    struct zoo_options o;
    int index, status = 0;

    if (read_spec(spec, g->arena, &index, &o, e) != 0)
        return -1;
    z.o = &o;
    models[index].build(&z);
    *variable_count = count_elements(&z);
    if (o.is_training)
        status = zoo_train(&z, e);
    mem_free(z.variable);
    if (status == 0)
        graph_eliminate_common(g);
    return status;
}
