/*
 * Plans a collective that runs beside other kernels: every rank scatters its blocks to all, adds,
 * and gathers the sums.
 */
#include "stack/kernels/comm/kernel_collective_spread.h"

#include "base/units.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define GRANULE 32
#define ROW 512
#define LARGE (1 * MIB)                 /* blocks from here on, and their pieces, are of whole */
#define LARGE_UNIT (64 * KIB)           /* pages of the simulated memory, which copies can share */
#define CHUNK_MOST (128 * KIB)
#define FLAGS_LEAST 128                 /* of a core; with fewer, kernels need them more */
#define SETS 2                          /* chunks of all ranks that are in VMEM at a time */

enum {
    FLAG_BEGUN, FLAG_ARRIVED, FLAG_GATHERED, FLAG_SENT, FLAG_LOADED,
    FLAG_STORED = FLAG_LOADED + SETS
};
static_assert(SPREAD_COPY_FLAG == FLAG_LOADED, "copies are done before anything is loaded");

bool kernel_spread_suits(const struct chip *c, int ranks, int copies)
{
    int most = ranks - 1 > copies ? ranks - 1 : copies;

    return ranks > 1 && most <= c->dma_queue_depth / 2 && c->sync_flags >= FLAGS_LEAST;
}

static int64_t unit_of(int64_t block_bytes) { return block_bytes < LARGE ? ROW : LARGE_UNIT; }

/* as few pieces of a block as keep the stage small, where blocks wait there to be added */
static void cut_blocks(struct kernel_collective_spread *s, int64_t stage_bytes)
{
    int64_t waiting = s->kind == COLLECTIVE_ALL_GATHER ? 0 : (s->ranks - 1) * s->block_bytes;
    int64_t pieces = div_up(waiting, stage_bytes);

    pieces = pieces < SPREAD_PIECES_MOST ? pieces : SPREAD_PIECES_MOST;
    s->piece_bytes = round_up(div_up(s->block_bytes, pieces > 0 ? pieces : 1),
                              unit_of(s->block_bytes));
    s->pieces = (int)div_up(s->block_bytes, s->piece_bytes);
}

/* which core is where, and as much of the blocks at a time as VMEM holds of all ranks */
bool kernel_spread_make(const struct kernel_spread_request *r, struct kernel_collective_spread *s,
                        struct arena *a)
{
    int64_t most = r->vmem_bytes / (SETS * r->ranks) / ROW * ROW;
    int32_t *place = arena_array(a, (size_t)r->slice->core_count, sizeof(*place));
    bool is_sum = r->kind == COLLECTIVE_ALL_REDUCE, is_gather = r->kind == COLLECTIVE_ALL_GATHER;

    *s = (struct kernel_collective_spread){.kind = r->kind, .ranks = r->ranks, .core = r->core,
                                           .place = place, .copy_count = r->copy_count,
                                           .block_bytes = div_up(r->bytes, r->ranks)};
    if (is_sum)
        s->block_bytes = round_up(s->block_bytes, unit_of(s->block_bytes));
    most = most < CHUNK_MOST ? most : CHUNK_MOST;
    if (most < ROW)
        return false;
    cut_blocks(s, r->stage_bytes);
    s->chunk_bytes = round_up(div_up(s->piece_bytes, div_up(s->piece_bytes, most)), ROW);
    s->stage_at = is_sum ? r->ranks * s->block_bytes : r->bucket_bytes;
    s->bucket_bytes = s->stage_at + (is_gather ? 0 : (r->ranks - 1) * s->piece_bytes);
    s->vmem_bytes = is_gather ? 0 : SETS * r->ranks * s->chunk_bytes;
    for (int i = 0; i < r->slice->core_count; i++)
        place[i] = -1;
    for (int i = 0; i < r->core_count; i++)
        place[r->core[i]] = i;
    return true;
}

/* ----- the list: operations of a phase, counted from its first */

struct rank {                           /* whose list it is */
    const struct kernel_collective_spread *s;
    int rank, first;                    /* first: of its group, in s->core */
    int64_t at, bytes, chunks;          /* the piece of all blocks that the phase is about */
};

