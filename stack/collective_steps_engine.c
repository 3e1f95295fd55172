/*
 * Lists of operations against resources that are free from an instant on.
 *
 * A core runs its list ahead of the events: nothing that it does by itself is
 * seen by others, and its flags fall by its own hand only. What others see,
 * copies and signals, becomes an event at its instant, and events take links,
 * ports and memory in the order of time. A rate that several share (a port, the
 * HBM) bounds when a copy ends, not when it starts: copies under way together
 * share it by bytes, as the engines do that take turns.
 *
 * Where one chip stands for all, a copy to the chip at a distance is one from
 * the chip as far behind: it arrives here, over links that are everybody's.
 */
#include "stack/collective_steps_impl.h"
#include "stack/collective_steps_queue.h"

#include "base/arena.h"
#include "sim/clock.h"

#include <assert.h>
#include <string.h>

#define GRANULE_BYTES 32
#define EVENTS_PER_TELLING 100000       /* of progress */

enum event_kind { EVENT_COPY, EVENT_SEND, EVENT_HEAD, EVENT_FLAG };

enum port { PORT_HBM, PORT_LOCAL, PORT_REMOTE, PORT_COUNT };

enum core_state { CORE_RUNS, CORE_WAITS_FOR_FLAG, CORE_WAITS_FOR_ROOM, CORE_ENDED };

struct core {
    ps_t at;                            /* up to which its list is done */
    ps_t port[PORT_COUNT];              /* bytes asked of it are through */
    int32_t next, count;                /* operations */
    int32_t flag, value;                /* waited for */
    int32_t copies;                     /* under way */
    uint32_t sequence;                  /* of its events */
    enum core_state state;
};

/* A copy under way, or a signal, which is a message without memory at its ends. */
struct copy {
    int64_t bytes, engine_bytes;        /* engine_bytes: in whole vectors of the copy engine */
    ps_t end_at;                        /* not before: what port and source allow */
    ps_t there_at;                      /* of its last byte at `place` */
    int32_t peer, flag, source_flag, value;
    int32_t place;                      /* chip that its first byte has come to or is going to */
    int32_t next_free;
    struct net_way way;                 /* before it */
    int16_t hops;                       /* links taken */
    uint8_t from_space, to_space;
    bool is_signal;
};

struct engine {
    const struct steps_lists *lists;
    const struct collective_costs *costs;
    const struct collective_steps_options *options;
    struct net *net;                    /* NULL: one chip */
    struct steps_queue queue;
    struct core *cores;
    int32_t *flags;                     /* (core, flag) */
    ps_t *hbm;                          /* by chip: bytes asked of it are through */
    struct copy *copies;
    size_t copy_capacity;
    int32_t copy_count, free_copy;
    int core_count, ended_count;        /* simulated */
    ps_t now, end_at;
    int64_t op_total, op_done;
    ps_t op_ps[COLLECTIVE_OP_KIND_COUNT], page_ps, resume_ps;
    struct collective_result *result;
};

static ps_t bytes_ps(int64_t bytes, double gbps)
{
    return (ps_t)((double)bytes * (PS_PER_NS / gbps) + 0.5);
}

/* Ask `bytes` of a shared rate from `at` on; when they are through. */
static ps_t take_rate(ps_t *free_at, ps_t at, int64_t bytes, double gbps)
{
    *free_at = later(*free_at, at) + bytes_ps(bytes, gbps);
    return *free_at;
}

static ps_t cycles_ps(const struct engine *n, cycle_t cycles)
{
    return clock_edge_ps(n->costs->clock_mhz, cycles);
}

static ps_t add_ps(const struct engine *n, int64_t bytes)
{
    return cycles_ps(n, collective_add_cycles(&n->costs->program, bytes));
}

static int chip_of(const struct engine *n, int core)
{
    return core / n->lists->cores_per_chip;
}

/* the core that stands for `core` */
static int stand_in(const struct engine *n, int core)
{
    return core < n->core_count ? core : core % n->core_count;
}

/* ----- events */

static void push(struct engine *n, ps_t at, enum event_kind kind, int by, struct steps_event e)
{
    int local = by % n->lists->cores_per_chip;

    e.at = at;
    e.kind = (uint8_t)kind;
    e.order = (uint64_t)n->cores[by].sequence++ << 24 | (uint64_t)local << 16
              | (uint64_t)chip_of(n, by);
    steps_queue_push(&n->queue, &e);
}

