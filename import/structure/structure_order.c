/* Finds out by which order a comparison compares. */
#include "import/structure/structure_order.h"

#include "import/structure/structure_scalar.h"

#include <math.h>
#include <string.h>

#define POINTS_MAX 9
#define OPERANDS_MAX 64
#define SAMPLES 400

struct trial {
    const struct hlo_module *m;
    int computation, parameters;
};

static enum hlo_element element_of(const struct trial *t, int operand)
{
    const struct hlo_computation *c = &t->m->computation[t->computation];

    return c->instruction[c->parameter[2 * operand]].type->element;
}

/* values of a type that its orders differ in; NaN is the last of a float's */
static int points_of(enum hlo_element e, struct scalar *point)
{
    static const double floats[] = {-INFINITY, -2.0, -1.0, -0.0, 0.0, 1.0, 3.0, INFINITY, NAN};
    int bits = hlo_element_bits(e), count = 0;
    int64_t top = bits < 64 ? INT64_C(1) << (bits - 1) : INT64_MIN;

    if (hlo_element_is_float(e)) {
        for (; count < POINTS_MAX; count++)
            point[count] = scalar_float(floats[count]);
    } else if (e == ELEMENT_PRED) {
        point[count++] = scalar_integer(0);
        point[count++] = scalar_integer(1);
    } else if (hlo_element_kind(e) == ELEMENT_KIND_SIGNED) {
        point[count++] = scalar_integer(bits < 64 ? -top : top);
        point[count++] = scalar_integer(-1);
        point[count++] = scalar_integer(0);
        if (bits > 1)
            point[count++] = scalar_integer(1);
        point[count++] = scalar_integer(bits < 64 ? top - 1 : INT64_MAX);
    } else {
        point[count++] = scalar_integer(0);
        point[count++] = scalar_integer(1);
        point[count++] = scalar_integer(bits < 64 ? top - 1 : INT64_MAX);
        point[count++] = scalar_integer(bits < 64 ? top : INT64_MIN);
        point[count++] = scalar_integer(bits < 64 ? 2 * top - 1 : -1);
    }
    return count;
}

static int sign(double x)
{
    return (x > 0) - (x < 0);
}

/* -1, 0, 1 as an order has two values */
static int order_of(enum order_view view, enum hlo_element e, struct scalar x, struct scalar y)
{
    bool is_unsigned = hlo_element_kind(e) == ELEMENT_KIND_UNSIGNED;

    if (x.is_float) {
        if (isnan(x.number) || isnan(y.number))
            return (isnan(x.number) != 0) - (isnan(y.number) != 0);
        if (view == ORDER_TOTAL && x.number == 0.0 && y.number == 0.0)
            return (signbit(y.number) != 0) - (signbit(x.number) != 0);
        return sign(x.number - y.number) ? sign(x.number - y.number)
                                         : (x.number > y.number) - (x.number < y.number);
    }
    if (view == ORDER_OTHER_SIGN) {     /* of 32 bits only */
        x.integer = is_unsigned ? (int32_t)(uint32_t)x.integer : (int64_t)(uint32_t)x.integer;
        y.integer = is_unsigned ? (int32_t)(uint32_t)y.integer : (int64_t)(uint32_t)y.integer;
    } else if (e == ELEMENT_U64) {
        return ((uint64_t)x.integer > (uint64_t)y.integer) -
               ((uint64_t)x.integer < (uint64_t)y.integer);
    }
    return (x.integer > y.integer) - (x.integer < y.integer);
}

static int key_order(const struct order_key *k, enum hlo_element e, struct scalar x,
                     struct scalar y)
{
    int order = order_of(k->view, e, x, y);

    return k->is_falling ? -order : order;
}

/* the comparison of two rows; -1: it cannot be tried */
static int compare(const struct trial *t, const struct scalar *parameter)
{
    struct scalar r;

    return scalar_evaluate(t->m, t->computation, parameter, &r, 1) ? r.integer != 0 : -1;
}

/* all parameters at some value, the same in both rows */
static void rest(const struct trial *t, struct scalar *parameter)
{
    for (int k = 0; k < t->parameters / 2; k++) {
        enum hlo_element e = element_of(t, k);

        parameter[2 * k] = parameter[2 * k + 1] =
            hlo_element_is_float(e) ? scalar_float(1.0) : scalar_integer(1);
    }
}

/*
 * Whether key k by itself orders the rows: where it differs, the comparison is its order. NaNs may
 * be compared in any way where floats are compared as numbers.
 */
