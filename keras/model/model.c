/*
 * Makes models: adds layers and calls, checks that everything is reached, and builds the variables
 * in order.
 */
#include "keras/model/model.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "keras/layers/layer_fields.h"
#include "keras/layers/layer_impl.h"
#include "keras/layers/spectral.h"
#include "keras/model/model_impl.h"

void model_init(struct model *m, struct arena *a, const char *name)
{
    memset(m, 0, sizeof(*m));
    m->arena = a;
    m->name = arena_strdup(a, name);
    m->seed_variable = -1;
}

void model_fini(struct model *m)
{
    mem_free(m->layer);
    mem_free(m->node);
    mem_free(m->part);
    mem_free(m->input);
    mem_free(m->output);
    memset(m, 0, sizeof(*m));
}

/* ---- layers and calls ---- */

struct layer *model_find_layer(const struct model *m, const char *name)
{
    for (int i = 0; i < m->layer_count; i++)
        if (strcmp(m->layer[i]->name, name) == 0)
            return m->layer[i];
    return NULL;
}

static const char *new_name(const struct model *m, enum layer_kind kind)
{
    const char *base = layer_standard_name(kind), *name = base;

    for (int i = 1; model_find_layer(m, name); i++)
        name = arena_printf(m->arena, "%s_%d", base, i);
    return name;
}

struct layer *model_layer(struct model *m, enum layer_kind kind, const char *name)
{
    struct layer *l = arena_alloc(m->arena, sizeof(*l));

    layer_set_standard(l, kind);
    l->name = name ? arena_strdup(m->arena, name) : new_name(m, kind);
    m->layer = mem_grow(m->layer, &m->layer_capacity, (size_t)m->layer_count + 1,
                        sizeof(*m->layer));
    m->layer[m->layer_count++] = l;
    return l;
}

static int number_of(const struct model *m, const struct layer *l)
{
    int i = 0;

    while (m->layer[i] != l) {
        i++;
        assert(i < m->layer_count);     /* of this model */
    }
    return i;
}

static int add_node(struct model *m, struct layer *l, const int *input, int input_count,
                    const struct shape *shape)
{
    struct model_node *n;

    m->node = mem_grow(m->node, &m->node_capacity, (size_t)m->node_count + 1, sizeof(*m->node));
    n = &m->node[m->node_count];
    *n = (struct model_node){.layer = number_of(m, l), .input_count = input_count, .shape = *shape};
    n->input = arena_array(m->arena, (size_t)input_count + 1, sizeof(*n->input));
    for (int i = 0; i < input_count; i++)
        n->input[i] = input[i];
    return m->node_count++;
}

static void add_number(int **list, int *count, size_t *capacity, int value)
{
    *list = mem_grow(*list, capacity, (size_t)*count + 1, sizeof(**list));
    (*list)[(*count)++] = value;
}

int model_input(struct model *m, const char *name, const struct shape *sample)
{
    struct layer *l = model_layer(m, LAYER_INPUT, name);
    int node;

    l->c.input = *sample;
    l->is_called = true;
    node = add_node(m, l, NULL, 0, sample);
    add_number(&m->input, &m->input_count, &m->input_capacity, node);
    return node;
}

static void build_layer(struct layer *l, struct variable_set *set, struct arena *a)
{
    struct layer_build b = {l, set, a};

    if (layer_functions(l->kind)->build)
        layer_functions(l->kind)->build(&b);
    if (l->c.power_iterations > 0)
        spectral_build(&b);
}

/* adds what the layer would make for these inputs */
static void build_alone(const struct layer *l, const char *name, const struct shape *in, int count,
                        struct variable_set *set)
{
    struct layer alone = *l;

    alone.name = name;
    alone.variable_count = 0;
    alone.input_count = count;
    memcpy(alone.input, in, (size_t)count * sizeof(*in));
    build_layer(&alone, set, set->arena);
}

bool model_has_same_variables(const struct layer *l, const struct shape *in, int count)
{
    struct arena arena;
    struct variable_set set;
    int had;
    bool is_same;

    if (!layer_functions(l->kind)->build)
        return true;
    arena_init(&arena);
    variable_set_init(&set, &arena);
    build_alone(l, "first", l->input, l->input_count, &set);
    had = set.count;
    build_alone(l, "again", in, count, &set);
    is_same = set.count == 2 * had;
    for (int i = 0; i < had && is_same; i++)
        is_same = shape_same_dims(&set.variable[i].shape, &set.variable[had + i].shape);
    variable_set_fini(&set);
    arena_fini(&arena);
    return is_same;
}