/* `owner`: whose descriptor is free then, -1 nobody's */
static void push_flag(struct engine *n, ps_t at, int by, int core, int32_t flag, int64_t value,
                      int owner)
{
    push(n, at, EVENT_FLAG, by,
         (struct steps_event){.core = stand_in(n, core), .flag = (int16_t)flag,
                              .slot = (int32_t)value, .owner = owner});
}

static struct net_way way_of(const struct engine *n, int core, int peer)
{
    if (!n->net || chip_of(n, core) == chip_of(n, peer))
        return (struct net_way){{0, 0, 0}};
    return net_way(n->net, chip_of(n, core), chip_of(n, peer));
}

/* Every run takes whole vectors of the engine. */
static int64_t engine_bytes(const struct engine *n, const struct collective_op *op)
{
    int64_t run = op->run_bytes < op->bytes ? op->run_bytes : op->bytes;
    int64_t vector = n->costs->vector_bytes;

    return run > 0 ? op->bytes / run * div_up(run, vector) * vector : 0;
}

static int32_t new_copy(struct engine *n, int core, const struct collective_op *op)
{
    bool is_signal = op->kind == COLLECTIVE_SIGNAL;
    int32_t slot = n->free_copy;
    struct copy *c;

    if (slot >= 0) {
        n->free_copy = n->copies[slot].next_free;
    } else {
        n->copies = mem_grow(n->copies, &n->copy_capacity, (size_t)n->copy_count + 1,
                             sizeof(*n->copies));
        slot = n->copy_count++;
    }
    c = &n->copies[slot];
    *c = (struct copy){.bytes = is_signal ? GRANULE_BYTES : op->bytes, .peer = op->peer,
                       .flag = op->flag, .source_flag = is_signal ? -1 : op->source_flag,
                       .engine_bytes = is_signal ? 0 : engine_bytes(n, op),
                       .value = is_signal ? op->value : (int32_t)(op->bytes / GRANULE_BYTES),
                       .place = chip_of(n, core), .way = way_of(n, core, op->peer),
                       .from_space = op->from_space, .to_space = op->to_space,
                       .is_signal = is_signal};
    return slot;
}

static void free_copy(struct engine *n, int32_t slot)
{
    n->copies[slot].next_free = n->free_copy;
    n->free_copy = slot;
}

/* ----- cores */

static void tell_progress(struct engine *n)
{
    if (n->options->progress)
        n->options->progress(n->options->context, (double)n->op_done / (double)n->op_total);
}

static int32_t *flag_of(const struct engine *n, int core, int flag)
{
    assert(flag >= 0 && flag < n->lists->flag_count);
    return &n->flags[(size_t)core * (size_t)n->lists->flag_count + (size_t)flag];
}

static bool take_flag(struct engine *n, int core, struct core *c)
{
    int32_t *flag = flag_of(n, core, c->flag);

    if (*flag < c->value)
        return false;
    *flag -= c->value;
    return true;
}

/* Carries out one operation at c->at; false: the core waits, at the same operation. */
static bool do_op(struct engine *n, int core, struct core *c, const struct collective_op *op)
{
    const struct collective_costs *k = n->costs;
    struct steps_event e = {.core = core};

    switch ((enum collective_op_kind)op->kind) {
    case COLLECTIVE_COPY: case COLLECTIVE_SEND:
        if (c->copies >= k->queue_depth) {
            c->state = CORE_WAITS_FOR_ROOM;
            return false;
        }
        c->copies++;
        c->at += n->op_ps[op->kind];
        e.slot = new_copy(n, core, op);
        if (op->kind == COLLECTIVE_COPY)
            push(n, c->at, EVENT_COPY, core, e);
        else
            push(n, c->at + k->local_ps, EVENT_SEND, core, e);
        return true;
    case COLLECTIVE_SIGNAL:
        c->at += n->op_ps[op->kind];
        e.slot = new_copy(n, core, op);
        push(n, c->at, EVENT_HEAD, core, e);
        return true;
    case COLLECTIVE_ADD:
        c->at += add_ps(n, op->bytes);
        return true;
    case COLLECTIVE_WAIT:
        c->flag = op->flag;
        c->value = op->value;
        if (!take_flag(n, core, c)) {
            c->state = CORE_WAITS_FOR_FLAG;
            return false;
        }
        c->at += n->op_ps[op->kind];
        return true;
    default:
        assert(false && "no such operation");
        return false;
    }
}

static void end_op(struct engine *n, struct core *c)
{
    n->op_done++;
    if (++c->next % n->costs->program.page_ops == 0)
        c->at += n->page_ps;
}

