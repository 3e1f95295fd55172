/*
 * Messages on their way: a heap of instants at which one starts or its head is
 * at a chip. At one instant, who is on the way comes before who starts, and of
 * those, who was put in first.
 */
#include "interconnect/traffic_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define SLOTS 8                         /* of a message's time on a link: when one may start */

struct moment {
    ps_t at;
    uint64_t order;
    int32_t message;                    /* -1 - chip: a start */
};

struct message {
    ps_t started_at;
    struct net_route route;
    int32_t chip, source, next_free;
};

struct crowd {
    const struct traffic_request *request;
    struct traffic_targets targets;
    struct net *net;
    struct rng *rng;                    /* by chip: what one draws changes no other */
    struct moment *heap;
    size_t heap_count, heap_capacity;
    uint64_t order;
    struct message *message;
    size_t message_count, message_capacity;
    int32_t first_free;                 /* -1: none */
    ps_t slot_ps, from_ps, end_ps;      /* measuring */
    int64_t *offered, *taken;           /* by chip: messages in, and out, while measuring */
    ps_t *latency;
    size_t latency_count, latency_capacity;
    struct traffic_result *out;
};

static bool is_before(const struct moment *a, const struct moment *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    if ((a->message < 0) != (b->message < 0))
        return a->message >= 0;
    return a->order < b->order;
}

static void push(struct crowd *c, ps_t at, int32_t message)
{
    const struct moment new = {at, c->order++, message};
    size_t i = c->heap_count++;

    c->heap = mem_grow(c->heap, &c->heap_capacity, c->heap_count, sizeof(*c->heap));
    for (; i > 0 && is_before(&new, &c->heap[(i - 1) / 2]); i = (i - 1) / 2)
        c->heap[i] = c->heap[(i - 1) / 2];
    c->heap[i] = new;
}

static struct moment pop(struct crowd *c)
{
    struct moment first = c->heap[0], last = c->heap[--c->heap_count];
    size_t i = 0, child;

    for (; (child = 2 * i + 1) < c->heap_count; i = child) {
        if (child + 1 < c->heap_count && is_before(&c->heap[child + 1], &c->heap[child]))
            child++;
        if (!is_before(&c->heap[child], &last))
            break;
        c->heap[i] = c->heap[child];
    }
    c->heap[i] = last;
    return first;
}

static int32_t new_message(struct crowd *c, ps_t at, int source, int to)
{
    int32_t i = c->first_free;

    if (i >= 0) {
        c->first_free = c->message[i].next_free;
    } else {
        i = (int32_t)c->message_count++;
        c->message = mem_grow(c->message, &c->message_capacity, c->message_count,
                              sizeof(*c->message));
    }
    c->message[i] = (struct message){at, net_route(c->net, source, to), source, source, -1};
    c->out->sent++;
    return i;
}

static bool is_measured(const struct crowd *c, ps_t at)
{
    return at >= c->from_ps && at < c->end_ps;
}

static void deliver(struct crowd *c, int32_t i, ps_t there_at)
{
    struct message *m = &c->message[i];

    c->out->delivered++;
    c->out->delivered_bytes += c->request->bytes;
    if (is_measured(c, there_at))
        c->taken[m->source]++;
    if (is_measured(c, m->started_at))
        MEM_ADD(c->latency, c->latency_count, c->latency_capacity) = there_at - m->started_at;
    m->next_free = c->first_free;
    c->first_free = i;
}

static void go_on(struct crowd *c, ps_t at, int32_t i)
{
    struct message *m = &c->message[i];
    struct net_hop hop = net_take(c->net, at, m->chip, &m->route, c->request->bytes);

    m->chip = hop.next;
    if (net_is_there(m->route))
        deliver(c, i, hop.there_at);
    else
        push(c, hop.head_at, i);
}

