/* Results of systole exec: a table of what they are, files, and how far they are from others. */
#include "cli/exec/exec.h"

#include "base/table.h"
#include "base/units.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_SHOWN = 40 };

struct range { double low, high; int64_t not_finite; };

static struct range range_of(const struct exec_tensor *t)
{
    struct range r = {.low = INFINITY, .high = -INFINITY};
    size_t bytes = hlo_element_bytes(t->type.element);

    for (int64_t i = 0; i < hlo_type_elements(&t->type); i++) {
        double x = hlo_element_load(t->type.element, (const char *)t->data + (size_t)i * bytes);

        if (!isfinite(x)) {
            r.not_finite++;
            continue;
        }
        r.low = fmin(r.low, x);
        r.high = fmax(r.high, x);
    }
    return r;
}

void exec_print_results(const struct exec_program *p)
{
    const struct table_field fields[] = {
        {TABLE_SHOWN(TEXT, NULL, "result"), .is_right = true}, {TABLE_SHOWN(TEXT, NULL, "type")},
        {TABLE_SHOWN(TEXT, NULL, "smallest"), .is_right = true},
        {TABLE_SHOWN(TEXT, NULL, "largest"), .is_right = true},
        {TABLE_SHOWN(INT, NULL, "not finite")}};
    struct table t;

    table_begin_count(&t, fields, COUNT_OF(fields), NULL);
    t.indent = "";
    for (int i = 0; i < p->result_count + p->outfeed_count && i < ROWS_SHOWN; i++) {
        bool is_result = i < p->result_count;
        const struct exec_tensor *x = is_result ? &p->result[i] : &p->outfeed[i - p->result_count];
        struct range r = {.low = INFINITY};
        char type[120];

        if (x->data)
            r = range_of(x);
        TABLE_ROW(&t, cell_text(is_result ? arena_printf(t.arena, "%d", i) : x->key),
                  cell_text(arena_strdup(t.arena, hlo_type_print(&x->type, type, sizeof(type)))),
                  r.low <= r.high ? cell_text(arena_printf(t.arena, "%.6g", r.low)) : cell_none(),
                  r.low <= r.high ? cell_text(arena_printf(t.arena, "%.6g", r.high)) : cell_none(),
                  r.not_finite ? cell_int(r.not_finite) : cell_none());
    }
    table_print_text(&t, stdout);
    table_end(&t);
    if (p->result_count + p->outfeed_count > ROWS_SHOWN)
        printf("and %d more\n", p->result_count + p->outfeed_count - ROWS_SHOWN);
}

/* results, then what went out */
static struct exec_tensor *outputs(const struct exec_program *p, struct arena *a)
{
    struct exec_tensor *all = arena_array(a, (size_t)(p->result_count + p->outfeed_count) + 1,
                                          sizeof(*all));

    memcpy(all, p->result, (size_t)p->result_count * sizeof(*all));
    memcpy(all + p->result_count, p->outfeed, (size_t)p->outfeed_count * sizeof(*all));
    return all;
}

int exec_write_results(const char *folder, const struct exec_program *p, struct err *e)
{
    struct arena a;
    int status = 0;

    arena_init(&a);
    for (int i = 0; i < p->result_count && status == 0; i++) {
        if (p->result[i].data)
            status = exec_write_npy(arena_printf(&a, "%s/result_%d.npy", folder, i), &p->result[i],
                                    e);
    }
    for (int i = 0; i < p->outfeed_count && status == 0; i++)
        status = exec_write_npy(arena_printf(&a, "%s/%s.npy", folder, p->outfeed[i].key),
                                &p->outfeed[i], e);
    if (status == 0)
        status = exec_write_safetensors(arena_printf(&a, "%s/outputs.safetensors", folder),
                                        outputs(p, &a),
                                        p->result_count + p->outfeed_count, e);
    arena_fini(&a);
    return status;
}

/* ----- against others */

