/*
 * The link between the two cores of a chip: the fabric of a die, or what joins two dies. Each
 * direction has its core that sends, and is an instant from which it is free.
 */
#include "sim/machine/machine_impl.h"

bool peer_between(const struct machine *m, int from, int to)
{
    return from != to && machine_chip_of(m, from) == machine_chip_of(m, to);
}

ps_t peer_take(struct machine *m, struct core *c, int64_t bytes)
{
    ps_t *free_at = &m->ports[c->number].peer_free_at;
    ps_t busy = 0;

    c->peer_sent_bytes += bytes;
    if (m->options.mode == MODE_FUNCTIONAL)
        return m->now_ps;
    busy = ps_of_bytes(bytes, m->chip.dma_peer_gbps);
    c->peer_busy_ps += busy;
    *free_at = later(*free_at, m->now_ps) + busy;
    return *free_at;
}