/* the next slot in which a chip starts a message, by drawing for each */
static void push_start(struct crowd *c, int chip, ps_t after)
{
    const uint64_t chance = (uint64_t)(c->request->load / SLOTS * 0x1p53);
    ps_t at = after;

    do
        at += c->slot_ps;
    while (at < c->end_ps && rng_next(&c->rng[chip]) >> 11 >= chance);
    if (at < c->end_ps)
        push(c, at, -1 - chip);
}

static void start(struct crowd *c, ps_t at, int chip)
{
    int to = traffic_targets_of(&c->targets, chip, &c->rng[chip]);

    c->offered[chip] += is_measured(c, at);
    go_on(c, at, new_message(c, at, chip, to));
    push_start(c, chip, at);
}

static void crowd_init(struct crowd *c, const struct traffic_request *r,
                       struct traffic_result *out)
{
    ps_t busy;

    *c = (struct crowd){.request = r, .out = out, .first_free = -1};
    *out = (struct traffic_result){.sent = 0};
    traffic_targets_init(&c->targets, r);
    c->net = net_create(&r->net);
    busy = net_busy_ps(c->net, r->bytes);
    c->slot_ps = div_up(busy, SLOTS);
    c->from_ps = (ps_t)((double)busy * r->messages / r->load / 2);
    c->end_ps = 3 * c->from_ps;
    c->rng = mem_alloc((size_t)c->targets.chips * sizeof(*c->rng));
    c->offered = mem_alloc((size_t)c->targets.chips * sizeof(*c->offered));
    c->taken = mem_alloc((size_t)c->targets.chips * sizeof(*c->taken));
    for (int chip = 0; chip < c->targets.chips; chip++) {
        rng_init(&c->rng[chip], r->seed * 0x10001 + (uint64_t)chip);
        if (traffic_targets_is_sender(&c->targets, chip))
            push_start(c, chip, 0);
    }
}

static void crowd_fini(struct crowd *c)
{
    traffic_targets_fini(&c->targets);
    net_destroy(c->net);
    mem_free(c->rng);
    mem_free(c->heap);
    mem_free(c->message);
    mem_free(c->offered);
    mem_free(c->taken);
    mem_free(c->latency);
}

static int by_size(const void *a, const void *b)
{
    ps_t x = *(const ps_t *)a, y = *(const ps_t *)b;

    return (x > y) - (x < y);
}

static void sum_latencies(struct crowd *c)
{
    double sum = 0;

    if (c->latency_count == 0)
        return;
    qsort(c->latency, c->latency_count, sizeof(*c->latency), by_size);
    for (size_t i = 0; i < c->latency_count; i++)
        sum += (double)c->latency[i];
    c->out->mean_ps = (ps_t)(sum / (double)c->latency_count + 0.5);
    c->out->p99_ps = c->latency[(c->latency_count - 1) * 99 / 100];
    c->out->most_ps = c->latency[c->latency_count - 1];
}

static void sum_senders(struct crowd *c)
{
    struct traffic_result *out = c->out;
    double unit = (double)net_busy_ps(c->net, c->request->bytes)
                  / (double)(c->end_ps - c->from_ps);
    double sum = 0, squares = 0, offered = 0;
    int senders = 0;

    out->least_share = 1;
    out->source_min = TRAFFIC_LOAD_MAX * 2;
    for (int chip = 0; chip < c->targets.chips; chip++) {
        double load = (double)c->taken[chip] * unit;

        if (!traffic_targets_is_sender(&c->targets, chip))
            continue;
        senders++;
        sum += load;
        squares += load * load;
        offered += (double)c->offered[chip] * unit;
        if ((double)c->taken[chip] < out->least_share * (double)c->offered[chip])
            out->least_share = (double)c->taken[chip] / (double)c->offered[chip];
        out->source_min = load < out->source_min ? load : out->source_min;
        out->source_max = load > out->source_max ? load : out->source_max;
    }
    if (senders == 0)
        out->source_min = 0;
    out->accepted = senders ? sum / senders : 0;
    out->offered = senders ? offered / senders : 0;
    out->jain = squares > 0 ? sum * sum / (senders * squares) : 1;
}