static int others(const struct kernel_collective_spread *s) { return s->ranks - 1; }

/* the d-th rank behind this one */
static int peer(const struct rank *r, int d) { return (r->rank + d) % r->s->ranks; }

static int32_t core_of(const struct rank *r, int rank) { return r->s->core[r->first + rank]; }

static void put_wait(struct collective_op *o, int flag, int64_t value)
{
    assert(value <= INT32_MAX);
    o->kind = COLLECTIVE_WAIT;
    o->flag = flag;
    o->value = (int32_t)value;
}

static void put_move(struct collective_op *o, int kind, int64_t from, int64_t to, int64_t bytes)
{
    o->kind = (uint8_t)kind;
    o->from = from;
    o->to = to;
    o->bytes = o->run_bytes = bytes;
    for (int i = 0; i < COLLECTIVE_LEVELS; i++)
        o->level[i].count = 1;
}

static void put_send(const struct rank *r, int d, int64_t from, int64_t to, int flag,
                     struct collective_op *o)
{
    put_move(o, COLLECTIVE_SEND, from, to, r->bytes);
    o->peer = core_of(r, peer(r, d));
    o->flag = flag;
    o->source_flag = FLAG_SENT;
}

static int64_t granules_from_all(const struct kernel_collective_spread *s, int64_t bytes)
{
    return others(s) * bytes / GRANULE;
}

static bool is_gather(const struct rank *r) { return r->s->kind == COLLECTIVE_ALL_GATHER; }

static bool is_scatter(const struct rank *r) { return r->s->kind == COLLECTIVE_REDUCE_SCATTER; }

static bool is_last_piece(const struct rank *r) { return r->at + r->bytes == r->s->block_bytes; }

static int copies(const struct rank *r) { return r->s->copy_count ? r->s->copy_count - 1 : 0; }

static void put_signal(const struct rank *r, int d, struct collective_op *o)
{
    o->kind = COLLECTIVE_SIGNAL;
    o->flag = FLAG_BEGUN;
    o->peer = core_of(r, peer(r, d));
    o->value = 1;
}

/* all are told that this one has begun: its stage, or its result, is free; and its copies start */
static void begin_op(const struct rank *r, int index, struct collective_op *o)
{
    if (index < others(r->s))
        put_signal(r, index + 1, o);
    else
        *o = r->s->copy[index - others(r->s)];
}

/* the first piece of a scatter: its operand has been copied to the bucket */
static int first_waits(const struct rank *r)
{
    return 1 + (is_scatter(r) && r->at == 0 && copies(r) > 0);
}

static int scatter_count(const struct rank *r) { return first_waits(r) + others(r->s); }

/*
 * A piece of a block to each, to its place in the order of sums there. The stage is free when all
 * have said so, or have sent their sums of the piece before.
 */
static void scatter_op(const struct rank *r, int index, struct collective_op *o)
{
    const struct kernel_collective_spread *s = r->s;
    int waits = first_waits(r), d = index - waits + 1;

    if (index == 0 && (r->at == 0 || is_scatter(r)))
        put_wait(o, FLAG_BEGUN, others(s));
    else if (index == 0)
        put_wait(o, FLAG_GATHERED, granules_from_all(s, s->piece_bytes));
    else if (index < waits)
        *o = s->copy[s->copy_count - 1];
    else
        put_send(r, d, s->blocks_at + peer(r, d) * s->block_bytes + r->at,
                 s->stage_at + (s->ranks - d - 1) * s->piece_bytes, FLAG_ARRIVED, o);
}

static int64_t bytes_of(const struct rank *r, int64_t chunk)
{
    int64_t left = r->bytes - chunk * r->s->chunk_bytes;

    return left < r->s->chunk_bytes ? left : r->s->chunk_bytes;
}

/* of its own block */
static int64_t own_at(const struct rank *r, int64_t chunk)
{
    return r->s->blocks_at + r->rank * r->s->block_bytes + r->at + chunk * r->s->chunk_bytes;
}

/* of its sum */
static int64_t sum_at(const struct rank *r, int64_t chunk)
{
    return is_scatter(r) ? r->s->own_at + r->at + chunk * r->s->chunk_bytes : own_at(r, chunk);
}

