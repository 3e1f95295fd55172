/* Reads the values of a layer's parameters from Keras JSON, by their types. */
#include "keras/model/model_json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "base/units.h"
#include "keras/call/call.h"
#include "keras/layers/layer_impl.h"

/* a number, or text that is reckoned to one: "1./255" */
static bool is_number(const json_t *v, double *to)
{
    struct err e;
    json_t *n;

    if (json_is_string(v)) {
        n = call_number(json_string_value(v), &e);
        *to = json_number_value(n);
        json_decref(n);
        return n != NULL;
    }
    *to = json_number_value(v);
    return json_is_number(v);
}

static int read_number(struct model_json_reader *r, const json_t *v, const char *field, double *to)
{
    double n;

    if (!is_number(v, &n))
        return model_json_fail(r, "\"%s\" must be a number", field);
    *to = n;
    return 0;
}

static bool is_whole(const json_t *v)
{
    double n;

    return json_is_integer(v) ||
           (json_is_string(v) && is_number(v, &n) && n == floor(n) && fabs(n) < 0x1p53);
}

static int read_whole(struct model_json_reader *r, const json_t *v, const char *field, int64_t *to)
{
    double n;

    if (!is_whole(v))
        return model_json_fail(r, "\"%s\" must be a whole number", field);
    is_number(v, &n);
    *to = json_is_integer(v) ? json_integer_value(v) : (int64_t)n;
    return 0;
}

/* n, or a list of `count`: [height, width] */
static int read_several(struct model_json_reader *r, const json_t *v, const char *field, int count,
                        int64_t *to)
{
    static const char *const words[] = {"", "one", "two", "three"};

    if (is_whole(v)) {
        for (int i = 0; i < count; i++)
            if (read_whole(r, v, field, &to[i]) != 0)
                return -1;
        return 0;
    }
    if (json_array_size(v) != (size_t)count)
        return model_json_fail(r, "\"%s\" must be a whole number or a list of %s", field,
                               words[count]);
    for (int i = 0; i < count; i++)
        if (read_whole(r, json_array_get(v, (size_t)i), field, &to[i]) != 0)
            return -1;
    return 0;
}

/* n, or [n], along the steps of a sequence */
static int read_one(struct model_json_reader *r, const json_t *v, const char *field, int64_t *to)
{
    to[1] = 1;
    return read_whole(r, json_array_size(v) == 1 ? json_array_get(v, 0) : v, field, &to[0]);
}

/* n, or [before, after], of a sequence */
static int read_ends(struct model_json_reader *r, const json_t *v, const char *field, int64_t *to)
{
    to[2] = to[3] = 0;
    return read_several(r, v, field, 2, to);
}

/* n, [rows, columns], or [[top, bottom], [left, right]]; of volumes three of them */
static int read_pads(struct model_json_reader *r, const json_t *v, const char *field, int dims,
                     int64_t *to)
{
    if (!is_whole(v) && json_array_size(v) != (size_t)dims)
        return model_json_fail(r, "\"%s\" must be a whole number or a list of %s", field,
                               dims == 2 ? "two" : "three");
    for (int i = 0; i < dims; i++)
        if (read_several(r, is_whole(v) ? v : json_array_get(v, (size_t)i), field, 2,
                         to + 2 * i) != 0)
            return -1;
    return 0;
}

/* several dimensions that are normalised together, or apart */
static int read_axes(struct model_json_reader *r, const json_t *v, const char *field,
                     struct layer_config *c)
{
    c->shape_count = (int64_t)json_array_size(v);
    if (c->shape_count > GRAPH_RANK_MAX)
        return model_json_fail(r, "\"%s\" has more than %d numbers", field, GRAPH_RANK_MAX);
    for (int64_t i = 0; i < c->shape_count; i++)
        if (read_whole(r, json_array_get(v, (size_t)i), field, &c->shape[i]) != 0)
            return -1;
    return 0;
}

