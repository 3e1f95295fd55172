/*
 * From a collective of the graph to lists of operations: groups of cores, the places of blocks,
 * the plan, and the copies around it.
 */
#include "stack/kernels/comm/kernel_collective_lists.h"

#include "base/units.h"

#include <assert.h>
#include <string.h>

/* of operations with a plan; others have COLLECTIVE_ALL_REDUCE here, as it has */
static const enum collective_kind kinds[HLO_COUNT] = {
    [HLO_ALL_REDUCE] = COLLECTIVE_ALL_REDUCE, [HLO_REDUCE_SCATTER] = COLLECTIVE_REDUCE_SCATTER,
    [HLO_ALL_GATHER] = COLLECTIVE_ALL_GATHER, [HLO_ALL_TO_ALL] = COLLECTIVE_ALL_TO_ALL};

/* ---- groups ---- */

static int32_t core_of(const struct kernel_devices *d, int32_t device)
{
    return d->core ? d->core[device] : device;
}

/* the node's groups as lists of cores, which it returns, or as axes where they are that */
static const int32_t *set_groups(const struct kernel_collective_room_need *need,
                                 struct collective_request *r, struct arena *a)
{
    const struct graph_groups *s = need->n->groups;
    int count = s ? s->count * s->size : need->devices->count;
    int32_t *core = arena_array(a, (size_t)count, sizeof(*core));

    for (int i = 0; i < count; i++)
        core[i] = core_of(need->devices, s && s->member ? s->member[i] : i);
    r->group = core;
    r->group_count = s ? s->count : 1;
    r->group_size = s ? s->size : count;
    collective_find_axes(r, need->n->op != HLO_ALL_REDUCE);
    return core;
}

/* ---- places in the bucket ---- */

/* of operand `k` the side that has a block of each rank, and the one that has one */
static const struct array *long_side(const struct kernel_collective_room_need *need, int k)
{
    return need->n->op == HLO_ALL_GATHER ? need->result[k] : need->operand[k];
}

static const struct array *short_side(const struct kernel_collective_room_need *need, int k)
{
    return need->n->op == HLO_ALL_GATHER ? need->operand[k] : need->result[k];
}

static int64_t lay(const struct array *const *array, int count, int64_t from, int64_t *at)
{
    for (int k = 0; k < count; k++) {
        at[k] = from;
        from += array[k]->bytes;
    }
    return from;
}

/* one array, in the order of its blocks */
static bool is_direct(const struct kernel_collective_room_need *need, int ranks)
{
    const struct array *whole = long_side(need, 0);

    return need->count == 1 && whole->bytes == ranks * short_side(need, 0)->bytes &&
           array_part_bytes(whole, need->n->dim, ranks) * ranks == whole->bytes;
}

/*
 * The plan has blocks of w->block bytes at `in` and `out`, one behind the other, in which short
 * sides are as they are. What need not be there is where it is: operands that blocks are copied
 * from, results that they are copied to, and a single array that is the plan's own.
 */
static void place_blocks(struct kernel_collective_work *w,
                         const struct kernel_collective_room_need *need)
{
    bool is_gather = w->op == HLO_ALL_GATHER;
    int64_t in_bytes = is_gather ? w->block : w->ranks * w->block;

    if (w->op == HLO_ALL_TO_ALL) {              /* entries lie one behind the other on both sides */
        w->is_direct = true;
        w->bucket_bytes = 0;
        return;
    }
    w->is_direct = is_direct(need, w->ranks);
    if (is_gather) {
        w->operands_inside = !w->is_direct;
        lay(need->operand, need->count, 0, w->operand_at);
        w->bucket_bytes = w->is_direct ? 0 : (w->ranks + 1) * w->block;
        return;
    }
    w->operands_inside = w->is_direct;          /* it is written over */
    w->results_inside = !w->is_direct;
    lay(need->result, need->count, in_bytes, w->result_at);
    w->bucket_bytes = w->is_direct ? in_bytes : (w->ranks + 1) * w->block;
}

/* ---- copies of blocks ---- */

