/* Each rank to each that it has something for. */
#include "stack/collective_impl.h"

int plan_alone(struct collective_plan *p, struct arena *a, struct err *e)
{
    struct plan_where from = {.space = COLLECTIVE_HBM, .layout = LAYOUT_IN};
    struct plan_where to = {.space = COLLECTIVE_HBM, .layout = LAYOUT_OUT};
    struct plan_builder b;

    plan_set_axes(p, false, a);
    p->is_symmetric = true;
    build_begin(&b, p, a);
    if (p->arrays.in != p->arrays.out) {
        struct plan_shape shape = shape_of_run(p->arrays.in_bytes);
        int flag = build_flags(&b, 1);

        build_copy(&b, &from, &to, &shape, flag);
        build_wait_pending(&b, flag);
    }
    return build_end(&b, e);
}