static int64_t slot_of(const struct kernel_collective_spread *s, int64_t chunk, int j)
{
    return (chunk % SETS * s->ranks + j) * s->chunk_bytes;
}

/* j: the stage's, and last the rank's own */
static void load_op(const struct rank *r, int64_t chunk, int j, struct collective_op *o)
{
    const struct kernel_collective_spread *s = r->s;
    int64_t staged_at = s->stage_at + j * s->piece_bytes + chunk * s->chunk_bytes;

    put_move(o, COLLECTIVE_COPY, j < others(s) ? staged_at : own_at(r, chunk),
             slot_of(s, chunk, j), bytes_of(r, chunk));
    o->to_space = COLLECTIVE_VMEM;
    o->flag = FLAG_LOADED + (int)(chunk % SETS);
}

static void store_op(const struct rank *r, int64_t chunk, struct collective_op *o)
{
    put_move(o, COLLECTIVE_COPY, slot_of(r->s, chunk, 0), sum_at(r, chunk), bytes_of(r, chunk));
    o->from_space = COLLECTIVE_VMEM;
    o->flag = FLAG_STORED + (int)(chunk % SETS);
}

static void wait_store_op(const struct rank *r, int64_t chunk, struct collective_op *o)
{
    put_wait(o, FLAG_STORED + (int)(chunk % SETS), bytes_of(r, chunk) / GRANULE);
}

/*
 * Loads of chunk c, additions of the one before: first until the slots are empty, where they have
 * been used; then the loads; then the wait for the other loads, the additions, the store.
 */
static int load_count(const struct rank *r, int64_t c)
{
    return c < r->chunks ? r->s->ranks + (c >= SETS) : 0;
}

static int add_count(const struct rank *r, int64_t c)
{
    return c > 0 ? 1 + others(r->s) + 1 : 0;
}

static void add_op(const struct rank *r, int64_t chunk, int index, struct collective_op *o)
{
    const struct kernel_collective_spread *s = r->s;
    int64_t bytes = bytes_of(r, chunk);

    if (index == 0)
        put_wait(o, FLAG_LOADED + (int)(chunk % SETS), s->ranks * (bytes / GRANULE));
    else if (index <= others(s))
        put_move(o, COLLECTIVE_ADD, slot_of(s, chunk, index), slot_of(s, chunk, 0), bytes);
    else
        store_op(r, chunk, o);
}

/* behind the sums: they go to all, or the stage is free again, or all has been sent */
static int tail_count(const struct rank *r)
{
    return is_scatter(r) && is_last_piece(r) ? 1 : others(r->s);
}

static void tail_op(const struct rank *r, int index, struct collective_op *o)
{
    if (!is_scatter(r))
        put_send(r, index + 1, own_at(r, 0), own_at(r, 0), FLAG_GATHERED, o);
    else if (is_last_piece(r))
        put_wait(o, FLAG_SENT, granules_from_all(r->s, r->s->block_bytes));
    else
        put_signal(r, index + 1, o);
}

static int sum_count(const struct rank *r)
{
    int64_t waits = r->chunks > SETS ? r->chunks - SETS : 0;
    int64_t last = r->chunks < SETS ? r->chunks : SETS;

    return (int)(1 + r->chunks * (r->s->ranks + others(r->s) + 2) + waits + last +
                 tail_count(r));
}

/* what is there is added up */
static void sum_op(const struct rank *r, int index, struct collective_op *o)
{
    const struct kernel_collective_spread *s = r->s;
    int64_t last = r->chunks < SETS ? r->chunks : SETS;

    if (index-- == 0) {
        put_wait(o, FLAG_ARRIVED, granules_from_all(s, r->bytes));
        return;
    }
    for (int64_t c = 0; c <= r->chunks; c++) {
        int loads = load_count(r, c), waits = loads - s->ranks;

        if (index < loads) {
            if (index < waits)
                wait_store_op(r, c - SETS, o);
            else
                load_op(r, c, index - waits, o);
            return;
        }
        index -= loads;
        if (index < add_count(r, c)) {
            add_op(r, c - 1, index, o);
            return;
        }
        index -= add_count(r, c);
    }
    if (index < last)
        wait_store_op(r, r->chunks - last + index, o);
    else
        tail_op(r, (int)(index - last), o);
}

