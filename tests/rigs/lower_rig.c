#include "tests/rigs/lower_rig.h"

#include "base/rng.h"
#include "import/eval/eval.h"
#include "import/hlo_text/hlo_text.h"
#include "stack/interp/interp.h"
#include "tests/rigs/run_graph.h"
#include "tests/test.h"

#include <math.h>
#include <time.h>

uint64_t lower_seed(void)
{
    const char *given = getenv("SYSTOLE_SEED");

    return given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) / 3600;
}

struct hlo_module *lower_read(const char *text, struct arena *a)
{
    struct err e;
    struct hlo_module *m = hlo_text_read(text, strlen(text), "trial.hlo", a, &e);
    char message[800];

    if (!m)
        fail_msg("%s\n%s", err_format(&e, message, sizeof(message)), text);
    return m;
}

static double special(struct rng *r)
{
    static const double numbers[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 0.0};

    return numbers[rng_next(r) % 5];
}

static void fill(const struct lower_trial *t, struct rng *r, struct eval_array *x, struct arena *a)
{
    int64_t count = hlo_type_elements(&x->type);
    enum hlo_element e = x->type.element;
    size_t bytes = hlo_element_bytes(e);
    double low = t->low, high = t->high;

    x->data = arena_array(a, (size_t)count + 1, bytes);
    if (low == 0.0 && high == 0.0) {
        low = hlo_element_is_integer(e) ? -4.0 : -2.0;
        high = -low;
    }
    if (hlo_element_kind(e) == ELEMENT_KIND_UNSIGNED && low < 0.0)
        low = 0.0;
    for (int64_t i = 0; i < count; i++) {
        void *to = (char *)x->data + (size_t)i * bytes;
        double number = low + (high - low) * (double)rng_uniform(r, 0.0f, 1.0f);

        if (e == ELEMENT_PRED)
            hlo_element_store_int(e, (int64_t)(rng_next(r) & 1), to);
        else if (hlo_element_is_integer(e))
            hlo_element_store_int(e, (int64_t)floor(number), to);
        else
            hlo_element_store(e, t->has_nan && rng_next(r) % 8 == 0 ? special(r) : number, to);
        if (hlo_element_is_complex(e))
            hlo_element_store(e == ELEMENT_C64 ? ELEMENT_F32 : ELEMENT_F64, -number * 0.5,
                              (char *)to + bytes / 2);
    }
}

/* a number of any type; of a complex one the part */
static double number_at(const struct hlo_type *t, const void *data, int64_t i, int part)
{
    size_t bytes = hlo_element_bytes(t->element);
    const char *at = (const char *)data + (size_t)i * bytes;

    if (hlo_element_is_complex(t->element))
        return hlo_element_load(t->element == ELEMENT_C64 ? ELEMENT_F32 : ELEMENT_F64,
                                at + (size_t)part * bytes / 2);
    if (hlo_element_is_float(t->element))
        return hlo_element_load(t->element, at);
    return (double)hlo_element_load_int(t->element, at);
}

static bool is_close(double is, double should, double tolerance)
{
    if (isnan(is) || isnan(should))
        return isnan(is) && isnan(should);
    return is == should || fabs(is - should) <= tolerance;
}

static void expect(const struct lower_trial *t, const char *who, const struct lowered_leaf *leaf,
                   const void *is, const struct eval_array *should, double tolerance)
{
    const struct hlo_type *type = &leaf->leaf.type;
    int64_t count = hlo_type_elements(type);
    int parts = hlo_element_is_complex(type->element) ? 2 : 1;
    double magnitude = 0.0;
    char name[200];

    for (int64_t i = 0; i < count * parts; i++) {
        double x = number_at(type, should->data, i / parts, (int)(i % parts));

        if (isfinite(x))
            magnitude = fmax(magnitude, fabs(x));
    }
    if (!hlo_element_is_float(type->element) && !hlo_element_is_complex(type->element))
        magnitude = 0.0;
    for (int64_t i = 0; i < count * parts; i++) {
        double x = number_at(type, is, i / parts, (int)(i % parts));
        double y = number_at(type, should->data, i / parts, (int)(i % parts));

        if (!is_close(x, y, tolerance * magnitude))
            fail_msg("%s: %s %s: element %lld is %.9g, not %.9g (SYSTOLE_SEED=%llu)\n%s", who,
                     leaf->name, hlo_type_print(type, name, sizeof(name)),
                     (long long)(i / parts), x, y, (unsigned long long)t->seed, t->text);
    }
}