static void run_core(struct engine *n, int core)
{
    struct core *c = &n->cores[core];
    struct collective_op op;

    c->state = CORE_RUNS;
    while (c->next < c->count) {
        n->lists->op(n->lists->context, core, c->next, &op);
        if (!do_op(n, core, c, &op))
            return;
        end_op(n, c);
    }
    c->state = CORE_ENDED;
    n->ended_count++;
    n->end_at = later(n->end_at, c->at);
}

/* What core waits for may have come. */
static void wake(struct engine *n, int core)
{
    struct core *c = &n->cores[core];

    if (c->state == CORE_WAITS_FOR_FLAG) {
        if (!take_flag(n, core, c))
            return;
        if (n->now > c->at)
            c->at = n->now + n->resume_ps;
        c->at += n->op_ps[COLLECTIVE_WAIT];
        end_op(n, c);
    } else if (c->state == CORE_WAITS_FOR_ROOM) {
        c->at = later(c->at, n->now);
    } else {
        return;
    }
    run_core(n, core);
}

static void raise_flag(struct engine *n, const struct steps_event *e)
{
    if (e->flag >= 0)
        *flag_of(n, e->core, e->flag) += e->slot;
    if (e->owner >= 0)
        n->cores[e->owner].copies--;
    wake(n, e->core);
    if (e->owner >= 0 && e->owner != e->core)
        wake(n, e->owner);
}

/* ----- copies */

static void start_copy(struct engine *n, int core, int32_t slot)
{
    const struct collective_costs *k = n->costs;
    struct core *c = &n->cores[core];
    struct copy *d = &n->copies[slot];
    bool reads = d->from_space == COLLECTIVE_HBM, writes = d->to_space == COLLECTIVE_HBM;
    int64_t hbm_bytes = d->bytes * (reads + writes);
    enum port port = hbm_bytes ? PORT_HBM : PORT_LOCAL;
    ps_t end = take_rate(&c->port[port], n->now, d->engine_bytes,
                         hbm_bytes ? k->core_gbps : k->local_gbps);

    if (hbm_bytes)
        end = later(end, take_rate(&n->hbm[chip_of(n, core)], n->now, hbm_bytes, k->hbm_gbps));
    end += (reads ? k->read_ps : 0) + (writes ? k->write_ps : 0);
    end += reads || writes ? 0 : k->local_ps;
    push_flag(n, end, core, core, d->flag, d->value, core);
    free_copy(n, slot);
}


/* The first byte of a copy or signal is at the chip it goes to at now. */
static void arrive(struct engine *n, int sender, int32_t slot)
{
    const struct collective_costs *k = n->costs;
    const struct copy *d = &n->copies[slot];
    int to = stand_in(n, d->peer);
    ps_t end = later(later(n->now, d->there_at), d->end_at) + k->local_ps;

    if (d->to_space == COLLECTIVE_HBM && !d->is_signal) {
        ps_t written = take_rate(&n->hbm[chip_of(n, to)], n->now, d->bytes, k->hbm_gbps);

        end = later(end, written + k->local_ps) + k->write_ps;
    }
    if (d->hops > 0 && !d->is_signal)
        end += k->arrival_ps + (ps_t)((double)d->bytes * k->arrival_ps_per_byte + 0.5);
    push_flag(n, end, sender, to, d->flag, d->value, d->is_signal ? -1 : sender);
    free_copy(n, slot);
}

/* The next link on the way, taken by the first byte at now. */
static void take_link(struct engine *n, int sender, int32_t slot)
{
    struct copy *d = &n->copies[slot];
    struct net_hop hop = net_take(n->net, n->now, d->place, &d->way, d->bytes);

    d->place = hop.next;
    d->there_at = hop.there_at;
    if (d->hops++ == 0 && d->source_flag >= 0)
        push_flag(n, later(hop.free_at, d->end_at), sender, sender, d->source_flag, d->value, -1);
    push(n, hop.head_at, EVENT_HEAD, sender, (struct steps_event){.core = sender, .slot = slot});
}

/* The first byte of a copy or signal has come to d->place at now. */
static void go_on(struct engine *n, int sender, int32_t slot)
{
    if (net_is_there(n->copies[slot].way))
        arrive(n, sender, slot);
    else
        take_link(n, sender, slot);
}