/* the dimension of features: where it is not the last one it is moved there and back */
static int read_axis(struct model_json_reader *r, const json_t *v, const char *field,
                     struct layer *l)
{
    if (json_array_size(v) == 1)
        v = json_array_get(v, 0);
    if (json_array_size(v) > 1 && l->kind == LAYER_LAYER_NORMALIZATION)
        return read_axes(r, v, field, &l->c);
    if (json_is_array(v) && l->kind == LAYER_NORMALIZATION) {
        l->c.choice = true;             /* these dimensions; none: a number for all of a sample */
        return read_axes(r, v, field, &l->c);
    }
    if (read_whole(r, v, field, &l->features) != 0)
        return -1;
    if (l->features == 0)
        return model_json_fail(r, "\"%s\" is 0, the batch, which is not supported", field);
    if (l->features == -1)
        l->features = 0;
    return 0;
}

/* "relu", or {"class_name": "function", "config": "relu"} */
static int read_activation(struct model_json_reader *r, const json_t *v, const char *field,
                           struct activation *to)
{
    const char *name = json_string_value(json_is_object(v) ? json_object_get(v, "config") : v);
    enum activation_kind kind;
    struct err e;

    if (!name)
        return model_json_fail(r, "\"%s\" must be the name of an activation", field);
    if (activation_find(name, &kind, &e) != 0)
        return model_json_fail(r, "\"%s\": %s", field, e.msg);
    *to = activation_standard(kind);
    return 0;
}

/* one of a few names, any spelling of case; its number, or -1 with all of them */
int model_json_choice(struct model_json_reader *r, const json_t *v, const char *field,
                      const char *const *names, size_t count)
{
    const char *name = json_string_value(v);
    char all[160] = "";

    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(all);

        if (name && strcasecmp(name, names[i]) == 0)
            return (int)i;
        snprintf(all + used, sizeof(all) - used, "%s\"%s\"",
                 i == 0 ? "" : i + 1 < count ? ", " : " or ", names[i]);
    }
    return model_json_fail(r, "\"%s\" is %s%s%s; it must be %s", field, name ? "\"" : "",
                           name ? name : "not a name", name ? "\"" : "", all);
}

/* causal: of Conv1D alone */
static int read_padding(struct model_json_reader *r, const json_t *v, const struct layer_field *f,
                        enum nn_padding *to)
{
    static const char *const names[] = {"valid", "same", "causal"};
    static const enum nn_padding paddings[] = {NN_VALID, NN_SAME, NN_CAUSAL};
    int which = model_json_choice(r, v, f->name, names, f->kind == LAYER_CONV1D ? 3 : 2);

    if (which < 0)
        return -1;
    *to = paddings[which];
    return 0;
}

static int read_listed(struct model_json_reader *r, const json_t *v, const struct layer_field *f,
                       int *to)
{
    const char *const *names = layer_choices(f->name);
    size_t count = 0;

    while (count < LAYER_CHOICES_MAX && names[count])
        count++;
    if (f->high > 0)
        count = (size_t)f->high;
    *to = model_json_choice(r, v, f->name, names, count);
    return *to < 0 ? -1 : 0;
}

static int read_text(struct model_json_reader *r, const json_t *v, const char *field,
                     const char **to)
{
    if (!json_is_string(v) || strlen(json_string_value(v)) > 100)
        return model_json_fail(r, "\"%s\" must be text of at most 100 characters", field);
    *to = arena_strdup(r->arena, json_string_value(v));
    return 0;
}

static int read_initializer(struct model_json_reader *r, const json_t *v, const char *field,
                            struct initializer *to)
{
    struct err e;

    return initializer_from_json(to, v, &e) ? model_json_fail(r, "\"%s\": %s", field, e.msg) : 0;
}

/* outputs have a batch in front, over which an orthogonal one would go */
static int read_regularizer(struct model_json_reader *r, const json_t *v, const char *field,
                            struct regularizer *to)
{
    struct err e;

    if (regularizer_from_json(to, v, &e))
        return model_json_fail(r, "\"%s\" %s", field, e.msg);
    if (to->orthogonal != 0 && strcmp(field, "activity_regularizer") == 0)
        return model_json_fail(r, "\"%s\" is OrthogonalRegularizer; it is for weights", field);
    return 0;
}