static const struct table_field difference_fields[] = {
    {TABLE_SHOWN(TEXT, NULL, "result"), .is_right = true}, {TABLE_SHOWN(TEXT, NULL, "type")},
    {TABLE_SHOWN(TEXT, NULL, "largest difference"), .is_right = true},
    {TABLE_SHOWN(TEXT, NULL, "of magnitude"), .is_right = true},
    {TABLE_SHOWN(TEXT, NULL, "relative"), .is_right = true},
    {TABLE_SHOWN(TEXT, NULL, "allowed"), .is_right = true}, {TABLE_SHOWN(TEXT, NULL, "verdict")}};

static bool is_within(const struct exec_difference *d, double allowed)
{
    return d->is_exact_type ? d->unequal == 0 : d->relative <= allowed;
}

/* "3", or what a queue is called in files */
static const char *key_of(struct arena *a, const struct exec_tensor *x, int number)
{
    return x->key ? x->key : arena_printf(a, "%d", number);
}

static void add_difference(struct table *t, int result, const struct exec_tensor *x,
                           const struct exec_difference *d, double allowed)
{
    char type[120], verdict[80] = "equal";

    if (d->unequal && is_within(d, allowed))
        strcpy(verdict, "within");
    else if (d->unequal)
        snprintf(verdict, sizeof(verdict), "%lld of %lld differ, most element %lld",
                 (long long)d->unequal, (long long)d->elements, (long long)d->worst);
    TABLE_ROW(t, cell_text(key_of(t->arena, x, result)),
              cell_text(arena_strdup(t->arena, hlo_type_print(&x->type, type, sizeof(type)))),
              cell_text(arena_printf(t->arena, "%.3g", d->largest)),
              cell_text(arena_printf(t->arena, "%.3g", d->magnitude)),
              cell_text(arena_printf(t->arena, "%.2e", d->relative)),
              cell_text(d->is_exact_type ? "0" : arena_printf(t->arena, "%.2e", allowed)),
              cell_text(arena_strdup(t->arena, verdict)));
}

/* a queue that has more entries here than there */
static void add_other_type(struct table *t, int result, const struct exec_tensor *x,
                           const struct exec_tensor *other)
{
    char type[120], there[120];

    TABLE_ROW(t, cell_text(key_of(t->arena, x, result)),
              cell_text(arena_strdup(t->arena, hlo_type_print(&x->type, type, sizeof(type)))),
              cell_none(), cell_none(), cell_none(), cell_none(),
              cell_text(arena_printf(t->arena, "%s there",
                                     hlo_type_print(&other->type, there, sizeof(there)))));
}

/* allowed[i]: of result i; the number of those that are further off */
static int print_differences(const struct exec_tensor *here, const struct exec_tensor *other,
                             int count, const double *allowed)
{
    struct table t;
    int failed = 0, compared = 0;

    table_begin_count(&t, difference_fields, COUNT_OF(difference_fields), NULL);
    t.indent = "";
    for (int i = 0; i < count; i++) {
        struct exec_difference d;

        if (!other[i].data || !here[i].data)
            continue;
        compared++;
        if (!hlo_type_equal(&here[i].type, &other[i].type)) {
            add_other_type(&t, i, &here[i], &other[i]);
            failed++;
            continue;
        }
        d = exec_compare(&here[i], &other[i]);
        add_difference(&t, i, &here[i], &d, allowed[i]);
        failed += !is_within(&d, allowed[i]);
    }
    table_print_text(&t, stdout);
    table_end(&t);
    printf("%d of %d results are within what is allowed\n", compared - failed, compared);
    return failed;
}

int exec_check_expected(const struct exec_options *o, struct exec_program *p, int *failed,
                        struct err *e)
{
    int count = p->result_count + p->outfeed_count;
    struct exec_tensor *here = outputs(p, &p->arena), *expected = outputs(p, &p->arena);
    double *allowed = arena_array(&p->arena, (size_t)count + 1, sizeof(*allowed));

