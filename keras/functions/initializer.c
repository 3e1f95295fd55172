/*
 * Draws initial values on the host: constant, uniform, normal, truncated, variance-scaled and
 * orthogonal (Gram-Schmidt).
 */
#include "keras/functions/initializer.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/units.h"
#include "keras/call/number.h"

#define PI 3.14159265358979323846
/* deviation of a standard normal cut at two deviations: what variance scaling makes up for */
#define TRUNCATED_DEVIATION 0.87962566103423978

static const struct {
    const char *name;
    double a, b;
} kinds[] = {
#define INITIALIZER(id, name, a, b, meaning) {name, a, b},
#include "keras/functions/initializers.def"
};

struct initializer initializer_standard(enum initializer_kind kind)
{
    return (struct initializer){.kind = kind, .a = kinds[kind].a, .b = kinds[kind].b};
}

/* letters and digits alone, lower case: "GlorotUniform" and "glorot_uniform" are the same */
static bool is_same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == '_')
            a++;
        while (*b == '_')
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (!*a)
            return true;
    }
}

static const struct { const char *name; enum initializer_kind kind; } aliases[] = {
#define ALIAS(initializer, name) {name, INITIALIZER_##initializer},
#include "keras/functions/initializers.def"
};

int initializer_find(const char *name, enum initializer_kind *kind, struct err *e)
{
    const char *names[COUNT_OF(kinds)];

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        names[i] = kinds[i].name;
        if (is_same_name(name, names[i])) {
            *kind = (enum initializer_kind)i;
            return 0;
        }
    }
    for (size_t i = 0; i < COUNT_OF(aliases); i++)
        if (strcmp(name, aliases[i].name) == 0) {
            *kind = aliases[i].kind;
            return 0;
        }
    return err_set(e, "unknown initializer \"%s\"%s", name,
                   text_did_you_mean(name, names, COUNT_OF(kinds)).text);
}

/* ---- as files and calls write them ---- */

/* as the tables have numbers */
struct said { double a, b, mode, draw; };

