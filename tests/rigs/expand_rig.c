/* Programs before and after their expansion, side by side. */
#include "tests/test.h"

#include "base/complex_parts.h"
#include "base/rng.h"
#include "import/eval/eval.h"
#include "import/expand/expand.h"
#include "import/lower/lower_values.h"
#include "import/read/read.h"
#include "import/structure/structure.h"
#include "stack/interp/interp.h"
#include "tests/rigs/expand_rig.h"

#include <math.h>
#include <time.h>

enum { REPLICAS_MAX = 8 };

uint64_t expand_rig_seed(void)
{
    const char *given = getenv("SYSTOLE_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) / 86400;

    printf("SYSTOLE_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

static struct hlo_module *read_text(const char *text, struct arena *a)
{
    struct err e = {0};
    struct hlo_module *m = program_read_bytes(text, strlen(text), "case", a, &e);

    if (!m || e.msg[0])
        fail_msg("line %d: %s", e.line, e.msg);
    return m;
}

static double draw_float(const struct expand_rig *rig, struct rng *r)
{
    static const double special[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1, -1};
    double low = rig->low, high = rig->high;

    if (low == 0 && high == 0) {
        low = -4;
        high = 4;
    }
    if (rig->has_specials && rng_next(r) % 10 == 0)
        return special[rng_next(r) % 7];
    return low + (high - low) * (double)(rng_next(r) >> 11) * 0x1p-53;
}

static void draw(const struct expand_rig *rig, const struct hlo_type *t, struct rng *r, char *to)
{
    size_t bytes = hlo_element_bytes(t->element);

    for (int64_t i = 0; i < hlo_type_elements(t); i++, to += bytes) {
        if (hlo_element_is_complex(t->element)) {
            enum hlo_element part = t->element == ELEMENT_C64 ? ELEMENT_F32 : ELEMENT_F64;

            hlo_element_store(part, draw_float(rig, r), to);
            hlo_element_store(part, draw_float(rig, r), to + bytes / 2);
        } else if (hlo_element_is_float(t->element)) {
            hlo_element_store(t->element, draw_float(rig, r), to);
        } else {
            int64_t bits = rig->integer_bits ? rig->integer_bits : 1 + (int64_t)(rng_next(r) % 64);
            int64_t x = (int64_t)(rng_next(r) >> (64 - bits));

            hlo_element_store_int(t->element, rng_next(r) % 2 ? x : -x, to);
        }
    }
}

static void run(const struct hlo_module *m, int replicas, struct eval_array *const *input,
                struct eval_array **output, struct arena *a)
{
    struct eval_settings settings = {.replica_count = replicas};
    struct eval_report report = {0};
    struct err e = {0};

    for (int r = 0; r < replicas; r++)
        output[r] = arena_array(a, (size_t)eval_output_count(m) + 1, sizeof(**output));
    if (eval_run(m, &settings, (const struct eval_array *const *)input, output, a, &report, &e))
        fail_msg("%s", e.msg);
}

static struct eval_array *draw_inputs(const struct expand_rig *rig, const struct hlo_module *m,
                                      struct rng *r, struct arena *a)
{
    int count = eval_input_count(m);
    struct eval_array *input = arena_array(a, (size_t)count + 1, sizeof(*input));

    for (int n = 0; n < count; n++) {
        const struct hlo_type *t = eval_input_type(m, n);

        input[n].type = *t;
        input[n].data = arena_array(a, (size_t)hlo_type_elements(t) + 1,
                                    hlo_element_bytes(t->element));
        draw(rig, t, r, input[n].data);
        if (!hlo_type_is_dynamic(t))
            continue;
        input[n].size = arena_array(a, (size_t)t->rank, sizeof(int64_t));
        for (int d = 0; d < t->rank; d++)
            input[n].size[d] = t->is_bounded[d] ? (int64_t)rng_below(r, (uint32_t)t->dim[d] + 1)
                                                : t->dim[d];
    }
    return input;
}

/* what the expanded program is given for a leaf */
static void split_leaf(const struct expand_leaf *l, const struct eval_array *from,
                       struct eval_array *to, struct arena *a)
{
    void *part[4];
    int64_t count = hlo_type_elements(&l->type);

    for (int p = 0; p < l->parts; p++) {
        to[l->first + p].type = hlo_array_type(a, l->part, l->type.rank, l->type.dim);
        part[p] = to[l->first + p].data =
            arena_array(a, (size_t)count + 1, hlo_element_bytes(l->part));
    }
    expand_split(l->type.element, count, from->data, part);
    for (int k = 0, d = 0; k < l->sizes; k++, d++) {
        int32_t *size = arena_alloc(a, sizeof(*size));

        while (!l->type.is_bounded[d])
            d++;
        *size = (int32_t)(from->size ? from->size[d] : l->type.dim[d]);
        to[l->first + l->parts + k] =
            (struct eval_array){.type = hlo_scalar_type(ELEMENT_S32), .data = size};
    }
}

static double complex number(enum hlo_element e, const char *x)
{
    if (e == ELEMENT_C64) {
        const float *part = (const void *)x;

        return complex_f64(part[0], part[1]);
    }
    return hlo_element_load(e, x);
}

static bool same(const struct expand_rig *rig, enum hlo_element e, const char *x, const char *y)
{
    double complex a, b;
    double size;

    if (!hlo_element_is_float(e) && !hlo_element_is_complex(e))
        return memcmp(x, y, hlo_element_bytes(e)) == 0;
    a = number(e, x);
    b = number(e, y);
    if (isnan(creal(a)) || isnan(cimag(a)))
        return isnan(creal(b)) || isnan(cimag(b));
    if (isinf(creal(a)) || isinf(cimag(a)))
        return a == b || (hlo_element_is_complex(e) && (isinf(creal(b)) || isinf(cimag(b))));
    size = cabs(a) > rig->floor ? cabs(a) : rig->floor;
    return a == b || cabs(a - b) <= rig->bound * size;
}

/* is element i, row-major, within the sizes of a bounded array? */
static bool is_there(const struct hlo_type *t, const int64_t *size, int64_t i)
{
    for (int d = t->rank - 1; size && d >= 0; d--) {
        if (i % t->dim[d] >= size[d])
            return false;
        i /= t->dim[d];
    }
    return true;
}

/* element by element, of a leaf put together again; size: how much of each dimension is there */
static void compare_elements(const struct expand_rig *rig, int leaf, const struct hlo_type *t,
                             const struct eval_array *want, const char *got)
{
    size_t bytes = hlo_element_bytes(t->element);

    for (int64_t i = 0; i < hlo_type_elements(t); i++) {
        const char *x = (const char *)want->data + (size_t)i * bytes, *y = got + (size_t)i * bytes;

        if (is_there(t, want->size, i) && !same(rig, t->element, x, y))
            fail_msg("result %d, element %lld of %s: %.9g %.9g, expanded %.9g %.9g (%llx, %llx)",
                     leaf, (long long)i, hlo_element_name(t->element),
                     creal(number(t->element, x)), cimag(number(t->element, x)),
                     creal(number(t->element, y)), cimag(number(t->element, y)),
                     (long long)hlo_element_load_int(t->element, x),
                     (long long)hlo_element_load_int(t->element, y));
    }
}

static void compare_leaf(const struct expand_rig *rig, int leaf, const struct expand_leaf *l,
                         const struct eval_array *want, const struct eval_array *parts,
                         struct arena *a)
{
    int64_t count = hlo_type_elements(&l->type);
    char *got = arena_array(a, (size_t)count + 1, hlo_element_bytes(l->type.element));
    const void *part[4];

    for (int p = 0; p < l->parts; p++)
        part[p] = parts[l->first + p].data;
    expand_join(l->type.element, count, part, got);
    for (int k = 0, d = 0; k < l->sizes; k++, d++) {
        while (!l->type.is_bounded[d])
            d++;
        assert_int_equal(*(int32_t *)parts[l->first + l->parts + k].data,
                         want->size ? want->size[d] : l->type.dim[d]);
    }
    compare_elements(rig, leaf, &l->type, want, got);
}

/* what is left has types that the compiler knows */
static void check_types(const struct hlo_module *m)
{
    for (int c = 0; c < m->computation_count; c++) {
        for (int i = 0; i < m->computation[c].count; i++) {
            const struct hlo_type *t = m->computation[c].instruction[i].type;

            for (int n = 0; n < hlo_type_leaves(t); n++) {
                enum hlo_element part, e = hlo_type_leaf(t, n)->element;
                int parts;

                assert_int_equal(expand_form_of(e, &part, &parts), EXPAND_SAME);
                assert_false(hlo_type_is_dynamic(hlo_type_leaf(t, n)));
            }
        }
    }
}

/* of several devices: there is a graph */
static void check_lowered(const struct hlo_module *old, struct arena *a)
{
    struct lower_settings settings = {.device_count = (int)old->replica_count};
    struct lowered lowered;
    struct err e = {0};

    if (lower_program(old, &settings, a, &lowered, &e))
        fail_msg("%s", e.msg);
    graph_fini(&lowered.graph);
}

/* a result of the graph, against what the program makes */
static void compare_result(const struct expand_rig *rig, int leaf, const struct lowered_leaf *l,
                           const struct eval_array *want, const struct interp_value *output,
                           struct arena *a)
{
    void **word = arena_array(a, (size_t)l->count + 1, sizeof(*word));
    int64_t *size = arena_array(a, (size_t)l->leaf.type.rank + 1, sizeof(*size));
    const void *got;

    for (int k = 0; k < l->count; k++)
        word[k] = l->graph[k] >= 0 ? output[l->graph[k]].data : arena_alloc(a, 4);
    got = lowered_unpack(l, word, size, a);
    for (int d = 0; d < l->leaf.type.rank; d++)
        assert_int_equal(size[d], want->size ? want->size[d] : l->leaf.type.dim[d]);
    compare_elements(rig, leaf, &l->leaf.type, want, got);
}

/* the graph that the program is lowered to, by the graph's own interpreter */
static void check_graph(const struct expand_rig *rig, const struct hlo_module *old,
                        const struct eval_array *given, const struct eval_array *want,
                        struct arena *a)
{
    struct lower_settings settings = {0};
    struct lowered lowered;
    struct err e = {0};
    struct interp_value *input, *output;

    if (lower_program(old, &settings, a, &lowered, &e))
        fail_msg("%s", e.msg);
    input = arena_array(a, (size_t)lowered.graph.parameter_count + 1, sizeof(*input));
    output = arena_array(a, (size_t)lowered.graph.output_count + 1, sizeof(*output));
    for (int n = 0; n < lowered.parameter_count; n++) {
        const struct lowered_leaf *l = &lowered.parameter[n];
        void **word = lowered_pack(l, given[n].data, given[n].size, a);

        for (int k = 0; k < l->count; k++)
            if (l->graph[k] >= 0)
                input[l->graph[k]].data = word[k];
    }
    if (interp_run(&lowered.graph, INTERP_DOT_F32, input, output, a, &e))
        fail_msg("%s", e.msg);
    for (int n = 0; n < lowered.result_count; n++)
        compare_result(rig, n, &lowered.result[n], &want[n], output, a);
    graph_fini(&lowered.graph);
}

void expand_rig_check(const struct expand_rig *rig, uint64_t seed)
{
    struct arena a;
    struct hlo_module *old, plain, made;
    struct expand_boundary boundary;
    struct eval_array *input[REPLICAS_MAX], *split[REPLICAS_MAX], *want[REPLICAS_MAX];
    struct eval_array *got[REPLICAS_MAX];
    struct rng r;
    struct err e = {0};
    int count, total = 0, replicas = rig->replicas ? rig->replicas : 1;

    arena_init(&a);
    rng_init(&r, seed);
    old = read_text(rig->text, &a);
    old->replica_count = replicas;
    count = eval_input_count(old);
    if (structure_inline(old, &plain, &a, &e) || expand_program(&plain, &made, &a, &boundary, &e))
        fail_msg("%s", e.msg);
    if (hlo_verify(&made, &e))
        fail_msg("line %d: %s", e.line, e.msg);
    check_types(&made);
    assert_int_equal(boundary.parameter_count, count);
    for (int n = 0; n < count; n++)
        total += boundary.parameter[n].parts + boundary.parameter[n].sizes;
    assert_int_equal(total, eval_input_count(&made));
    for (int k = 0; k < replicas; k++) {
        input[k] = draw_inputs(rig, old, &r, &a);
        split[k] = arena_array(&a, (size_t)total + 1, sizeof(**split));
        for (int n = 0; n < count; n++)
            split_leaf(&boundary.parameter[n], &input[k][n], split[k], &a);
        for (int n = 0; n < total; n++)         /* of fewer dimensions, where it had too many */
            split[k][n].type = *eval_input_type(&made, n);
    }
    run(old, replicas, input, want, &a);
    run(&made, replicas, split, got, &a);
    for (int k = 0; k < replicas; k++)
        for (int n = 0; n < boundary.result_count; n++)
            compare_leaf(rig, n, &boundary.result[n], &want[k][n], got[k], &a);
    if (replicas == 1 && !rig->has_subnormals)
        check_graph(rig, old, input[0], want[0], &a);
    if (replicas > 1)
        check_lowered(old, &a);
    hlo_module_fini(&plain);
    hlo_module_fini(&made);
    program_free(old);
    arena_fini(&a);
}

void expand_rig_refused(const char *text, const char *message)
{
    struct arena a;
    struct hlo_module *old, made;
    struct expand_boundary boundary;
    struct err e = {0};

    arena_init(&a);
    old = read_text(text, &a);
    assert_int_equal(expand_program(old, &made, &a, &boundary, &e), -1);
    if (!strstr(e.msg, message))
        fail_msg("\"%s\" does not say \"%s\"", e.msg, message);
    program_free(old);
    arena_fini(&a);
}
