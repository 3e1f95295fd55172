/*
 * Sets the parameters of a layer to Keras's standard values, and checks them against their ranges.
 */
#include "keras/layers/layer_fields.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/units.h"
#include "keras/layers/layer_impl.h"

const struct layer_field layer_fields[] = {
#define LAYER_FIELD(layer, name, type, member, ...) \
    {LAYER_##layer, name, FIELD_##type, offsetof(struct layer_config, member), __VA_ARGS__},
#include "keras/layers/layer_fields.def"
};
const size_t layer_field_count = COUNT_OF(layer_fields);

bool layer_field_is_required(const struct layer_field *f)
{
    return isnan(f->standard) && f->type != FIELD_OPT_REAL;
}

const char *const *layer_choices(const char *field)
{
    static const struct { const char *field, *name[LAYER_CHOICES_MAX]; } choices[] = {
        {"interpolation", {"nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"}},
        {"fill_mode", {"constant", "nearest", "reflect", "wrap"}},
        {"mode", {"horizontal", "vertical", "horizontal_and_vertical"}},
        {"output_mode", {"int", "one_hot", "multi_hot", "count"}},
        {"score_mode", {"dot", "concat"}},
    };

    for (size_t i = 0; i < COUNT_OF(choices); i++)
        if (strcmp(choices[i].field, field) == 0)
            return choices[i].name;
    return NULL;
}

int layer_field_width(enum layer_field_type type)
{
    switch (type) {
    case FIELD_INT:
    case FIELD_OPT_INT:
    case FIELD_ONE:
    case FIELD_OPT_ONE: return 1;
    case FIELD_PAIR:
    case FIELD_OPT_PAIR:
    case FIELD_ENDS: return 2;
    case FIELD_TRIPLE:
    case FIELD_OPT_TRIPLE: return 3;
    case FIELD_PADS: return 4;
    case FIELD_PADS3: return 6;
    default: return 0;
    }
}

static void set_numbers(int64_t *to, int count, double value)
{
    for (int i = 0; i < count; i++)
        to[i] = isnan(value) ? 0 : (int64_t)value;
}

static void set_field(const struct layer_field *f, void *member)
{
    bool is_given = !isnan(f->standard);

    switch (f->type) {
    case FIELD_AXIS: set_numbers(member, 1, f->standard); break;
    case FIELD_ONE:
    case FIELD_OPT_ONE: set_numbers(member, 2, 1); set_numbers(member, 1, f->standard); break;
    case FIELD_CHOICE: *(int *)member = (int)f->standard; break;
    case FIELD_REAL: *(double *)member = is_given ? f->standard : 0.0; break;
    case FIELD_OPT_REAL: *(double *)member = f->standard; break;
    case FIELD_BOOL: *(bool *)member = f->standard != 0.0; break;
    case FIELD_PADDING: *(enum nn_padding *)member = (enum nn_padding)f->standard; break;
    case FIELD_ACTIVATION:
        if (is_given)
            *(struct activation *)member =
                activation_standard((enum activation_kind)f->standard);
        break;
    case FIELD_INITIALIZER:
        *(struct initializer *)member =
            initializer_standard((enum initializer_kind)f->standard);
        break;
    case FIELD_REGULARIZER:
    case FIELD_REALS:
    case FIELD_TEXT:
    case FIELD_SHAPE: break;            /* none */
    default: set_numbers(member, layer_field_width(f->type), f->standard); break;
    }
}

void layer_set_standard(struct layer *l, enum layer_kind kind)
{
    memset(l, 0, sizeof(*l));
    l->kind = kind;
    l->policy = l->device = -1;
    l->is_trainable = true;
    l->c.groups = 1;
    for (int i = 0; i < 3; i++)
        l->c.dilation[i] = 1;
    for (size_t i = 0; i < COUNT_OF(layer_fields); i++)
        if (layer_fields[i].kind == kind)
            set_field(&layer_fields[i], (char *)&l->c + layer_fields[i].offset);
}

static int check_whole(const struct layer *l, const struct layer_field *f, int64_t value,
                       struct err *e)
{
    bool is_optional = f->type == FIELD_OPT_INT || f->type == FIELD_OPT_PAIR ||
                       f->type == FIELD_OPT_ONE || f->type == FIELD_OPT_TRIPLE;

    if (((double)value >= f->low && (double)value <= f->high) || (is_optional && value == 0))
        return 0;
    return layer_fail(l, e, "\"%s\" is %" PRId64 ", not in %.0f..%.0f", f->name, value, f->low,
                      f->high);
}

static int check_real(const struct layer *l, const struct layer_field *f, double value,
                      struct err *e)
{
    if (value >= f->low && value <= f->high)
        return 0;
    return layer_fail(l, e, "\"%s\" is %g, not in %g..%g", f->name, value, f->low, f->high);
}

static int check_field(const struct layer *l, const struct layer_field *f, struct err *e)
{
    const void *member = (const char *)&l->c + f->offset;
    const int64_t *whole = member;
    const double *real = member;

    if (f->type == FIELD_REAL || (f->type == FIELD_OPT_REAL && !isnan(*real)))
        return check_real(l, f, *real, e);
    for (int i = 0; i < layer_field_width(f->type); i++)
        if (check_whole(l, f, whole[i], e) != 0)
            return -1;
    return 0;
}

int layer_check_fields(const struct layer *l, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(layer_fields); i++)
        if (layer_fields[i].kind == l->kind && check_field(l, &layer_fields[i], e) != 0)
            return -1;
    return 0;
}
