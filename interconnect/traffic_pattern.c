/*
 * Targets of synthetic traffic patterns, and the highest load that links can carry of each, from
 * its routes.
 */
#include "interconnect/traffic_impl.h"

#include <string.h>

#include "base/arena.h"

static const char *const names[] = {
    [TRAFFIC_UNIFORM] = "uniform", [TRAFFIC_NEIGHBOUR] = "neighbour",
    [TRAFFIC_TORNADO] = "tornado", [TRAFFIC_TRANSPOSE] = "transpose",
    [TRAFFIC_BIT_COMPLEMENT] = "bit-complement", [TRAFFIC_HOTSPOT] = "hotspot",
    [TRAFFIC_PERMUTATION] = "permutation"};

const char *traffic_name(enum traffic_pattern p)
{
    return names[p];
}

enum traffic_pattern traffic_find(const char *name)
{
    enum traffic_pattern p = TRAFFIC_UNIFORM;

    while (p < TRAFFIC_PATTERN_COUNT && strcmp(names[p], name) != 0)
        p++;
    return p;
}

int traffic_chips(const struct net_config *c)
{
    return c->dim[0] * c->dim[1] * c->dim[2];
}

/* the place along one axis, `at` being those of the sender */
static int place(const struct net_config *c, enum traffic_pattern p, int axis, const int *at)
{
    int length = c->dim[axis], axes = c->dim[2] > 1 ? 3 : 2;

    switch (p) {
    case TRAFFIC_NEIGHBOUR: return (at[axis] + 1) % length;
    case TRAFFIC_TORNADO: return (at[axis] + (length + 1) / 2 - 1) % length;
    case TRAFFIC_TRANSPOSE: return axis < axes ? at[(axis + 1) % axes] : at[axis];
    default: return length - 1 - at[axis];              /* TRAFFIC_BIT_COMPLEMENT */
    }
}

static int fixed_target(const struct net_config *c, enum traffic_pattern p, int chip)
{
    const int at[NET_DIM_MAX] = {chip % c->dim[0], chip / c->dim[0] % c->dim[1],
                                 chip / c->dim[0] / c->dim[1]};

    return place(c, p, 0, at)
           + c->dim[0] * (place(c, p, 1, at) + c->dim[1] * place(c, p, 2, at));
}

static void permute(int *target, int count, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed ^ 0x7065726d);
    for (int i = 0; i < count; i++)
        target[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int other = (int)rng_below(&rng, (uint32_t)i + 1), swapped = target[i];

        target[i] = target[other];
        target[other] = swapped;
    }
}

void traffic_targets_init(struct traffic_targets *t, const struct traffic_request *r)
{
    const struct net_config *c = &r->net;

    *t = (struct traffic_targets){.request = r, .chips = traffic_chips(c), .hot = -1};
    if (r->pattern == TRAFFIC_HOTSPOT)
        t->hot = c->dim[0] / 2 + c->dim[0] * (c->dim[1] / 2 + c->dim[1] * (c->dim[2] / 2));
    if (r->pattern == TRAFFIC_UNIFORM || r->pattern == TRAFFIC_HOTSPOT)
        return;
    t->fixed = mem_alloc((size_t)t->chips * sizeof(*t->fixed));
    if (r->pattern == TRAFFIC_PERMUTATION)
        permute(t->fixed, t->chips, r->seed);
    else
        for (int chip = 0; chip < t->chips; chip++)
            t->fixed[chip] = fixed_target(c, r->pattern, chip);
}

void traffic_targets_fini(struct traffic_targets *t)
{
    mem_free(t->fixed);
}

int traffic_targets_of(const struct traffic_targets *t, int source, struct rng *rng)
{
    int other;

    if (t->fixed)
        return t->fixed[source];
    if (t->hot >= 0 && t->hot != source
        && rng_below(rng, 100) < (uint32_t)t->request->hot_percent)
        return t->hot;
    other = (int)rng_below(rng, (uint32_t)t->chips - 1);
    return other + (other >= source);
}