static const struct number_field fields[] = {
#define TAKES(initializer, name, member, kind, low, high, words) \
    {INITIALIZER_##initializer, {name, kind, low, high, words}, offsetof(struct said, member), NAN},
#include "keras/functions/initializers.def"
};

int initializer_from_json(struct initializer *i, const json_t *v, struct err *e)
{
    static const char *const seeds[] = {"seed", "dtype", "input_axes", "output_axes", NULL};
    static const struct number_table table = {fields, COUNT_OF(fields), seeds};
    const json_t *config = json_object_get(v, "config");
    const char *name = number_table_name(v);
    struct said said = {NAN, NAN, NAN, NAN};
    enum initializer_kind kind;

    if (!name)
        return err_set(e, "an initializer is a name, or an object with class_name and config");
    if (initializer_find(name, &kind, e) || number_table_read(&table, (int)kind, v, &said, e))
        return -1;
    for (int k = 2; k < 4; k++)
        if (json_is_integer(json_object_get(config, seeds[k])) ||
            json_is_array(json_object_get(config, seeds[k])))
            return err_set(e, "%s: %s is given; fans are those of the last two dimensions", name,
                           seeds[k]);
    *i = initializer_standard(kind);
    i->a = isnan(said.a) ? i->a : said.a;
    i->b = isnan(said.b) ? i->b : said.b;
    i->mode = isnan(said.mode) ? FAN_IN : (enum initializer_mode)said.mode;
    /* Keras 1 and 2 call the truncated one "normal" */
    i->distribution = isnan(said.draw) || said.draw == 3
                          ? DRAW_TRUNCATED_NORMAL : (enum initializer_distribution)said.draw;
    return 0;
}

int initializer_check(const struct initializer *i, const struct shape *s, const char *name,
                      struct err *e)
{
    if ((i->kind == INITIALIZER_IDENTITY && s->rank != 2) ||
        (i->kind == INITIALIZER_ORTHOGONAL && s->rank < 2))
        return err_set(e, "%s has %d dimension%s; its initializer \"%s\" is for %s", name, s->rank,
                       s->rank == 1 ? "" : "s", kinds[i->kind].name,
                       i->kind == INITIALIZER_IDENTITY ? "matrices" : "two and more");
    return 0;
}

/* ---- random numbers ---- */

static double unit(struct rng *r)       /* in (0, 1] */
{
    return (double)((rng_next(r) >> 11) + 1) * 0x1p-53;
}

static double normal(struct rng *r)
{
    double radius = sqrt(-2.0 * log(unit(r)));

    return radius * cos(2.0 * PI * unit(r));
}

static double truncated_normal(struct rng *r)
{
    for (;;) {
        double value = normal(r);

        if (fabs(value) <= 2.0)
            return value;
    }
}

/* ---- values, in order of elements ---- */

static void put(const struct shape *s, void *to, int64_t at, double value)
{
    if (s->dtype == DTYPE_F32 || s->dtype == DTYPE_BF16)
        ((float *)to)[at] = (float)value;
    else
        ((int32_t *)to)[at] = (int32_t)value;
}

static void fill_constant(const struct shape *s, double value, void *to)
{
    for (int64_t i = 0, elems = shape_elems(s); i < elems; i++)
        put(s, to, i, value);
}

static void fill_forget(const struct shape *s, void *to)
{
    int64_t elems = shape_elems(s);

    for (int64_t i = 0; i < elems; i++)
        put(s, to, i, i / (elems / 4) == 1);
}

static void fill_identity(const struct shape *s, double value, void *to)
{
    assert(s->rank == 2);
    fill_constant(s, 0.0, to);
    for (int64_t i = 0; i < s->dim[0] && i < s->dim[1]; i++)
        put(s, to, i * s->dim[1] + i, value);
}

static void fill_uniform(const struct shape *s, double low, double high, struct rng *r, void *to)
{
    for (int64_t i = 0, elems = shape_elems(s); i < elems; i++)
        put(s, to, i, (double)rng_uniform(r, (float)low, (float)high));
}

static void fill_normal(const struct shape *s, double mean, double deviation,
                        double (*draw)(struct rng *), struct rng *r, void *to)
{
    for (int64_t i = 0, elems = shape_elems(s); i < elems; i++)
        put(s, to, i, mean + deviation * draw(r));
}

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0.0;

    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* `count` vectors of `length` made orthonormal one after the other, twice for small rests */
static void orthonormalise(double *v, int64_t count, int64_t length)
{
    for (int64_t i = 0; i < count; i++) {
        double *now = v + i * length, norm;

        for (int64_t twice = 0; twice < 2 * i; twice++) {
            const double *before = v + twice % i * length;
            double along = dot(now, before, length);

            for (int64_t k = 0; k < length; k++)
                now[k] -= along * before[k];
        }
        norm = sqrt(dot(now, now, length));
        for (int64_t k = 0; k < length; k++)
            now[k] /= norm;
    }
}

/* The orthogonal factor of a normal matrix whose triangular factor has a positive diagonal. */
static void fill_orthogonal(const struct shape *s, double gain, struct rng *r, void *to)
{
    int64_t columns = s->rank ? s->dim[s->rank - 1] : 1, rows = shape_elems(s) / columns;
    int64_t count = rows < columns ? rows : columns, length = rows < columns ? columns : rows;
    double *v = mem_alloc((size_t)(count * length) * sizeof(*v));

    for (int64_t i = 0; i < count * length; i++)
        v[i] = normal(r);
    orthonormalise(v, count, length);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            put(s, to, i * columns + j,
                gain * (rows < columns ? v[i * length + j] : v[j * length + i]));
    mem_free(v);
}

void initializer_fans(const struct shape *s, double *in, double *out)
{
    double field = 1.0;

    for (int i = 0; i < s->rank - 2; i++)
        field *= (double)s->dim[i];
    *out = s->rank > 0 ? field * (double)s->dim[s->rank - 1] : 1.0;
    *in = s->rank > 1 ? field * (double)s->dim[s->rank - 2] : *out;
}

/* variance: what the kind divides by its fan */
static double scaled_variance(const struct initializer *i, const struct shape *s)
{
    double in, out;

    initializer_fans(s, &in, &out);
    switch (i->kind) {
    case INITIALIZER_VARIANCE_SCALING:
        return i->a / (i->mode == FAN_IN ? in : i->mode == FAN_OUT ? out : (in + out) / 2.0);
    case INITIALIZER_HE_UNIFORM:
    case INITIALIZER_HE_NORMAL:
        return 2.0 / in;
    case INITIALIZER_LECUN_UNIFORM:
    case INITIALIZER_LECUN_NORMAL:
        return 1.0 / in;
    default:
        return 2.0 / (in + out);
    }
}

static void fill_scaled(const struct shape *s, enum initializer_distribution distribution,
                        double deviation, struct rng *r, void *to)
{
    switch (distribution) {
    case DRAW_UNIFORM:
        fill_uniform(s, -sqrt(3.0) * deviation, sqrt(3.0) * deviation, r, to);
        return;
    case DRAW_NORMAL:
        fill_normal(s, 0.0, deviation, normal, r, to);
        return;
    case DRAW_TRUNCATED_NORMAL:
        fill_normal(s, 0.0, deviation / TRUNCATED_DEVIATION, truncated_normal, r, to);
        return;
    }
}

void initializer_fill(const struct initializer *i, const struct shape *shape, uint64_t seed,
                      uint64_t stream, void *to)
{
    double deviation = sqrt(scaled_variance(i, shape));
    struct rng r;

    rng_init(&r, seed * 0x9e3779b97f4a7c15u + stream);
    switch (i->kind) {
    case INITIALIZER_ZEROS:
    case INITIALIZER_COUNT:
        fill_constant(shape, 0.0, to);
        return;
    case INITIALIZER_ONES:
        fill_constant(shape, 1.0, to);
        return;
    case INITIALIZER_CONSTANT:
        fill_constant(shape, i->a, to);
        return;
    case INITIALIZER_IDENTITY:
        fill_identity(shape, i->a, to);
        return;
    case INITIALIZER_RANDOM_UNIFORM:
        fill_uniform(shape, i->a, i->b, &r, to);
        return;
    case INITIALIZER_RANDOM_NORMAL:
        fill_normal(shape, i->a, i->b, normal, &r, to);
        return;
    case INITIALIZER_TRUNCATED_NORMAL:
        fill_normal(shape, i->a, i->b, truncated_normal, &r, to);
        return;
    case INITIALIZER_GLOROT_UNIFORM:
    case INITIALIZER_HE_UNIFORM:
    case INITIALIZER_LECUN_UNIFORM:
        fill_scaled(shape, DRAW_UNIFORM, deviation, &r, to);
        return;
    case INITIALIZER_GLOROT_NORMAL:
    case INITIALIZER_HE_NORMAL:
    case INITIALIZER_LECUN_NORMAL:
        fill_scaled(shape, DRAW_TRUNCATED_NORMAL, deviation, &r, to);
        return;
    case INITIALIZER_UNIT_FORGET:
        fill_forget(shape, to);
        return;
    case INITIALIZER_VARIANCE_SCALING:
        fill_scaled(shape, i->distribution, deviation, &r, to);
        return;
    case INITIALIZER_ORTHOGONAL:
        fill_orthogonal(shape, i->a, &r, to);
        return;
    }
}