/* what part of the time between two readings links were busy */
static void sum_use(const struct net *n, const ps_t *before, const ps_t *after, ps_t time,
                    double *least, double *mean, double *most)
{
    double sum = 0;

    *least = 2;
    *most = 0;
    for (int i = 0; i < net_link_count(n); i++) {
        double use = (double)(after[i] - before[i]) / (double)time;

        sum += use;
        *least = use < *least ? use : *least;
        *most = use > *most ? use : *most;
    }
    *mean = sum / net_link_count(n);
}

/* How long links have been busy up to `at`: they are taken for some time ahead, without a gap. */
static ps_t *read_busy(const struct net *n, ps_t at)
{
    ps_t *busy = mem_alloc((size_t)net_link_count(n) * sizeof(*busy));

    for (int i = 0; i < net_link_count(n); i++)
        busy[i] = net_link(n, i)->busy_ps - later(0, net_link_free_at(n, i) - at);
    return busy;
}

static void run_until(struct crowd *c, ps_t end)
{
    while (c->heap_count > 0 && c->heap[0].at < end) {
        struct moment m = pop(c);

        if (m.message >= 0)
            go_on(c, m.at, m.message);
        else
            start(c, m.at, -1 - m.message);
    }
}

void traffic_run(const struct traffic_request *r, struct traffic_result *out)
{
    struct crowd c;
    ps_t *before, *after;

    crowd_init(&c, r, out);
    run_until(&c, c.from_ps);
    before = read_busy(c.net, c.from_ps);
    run_until(&c, c.end_ps);
    after = read_busy(c.net, c.end_ps);
    run_until(&c, PS_NEVER);
    sum_latencies(&c);
    sum_senders(&c);
    sum_use(c.net, before, after, c.end_ps - c.from_ps, &out->use_min, &out->use_mean,
            &out->use_max);
    mem_free(before);
    mem_free(after);
    crowd_fini(&c);
}

/* ---- all to all ---- */

/* the message to the chip `by` further goes behind those to chips less far in number */
static void start_exchange(struct crowd *c, int chips)
{
    for (int by = 1; by < chips; by++)
        for (int chip = 0; chip < chips; chip++)
            push(c, 0, new_message(c, 0, chip, (chip + by) % chips));
}

static ps_t finish_exchange(struct crowd *c)
{
    ps_t end = 0;

    while (c->heap_count > 0) {
        struct moment at = pop(c);
        struct message *m = &c->message[at.message];
        struct net_hop hop = net_take(c->net, at.at, m->chip, &m->route, c->request->bytes);

        m->chip = hop.next;
        end = later(end, hop.there_at);
        if (!net_is_there(m->route))
            push(c, hop.head_at, at.message);
    }
    return end;
}

void traffic_exchange(const struct net_config *net, int64_t bytes, struct traffic_exchange *out)
{
    const struct traffic_request r = {.net = *net, .bytes = bytes, .load = 1};
    struct traffic_result unused = {.sent = 0};
    struct crowd c = {.request = &r, .out = &unused, .first_free = -1, .net = net_create(net)};
    ps_t *none = mem_alloc((size_t)net_link_count(c.net) * sizeof(*none)), *busy;

    start_exchange(&c, traffic_chips(net));
    out->time_ps = finish_exchange(&c);
    busy = read_busy(c.net, PS_NEVER);
    sum_use(c.net, none, busy, out->time_ps, &out->use_min, &out->use_mean, &out->use_max);
    out->bound_ps = net->hop_ps;
    for (int i = 0; i < net_link_count(c.net); i++)
        out->bound_ps = later(out->bound_ps, net->hop_ps + busy[i]);
    mem_free(none);
    mem_free(busy);
    crowd_fini(&c);
}
