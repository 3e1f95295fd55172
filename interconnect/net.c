#include "interconnect/net.h"

#include <assert.h>
#include <math.h>

#include "base/arena.h"

enum { NEGATIVE, POSITIVE, DIRECTIONS };

struct link {
    ps_t ready_at;                      /* the last byte of the message before has left */
    struct net_link_stats stats;
};

struct net {
    struct net_config config;
    int chip_count, link_count;
    double ps_per_byte;
    struct link *links;
    int *link_index;                    /* (chip, dimension, direction); -1 = no such link */
    net_watch_fn *watch;                /* NULL: nobody */
    void *watch_context;
};

static bool closes(const struct net_config *c, int axis)
{
    return c->is_ring[axis] && c->dim[axis] > 2;
}

/* The position next to `position` along an axis, or -1 beyond the edge of a mesh. */
static int neighbour(const struct net_config *c, int axis, int position, int direction)
{
    int next = position + (direction == POSITIVE ? 1 : -1);

    if (next >= 0 && next < c->dim[axis])
        return next;
    return closes(c, axis) ? (next + c->dim[axis]) % c->dim[axis] : -1;
}

static int *link_slot(const struct net *n, int chip, int axis, int direction)
{
    return &n->link_index[(chip * NET_DIM_MAX + axis) * DIRECTIONS + direction];
}

static void find_position(const struct net_config *c, int chip, int *position)
{
    for (int axis = 0; axis < NET_DIM_MAX; axis++) {
        position[axis] = chip % c->dim[axis];
        chip /= c->dim[axis];
    }
}

static void add_links(struct net *n, int chip)
{
    const struct net_config *c = &n->config;
    int position[NET_DIM_MAX], stride = 1;

    find_position(c, chip, position);
    for (int axis = 0; axis < NET_DIM_MAX; axis++) {
        for (int direction = 0; direction < DIRECTIONS; direction++) {
            int next = neighbour(c, axis, position[axis], direction);

            *link_slot(n, chip, axis, direction) = -1;
            if (next < 0)
                continue;
            *link_slot(n, chip, axis, direction) = n->link_count;
            n->links[n->link_count].stats.from = chip;
            n->links[n->link_count].stats.to = chip + (next - position[axis]) * stride;
            n->link_count++;
        }
        stride *= c->dim[axis];
    }
}

struct net *net_create(const struct net_config *config)
{
    struct net *n = mem_alloc(sizeof(*n));
    size_t slots;

    n->config = *config;
    n->chip_count = 1;
    for (int axis = 0; axis < NET_DIM_MAX; axis++) {
        assert(config->dim[axis] >= 1);
        n->chip_count *= config->dim[axis];
    }
    assert(config->link_gbps > 0 && config->packet_bytes > 0);
    assert(config->packet_overhead_bytes >= 0 && config->hop_ps >= 0);
    n->ps_per_byte = 1000.0 / config->link_gbps;
    slots = (size_t)n->chip_count * NET_DIM_MAX * DIRECTIONS;
    n->links = mem_alloc(slots * sizeof(*n->links));
    n->link_index = mem_alloc(slots * sizeof(*n->link_index));
    for (int chip = 0; chip < n->chip_count; chip++)
        add_links(n, chip);
    return n;
}

void net_destroy(struct net *n)
{
    if (!n)
        return;
    mem_free(n->links);
    mem_free(n->link_index);
    mem_free(n);
}

void net_reset(struct net *n)
{
    for (int i = 0; i < n->link_count; i++) {
        struct net_link_stats *s = &n->links[i].stats;

        n->links[i].ready_at = 0;
        *s = (struct net_link_stats){.from = s->from, .to = s->to};
    }
}

static const struct field link_fields[] = {SAVED_TIME(link, ready_at), APART(link, stats)};

static const struct field stats_fields[] = {
    SAVED(net_link_stats, payload_bytes), SAVED(net_link_stats, wire_bytes),
    SAVED(net_link_stats, busy_ps), APART(net_link_stats, from), APART(net_link_stats, to)};

void net_archive(struct net *n, struct archive *a)
{
    for (int i = 0; i < n->link_count; i++) {
        archive_fields(a, link_fields, COUNT_OF(link_fields), &n->links[i]);
        archive_fields(a, stats_fields, COUNT_OF(stats_fields), &n->links[i].stats);
    }
}

uint32_t net_archive_crc(uint32_t crc)
{
    crc = archive_table_crc(crc, link_fields, COUNT_OF(link_fields));
    return archive_table_crc(crc, stats_fields, COUNT_OF(stats_fields));
}

/* Steps from one position to another along an axis, signed by direction. */
static int signed_distance(const struct net_config *c, int axis, int from, int to)
{
    int length = c->dim[axis], positive = (to - from + length) % length;

    if (!closes(c, axis))
        return to - from;
    return positive <= length - positive ? positive : positive - length;
}

/* A message without payload, a flag say, still takes one header. */
static int64_t wire_bytes(const struct net_config *c, int64_t bytes)
{
    int64_t packets = bytes > 0 ? div_up(bytes, c->packet_bytes) : 1;

    return bytes + packets * c->packet_overhead_bytes;
}

ps_t net_send(struct net *n, ps_t at, int from, int to, int64_t bytes, ps_t *sent_at)
{
    const struct net_config *c = &n->config;
    int64_t wire = wire_bytes(c, bytes);
    ps_t busy_ps = (ps_t)ceil((double)wire * n->ps_per_byte), head_at = at;
    int start[NET_DIM_MAX], end[NET_DIM_MAX], chip = from;
    bool is_first = true;

    assert(from != to && bytes >= 0);
    assert(from >= 0 && from < n->chip_count && to >= 0 && to < n->chip_count);
    find_position(c, from, start);
    find_position(c, to, end);
    for (int axis = 0; axis < NET_DIM_MAX; axis++) {
        int distance = signed_distance(c, axis, start[axis], end[axis]);
        int direction = distance > 0 ? POSITIVE : NEGATIVE;

        for (int hop = 0; hop < (distance > 0 ? distance : -distance); hop++) {
            struct link *l = &n->links[*link_slot(n, chip, axis, direction)];

            if (l->ready_at > head_at)
                head_at = l->ready_at;
            l->ready_at = head_at + busy_ps;
            l->stats.payload_bytes += bytes;
            l->stats.wire_bytes += wire;
            l->stats.busy_ps += busy_ps;
            if (n->watch)
                n->watch(n->watch_context, &(struct net_use){
                    .link = (int)(l - n->links), .start = head_at, .end = l->ready_at,
                    .payload_bytes = bytes, .wire_bytes = wire});
            if (is_first)
                *sent_at = l->ready_at;
            is_first = false;
            head_at += c->hop_ps;
            chip = l->stats.to;
        }
    }
    assert(chip == to);
    return head_at + busy_ps;
}

void net_watch(struct net *n, net_watch_fn *fn, void *context)
{
    n->watch = fn;
    n->watch_context = context;
}

int net_hop_count(const struct net *n, int from, int to)
{
    int start[NET_DIM_MAX], end[NET_DIM_MAX], count = 0;

    find_position(&n->config, from, start);
    find_position(&n->config, to, end);
    for (int axis = 0; axis < NET_DIM_MAX; axis++) {
        int distance = signed_distance(&n->config, axis, start[axis], end[axis]);

        count += distance > 0 ? distance : -distance;
    }
    return count;
}

int net_link_count(const struct net *n)
{
    return n->link_count;
}

const struct net_link_stats *net_link(const struct net *n, int index)
{
    assert(index >= 0 && index < n->link_count);
    return &n->links[index].stats;
}
