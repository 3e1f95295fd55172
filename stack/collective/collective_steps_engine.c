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
#include "stack/collective/collective_steps_impl.h"
#include "stack/collective/collective_steps_queue.h"

#include "base/arena.h"
#include "sim/time/clock.h"

#include <assert.h>
#include <string.h>

#define GRANULE_BYTES 32
#define PIECES_LEAST 4
#define PIECES_MOST 64
#define PIECES_OF_ALL 16384
#define MIXED_PS (100 * PS_PER_NS)      /* reads and writes no farther apart come together */
#define EVENTS_PER_TELLING 100000       /* of progress */

enum event_kind { EVENT_COPY, EVENT_SEND, EVENT_HEAD, EVENT_FLAG };

enum port { PORT_HBM, PORT_LOCAL, PORT_REMOTE, PORT_PEER, PORT_COUNT };

enum core_state { CORE_RUNS, CORE_WAITS_FOR_FLAG, CORE_WAITS_FOR_ROOM, CORE_ENDED };

/* 64 bytes: thousands are gone through again and again */
struct core {
    cycle_t at;                         /* up to which its list is done */
    ps_t port[PORT_COUNT];              /* bytes asked of it are through */
    uint32_t sequence;                  /* of its events */
    int32_t next, count;                /* operations */
    int32_t value;                      /* waited for, of `flag` */
    int32_t copies;                     /* under way */
    int16_t flag;
    uint8_t state;                      /* enum core_state */
};

struct chip_hbm {
    ps_t free_at;                       /* bytes asked of it are through */
    ps_t used_until[2];                 /* reads, writes */
};

struct engine {
    const struct collective_steps_lists *lists;
    const struct collective_costs *costs;
    const struct collective_steps_options *options;
    struct net *net;                    /* NULL: one chip */
    struct collective_steps_queue *queue;
    struct core *cores;
    int32_t *flags;                     /* (flag, core) */
    struct chip_hbm *hbm;               /* by chip */
    int core_count;                     /* simulated */
    ps_t now, end_at;
    int64_t op_total, op_done;
    int64_t piece_count;                /* that a message is cut into, at most */
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

/*
 * The same of a chip's HBM, which stands still for a refresh every now and then,
 * and turns its bus to and fro where reads and writes come together.
 */
static ps_t take_chip_hbm(struct engine *n, int chip, ps_t at, int64_t bytes, bool is_write)
{
    const struct collective_costs *k = n->costs;
    struct chip_hbm *h = &n->hbm[chip];
    bool is_mixed = h->used_until[!is_write] + MIXED_PS > at && h->used_until[!is_write] > 0;
    ps_t *free_at = &h->free_at, since;
    ps_t left = bytes_ps(bytes, is_mixed ? k->hbm_mixed_gbps : k->hbm_gbps);

    h->used_until[is_write] = later(*free_at, at) + left;
    *free_at = later(*free_at, at);
    if (k->refresh_ps == 0)
        return *free_at += left;
    for (;;) {
        since = *free_at % k->refresh_period_ps;
        if (since < k->refresh_ps)
            *free_at += k->refresh_ps - since;
        since = later(since, k->refresh_ps);
        if (since + left <= k->refresh_period_ps)
            return *free_at += left;
        left -= k->refresh_period_ps - since;
        *free_at += k->refresh_period_ps - since;
    }
}

static int chip_of(const struct engine *n, int core)
{
    return core / n->lists->cores_per_chip;
}

/* what a core reads and writes of it shares the core's way there */
static ps_t take_hbm(struct engine *n, int core, ps_t at, int64_t bytes, bool is_write)
{
    ps_t through = take_rate(&n->cores[core].port[PORT_HBM], at, bytes, n->costs->core_gbps);

    return later(through, take_chip_hbm(n, chip_of(n, core), at, bytes, is_write));
}

static ps_t edge_ps(const struct engine *n, cycle_t cycle)
{
    return clock_edge_ps(n->costs->clock_mhz, cycle);
}

/* the core that stands for `core` */
static int stand_in(const struct engine *n, int core)
{
    return core < n->core_count ? core : core % n->core_count;
}

/* ----- events */

static void push(struct engine *n, ps_t at, enum event_kind kind, int by,
                 struct collective_steps_event *e)
{
    uint64_t cores = (uint64_t)n->lists->cores_per_chip;
    struct collective_steps_key key = {at, n->cores[by].sequence++ * cores + (uint64_t)by % cores};