    for (int i = 0; i < count; i++) {
        expected[i].data = NULL;
        allowed[i] = o->tolerance;
    }
    if (exec_read_safetensors(
            o->expect, (struct exec_tensors){expected, p->result_count},
            (struct exec_tensors){expected + p->result_count, p->outfeed_count}, &p->arena, e))
        return -1;
    printf("\nagainst %s:\n", o->expect);
    *failed = print_differences(here, expected, count, allowed);
    return 0;
}

/* ----- cores against the host */

enum { SENSITIVITY_FACTOR = 20 };
#define MOVED_BY 1e-6

/* what rounding alone may make of a result, of its own type */
static double floor_of(enum hlo_element e)
{
    if (!hlo_element_is_float(e))
        return 2e-5;
    return hlo_element_bits(e) <= 8 ? 5e-2 : hlo_element_bits(e) <= 16 ? 2e-2 : 2e-5;
}

/* each float by a millionth of itself, up and down by turns that no pattern of the program has */
static void move_inputs(struct exec_program *p)
{
    uint64_t bits = 0x9e3779b97f4a7c15u;

    for (int i = 0; i < p->parameter_count; i++) {
        struct exec_tensor *x = &p->parameter[i];
        float *value;

        if (x->type.element != ELEMENT_F32)
            continue;
        value = arena_copy(&p->arena, x->data, (size_t)hlo_type_elements(&x->type), sizeof(*value));
        x->data = value;
        for (int64_t k = 0; k < hlo_type_elements(&x->type); k++) {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            value[k] *= bits & 1 ? (float)(1 + MOVED_BY) : (float)(1 - MOVED_BY);
        }
    }
}

/* the values of a tensor, also of one without elements, which has some place all the same */
static void *copy_values(struct arena *a, const struct exec_tensor *t)
{
    size_t bytes = hlo_type_bytes(&t->type);
    void *values = arena_array(a, bytes + 1, 1);

    memcpy(values, t->data, bytes);
    return values;
}

/* results and what went out, copied */
static struct exec_tensor *copy_outputs(struct exec_program *p)
{
    struct exec_tensor *to = outputs(p, &p->arena);

    for (int i = 0; i < p->result_count + p->outfeed_count; i++)
        if (to[i].data)
            to[i].data = copy_values(&p->arena, &to[i]);
    return to;
}

static struct exec_tensor *copy_tensors(struct exec_program *p, const struct exec_tensor *from,
                                        int count)
{
    struct exec_tensor *to = arena_array(&p->arena, (size_t)count + 1, sizeof(*to));

    for (int i = 0; i < count; i++) {
        to[i] = from[i];
        if (from[i].data)
            to[i].data = copy_values(&p->arena, &from[i]);
    }
    return to;
}

int exec_compare_backends(struct exec_options *o, struct exec_program *p, int *failed,
                          struct err *e)
{
    int count = p->result_count + p->outfeed_count;
    double *allowed = arena_array(&p->arena, (size_t)count + 1, sizeof(*allowed));
    struct exec_tensor *inputs, *on_cores, *on_host, *moved;

    if (exec_make_up(o, p, e))
        return -1;
    inputs = copy_tensors(p, p->parameter, p->parameter_count);
    if (exec_on_cores(o, p, e))
        return -1;
    on_cores = copy_outputs(p);
    p->parameter = copy_tensors(p, inputs, p->parameter_count);
    if (exec_on_host(o, p, e))
        return -1;
    on_host = copy_outputs(p);
    p->parameter = inputs;
    move_inputs(p);
    if (exec_on_host(o, p, e))
        return -1;
    moved = copy_outputs(p);
    for (int i = 0; i < count; i++) {
        allowed[i] = floor_of(on_host[i].type.element);
        if (moved[i].data && hlo_type_equal(&moved[i].type, &on_host[i].type))
            allowed[i] = fmax(allowed[i], SENSITIVITY_FACTOR *
                                              exec_compare(&moved[i], &on_host[i]).relative);
    }
    p->result = on_cores;
    p->outfeed = on_cores + p->result_count;
    printf("\ncores against the host:\n");
    *failed = print_differences(on_cores, on_host, count, allowed);
    return 0;
}