/* all blocks of array `k` between itself and the plan's array, where its block begins at `at` */
static struct collective_op blocks_of(const struct kernel_collective_work *w,
                                      const struct kernel_collective_room_need *need, int k,
                                      int64_t at)
{
    const struct array *whole = long_side(need, k);
    int ranks = w->ranks;
    int64_t run = array_part_bytes(whole, need->n->dim, ranks);
    int64_t rounds = whole->is_linear ? 1 : whole->bytes / (run * ranks);
    bool is_gather = w->op == HLO_ALL_GATHER;
    int64_t array_at = is_gather ? w->result_at[k] : w->operand_at[k];
    struct collective_op o = {.kind = COLLECTIVE_COPY, .flag = w->copy_flag, .run_bytes = run,
                              .bytes = run * rounds * ranks, .from = is_gather ? at : array_at,
                              .to = is_gather ? array_at : at};

    o.level[0].count = rounds;
    o.level[1].count = ranks;
    o.level[2].count = 1;
    for (int side = 0; side < 2; side++) {
        bool is_array = side == is_gather;

        *(side ? &o.level[0].to_stride : &o.level[0].from_stride) = is_array ? ranks * run : run;
        *(side ? &o.level[1].to_stride : &o.level[1].from_stride) = is_array ? run : w->block;
    }
    return o;
}

static struct collective_op wait_for(int flag, int64_t bytes)
{
    assert(bytes / ARRAY_GRANULE_BYTES <= INT32_MAX);
    return (struct collective_op){.kind = COLLECTIVE_WAIT, .flag = flag,
                                  .value = (int32_t)(bytes / ARRAY_GRANULE_BYTES)};
}

/* of the blocks of all ranks, from the bucket, where the arrays are not direct */
static int64_t blocks_at(const struct kernel_collective_work *w)
{
    return w->op == HLO_ALL_GATHER ? w->block : 0;
}

static void add_copies(struct kernel_collective_work *w,
                       const struct kernel_collective_room_need *need, struct arena *a)
{
    struct collective_op *list = arena_array(a, (size_t)need->count + 1, sizeof(*list));
    int64_t at = blocks_at(w), bytes = 0;

    for (int k = 0; k < need->count; k++) {
        list[k] = blocks_of(w, need, k, at);
        at += short_side(need, k)->bytes;
        bytes += list[k].bytes;
    }
    list[need->count] = wait_for(w->copy_flag, bytes);
    if (w->op == HLO_ALL_GATHER) {
        w->after = list;
        w->after_count = need->count + 1;
    } else {
        w->before = list;
        w->before_count = need->count + 1;
    }
}

static void resolve_spread(struct kernel_collective_work *w)
{
    bool is_gather = w->op == HLO_ALL_GATHER;
    int64_t in = w->is_direct ? w->operand_at[0] : 0;
    int64_t out = w->is_direct ? w->result_at[0] : is_gather ? w->block : w->ranks * w->block;

    w->spread->blocks_at = is_gather ? out : in;
    w->spread->own_at = is_gather ? in : out;
    w->spread->copy = is_gather ? w->after : w->before;
}

static void resolve_plan(struct kernel_collective_work *w)
{
    w->in_shift = w->operand_at[0] - collective_arrays_of(w->plan).in;
    w->out_shift = w->result_at[0] - collective_arrays_of(w->plan).out;
}

void kernel_collective_work_resolve(struct kernel_collective_work *w,
                                    const struct kernel_collective_room_need *need, struct arena *a)
{
    w->zeros_at = need->zeros_at - need->bucket_at;
    for (int k = 0; k < need->count; k++) {
        if (!w->operands_inside)
            w->operand_at[k] = need->operand[k]->address - need->bucket_at;
        if (!w->results_inside)
            w->result_at[k] = need->result[k]->address - need->bucket_at;
    }
    if (kinds[w->op] == COLLECTIVE_ALL_REDUCE)
        return;
    if (!w->is_direct)
        add_copies(w, need, a);
    if (w->spread)
        resolve_spread(w);
    else if (w->is_direct)
        resolve_plan(w);
}

/* ---- with a plan ---- */

/* nothing is added, so bytes of any type will do */
static bool is_moved(enum graph_op op)
{
    return op == HLO_ALL_GATHER || op == HLO_ALL_TO_ALL;
}

static int set_type(const struct kernel_collective_room_need *need, enum collective_type *type,
                    struct err *e)
{
    enum graph_dtype dtype = need->operand[0]->shape.dtype;