/* of an all-reduce: the sums of the last piece; all that was sent, blocks and sums */
static void end_op(const struct rank *r, int index, struct collective_op *o)
{
    const struct kernel_collective_spread *s = r->s;

    if (index == 0)
        put_wait(o, FLAG_GATHERED, granules_from_all(s, r->bytes));
    else
        put_wait(o, FLAG_SENT, 2 * granules_from_all(s, s->block_bytes));
}

/* ----- a gather: its block to all; what has come; the copies of it */

static void gather_op(const struct rank *r, int index, struct collective_op *o)
{
    const struct kernel_collective_spread *s = r->s;
    int64_t to = s->blocks_at + r->rank * s->block_bytes;

    if (index == 0) {
        put_wait(o, FLAG_BEGUN, others(s));
    } else if (index <= others(s)) {
        put_send(r, index, s->own_at, to, FLAG_ARRIVED, o);
    } else {
        put_move(o, COLLECTIVE_COPY, s->own_at, to, s->block_bytes);
        o->flag = FLAG_STORED;
    }
}

static void gathered_op(const struct rank *r, int index, struct collective_op *o)
{
    const struct kernel_collective_spread *s = r->s;

    if (index == 0)
        put_wait(o, FLAG_ARRIVED, granules_from_all(s, s->block_bytes));
    else if (index == 1)
        put_wait(o, FLAG_SENT, granules_from_all(s, s->block_bytes));
    else if (index == 2)
        put_wait(o, FLAG_STORED, s->block_bytes / GRANULE);
    else
        *o = s->copy[index - 3];
}

/*
 * ----- the phases behind one another: the first, then two for each piece, and an all-reduce's
 * last; a gather's: the first, two, and the wait for copies
 */

int kernel_spread_cuts(const struct kernel_collective_spread *s)
{
    if (s->kind == COLLECTIVE_ALL_GATHER)
        return s->copy_count ? 3 : 2;
    return 2 * s->pieces + (s->kind == COLLECTIVE_ALL_REDUCE);
}

static void set_piece(struct rank *r, int phase)
{
    const struct kernel_collective_spread *s = r->s;
    int piece = phase == 0 ? 0 : (phase - 1) / 2;
    int64_t left;

    piece = piece < s->pieces ? piece : s->pieces - 1;
    r->at = piece * s->piece_bytes;
    left = s->block_bytes - r->at;
    r->bytes = left < s->piece_bytes ? left : s->piece_bytes;
    r->chunks = div_up(r->bytes, s->chunk_bytes);
}

static int gather_count(const struct rank *r, int phase)
{
    return phase == 1 ? 2 + others(r->s) : phase == 2 ? 3 + copies(r) : 1;
}

static int phase_count(const struct kernel_collective_spread *s, int phase)
{
    struct rank r = {.s = s};

    set_piece(&r, phase);
    if (phase == 0)
        return others(s) + (is_scatter(&r) ? copies(&r) : 0);
    if (is_gather(&r))
        return gather_count(&r, phase);
    if (phase == 2 * s->pieces + 1)
        return 2;
    return phase % 2 ? scatter_count(&r) : sum_count(&r);
}

static void phase_op(const struct rank *r, int phase, int index, struct collective_op *out)
{
    const struct kernel_collective_spread *s = r->s;

    if (phase == 0)
        begin_op(r, index, out);
    else if (is_gather(r) && phase == 3)
        *out = s->copy[s->copy_count - 1];
    else if (is_gather(r))
        (phase == 1 ? gather_op : gathered_op)(r, index, out);
    else if (phase == 2 * s->pieces + 1)
        end_op(r, index, out);
    else
        (phase % 2 ? scatter_op : sum_op)(r, index, out);
}

int kernel_spread_count(const struct kernel_collective_spread *s, int core)
{
    int count = 0;

    for (int i = 0; i <= kernel_spread_cuts(s) && s->place[core] >= 0; i++)
        count += phase_count(s, i);
    return count;
}

