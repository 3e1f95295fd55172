/* check.* custom calls of tests: is an array what another one is? Bit for bit, within steps between
 * neighbouring floats, or within a tolerance. */
#include "import/eval/custom.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* an attribute's number, wherever the reader has kept it */
static double attribute(const struct call *c, const char *key, double otherwise)
{
    const struct hlo_pairs *lists[] = { &hlo_detail(c->i)->other, &hlo_detail(c->i)->frontend };
    const char *config = hlo_detail(c->i)->config ? strstr(hlo_detail(c->i)->config, key) : NULL;

    for (int l = 0; l < 2; l++)
        for (int k = 0; k < lists[l]->count; k++)
            if (!strcmp(lists[l]->item[k].key, key))
                return strtod(lists[l]->item[k].value, NULL);
    if (config) {
        config += strlen(key);
        config += strspn(config, " =:\"");
        return strtod(config, NULL);
    }
    return otherwise;
}

typedef bool (*is_alike)(const struct call *c, const char *got, const char *want, size_t bytes,
                         double bound);

static void report(struct call *c, int64_t at, int64_t wrong)
{
    const struct value *got = c->operand[0], *want = c->operand[1];
    struct eval_report *r = c->ev->report;
    size_t bytes = value_element_bytes(got);
    const char *g = (const char *)got->data + (size_t)at * bytes;
    const char *w = (const char *)want->data + (size_t)at * bytes;

    if (r->failures++)
        return;
    err_at(&r->first_failure, c->ev->m->file ? c->ev->m->file : "", c->i->line, c->i->col,
           "%s: %lld of %lld elements differ; the first one, number %lld, is %.9g for %.9g",
           hlo_detail(c->i)->target, (long long)wrong, (long long)value_count(got), (long long)at,
           hlo_element_load(got->element, g), hlo_element_load(got->element, w));
}

/* the sizes alone, where they differ */
static bool has_other_sizes(struct call *c)
{
    const struct value *got = c->operand[0], *want = c->operand[1];
    struct eval_report *r = c->ev->report;
    bool is_other = got->rank != want->rank || got->element != want->element;

    for (int d = 0; d < got->rank && !is_other; d++)
        is_other = got->dim[d] != want->dim[d];
    if (is_other && !r->failures++)
        err_at(&r->first_failure, c->ev->m->file ? c->ev->m->file : "", c->i->line, c->i->col,
               "%s: the two have different types", hlo_detail(c->i)->target);
    return is_other;
}

static int check(struct call *c, is_alike alike, double bound)
{
    size_t bytes = value_element_bytes(c->operand[0]);
    int64_t wrong = 0, first = -1, n = value_count(c->operand[0]);

    c->ev->report->checks++;
    c->result = c->i->type->element == ELEMENT_TUPLE ? value_tuple(&c->ev->pool, 0, NULL)
                                                    : value_token(&c->ev->pool);
    if (c->i->operand_count < 2)
        return call_fail(c, "a check compares two arrays");
    if (has_other_sizes(c))
        return 0;
    for (int64_t k = 0; k < n; k++) {
        const char *g = (const char *)c->operand[0]->data + (size_t)k * bytes;
        const char *w = (const char *)c->operand[1]->data + (size_t)k * bytes;

        if (memcmp(g, w, bytes) && !alike(c, g, w, bytes, bound)) {
            first = wrong++ ? first : k;
        }
    }
    if (wrong)
        report(c, first, wrong);
    return 0;
}

/* any NaN is any other one */
static bool are_nans(const struct call *c, const char *got, const char *want)
{
    enum hlo_element e = c->operand[0]->element;

    return (hlo_element_is_float(e) || hlo_element_is_complex(e)) &&
           isnan(hlo_element_load(e, got)) && isnan(hlo_element_load(e, want));
}

static bool never(const struct call *c, const char *got, const char *want, size_t bytes,
                  double bound)
{
    (void)bytes;
    (void)bound;
    return are_nans(c, got, want);
}

/* how many floats of the type lie between two */
static double steps_between(enum hlo_element e, const char *got, const char *want, size_t bytes)
{
    int64_t x = 0, y = 0, sign = (int64_t)1 << (hlo_element_bits(e) - 1 > 62
                                                    ? 62 : hlo_element_bits(e) - 1);
    uint64_t g = 0, w = 0;

    memcpy(&g, got, bytes);
    memcpy(&w, want, bytes);
    if (bytes == 8) {
        x = (int64_t)g < 0 ? -(int64_t)(g & INT64_MAX) : (int64_t)g;
        y = (int64_t)w < 0 ? -(int64_t)(w & INT64_MAX) : (int64_t)w;
    } else {
        x = (int64_t)g & sign ? -((int64_t)g & (sign - 1)) : (int64_t)g;
        y = (int64_t)w & sign ? -((int64_t)w & (sign - 1)) : (int64_t)w;
    }
    return fabs((double)x - (double)y);
}

static bool is_close(const struct call *c, const char *got, const char *want, size_t bytes,
                     double bound)
{
    enum hlo_element e = c->operand[0]->element;

    if (are_nans(c, got, want))
        return true;
    if (hlo_element_is_complex(e)) {
        enum hlo_element part = e == ELEMENT_C64 ? ELEMENT_F32 : ELEMENT_F64;

        return steps_between(part, got, want, bytes / 2) <= bound &&
               steps_between(part, got + bytes / 2, want + bytes / 2, bytes / 2) <= bound;
    }
    return hlo_element_is_float(e) && steps_between(e, got, want, bytes) <= bound;
}

static bool is_near(const struct call *c, const char *got, const char *want, size_t bytes,
                    double bound)
{
    enum hlo_element e = c->operand[0]->element;
    double x = hlo_element_load(e, got), y = hlo_element_load(e, want);

    if (are_nans(c, got, want))
        return true;
    if (hlo_element_is_complex(e)) {
        enum hlo_element part = e == ELEMENT_C64 ? ELEMENT_F32 : ELEMENT_F64;
        double i = hlo_element_load(part, got + bytes / 2);
        double j = hlo_element_load(part, want + bytes / 2);

        if (i != j && !(fabs(i - j) <= bound))
            return false;
    }
    return x == y || fabs(x - y) <= bound;
}

int check_equal(struct call *c) { return check(c, never, 0); }

int check_close(struct call *c)
{
    return check(c, is_close, attribute(c, "max_ulp_difference", 3));
}

int check_almost(struct call *c)
{
    return check(c, is_near, attribute(c, "tolerance", 1e-4));
}