    *type = dtype == DTYPE_BF16 ? COLLECTIVE_BF16 : COLLECTIVE_F32;
    if (dtype == DTYPE_F32 || dtype == DTYPE_BF16 || is_moved(need->n->op))
        return 0;
    return err_set(e, "%ss add f32 and bf16 only", graph_op_name(need->n->op));
}

/* blocks end where tiles do */
static int check_blocks(const struct kernel_collective_room_need *need, int ranks, struct err *e)
{
    char text[128];

    for (int k = 0; k < need->count && need->n->op != HLO_ALL_REDUCE; k++)
        if (array_part_bytes(long_side(need, k), need->n->dim, ranks) == 0)
            return err_set(e, "%s: %d blocks along dimension %d of %s end inside its tiles",
                           need->n->name, ranks, need->n->dim,
                           shape_print(&long_side(need, k)->shape, text, sizeof(text)));
    return 0;
}

/* the whole of each array has a place in the bucket, which becomes the sum */
static void place_sums(struct kernel_collective_work *w,
                       const struct kernel_collective_room_need *need)
{
    w->operands_inside = w->results_inside = true;
    lay(need->operand, need->count, 0, w->operand_at);
    lay(need->operand, need->count, 0, w->result_at);
}

static int make_spread(struct kernel_collective_work *w,
                       const struct kernel_collective_room_need *need,
                       const struct collective_request *q, const int32_t *core, struct arena *a,
                       struct err *e)
{
    struct kernel_spread_request r = {
        .kind = q->kind, .slice = q->slice, .core = core,
        .core_count = q->group_count * q->group_size, .ranks = w->ranks, .bytes = q->bytes,
        .bucket_bytes = w->bucket_bytes, .vmem_bytes = need->vmem_bytes,
        .stage_bytes = need->stage_bytes};

    if (q->kind != COLLECTIVE_ALL_REDUCE && !w->is_direct)
        r.copy_count = need->count + 1;
    w->spread = arena_alloc(a, sizeof(*w->spread));
    if (!kernel_spread_make(&r, w->spread, a))
        return err_set(e, "%s: VMEM is too small for rows of %d ranks", need->n->name, w->ranks);
    w->flag_count = SPREAD_FLAGS;
    w->copy_flag = SPREAD_COPY_FLAG;
    w->bucket_bytes = w->spread->bucket_bytes;
    return 0;
}

/* of all arrays: as many as are summed, or those of one rank's blocks */
static int64_t bytes_of_all(const struct kernel_collective_room_need *need)
{
    int64_t bytes = 0;

    for (int k = 0; k < need->count; k++)
        bytes += need->n->op == HLO_ALL_REDUCE ? need->operand[k]->bytes
                                               : short_side(need, k)->bytes;
    if (need->n->op == HLO_ALL_TO_ALL)          /* neither side is of one rank alone */
        bytes /= need->operand[0]->shape.dim[0];
    return bytes;
}

/* From so many chips on, programs are timed by one chip that stands for all. */
enum { ALIKE_CHIPS = 16 };

/*
 * Whole rows of VMEM on every rank, so that buckets which are blocks for each can stay there all the
 * way; between many ranks a small one is summed as a whole, where that is quicker.
 */
static int64_t bytes_summed(const struct kernel_collective_work *w,
                            const struct collective_request *r)
{
    struct collective_request blocks = *r, whole = *r;
    double seconds;

    blocks.bytes = round_up(w->block, (int64_t)w->ranks * ARRAY_ROW_BYTES);
    whole.bytes = round_up(w->block, ARRAY_ROW_BYTES);
    seconds = collective_estimate_seconds(&whole);
    return seconds > 0 && seconds < collective_estimate_seconds(&blocks) ? whole.bytes
                                                                         : blocks.bytes;
}

