/*
 * Any text is a Keras model or is refused with a message; a model builds or says why not, and
 * what is built can be written into a training step whose graph is sound.
 */
#include "keras/model/model.h"
#include "tests/rigs/round_trip.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void trace(struct model *m, struct arena *a, struct variable_set *set)
{
    int *input = arena_array(a, (size_t)m->input_count, sizeof(*input)), penalty;
    struct model_result *result = arena_array(a, (size_t)m->output_count, sizeof(*result));
    struct trace t;
    struct err e;

    trace_init(&t, a, m->name, set, 2, true);
    for (int i = 0; i < m->input_count; i++) {
        struct shape s = m->node[m->input[i]].shape;

        memmove(s.dim + 1, s.dim, (size_t)s.rank++ * sizeof(*s.dim));
        s.dim[0] = 3;
        input[i] = trace_input(&t, arena_printf(a, "input_%d", i), &s);
    }
    model_forward(&t, m, input, result, &penalty);
    for (int i = 0; i < m->output_count; i++)
        trace_result(&t, arena_printf(a, "result_%d", i), result[i].value);
    trace_finish(&t);
    if (graph_verify(&t.graph, &e) != 0)
        fuzz_fail("a model makes a graph that is not sound", e.msg);
    trace_fini(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct variable_set set;
    struct model m;
    struct arena a;
    struct err e = {0};

    arena_init(&a);
    variable_set_init(&set, &a);
    if (model_from_json_text(&m, &a, "input", (const char *)data, size, NULL, &e) == 0
        && model_build(&m, &set, &e) == 0)
        trace(&m, &a, &set);
    else if (!e.msg[0])
        fuzz_fail("a model is refused without a message", "");
    model_fini(&m);
    variable_set_fini(&set);
    arena_fini(&a);
    return 0;
}