    e->kind = (uint8_t)kind;
    collective_steps_queue_push(n->queue, key, e);
}

/* `owner`: whose descriptor is free then, or STEPS_NOBODY */
static void push_flag(struct engine *n, ps_t at, int by, int core, int16_t flag, int32_t value,
                      int owner)
{
    push(n, at, EVENT_FLAG, by,
         &(struct collective_steps_event){.core = (uint16_t)stand_in(n, core), .flag = flag,
                                          .value = value, .peer = (uint16_t)owner});
}

static struct net_route way_of(const struct engine *n, int core, const struct collective_op *op)
{
    int from = chip_of(n, core), to = chip_of(n, op->peer);

    if (op->kind == COLLECTIVE_COPY || from == to ||
        (op->kind == COLLECTIVE_SIGNAL && n->costs->has_free_signals))
        return (struct net_route){{0, 0, 0}};
    return net_route(n->net, from, to);
}

/* Every run takes whole vectors of the engine. */
static int64_t engine_bytes(const struct engine *n, const struct collective_op *op)
{
    int64_t run = op->run_bytes < op->bytes ? op->run_bytes : op->bytes;
    int64_t vector = n->costs->vector_bytes;

    return run > 0 ? op->bytes / run * div_up(run, vector) * vector : 0;
}

static struct collective_steps_event copy_of(const struct engine *n, int core,
                                             const struct collective_op *op)
{
    int32_t granules = (int32_t)(op->bytes / GRANULE_BYTES);

    return (struct collective_steps_event){
        .core = (uint16_t)core, .peer = (uint16_t)op->peer, .place = (uint16_t)chip_of(n, core),
        .value = granules, .granules = granules, .way = way_of(n, core, op),
        .flag = (int16_t)op->flag,
        .engine_granules = (int32_t)(engine_bytes(n, op) / GRANULE_BYTES),
        .source_flag = (int16_t)(op->kind == COLLECTIVE_SEND ? op->source_flag : -1),
        .from_hbm = op->from_space == COLLECTIVE_HBM, .to_hbm = op->to_space == COLLECTIVE_HBM};
}

/* a message without memory at its ends */
static struct collective_steps_event signal_of(const struct engine *n, int core,
                                               const struct collective_op *op)
{
    return (struct collective_steps_event){
        .core = (uint16_t)core, .peer = (uint16_t)op->peer, .place = (uint16_t)chip_of(n, core),
        .value = op->value, .granules = 1, .way = way_of(n, core, op),
        .flag = (int16_t)op->flag, .source_flag = -1,
        .is_signal = true, .is_last = true};
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
    return &n->flags[(size_t)flag * (size_t)n->core_count + (size_t)core];
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
    struct collective_steps_event e;

    switch ((enum collective_op_kind)op->kind) {
    case COLLECTIVE_COPY: case COLLECTIVE_SEND:
        if (c->copies >= k->queue_depth) {
            c->state = CORE_WAITS_FOR_ROOM;
            return false;
        }
        c->copies++;
        c->at += k->program.op_cycles[op->kind];
        e = copy_of(n, core, op);
        if (op->kind == COLLECTIVE_COPY)
            push(n, edge_ps(n, c->at), EVENT_COPY, core, &e);
        else
            push(n, edge_ps(n, c->at) + k->local_ps, EVENT_SEND, core, &e);
        return true;
    case COLLECTIVE_SIGNAL:
        c->at += k->program.op_cycles[op->kind];
        e = signal_of(n, core, op);
        push(n, edge_ps(n, c->at), EVENT_HEAD, core, &e);
        return true;
    case COLLECTIVE_ADD:
        c->at += collective_add_cycles(&k->program, op->bytes);
        return true;
    case COLLECTIVE_WAIT:
        c->flag = (int16_t)op->flag;
        c->value = op->value;
        if (!take_flag(n, core, c)) {
            c->state = CORE_WAITS_FOR_FLAG;
            return false;
        }
        c->at += k->program.op_cycles[op->kind];
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
        c->at += n->costs->program.page_cycles;
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
    n->end_at = later(n->end_at, edge_ps(n, c->at));
}

/* What core waits for may have come. */
static void wake(struct engine *n, int core)
{
    struct core *c = &n->cores[core];
    cycle_t now = clock_cycle_at(n->costs->clock_mhz, n->now);

    if (c->state == CORE_WAITS_FOR_FLAG) {
        if (!take_flag(n, core, c))
            return;
        if (now > c->at)
            c->at = now + n->costs->resume_cycles;
        c->at += n->costs->program.op_cycles[COLLECTIVE_WAIT];
        end_op(n, c);
    } else if (c->state == CORE_WAITS_FOR_ROOM) {
        c->at = later(c->at, now);
    } else {
        return;
    }
    run_core(n, core);
}

static void raise_flag(struct engine *n, const struct collective_steps_event *e)
{
    int owner = e->peer;

    if (e->flag >= 0)
        *flag_of(n, e->core, e->flag) += e->value;
    if (owner != STEPS_NOBODY)
        n->cores[owner].copies--;
    wake(n, e->core);
    if (owner != STEPS_NOBODY && owner != e->core)
        wake(n, owner);
}

/* ----- copies */

static void start_copy(struct engine *n, const struct collective_steps_event *d)
{
    const struct collective_costs *k = n->costs;
    struct core *c = &n->cores[d->core];
    bool is_local = !d->from_hbm && !d->to_hbm;
    int64_t bytes = d->value * (int64_t)GRANULE_BYTES;
    int64_t engine_bytes = d->engine_granules * (int64_t)GRANULE_BYTES;
    ps_t end = take_rate(&c->port[is_local ? PORT_LOCAL : PORT_HBM], n->now,
                         is_local ? engine_bytes : engine_bytes - bytes,
                         is_local ? k->local_gbps : k->core_gbps);

    if (d->from_hbm)
        end = later(end, take_hbm(n, d->core, n->now, bytes, false));
    if (d->to_hbm)
        end = later(end, take_hbm(n, d->core, n->now, bytes, true));
    end += is_local ? k->local_ps : 0;
    end += d->from_hbm ? k->read_ps + k->hbm_read_ps : 0;
    end += d->to_hbm ? k->write_ps + k->hbm_write_ps : 0;
    push_flag(n, end, d->core, d->core, d->flag, d->value, d->core);
}

/*
 * A piece of a copy, or a signal, has taken all links; to HBM: its first byte is
 * there now. Pieces come in their order: with the last the copy is at its end.
 */
static void arrive(struct engine *n, const struct collective_steps_event *d)
{
    const struct collective_costs *k = n->costs;
    int to = stand_in(n, d->peer);
    ps_t end = later(n->now, d->there_at) + k->local_ps;

    if (d->core != d->peer && chip_of(n, d->core) == chip_of(n, d->peer))
        end += k->peer_ps;
    if (d->to_hbm) {
        ps_t written = take_hbm(n, to, n->now,
                                d->granules * (int64_t)GRANULE_BYTES, true);

        end = later(end, written + k->local_ps) + k->write_ps + k->hbm_write_ps;
    }
    if (!d->is_last)
        return;
    if (!d->is_signal && chip_of(n, d->core) != chip_of(n, d->peer))
        end += k->arrival_ps + (ps_t)((double)d->value * GRANULE_BYTES * k->arrival_ps_per_byte
                                      + 0.5);
    push_flag(n, end, d->core, to, d->flag, d->value, d->is_signal ? STEPS_NOBODY : d->core);
}

/* The next link on the way, taken by the first byte at now; when the link is free again. */
static ps_t take_link(struct engine *n, struct collective_steps_event *d)
{
    struct net_hop hop = net_take(n->net, n->now, d->place, &d->way,
                                  d->granules * (int64_t)GRANULE_BYTES);

    d->place = (uint16_t)hop.next;
    d->there_at = later(d->there_at, hop.there_at);
    if (net_is_there(d->way) && !d->to_hbm)
        arrive(n, d);                   /* where it goes, it asks nobody for anything */
    else
        push(n, hop.head_at, EVENT_HEAD, d->core, d);
    return hop.free_at;
}

/* The first byte of a piece or signal has come to its `place` at now. */
static void go_on(struct engine *n, struct collective_steps_event *d)
{
    if (net_is_there(d->way))
        arrive(n, d);
    else
        take_link(n, d);
}

/*
 * The machine's copies take turns on a link chunk by chunk. So do pieces, up to
 * 64 of a message; fewer in pods, whose chips must be affordable one by one.
 */
static int64_t piece_count(int chips)
{
    int64_t count = PIECES_OF_ALL / chips;

    return count < PIECES_LEAST ? PIECES_LEAST : count > PIECES_MOST ? PIECES_MOST : count;
}

/* What goes next of a copy, all of it where it is short. */
static int32_t piece_granules(const struct engine *n, const struct collective_steps_event *d)
{
    int64_t chunk = n->costs->chunk_bytes / GRANULE_BYTES;
    int64_t piece = div_up(div_up(d->value, n->piece_count), chunk) * chunk;

    return piece > d->granules ? d->granules : (int32_t)piece;
}

/* Link and memory work side by side: the later of both is the end. */
static void start_send(struct engine *n, struct collective_steps_event *d)
{
    const struct collective_costs *k = n->costs;
    struct collective_steps_event piece = *d;
    bool stays = net_is_there(d->way);
    ps_t through, left_at;

    piece.granules = piece_granules(n, d);
    piece.is_last = piece.granules == d->granules;
    d->granules -= piece.granules;
    through = take_rate(&n->cores[d->core].port[PORT_REMOTE], n->now,
                        (int64_t)d->engine_granules * piece.granules / d->value * GRANULE_BYTES,
                        k->core_gbps);
    if (stays)
        through = later(through, take_rate(&n->cores[d->core].port[PORT_PEER], n->now,
                                           piece.granules * (int64_t)GRANULE_BYTES,
                                           k->peer_gbps));
    piece.there_at = through;
    if (d->from_hbm)
        piece.there_at = later(through, k->read_ps + k->hbm_read_ps
                             + take_hbm(n, d->core, n->now,
                                        piece.granules * (int64_t)GRANULE_BYTES, false));
    left_at = piece.there_at;
    if (stays) {
        arrive(n, &piece);
    } else {
        n->result->sent_bytes += piece.granules * (int64_t)GRANULE_BYTES;
        n->result->message_count += piece.is_last;
        through = later(through, take_link(n, &piece));
        left_at = later(left_at, through);
    }
    if (!piece.is_last)
        push(n, through, EVENT_SEND, d->core, d);
    else if (d->source_flag >= 0)
        push_flag(n, left_at, d->core, d->core, d->source_flag, d->value, STEPS_NOBODY);
}

/* ----- all of it */

static void do_event(struct engine *n, struct collective_steps_event *e)
{
    switch ((enum event_kind)e->kind) {
    case EVENT_COPY: start_copy(n, e); break;
    case EVENT_SEND: start_send(n, e); break;
    case EVENT_HEAD: go_on(n, e); break;
    case EVENT_FLAG: raise_flag(n, e); break;
    }
}

static void open_engine(struct engine *n)
{
    const struct collective_steps_lists *l = n->lists;
    size_t chips = (size_t)(n->core_count / l->cores_per_chip);

    n->cores = mem_alloc((size_t)n->core_count * sizeof(*n->cores));
    n->flags = mem_alloc((size_t)n->core_count * (size_t)l->flag_count * sizeof(*n->flags));
    n->hbm = mem_alloc((chips + 1) * sizeof(*n->hbm));
    n->queue = collective_steps_queue_create();
    for (int i = 0; i < n->core_count; i++) {
        n->cores[i].count = l->op_count(l->context, i);
        n->cores[i].at = n->costs->program.start_cycles;
        n->op_total += n->cores[i].count;
    }
}

static void close_engine(struct engine *n)
{
    collective_steps_queue_destroy(n->queue);
    mem_free(n->cores);
    mem_free(n->flags);
    mem_free(n->hbm);
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

int collective_steps_engine_run(const struct collective_steps_lists *l,
                                const struct net_config *net, const struct collective_costs *costs,
                                const struct collective_steps_options *o,
                                struct collective_result *out, struct err *e)
{
    int chips = net->dim[0] * net->dim[1] * net->dim[2], status;
    struct engine n = {.lists = l, .costs = costs, .options = o, .core_count = l->core_count,
                       .result = out};
    struct net_config config = *net;
    struct collective_steps_event event;
    int64_t event_count = 0;

    assert(l->core_count < STEPS_NOBODY && l->flag_count <= INT16_MAX);
    n.piece_count = piece_count(chips);
    *out = (struct collective_result){.used_symmetry = l->is_symmetric && !o->no_symmetry};
    config.is_folded = out->used_symmetry;
    if (chips > 1)
        n.net = net_create(&config);
    if (out->used_symmetry)
        n.core_count = l->cores_per_chip;
    open_engine(&n);
    for (int i = 0; i < n.core_count; i++)
        run_core(&n, i);
    while (collective_steps_queue_pop(n.queue, &n.now, &event)) {
        do_event(&n, &event);
        if (++event_count % EVENTS_PER_TELLING == 0)
            tell_progress(&n);
    }
    status = tell_deadlock(&n, e);
    out->time_ps = n.end_at;
    out->event_count = event_count * (l->core_count / n.core_count);
    out->op_count = n.op_done * (l->core_count / n.core_count);
    out->message_count *= l->core_count / n.core_count;
    out->sent_bytes *= l->core_count / n.core_count;
    use_of_links(&n);
    close_engine(&n);
    return status;
}