/* variables have shapes from the first call, which later ones must fit */
static int check_again(const struct layer *l, const struct shape *in, int count, struct err *e)
{
    char first[160], now[160];
    bool differs = count != l->input_count;

    if (!l->is_called)
        return 0;
    for (int i = 0; i < count && !differs; i++)
        differs = !shape_same_dims(&l->input[i], &in[i]);
    if (!differs || model_has_same_variables(l, in, count))
        return 0;
    return layer_fail(l, e, "it was called with %d input%s, samples of shape %s, and cannot be "
                      "called with %d, %s", l->input_count, l->input_count == 1 ? "" : "s",
                      layer_shape_text(&l->input[0], first, sizeof(first)), count,
                      layer_shape_text(&in[0], now, sizeof(now)));
}

/* A layer that is called on each step sees samples without that dimension. */
static int take_steps(const struct layer *l, struct shape *in, int count, int64_t *steps,
                      struct err *e)
{
    for (int i = 0; i < count; i++) {
        if (in[i].rank < 2)
            return layer_fail(l, e, "TimeDistributed takes samples of [steps, ...]");
        *steps = in[i].dim[0];
        in[i].rank--;
        for (int d = 0; d < in[i].rank; d++)
            in[i].dim[d] = in[i].dim[d + 1];
    }
    return 0;
}

static void give_steps(struct shape *out, int64_t steps)
{
    for (int d = out->rank++; d > 0; d--)
        out->dim[d] = out->dim[d - 1];
    out->dim[0] = steps;
}

/* ---- a dimension of features that is not the last one ---- */

/* `features` counts the batch, and from the end if it is negative; the dimension of samples, or -1 */
static int features_at(const struct layer *l, int rank)
{
    int64_t at = l->features < 0 ? rank + l->features : l->features - 1;

    return l->features == 0 ? rank - 1 : at < 0 || at >= rank ? -1 : (int)at;
}

/* dimension `from` to the place `to`, what is between moving up */
static void move_dim(struct shape *s, int from, int to)
{
    int64_t size = s->dim[from];

    for (int d = from; d < to; d++)
        s->dim[d] = s->dim[d + 1];
    for (int d = from; d > to; d--)
        s->dim[d] = s->dim[d - 1];
    s->dim[to] = size;
}

static int take_features(const struct layer *l, struct shape *in, int count, struct err *e)
{
    char text[160];

    for (int i = 0; i < count && l->features != 0; i++) {
        int at = features_at(l, in[i].rank);

        if (at < 0)
            return layer_fail(l, e, "\"axis\" is %" PRId64 ", which samples of shape %s have not; "
                              "the batch is 0", l->features,
                              layer_shape_text(&in[i], text, sizeof(text)));
        move_dim(&in[i], at, in[i].rank - 1);
    }
    return 0;
}

/* a layer that keeps the dimensions of its input gives them in the input's order */
static void give_features(const struct layer *l, const struct shape *in, struct shape *out)
{
    if (l->features != 0 && out->rank == in->rank)
        move_dim(out, out->rank - 1, features_at(l, in->rank));
}

int model_move_features(struct graph *g, const struct layer *l, int node, int rank, bool is_back)
{
    int at = 1 + features_at(l, rank), last = g->node[node].shape.rank - 1, dims[GRAPH_RANK_MAX];

    if (l->features == 0 || at == last || last != rank)
        return node;
    for (int d = 0; d <= last; d++)
        dims[d] = is_back ? (d < at ? d : d == at ? last : d - 1)
                          : (d < at ? d : d == last ? at : d + 1);
    return graph_transpose(g, node, dims);
}

/* the other outputs of the call that was just made */
static void add_parts(struct model *m, struct layer *l, const struct shape *in,
                      const struct shape *out, int call)
{
    for (int i = 1; i < layer_output_count(l); i++) {
        struct shape s = layer_more_shape(l, in, out, i);
        int node = add_node(m, l, &call, 1, &s);

        m->node[node].part = i;
        m->node[node].has_mask = m->node[call].has_mask && l->c.both == LAYER_APART && i == 1;
    }
}