bool traffic_targets_is_sender(const struct traffic_targets *t, int chip)
{
    return !t->fixed || t->fixed[chip] != chip;
}

int traffic_check(const struct traffic_request *r, struct err *e)
{
    const struct net_config *c = &r->net;
    int chips = traffic_chips(c);

    if (chips < 2)
        return err_set(e, "a network needs at least 2 chips; the nearest grid is 2x1");
    if (r->pattern == TRAFFIC_TRANSPOSE
        && (c->dim[0] != c->dim[1] || (c->dim[2] > 1 && c->dim[2] != c->dim[0])))
        return err_set(e, "transpose needs axes of equal length, not %dx%dx%d; the nearest grid "
                       "is %dx%dx%d", c->dim[0], c->dim[1], c->dim[2], c->dim[1], c->dim[1],
                       c->dim[2] > 1 ? c->dim[1] : 1);
    if (r->messages > TRAFFIC_MESSAGES_MAX / chips)
        return err_set(e, "%d messages from each of %d chips are too many; at most %d",
                       r->messages, chips, TRAFFIC_MESSAGES_MAX / chips);
    return 0;
}

/* ---- theory ---- */

/* `weight` messages from one chip to another, over their routes at once */
static void walk(struct net *n, int from, int to, int64_t weight)
{
    struct net_route w = net_route(n, from, to);
    int chip = from;

    while (!net_is_there(w))
        chip = net_take(n, 0, chip, &w, weight).next;
}

/* All that one chip sends, in weights that add up to the sum which is returned. */
static int64_t walk_all(struct net *n, const struct traffic_targets *t, int source)
{
    int others = t->chips - 1, hot = t->hot != source && t->hot >= 0
                                         ? t->request->hot_percent : 0;

    if (t->fixed) {
        walk(n, source, t->fixed[source], 100LL * others);
        return 100LL * others;
    }
    for (int to = 0; to < t->chips; to++)
        if (to != source)
            walk(n, source, to, 100 - hot);
    if (hot)
        walk(n, source, t->hot, (int64_t)hot * others);
    return 100LL * others;
}

/* with every axis closed and every chip sending alike, one chip shows what all do */
static bool looks_alike(const struct traffic_request *r)
{
    for (int axis = 0; axis < NET_DIM_MAX; axis++)
        if (r->net.dim[axis] > 2 && !r->net.is_ring[axis] && !r->net.is_twisted)
            return false;
    return r->pattern == TRAFFIC_UNIFORM;
}

void traffic_find_theory(const struct traffic_request *r, struct traffic_theory *out)
{
    struct net_config config = r->net;
    struct traffic_targets t;
    struct net *n;
    int64_t one = 1, most = 0, sum = 0;

    traffic_targets_init(&t, r);
    config.is_folded = looks_alike(r);
    if (config.routing == NET_ADAPTIVE)
        config.routing = NET_XYZ;
    n = net_create(&config);
    *out = (struct traffic_theory){.senders = 0};
    for (int chip = 0; chip < (config.is_folded ? 1 : t.chips); chip++) {
        if (!traffic_targets_is_sender(&t, chip))
            continue;
        one = walk_all(n, &t, chip);
        out->senders++;
    }
    for (int i = 0; i < net_link_count(n); i++) {
        most = later(most, net_link(n, i)->payload_bytes);
        sum += net_link(n, i)->payload_bytes;
    }
    out->hops = out->senders ? (double)sum / (double)one / out->senders : 0;
    out->idle_ps = out->hops * (double)config.hop_ps + (double)net_busy_ps(n, r->bytes);
    out->busiest = (double)most / (double)one;
    out->saturation = most ? (double)one / (double)most : 0;
    out->senders = config.is_folded ? t.chips : out->senders;
    net_destroy(n);
    traffic_targets_fini(&t);
}