static bool orders(const struct trial *t, const struct order_key *k, bool is_only)
{
    struct scalar point[POINTS_MAX], parameter[2 * OPERANDS_MAX];
    enum hlo_element e = element_of(t, k->operand);
    int count = points_of(e, point);

    for (int i = 0; i < count * count; i++) {
        struct scalar x = point[i / count], y = point[i % count];
        int order = key_order(k, e, x, y), is;

        if (x.is_float && k->view == ORDER_NUMBER && (isnan(x.number) || isnan(y.number)))
            continue;
        rest(t, parameter);
        parameter[2 * k->operand] = x;
        parameter[2 * k->operand + 1] = y;
        is = compare(t, parameter);
        if (is < 0 || (order != 0 && is != (order < 0)))
            return false;
        /* equal rows: false; of one key alone LE and GE are as good, but for zeros of two signs */
        if (order == 0 && is && (!is_only || (x.is_float && signbit(x.number) != signbit(y.number))))
            return false;
    }
    return true;
}

static bool find_view(const struct trial *t, struct order_key *k, bool is_only)
{
    enum hlo_element e = element_of(t, k->operand);

    for (int view = 0; view < ORDER_VIEWS; view++) {
        if (view == ORDER_TOTAL && e != ELEMENT_F32 && e != ELEMENT_BF16 && e != ELEMENT_F16)
            continue;
        if (view == ORDER_OTHER_SIGN && e != ELEMENT_S32 && e != ELEMENT_U32)
            continue;
        for (int falling = 0; falling < 2; falling++) {
            k->view = (enum order_view)view;
            k->is_falling = falling;
            if (orders(t, k, is_only))
                return true;
        }
    }
    return false;
}

/* two values of a key, the first before the second */
static void rising_pair(const struct trial *t, const struct order_key *k, struct scalar *before,
                        struct scalar *after)
{
    struct scalar point[POINTS_MAX];
    enum hlo_element e = element_of(t, k->operand);
    int count = points_of(e, point);

    for (int i = 0; i < count * count; i++) {
        *before = point[i / count];
        *after = point[i % count];
        if (!(before->is_float && (isnan(before->number) || isnan(after->number))) &&
            key_order(k, e, *before, *after) < 0)
            return;
    }
}

/* whether key a decides where a and b disagree */
static bool decides(const struct trial *t, const struct order_key *a, const struct order_key *b)
{
    struct scalar parameter[2 * OPERANDS_MAX];

    rest(t, parameter);
    rising_pair(t, a, &parameter[2 * a->operand], &parameter[2 * a->operand + 1]);
    rising_pair(t, b, &parameter[2 * b->operand + 1], &parameter[2 * b->operand]);
    return compare(t, parameter) == 1;
}

static void put_in_order(const struct trial *t, struct order *o)
{
    for (int i = 1; i < o->count; i++)
        for (int k = i; k > 0 && decides(t, &o->key[k], &o->key[k - 1]); k--) {
            struct order_key swap = o->key[k];

            o->key[k] = o->key[k - 1];
            o->key[k - 1] = swap;
        }
}

/* many rows against the order as found */
static bool holds(const struct trial *t, const struct order *o)
{
    struct scalar parameter[2 * OPERANDS_MAX];
    uint32_t random = 12345;

    for (int sample = 0; o->count > 1 && sample < SAMPLES; sample++) {
        int order = 0;

        rest(t, parameter);
        for (int k = 0; k < o->count; k++) {
            struct scalar point[POINTS_MAX], *row = &parameter[2 * o->key[k].operand];
            enum hlo_element e = element_of(t, o->key[k].operand);
            int count = points_of(e, point) - (hlo_element_is_float(e) ? 1 : 0);

            for (int side = 0; side < 2; side++) {
                random = random * 1664525u + 1013904223u;
                row[side] = point[(random >> 16) % (uint32_t)count];
            }
            if (order == 0)
                order = key_order(&o->key[k], e, row[0], row[1]);
        }
        if (compare(t, parameter) != (order < 0))
            return false;
    }
    return true;
}

bool order_find(const struct hlo_module *m, int computation, struct order *out)
{
    const struct hlo_computation *c = &m->computation[computation];
    struct trial t = {.m = m, .computation = computation, .parameters = c->parameter_count};
    bool used[2 * OPERANDS_MAX];

    memset(out, 0, sizeof(*out));
    if (c->parameter_count > 2 * OPERANDS_MAX || c->parameter_count % 2)
        return false;
    for (int k = 0; k < c->parameter_count; k++)
        if (c->parameter[k] < 0 || c->instruction[c->parameter[k]].type->rank ||
            hlo_element_is_complex(c->instruction[c->parameter[k]].type->element))
            return false;
    scalar_used(m, computation, 0, used);
    for (int k = 0; k < c->parameter_count / 2; k++) {
        if (!used[2 * k] && !used[2 * k + 1])
            continue;
        if (out->count == ORDER_KEYS_MAX)
            return false;
        out->key[out->count++].operand = k;
    }
    for (int k = 0; k < out->count; k++)
        if (!find_view(&t, &out->key[k], out->count == 1))
            return false;
    put_in_order(&t, out);
    return out->count > 0 && holds(&t, out);
}