void kernel_spread_op(const struct kernel_collective_spread *s, int core, int index,
                      struct collective_op *out)
{
    int place = s->place[core], phase = 0;
    struct rank r = {.s = s, .rank = place % s->ranks, .first = place - place % s->ranks};

    memset(out, 0, sizeof(*out));
    for (; index >= phase_count(s, phase); phase++)
        index -= phase_count(s, phase);
    set_piece(&r, phase);
    phase_op(&r, phase, index, out);
}

/* ----- times */

/* most bytes over a link: half of the ranks along an axis send to the other half */
static double link_ns(const struct kernel_collective_spread *s, const struct chip *c,
                      const struct slice *slice)
{
    double packet = (double)c->ici_packet_bytes, most = 0;
    double gbps = c->ici_link_gbps * packet / (packet + (double)c->ici_packet_overhead_bytes);

    for (int i = 0; i < slice->dims; i++) {
        double rows = (double)slice->chip_count / slice->dim[i];
        double links = rows * (slice->is_ring[i] ? 2 : 1);

        if (slice->dim[i] > 1)
            most = fmax(most, (double)s->block_bytes * s->ranks * slice->core_count / 4 / links);
    }
    return most / gbps;
}

static double far_ns(const struct chip *c, const struct slice *slice)
{
    double hops = 0;

    for (int i = 0; i < slice->dims; i++)
        hops += slice->is_ring[i] ? slice->dim[i] / 2 : slice->dim[i] - 1;
    return hops * (double)c->ici_hop_ns + 2 * (double)c->dma_local_ns;
}

/* what a phase's core reads and writes of HBM, waiting for it */
static double memory_ns(const struct rank *r, const struct chip *c, int phase)
{
    double memory = (double)(c->dma_read_ns + c->dma_write_ns);

    if (is_gather(r) || phase == 0 || phase % 2 || phase > 2 * r->s->pieces)
        return 0;
    return 2 * memory + (double)r->bytes * (r->s->ranks + 1) / (double)c->dma_core_gbps;
}

/* copies have been started that the next phase waits for */
static bool copies_follow(const struct rank *r, int phase)
{
    return r->s->copy_count > 0 && phase == (is_gather(r) ? 2 : 0);
}

/* until what the next phase waits for is there */
static double flight_ns(const struct rank *r, const struct chip *c, const struct slice *slice,
                        int phase)
{
    const struct kernel_collective_spread *s = r->s;
    double memory = (double)(c->dma_read_ns + c->dma_write_ns), copies = 0;
    bool is_signal = phase == 0 || (is_scatter(r) && phase % 2 == 0);

    if (copies_follow(r, phase))
        copies = 2 * memory + 2 * (double)s->block_bytes * s->ranks / (double)c->dma_core_gbps;
    if (is_gather(r) && phase == 2)
        return copies;
    if (is_signal)
        return fmax(far_ns(c, slice), copies);
    return far_ns(c, slice) + memory +
           link_ns(s, c, slice) * (double)r->bytes / (double)s->block_bytes;
}

void kernel_spread_predict(const struct kernel_collective_spread *s, const struct chip *c,
                           const struct slice *slice, struct kernel_spread_times *out)
{
    double ns = 1e3 / (double)c->chip_clock_mhz;
    struct collective_overheads costs;
    int end = 0;

    collective_program_overheads(c, COLLECTIVE_F32, &costs);
    out->cuts = kernel_spread_cuts(s);
    for (int i = 0; i <= out->cuts; i++) {
        struct rank r = {.s = s};

        set_piece(&r, i);
        end += phase_count(s, i);
        out->part_ns[i] = ns * (double)(costs.op_cycles[COLLECTIVE_COPY] * phase_count(s, i) + 40) +
                          memory_ns(&r, c, i);
        if (i == out->cuts)
            break;
        out->cut[i] = end;
        out->flight_ns[i] = flight_ns(&r, c, slice, i);
    }
    out->part_ns[0] += (double)c->launch_collective_ns;
}