static int check_parts(const struct layer *l, struct err *e)
{
    if (layer_output_count(l) > 1 && l->is_distributed)
        return layer_fail(l, e, "TimeDistributed of a layer of several outputs is not supported");
    return 0;
}

int model_call(struct model *m, struct layer *l, const int *input, int input_count,
               struct err *e)
{
    struct shape in[LAYER_INPUTS_MAX], out;
    bool has_mask[LAYER_INPUTS_MAX], gives;
    int64_t steps = 0;
    int call;

    if (input_count > LAYER_INPUTS_MAX)
        return layer_fail(l, e, "it has %d inputs; there can be at most %d", input_count,
                          LAYER_INPUTS_MAX);
    for (int i = 0; i < input_count; i++) {
        assert(input[i] >= 0 && input[i] < m->node_count);
        in[i] = m->node[input[i]].shape;
        has_mask[i] = m->node[input[i]].has_mask;
    }
    if ((l->is_distributed && take_steps(l, in, input_count, &steps, e) != 0) ||
        take_features(l, in, input_count, e) != 0 ||
        layer_shape(l, in, input_count, &out, e) != 0 || check_again(l, in, input_count, e) != 0 ||
        layer_gives_mask(l, in, has_mask, input_count, &gives, e) != 0 || check_parts(l, e) != 0)
        return -1;
    if (!l->is_called)
        memcpy(l->input, in, (size_t)input_count * sizeof(*in));
    l->input_count = l->is_called ? l->input_count : input_count;
    l->is_called = true;
    give_features(l, in, &out);
    if (l->is_distributed)
        give_steps(&out, steps);
    call = add_node(m, l, input, input_count, &out);
    m->node[call].has_mask = gives;
    add_parts(m, l, in, &out, call);
    return call;
}

int model_last_call(const struct model *m)
{
    int last = m->node_count - 1;

    return last < 0 ? last : last - m->node[last].part;
}

int model_add(struct model *m, struct layer *l, struct err *e)
{
    int last = model_last_call(m);

    if (m->node_count == 0)
        return layer_fail(l, e, "the model has no input yet, so its shape is not known");
    return model_call(m, l, &last, 1, e);
}

void model_output(struct model *m, int call)
{
    assert(call >= 0 && call < m->node_count);
    add_number(&m->output, &m->output_count, &m->output_capacity, call);
}

/* ---- building ---- */

bool model_is_plain_name(const char *name)
{
    size_t length = strlen(name);

    for (const char *c = name; *c; c++)
        if (!isprint((unsigned char)*c) || *c == '"' || *c == '\\')
            return false;
    return length >= 1 && length <= MODEL_NAME_CHARS_MAX;
}

static int check_names(const struct model *m, struct err *e)
{
    for (int i = 0; i < m->layer_count; i++) {
        if (!model_is_plain_name(m->layer[i]->name))
            return err_set(e, "the name of layer %d must be 1..%d printable characters without "
                           "quotes and backslashes", i, MODEL_NAME_CHARS_MAX);
        if (model_find_layer(m, m->layer[i]->name) != m->layer[i])
            return layer_fail(m->layer[i], e, "two layers have this name");
    }
    return 0;
}

/* every call leads to an output, every layer is called */
static int check_reached(const struct model *m, struct err *e)
{
    bool *is_used = arena_array(m->arena, (size_t)m->node_count + 1, sizeof(*is_used));
    int result = 0;

    for (int i = 0; i < m->output_count; i++)
        is_used[m->output[i]] = true;
    for (int i = m->node_count - 1; i >= 0 && result == 0; i--) {
        const struct model_node *n = &m->node[i];

        if (n->part > 0) {              /* nobody need take it */
            is_used[n->input[0]] |= is_used[i];
            continue;
        }
        if (!is_used[i])
            result = layer_fail(m->layer[n->layer], e, "its output leads to no output of the "
                                "model");
        for (int k = 0; k < n->input_count; k++)
            is_used[n->input[k]] = true;
    }
    for (int i = 0; i < m->layer_count && result == 0; i++)
        if (!m->layer[i]->is_called)
            result = layer_fail(m->layer[i], e, "it is not connected to anything");
    return result;
}