/* all numbers of v, nested in lists as they may be; -1: there is something else */
static int64_t flatten_reals(const json_t *v, double *to, int depth)
{
    int64_t count = 0;
    double n;

    if (is_number(v, &n)) {
        if (to)
            *to = n;
        return 1;
    }
    if (!json_is_array(v) || depth == 0)
        return -1;
    for (size_t i = 0; i < json_array_size(v); i++) {
        int64_t more = flatten_reals(json_array_get(v, i), to ? to + count : NULL, depth - 1);

        if (more < 0)
            return -1;
        count += more;
    }
    return count;
}

static int read_reals(struct model_json_reader *r, const json_t *v, const char *field,
                      struct layer_reals *to)
{
    int64_t count = flatten_reals(v, NULL, GRAPH_RANK_MAX);
    double *value;

    if (count < 1)
        return model_json_fail(r, "\"%s\" must be a number or a list of numbers", field);
    value = arena_array(r->arena, (size_t)count, sizeof(*value));
    flatten_reals(v, value, GRAPH_RANK_MAX);
    *to = (struct layer_reals){value, count};
    return 0;
}

/* a list of whole numbers, or one */
static int read_list(struct model_json_reader *r, const json_t *v, const char *field,
                     struct layer_config *c)
{
    size_t size = is_whole(v) ? 1 : json_array_size(v);

    if ((!json_is_array(v) && !is_whole(v)) || size < 1 || size > 6)
        return model_json_fail(r, "\"%s\" must be a list of 1..6 whole numbers", field);
    c->shape_count = (int64_t)size;
    for (size_t i = 0; i < size; i++) {
        const json_t *d = is_whole(v) ? v : json_array_get(v, i);

        c->shape[i] = -1;               /* null: whatever it is */
        if (!json_is_null(d) && read_whole(r, d, field, &c->shape[i]) != 0)
            return -1;
    }
    return 0;
}

static int read_bool(struct model_json_reader *r, const json_t *v, const char *field, bool *to)
{
    if (!json_is_boolean(v))
        return model_json_fail(r, "\"%s\" must be true or false", field);
    *to = json_is_true(v);
    return 0;
}

int model_json_read_field(struct model_json_reader *r, const struct layer_field *f, const json_t *v,
                          struct layer *l)
{
    void *to = (char *)&l->c + f->offset;

    switch (f->type) {
    case FIELD_INT:
    case FIELD_OPT_INT: return read_whole(r, v, f->name, to);
    case FIELD_REAL:
    case FIELD_OPT_REAL: return read_number(r, v, f->name, to);
    case FIELD_PAIR:
    case FIELD_OPT_PAIR:
    case FIELD_TRIPLE:
    case FIELD_OPT_TRIPLE: return read_several(r, v, f->name, layer_field_width(f->type), to);
    case FIELD_ONE:
    case FIELD_OPT_ONE: return read_one(r, v, f->name, to);
    case FIELD_ENDS: return read_ends(r, v, f->name, to);
    case FIELD_PADS: return read_pads(r, v, f->name, 2, to);
    case FIELD_PADS3: return read_pads(r, v, f->name, 3, to);
    case FIELD_AXIS: return read_axis(r, v, f->name, l);
    case FIELD_PADDING: return read_padding(r, v, f, to);
    case FIELD_CHOICE: return read_listed(r, v, f, to);
    case FIELD_TEXT: return read_text(r, v, f->name, to);
    case FIELD_ACTIVATION: return read_activation(r, v, f->name, to);
    case FIELD_INITIALIZER: return read_initializer(r, v, f->name, to);
    case FIELD_REGULARIZER: return read_regularizer(r, v, f->name, to);
    case FIELD_SHAPE: return read_list(r, v, f->name, &l->c);
    case FIELD_REALS: return read_reals(r, v, f->name, to);
    case FIELD_BOOL: break;
    }
    return read_bool(r, v, f->name, to);
}