static int make_plan(struct kernel_collective_work *w,
                     const struct kernel_collective_room_need *need, struct arena *a, struct err *e)
{
    struct chip own = *need->chip;
    struct collective_request r = {.kind = kinds[w->op], .slice = need->devices->slice,
                                   .chip = &own};
    const int32_t *core = set_groups(need, &r, a);
    bool is_sum = w->op == HLO_ALL_REDUCE;

    own.vmem_bytes = need->vmem_bytes;
    r.is_alike = need->devices->slice->chip_count >= ALIKE_CHIPS;
    w->ranks = r.group_size;
    w->block = bytes_of_all(need);
    r.bytes = !is_sum ? w->block * w->ranks : need->is_spread ? w->block : bytes_summed(w, &r);
    if (set_type(need, &r.type, e) || check_blocks(need, w->ranks, e))
        return -1;
    w->type = r.type;
    w->bucket_bytes = r.bytes;
    if (is_sum)
        place_sums(w, need);
    else
        place_blocks(w, need);
    if (need->is_spread)
        return make_spread(w, need, &r, core, a, e);
    w->plan = collective_plan_create(&r, a, e);
    if (!w->plan)
        return -1;
    w->flag_count = collective_flag_count(w->plan);
    if (!is_sum && !w->is_direct)
        w->copy_flag = w->flag_count++;
    return 0;
}

/* ---- permute ---- */

enum { FLAG_READY, FLAG_ARRIVAL, FLAG_OWN, PERMUTE_FLAGS };
#define PERMUTE_OPS_MAX 6

static void make_permute(struct kernel_collective_work *w,
                         const struct kernel_collective_room_need *need, struct arena *a)
{
    int cores = need->devices->slice->core_count;
    int32_t *source = arena_array(a, (size_t)cores, sizeof(*source));
    int32_t *target = arena_array(a, (size_t)cores, sizeof(*target));

    for (int i = 0; i < cores; i++)
        source[i] = target[i] = -1;
    for (int64_t i = 0; i < need->n->count; i++) {
        int32_t from = core_of(need->devices, need->n->pair[i].source);
        int32_t to = core_of(need->devices, need->n->pair[i].target);

        source[to] = from;
        target[from] = to;
    }
    w->source = source;
    w->target = target;
    for (int i = 0; i < need->devices->count; i++)
        w->needs_zeros |= source[core_of(need->devices, i)] < 0;
    w->bytes = need->operand[0]->bytes;
    w->flag_count = PERMUTE_FLAGS;
}

static struct collective_op move(const struct kernel_collective_work *w, int kind, int64_t from)
{
    struct collective_op o = {.kind = (uint8_t)kind, .flag = FLAG_OWN, .from = from,
                              .to = w->result_at[0], .bytes = w->bytes, .run_bytes = w->bytes};

    for (int i = 0; i < COLLECTIVE_LEVELS; i++)
        o.level[i].count = 1;
    return o;
}

static struct collective_op send_to(const struct kernel_collective_work *w, int32_t target)
{
    struct collective_op o = move(w, COLLECTIVE_SEND, w->operand_at[0]);

    o.flag = FLAG_ARRIVAL;
    o.source_flag = FLAG_OWN;
    o.peer = target;
    return o;
}

/* a core tells its source that it is there, sends when its target is, and waits for both copies */
static int permute_ops(const struct kernel_collective_work *w, int core, struct collective_op *list)
{
    int32_t from = w->source[core], to = w->target[core];
    int count = 0;

    if (from >= 0 && from != core)
        list[count++] = (struct collective_op){.kind = COLLECTIVE_SIGNAL, .flag = FLAG_READY,
                                               .value = 1, .peer = from};
    if (from < 0 || from == core)
        list[count++] = move(w, COLLECTIVE_COPY, from < 0 ? w->zeros_at : w->operand_at[0]);
    if (to >= 0 && to != core) {
        list[count++] = (struct collective_op){.kind = COLLECTIVE_WAIT, .flag = FLAG_READY,
                                               .value = 1};
        list[count++] = send_to(w, to);
    }
    if (from >= 0 && from != core)
        list[count++] = wait_for(FLAG_ARRIVAL, w->bytes);
    if (from < 0 || from == core)
        list[count++] = wait_for(FLAG_OWN, w->bytes);
    if (to >= 0 && to != core)
        list[count++] = wait_for(FLAG_OWN, w->bytes);
    assert(count <= PERMUTE_OPS_MAX);
    return count;
}

/* ---- both ---- */

struct kernel_collective_work *
kernel_collective_work_of(const struct kernel_collective_room_need *need, struct arena *a,
                          struct err *e)
{
    struct kernel_collective_work *w = arena_alloc(a, sizeof(*w));