static int check_set(const struct model *m, const struct layer *l, const struct variable_set *set,
                     struct err *e)
{
    size_t length = strlen(l->name);

    for (int i = 0; i < set->count; i++)
        if (strncmp(set->variable[i].name, l->name, length) == 0 &&
            set->variable[i].name[length] == '/' && layer_functions(l->kind)->build)
            return layer_fail(l, e, "there is a variable \"%s\" already; give the layers of model "
                              "\"%s\" other names", set->variable[i].name, m->name);
    return 0;
}

/* before anybody counts its elements in 64 bits */
static int check_sizes(const struct layer *l, const struct variable_set *set, struct err *e)
{
    char text[160];

    for (int i = 0; i < l->variable_count; i++) {
        const struct variable *v = &set->variable[l->variable[i]];
        double elems = 1.0;

        for (int d = 0; d < v->shape.rank; d++)
            elems *= (double)v->shape.dim[d];
        if (elems > 0x1p32)
            return layer_fail(l, e, "its variable \"%s\" would have shape %s, more than 2^32 "
                              "elements", v->name,
                              layer_shape_text(&v->shape, text, sizeof(text)));
        if (l->regularizer[i].orthogonal != 0 && v->shape.rank != 2)
            return layer_fail(l, e, "its variable \"%s\" has %d dimensions; OrthogonalRegularizer "
                              "is for matrices", v->name, v->shape.rank);
        if (initializer_check(&v->initializer, &v->shape, v->name, e) ||
            constraint_check(&v->constraint, &v->shape, v->name, e))
            return -1;
    }
    return 0;
}

static void add_seed(struct model *m, struct variable_set *set)
{
    struct shape scalar = shape_scalar(DTYPE_S32);
    const char *name = "seed_generator/seed_generator_state";
    struct initializer start = {.kind = INITIALIZER_CONSTANT, .a = (double)(m->seed & 0x7fffffff)};

    if (variable_find(set, name) >= 0)
        name = arena_printf(m->arena, "%s/seed_generator_state", m->name);
    m->seed_variable = variable_add_state(set, name, &scalar, &start);
}

int model_build(struct model *m, struct variable_set *set, struct err *e)
{
    bool has_dropout = false;

    assert(!m->set);
    if (m->node_count == 0 || m->input_count == 0)
        return err_set(e, "model \"%s\" has no input", m->name);
    if (m->output_count == 0)
        model_output(m, model_last_call(m));
    if (check_names(m, e) != 0 || check_reached(m, e) != 0)
        return -1;
    for (int i = 0; i < m->layer_count; i++)
        if (check_set(m, m->layer[i], set, e) != 0)
            return -1;
    m->set = set;
    m->first_variable = set->count;
    for (int i = 0; i < m->layer_count; i++) {
        build_layer(m->layer[i], set, m->arena);
        if (check_sizes(m->layer[i], set, e) != 0)
            return -1;
        has_dropout = has_dropout || layer_is_random(m->layer[i]);
    }
    if (has_dropout)
        add_seed(m, set);
    m->variable_count = set->count - m->first_variable;
    return 0;
}

struct model_mark model_mark(const struct model *m)
{
    return (struct model_mark){m->layer_count, m->node_count, m->input_count, m->output_count};
}

void model_take_back(struct model *m, struct model_mark mark)
{
    assert(!m->set);
    m->layer_count = mark.layers;
    m->node_count = mark.nodes;
    m->input_count = mark.inputs;
    m->output_count = mark.outputs;
}

int model_part_of(const struct model *m, const char *name)
{
    for (int i = 0; i < m->part_count; i++)     /* those outside come first */
        if (strncmp(name, m->part[i].prefix, strlen(m->part[i].prefix)) == 0)
            return i;
    return -1;
}

int64_t model_parameter_count(const struct model *m, bool of_trainable)
{
    int64_t elems = 0;

    for (int i = 0; i < m->variable_count; i++) {
        const struct variable *v = &m->set->variable[m->first_variable + i];

        if (v->is_trainable == of_trainable && m->first_variable + i != m->seed_variable)
            elems += shape_elems(&v->shape);
    }
    return elems;
}
