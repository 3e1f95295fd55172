/* A program of one computation, built by the test, evaluated on arrays that it gives. */
#ifndef TESTS_EVAL_RIG_H
#define TESTS_EVAL_RIG_H
#include "import/eval/eval.h"
#include "import/program/build.h"
#include "tests/test.h"

enum { RIG_LEAVES_MAX = 16, RIG_DEVICES_MAX = 8 };

struct rig {
    struct arena arena;
    struct hlo_module m;
    struct hlo_builder b;
    struct eval_settings settings;
    struct eval_report report;
    struct err err;
    struct eval_array input[RIG_DEVICES_MAX][RIG_LEAVES_MAX];
    struct eval_array output[RIG_DEVICES_MAX][RIG_LEAVES_MAX];
};

static inline void rig_init(struct rig *r)
{
    memset(r, 0, sizeof(*r));
    arena_init(&r->arena);
    hlo_module_init(&r->m, &r->arena, "test");
    r->m.entry = hlo_add_computation(&r->m, "main");
    r->b = (struct hlo_builder){ .module = &r->m, .computation = r->m.entry };
}

static inline void rig_fini(struct rig *r)
{
    hlo_module_fini(&r->m);
    arena_fini(&r->arena);
}

static inline struct hlo_type rig_type(struct rig *r, enum hlo_element e, int rank,
                                       const int64_t *dim)
{
    return hlo_array_type(&r->arena, e, rank, dim);
}

/* an array in the program itself */
static inline int rig_constant(struct rig *r, enum hlo_element e, int rank, const int64_t *dim,
                               const void *data)
{
    struct hlo_type t = rig_type(r, e, rank, dim);

    return hlo_constant_literal(&r->b, hlo_literal_copy(&r->arena, &t, data));
}

static inline int rig_run_status(struct rig *r)
{
    const struct eval_array *input[RIG_DEVICES_MAX];
    struct eval_array *output[RIG_DEVICES_MAX];

    for (int k = 0; k < RIG_DEVICES_MAX; k++) {
        input[k] = r->input[k];
        output[k] = r->output[k];
    }
    return eval_run(&r->m, &r->settings, input, output, &r->arena, &r->report, &r->err);
}

/* the first result of device 0 */
static inline const void *rig_run(struct rig *r)
{
    if (rig_run_status(r))
        fail_msg("%s", r->err.msg);
    return r->output[0][0].data;
}
#endif