    memset(w, 0, sizeof(*w));
    w->op = need->n->op;
    w->operand_at = arena_array(a, (size_t)need->count, sizeof(*w->operand_at));
    w->result_at = arena_array(a, (size_t)need->count, sizeof(*w->result_at));
    if (w->op == HLO_COLLECTIVE_PERMUTE)
        make_permute(w, need, a);
    else if (make_plan(w, need, a, e))
        return NULL;
    kernel_collective_work_resolve(w, need, a);
    return w;
}

/* an address of the plan's arrays, where they are not side by side */
static int64_t moved(const struct kernel_collective_work *w, int64_t at)
{
    struct collective_arrays x = collective_arrays_of(w->plan);

    if (at >= x.out && at < x.out + x.out_bytes)
        return at + w->out_shift;
    return at + w->in_shift;
}

static void plan_op(const struct kernel_collective_work *w, int core, int index,
                    struct collective_op *out)
{
    collective_op(w->plan, core, index, out);
    if ((out->kind != COLLECTIVE_COPY && out->kind != COLLECTIVE_SEND) || !w->is_direct)
        return;
    if (out->from_space == COLLECTIVE_HBM)
        out->from = moved(w, out->from);
    if (out->to_space == COLLECTIVE_HBM)
        out->to = moved(w, out->to);
}

static int count_ops(const void *context, int core)
{
    const struct kernel_collective_work *w = context;
    struct collective_op list[PERMUTE_OPS_MAX];
    int count;

    if (w->spread)
        return kernel_spread_count(w->spread, core);
    if (!w->plan)
        return permute_ops(w, core, list);
    count = collective_op_count(w->plan, core);
    return collective_rank_of(w->plan, core) < 0 ? 0 : w->before_count + count + w->after_count;
}

static void give_op(const void *context, int core, int index, struct collective_op *out)
{
    const struct kernel_collective_work *w = context;
    struct collective_op list[PERMUTE_OPS_MAX];
    int count;

    if (w->spread) {
        kernel_spread_op(w->spread, core, index, out);
        return;
    }
    if (!w->plan) {
        permute_ops(w, core, list);
        *out = list[index];
        return;
    }
    count = collective_op_count(w->plan, core);
    if (index < w->before_count)
        *out = w->before[index];
    else if (index - w->before_count < count)
        plan_op(w, core, index - w->before_count, out);
    else
        *out = w->after[index - w->before_count - count];
}

/* Moves of which some device gets nothing, or gives nothing, are not the same everywhere. */
static bool is_uniform(const struct kernel_collective_work *w)
{
    if (w->plan)
        return collective_is_uniform(w->plan);
    return !w->needs_zeros;
}

void kernel_collective_work_lists(const struct kernel_collective_work *w, int64_t table_address,
                                  struct collective_lists *out)
{
    *out = (struct collective_lists){.type = w->type, .flag_count = w->flag_count,
                                     .table_address = table_address,
                                     .is_symmetric = w->plan && collective_is_symmetric(w->plan),
                                     .is_uniform = is_uniform(w), .count = count_ops,
                                     .op = give_op, .context = w};
}

static double spread_seconds(const struct kernel_collective_work *w, const struct chip *chip,
                             const struct slice *slice)
{
    struct kernel_spread_times t;
    double ns = 0;

    kernel_spread_predict(w->spread, chip, slice, &t);
    for (int i = 0; i <= t.cuts; i++)
        ns += t.part_ns[i] + (i < t.cuts ? t.flight_ns[i] : 0);
    return 1e-9 * ns;
}

double kernel_collective_work_seconds(const struct kernel_collective_work *w,
                                      const struct chip *chip, const struct slice *slice)
{
    double copies = 0, memory_ns = (double)(chip->dma_read_ns + chip->dma_write_ns);
    int count = w->before_count + w->after_count;

    if (w->spread)
        return spread_seconds(w, chip, slice);
    if (!w->plan)
        return 1e-9 * (memory_ns + 3 * (double)chip->ici_hop_ns +
                       (double)w->bytes / (double)chip->ici_link_gbps);
    for (int i = 0; i < count - 1; i++)
        copies += (double)(w->before_count ? w->before : w->after)[i].bytes;
    return collective_predicted_seconds(w->plan, collective_plan_request(w->plan)->algo) +
           1e-9 * (count ? memory_ns + 2 * copies / (double)chip->dma_core_gbps : 0);
}