/* Link and memory work side by side: the later of both is the end. */
static void start_send(struct engine *n, int core, int32_t slot)
{
    const struct collective_costs *k = n->costs;
    struct copy *d = &n->copies[slot];
    bool stays = net_is_there(d->way);

    d->end_at = take_rate(&n->cores[core].port[PORT_REMOTE], n->now, d->engine_bytes,
                          stays ? k->local_gbps : k->core_gbps);
    if (d->from_space == COLLECTIVE_HBM) {
        ps_t read = take_rate(&n->hbm[d->place], n->now, d->bytes, k->hbm_gbps) + k->read_ps;

        d->end_at = later(d->end_at, read);
    }
    if (stays && d->source_flag >= 0)
        push_flag(n, d->end_at, core, core, d->source_flag, d->value, -1);
    if (!stays) {
        n->result->sent_bytes += d->bytes;
        n->result->message_count++;
    }
    go_on(n, core, slot);
}

/* ----- all of it */

static void do_event(struct engine *n, const struct steps_event *e)
{
    switch ((enum event_kind)e->kind) {
    case EVENT_COPY: start_copy(n, e->core, e->slot); break;
    case EVENT_SEND: start_send(n, e->core, e->slot); break;
    case EVENT_HEAD: go_on(n, e->core, e->slot); break;
    case EVENT_FLAG: raise_flag(n, e); break;
    }
}

static void open_engine(struct engine *n)
{
    const struct steps_lists *l = n->lists;
    size_t chips = (size_t)(n->core_count / l->cores_per_chip);

    for (int i = 0; i < COLLECTIVE_OP_KIND_COUNT; i++)
        n->op_ps[i] = cycles_ps(n, n->costs->program.op_cycles[i]);
    n->page_ps = cycles_ps(n, n->costs->program.page_cycles);
    n->resume_ps = cycles_ps(n, n->costs->resume_cycles);
    n->cores = mem_alloc((size_t)n->core_count * sizeof(*n->cores));
    n->flags = mem_alloc((size_t)n->core_count * (size_t)l->flag_count * sizeof(*n->flags));
    n->hbm = mem_alloc((chips + 1) * sizeof(*n->hbm));
    n->free_copy = -1;
    steps_queue_init(&n->queue);
    for (int i = 0; i < n->core_count; i++) {
        n->cores[i].count = l->op_count(l->context, i);
        n->cores[i].at = cycles_ps(n, n->costs->program.start_cycles);
        n->op_total += n->cores[i].count;
    }
}

static void close_engine(struct engine *n)
{
    steps_queue_fini(&n->queue);
    mem_free(n->cores);
    mem_free(n->flags);
    mem_free(n->hbm);
    mem_free(n->copies);
    net_destroy(n->net);
}

static int tell_deadlock(const struct engine *n, struct err *e)
{
    for (int i = 0; i < n->core_count; i++) {
        const struct core *c = &n->cores[i];

        if (c->state != CORE_ENDED)
            return err_set(e, "core %d waits for ever in operation %d of %d, for %d of flag %d",
                           i, (int)c->next, (int)c->count, (int)c->value, (int)c->flag);
    }
    return 0;
}

static void use_of_links(const struct engine *n)
{
    struct collective_result *r = n->result;
    int links = n->net ? net_link_count(n->net) : 0;
    double sum = 0;

    for (int i = 0; i < links; i++) {
        double use = n->end_at ? (double)net_link(n->net, i)->busy_ps / (double)n->end_at : 0;

        r->link_use_min = i == 0 || use < r->link_use_min ? use : r->link_use_min;
        r->link_use_max = use > r->link_use_max ? use : r->link_use_max;
        sum += use;
    }
    r->link_use_mean = links ? sum / links : 0;
}

int steps_run(const struct steps_lists *l, const struct net_config *net,
              const struct collective_costs *costs, const struct collective_steps_options *o,
              struct collective_result *out, struct err *e)
{
    int chips = net->dim[0] * net->dim[1] * net->dim[2], status;
    struct engine n = {.lists = l, .costs = costs, .options = o, .core_count = l->core_count,
                       .result = out};
    struct net_config config = *net;
    struct steps_event event;
    int64_t event_count = 0;

    *out = (struct collective_result){.used_symmetry = l->is_symmetric && !o->no_symmetry};
    config.is_folded = out->used_symmetry;
    if (chips > 1)
        n.net = net_create(&config);
    if (out->used_symmetry)
        n.core_count = l->cores_per_chip;
    open_engine(&n);
    for (int i = 0; i < n.core_count; i++)
        run_core(&n, i);
    while (steps_queue_pop(&n.queue, &event)) {
        n.now = event.at;
        do_event(&n, &event);
        if (++event_count % EVENTS_PER_TELLING == 0)
            tell_progress(&n);
    }
    status = tell_deadlock(&n, e);
    out->time_ps = n.end_at;
    out->op_count = n.op_done;
    use_of_links(&n);
    close_engine(&n);
    return status;
}
