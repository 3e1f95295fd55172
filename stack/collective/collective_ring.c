/* One ring over all ranks, in one direction or in both with half the data each. */
#include "stack/collective/collective_channel.h"

int plan_ring(struct collective_plan *p, struct arena *a, struct err *e)
{
    static const struct plan_route routes[2] = {
        {.dim_count = 1, .dim = {0}, .direction = {1}},
        {.dim_count = 1, .dim = {0}, .direction = {-1}},
    };
    bool both = p->request.algo == COLLECTIVE_BIRING && p->rank_count > 2;

    plan_set_ring(p, false, a);
    p->is_symmetric = plan_closes(p);
    return plan_channels(p, routes, both ? 2 : 1, a, e);
}