/* the graph's arrays that stand for a result's leaf */
static void *unpack(const struct lowered_leaf *leaf, void *const *output, struct arena *a)
{
    void *word[8] = {NULL};

    for (int k = 0; k < leaf->count; k++)
        word[k] = leaf->graph[k] < 0 ? NULL : output[leaf->graph[k]];
    return lowered_unpack(leaf, word, NULL, a);
}

static void compare(const struct lower_trial *t, const char *who, const struct lowered *l,
                    void *const *output, const struct eval_array *should, double tolerance,
                    struct arena *a)
{
    for (int k = 0; k < l->result_count; k++) {
        const struct lowered_leaf *leaf = &l->result[k];

        if (leaf->leaf.type.element == ELEMENT_TOKEN || hlo_type_elements(&leaf->leaf.type) == 0)
            continue;
        expect(t, who, leaf, unpack(leaf, output, a), &should[k], tolerance);
    }
}

static void evaluate(const struct lower_trial *t, const struct hlo_module *m,
                     const struct eval_array *input, struct eval_array *output, struct arena *a)
{
    struct eval_settings settings = {.seed = 1};
    struct eval_report report = {0};
    char message[800];
    struct err e;

    if (eval_run(m, &settings, &input, &output, a, &report, &e) != 0)
        fail_msg("evaluator: %s\n%s", err_format(&e, message, sizeof(message)), t->text);
}

static void run_lowered(const struct lower_trial *t, const struct lowered *l,
                        const struct eval_array *input, const struct eval_array *should,
                        struct arena *a)
{
    const struct graph *g = &l->graph;
    const void **word = arena_array(a, (size_t)g->parameter_count + 1, sizeof(*word));
    struct interp_value *in = arena_array(a, (size_t)g->parameter_count + 1, sizeof(*in));
    struct interp_value *out = arena_array(a, (size_t)g->output_count + 1, sizeof(*out));
    void **output = arena_array(a, (size_t)g->output_count + 1, sizeof(*output));
    struct err e;

    for (int p = 0; p < l->parameter_count; p++) {
        void **part = lowered_pack(&l->parameter[p], input[p].data, NULL, a);

        for (int k = 0; k < l->parameter[p].count; k++)
            if (l->parameter[p].graph[k] >= 0)
                word[l->parameter[p].graph[k]] = part[k];
    }
    for (int p = 0; p < g->parameter_count; p++)
        in[p].data = arena_copy(a, word[p], (size_t)shape_elems(&g->node[g->parameter[p]].shape), 4);
    if (interp_run(g, INTERP_DOT_F32, in, out, a, &e) != 0)
        fail_msg("interpreter: %s\n%s", e.msg, t->text);
    for (int k = 0; k < g->output_count; k++)
        output[k] = out[k].data;
    compare(t, "graph", l, output, should, t->tolerance > 0 ? t->tolerance : 1e-5, a);
    if (t->slice) {
        struct graph_run run = {.slice = t->slice};

        run_graph(&run, g, word, output, a);
        compare(t, t->slice, l, output, should, t->tolerance > 1e-2 ? t->tolerance : 1e-2, a);
    }
}

void lower_try(const struct lower_trial *t)
{
    struct arena a;
    struct hlo_module *m;
    struct eval_array *input, *should;
    struct lower_settings settings = {.device_count = 1};
    struct lowered lowered;
    struct rng r;
    char message[900];
    struct err e;

    arena_init(&a);
    m = lower_read(t->text, &a);
    input = arena_array(&a, (size_t)eval_input_count(m) + 1, sizeof(*input));
    should = arena_array(&a, (size_t)eval_output_count(m) + 1, sizeof(*should));
    rng_init(&r, t->seed + 77);
    for (int n = 0; n < eval_input_count(m); n++) {
        input[n].type = *eval_input_type(m, n);
        fill(t, &r, &input[n], &a);
    }
    evaluate(t, m, input, should, &a);
    if (lower_program(m, &settings, &a, &lowered, &e) != 0)
        fail_msg("%s\n%s", err_format(&e, message, sizeof(message)), t->text);
    run_lowered(t, &lowered, input, should, &a);
    graph_fini(&lowered.graph);
    hlo_text_fini(m);
    arena_fini(&a);
}

char *lower_refused(const char *text, struct arena *a)
{
    struct hlo_module *m = lower_read(text, a);
    struct lower_settings settings = {.device_count = 1};
    struct lower_refusals list;
    char *all = arena_strdup(a, "");
    struct err e;

    if (lower_unsupported(m, &settings, a, &list, &e) != 0)
        fail_msg("%s", e.msg);
    for (int k = 0; k < list.count; k++)
        all = arena_printf(a, "%s%d %s: %s\n", all, list.item[k].line, list.item[k].instruction,
                           list.item[k].reason);
    hlo_text_fini(m);
    return all;
}
