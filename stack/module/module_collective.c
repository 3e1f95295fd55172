/*
 * Collectives between devices: one kernel each. What its operands or results must lie together
 * for stands in a bucket in HBM, padding and all; others are where they are.
 */
#include "stack/module/module_impl.h"

#include "base/units.h"
#include "stack/collective/collective.h"
#include "stack/kernels/comm/kernel_collective.h"
#include "stack/kernels/comm/kernel_collective_spread.h"
#include "stack/kernels/comm/kernel_message.h"

#include <string.h>

#define KERNEL_FLAGS_MIN 8
#define SMEM_MOST (12 * 1024)           /* two whole pages of operations */
#define SMEM_UNIT 192                   /* two pages of whole rows */
#define BUCKET_LEAST 1024               /* bytes, for each core */
#define STAGE_BYTES (32 * MIB)          /* a bucket of all gradients may be much larger */

int64_t module_plan_collective_smem(const struct module_settings *s)
{
    int64_t smem = s->chip->smem_bytes / 2 / SMEM_UNIT * SMEM_UNIT;

    return smem < SMEM_MOST ? smem : SMEM_MOST;
}

/*
 * From so many bytes on a sum over all cores takes at most a tenth longer, byte for byte, than
 * one of any size.
 */
int64_t module_plan_bucket_bytes(const struct module_settings *s)
{
    struct collective_request r = {.kind = COLLECTIVE_ALL_REDUCE, .type = COLLECTIVE_F32,
                                   .bytes = (int64_t)1 << 32, .slice = s->slice, .chip = s->chip,
                                   .axis = {true, true, s->slice && s->slice->dims > 2}};
    double per_byte;

    if (s->bucket_bytes || !s->slice || s->replica_count < 2)
        return s->bucket_bytes;
    per_byte = collective_estimate_seconds(&r) / (double)r.bytes;
    for (r.bytes = BUCKET_LEAST * s->slice->core_count; r.bytes < (int64_t)1 << 32; r.bytes *= 2)
        if (collective_estimate_seconds(&r) <= 1.1 * per_byte * (double)r.bytes)
            break;
    return r.bytes;
}

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static int add_part(struct module_plan *p, int bucket, const struct array *a, int64_t at)
{
    int part = module_plan_add_buffer(p, BUFFER_SUMS, a->bytes);

    p->buffer[part].stands_for = bucket;
    p->buffer[part].offset = at;
    return part;
}

/* the table of operations, which the host fills */
static const struct array *add_table(struct module_plan *p, const char *name, int64_t bytes)
{
    struct shape shape = shape_make(DTYPE_U32, 1, (int64_t[]){bytes / 4});

    return &module_plan_new_value(p, arena_printf(p->arena, "%s.table", name), &shape,
                                  BUFFER_CONSTANT, -1)
                ->array;
}

static const struct array *add_zeros(struct module_plan *p, const char *name,
                                     const struct shape *shape)
{
    size_t bytes = (size_t)shape_elems(shape) * 4;
    void *zeros = arena_alloc(p->arena, bytes);

    memset(zeros, 0, bytes);
    return &module_plan_add_literal(p, arena_printf(p->arena, "%s.zeros", name), shape, zeros)
                ->array;
}

static struct kernel_devices devices_of(const struct module_settings *s)
{
    return (struct kernel_devices){s->slice, s->replica_count, s->device_core};
}

/*
 * ----- communicators: groups or pairs that are alike, whose collectives follow each other
 * everywhere
 */

static bool same_groups(const struct graph_groups *a, const struct graph_groups *b)
{
    if (!a || !b || a->count == 1)
        return a == b || ((!a || a->count == 1) && (!b || b->count == 1));
    return a->count == b->count && a->size == b->size && a->member && b->member &&
           memcmp(a->member, b->member, (size_t)(a->count * a->size) * sizeof(*a->member)) == 0;
}

static bool same_communicator(const struct graph_node *a, const struct graph_node *b)
{
    bool is_permute = a->op == HLO_COLLECTIVE_PERMUTE;
    bool is_message = graph_op_kind(a->op) == KIND_MESSAGE;

    if (is_message || graph_op_kind(b->op) == KIND_MESSAGE)
        return is_message == (graph_op_kind(b->op) == KIND_MESSAGE);
    if (is_permute != (b->op == HLO_COLLECTIVE_PERMUTE))
        return false;
    if (!is_permute)
        return same_groups(a->groups, b->groups);
    return a->count == b->count &&
           (a->count == 0 ||
            memcmp(a->pair, b->pair, (size_t)a->count * sizeof(*a->pair)) == 0);
}

bool module_plan_is_in_flow(const struct module_plan *p)
{
    int depth = 0;

    for (int i = 0; i < p->step_count; i++) {
        enum module_step_kind kind = p->step[i].kind;

        depth += kind == STEP_LOOP_BEGIN || kind == STEP_BRANCH;
        depth -= kind == STEP_LOOP_END || kind == STEP_JOIN;
    }
    return depth > 0;
}

static int join_communicator(struct module_plan *p, const struct graph_node *n, int flags)
{
    int i = 0;

    while (i < p->communicator_count && !same_communicator(p->communicator[i].first, n))
        i++;
    if (i == p->communicator_count) {
        p->communicator = mem_grow(p->communicator, &p->communicator_capacity,
                                   (size_t)++p->communicator_count, sizeof(*p->communicator));
        p->communicator[i] = (struct communicator){.first = n};
    }
    if (flags > p->communicator[i].flags)
        p->communicator[i].flags = flags;
    p->communicator[i].is_in_loop |= module_plan_is_in_flow(p);
    return i;
}

/* some communicator has one collective only in a round of the loop, of which there are several */
bool module_plan_has_lone_collective(const struct graph *body)
{
    for (int i = 0; i < body->node_count; i++) {
        int alike = 0;

        if (graph_op_kind(body->node[i].op) != KIND_COLLECTIVE)
            continue;
        for (int k = 0; k < body->node_count; k++)
            alike += graph_op_kind(body->node[k].op) == KIND_COLLECTIVE &&
                     same_communicator(&body->node[k], &body->node[i]);
        if (alike == 1)
            return true;
    }
    return false;
}

static int64_t stage_bytes(const struct module_settings *s)
{
    return s->stage_bytes > 0 ? s->stage_bytes : STAGE_BYTES;
}

/* A collective's number, until flags are given by it: what has a fence takes turns with that alone,
 * so that all of them and all of their fences have one each. */
static int number_of(struct module_plan *p, struct communicator *t)
{
    int *of = p->is_fence ? &t->fence : &t->fenced;

    if (!p->fences)
        return t->count++;
    if (!*of)
        *of = ++t->count;
    return *of - 1;
}

static struct kernel_sums *make_sums(struct module_plan *p, const struct module_step *s,
                                     const struct graph_node *n,
                                     const struct kernel_collective_room *room)
{
    struct kernel_sums *sums = arena_alloc(p->arena, sizeof(*sums));

    memset(sums, 0, sizeof(*sums));
    sums->op = n->op;
    sums->devices = devices_of(p->settings);
    sums->table = add_table(p, s->name, room->table_bytes);
    if (room->needs_zeros)
        sums->zeros = add_zeros(p, s->name, &n->shape);
    sums->spread = room->spread;
    sums->stage_bytes = stage_bytes(p->settings);
    sums->communicator = join_communicator(p, n, room->flag_count);
    sums->first_flag = number_of(p, &p->communicator[sums->communicator]);
    return sums;
}

/* ----- a step */

/* as they will lie, for the plan */
static const struct array *const *arrays_of(struct module_plan *p, const struct graph *g,
                                            const struct graph_node *n, bool is_result)
{
    const struct array **list = arena_array(p->arena, (size_t)n->operand_count, sizeof(*list));

    for (int k = 0; k < n->operand_count; k++) {
        struct array *a = arena_alloc(p->arena, sizeof(*a));
        const struct shape *s = !is_result ? &g->node[n->operand[k]].shape
                                : n->tuple_count ? &n->tuple[k] : &n->shape;

        array_init(a, n->name, s, NULL);
        list[k] = a;
    }
    return list;
}

/* an operand in its place in the bucket, or where it is, if it lies there in the usual way */
static struct module_value *place_operand(struct module_plan *p, struct module_value *from,
                                          int bucket, const struct array *like,
                                          const struct kernel_collective_room *room, int k)
{
    bool is_usual = memcmp(from->array.order, like->order, sizeof(like->order)) == 0;
    struct module_value *to;
    int part;

    if (!room->operands_inside && is_usual)
        return from;
    part = room->operands_inside ? add_part(p, bucket, like, room->operand_at[k]) : -1;
    to = module_plan_new_value(p, from->array.name, &from->array.shape,
                               part < 0 ? BUFFER_TEMPORARY : BUFFER_SUMS, part);
    module_plan_add_copy(p, from, to);
    p->step[p->step_count - 1].fills_bucket = part >= 0;
    return to;
}

static struct module_value *place_result(struct module_plan *p, const struct module_step *s,
                                         int bucket, const struct array *like,
                                         const struct kernel_collective_room *room, int k)
{
    bool is_sum = room->operands_inside && room->results_inside &&
                  room->operand_at[k] == room->result_at[k];
    int part = is_sum ? s->operand[k]->buffer
               : room->results_inside ? add_part(p, bucket, like, room->result_at[k]) : -1;

    return module_plan_new_value(p, s->name, &like->shape,
                                 part < 0 ? BUFFER_TEMPORARY : BUFFER_SUMS, part);
}

static void add_parts(struct module_plan *p, struct module_step *s, int bucket,
                      const struct kernel_collective_room_need *need,
                      const struct kernel_collective_room *room)
{
    for (int k = 0; k < s->operand_count; k++) {
        s->operand[k] = place_operand(p, s->operand[k], bucket, need->operand[k], room, k);
        s->result[k] = place_result(p, s, bucket, need->result[k], room, k);
        if (room->operands_inside)
            p->buffer[bucket].payload_bytes += array_payload_bytes(need->operand[k]);
        if (room->results_inside && s->result[k]->buffer != s->operand[k]->buffer)
            p->buffer[bucket].payload_bytes += array_payload_bytes(need->result[k]);
    }
    s->is_in_hbm = true;
}

static struct kernel_collective_room_need need_of(const struct module_settings *s,
                                                  const struct kernel_devices *devices,
                                                  const struct graph_node *n)
{
    return (struct kernel_collective_room_need){
        .chip = s->chip, .devices = devices, .vmem_bytes = module_plan_scoped_bytes(s),
        .smem_bytes = module_plan_collective_smem(s), .stage_bytes = stage_bytes(s), .n = n,
        .count = n->operand_count};
}

/* of one that may be spread or not, whichever turns out to be better */
static int find_room(const struct module_settings *s, struct arena *a,
                     struct kernel_collective_room_need *need, struct kernel_collective_room *room,
                     struct err *e)
{
    struct kernel_collective_room other;

    if (kernel_collective_room_of(need, a, room, e))
        return -1;
    if (s->sums_wait || s->megacore || !kernel_collective_may_spread(need))
        return 0;
    need->is_spread = true;
    if (kernel_collective_room_of(need, a, &other, e))
        return -1;
    room->spread = other.spread;
    room->spread->together_bytes = room->bucket_bytes;
    room->spread->bytes = other.bucket_bytes;
    room->spread->together_ns = 1e9 * room->seconds +
                                (double)s->chip->launch_collective_ns;
    room->bucket_bytes = most(room->bucket_bytes, other.bucket_bytes);
    room->table_bytes = most(room->table_bytes, other.table_bytes);
    room->flag_count = (int)most(room->flag_count, other.flag_count);
    return 0;
}

bool module_plan_may_choose_buckets(const struct module_settings *s)
{
    return !s->bucket_bytes && s->slice && s->replica_count > 1 && !s->sums_wait && !s->megacore;
}

const struct kernel_spread_times *module_plan_sum_times(const struct module_settings *s,
                                                        int64_t bytes, struct arena *a)
{
    struct graph_node n = {.op = HLO_ALL_REDUCE, .name = "sum", .operand_count = 1};
    struct kernel_devices devices = devices_of(s);
    struct kernel_collective_room_need need = need_of(s, &devices, &n);
    struct shape shape = shape_make(DTYPE_F32, 1, (int64_t[]){div_up(bytes, 4)});
    const struct array *list[1];
    struct kernel_collective_room room;
    struct array array;
    struct err e;

    array_init(&array, n.name, &shape, NULL);
    list[0] = &array;
    need.operand = need.result = list;
    if (!kernel_collective_may_spread(&need) || find_room(s, a, &need, &room, &e))
        return NULL;
    return room.spread;
}

int module_plan_add_collective(struct module_plan *p, struct module_step s, const struct graph *g,
                               int node, struct err *e)
{
    const struct module_settings *settings = p->settings;
    const struct graph_node *n = &g->node[node];
    struct kernel_devices devices = devices_of(settings);
    struct kernel_collective_room_need need = need_of(settings, &devices, n);
    int bucket = module_plan_add_buffer(p, BUFFER_SUMS, 0);
    struct kernel_collective_room room;

    need.operand = arrays_of(p, g, n, false);
    need.result = arrays_of(p, g, n, true);
    if (find_room(settings, p->arena, &need, &room, e))
        return -1;
    add_parts(p, &s, bucket, &need, &room);
    p->buffer[bucket].bytes = room.bucket_bytes;
    s.sums = make_sums(p, &s, n, &room);
    s.sums->bucket = bucket;
    module_plan_add_step(p, s);
    return 0;
}

/* whatever it waits for is in its message; its own flags are for its copies and pages alone */
int module_plan_add_message(struct module_plan *p, struct module_step s, const struct graph_node *n,
                            struct err *e)
{
    struct kernel_collective_room room = {0};

    if (kernel_message_room(p->settings->chip, module_plan_collective_smem(p->settings), p->arena,
                            &room, e))
        return -1;
    s.is_in_hbm = true;
    s.sums = make_sums(p, &s, n, &room);
    module_plan_add_step(p, s);
    return 0;
}

/* ----- flags */

/* that collectives may have: not those of copies ahead of kernels, and some are left to kernels */
static int flags_most(const struct module_plan *p)
{
    const struct chip *c = p->settings->chip;

    return (int)c->sync_flags - p->settings->message_flags - module_plan_copy_flags(c) -
           KERNEL_FLAGS_MIN;
}

/*
 * In a loop, whose last one the first follows, three may be needed where there are not many; where
 * it is not known which of them run, each needs its own.
 */
static int sets_of(const struct module_plan *p, const struct communicator *t, int most)
{
    int sets = t->is_in_loop && most < 3 ? 3 : most;

    if (p->flow_has_collectives)
        return t->count;

    return t->count < sets ? t->count : sets;
}

static int flags_with(const struct module_plan *p, int sets)
{
    int flags = 0;

    for (int i = 0; i < p->communicator_count; i++)
        flags += sets_of(p, &p->communicator[i], sets) * p->communicator[i].flags;
    return flags;
}

/* sets of flags that a communicator may have */
static int sets_most(const struct module_plan *p)
{
    int sets = 2;

    for (int i = 0; i < p->communicator_count; i++)
        if (p->communicator[i].count > sets)
            sets = p->communicator[i].count;
    while (sets > 2 && flags_with(p, sets) > flags_most(p) / 2)
        sets--;
    return sets;
}

int module_plan_collective_flags(const struct module_plan *p)
{
    return flags_with(p, sets_most(p));
}

static bool is_of(const struct module_step *s, int communicator)
{
    return s->sums && s->sums->communicator == communicator;
}

/*
 * the last collective of its communicator in this loop is `step`, and the first one has that
 * flag
 */
static bool follows_first(const struct module_plan *p, int loop, int step, int flag)
{
    const struct kernel_sums *sums = p->step[step].sums;
    int first = loop + 1, last = p->step[loop].other;

    while (!is_of(&p->step[first], sums->communicator))
        first++;
    while (!is_of(&p->step[last], sums->communicator) || p->step[last].sums->part > 0)
        last--;
    return last == step && first != step && p->step[first].sums->first_flag == flag;
}

/* neither the one before has that flag, nor, from a loop's end, its first one */
static bool may_have(const struct module_plan *p, int step, int flag, int before)
{
    if (flag == before)
        return false;
    for (int i = 0; i < step; i++)
        if (p->step[i].kind == STEP_LOOP_BEGIN && p->step[i].other > step &&
            follows_first(p, i, step, flag))
            return false;
    return true;
}

static int set_communicator(struct module_plan *p, int t, int first, int sets, struct err *e)
{
    int count = p->communicator[t].count, flags = p->communicator[t].flags, before = -1, turn = 0,
        tries;
    int *flag = arena_array(p->arena, (size_t)count, sizeof(*flag));

    for (int i = 0; i < count; i++)
        flag[i] = -1;
    for (int i = 0; i < p->step_count; i++) {
        struct kernel_sums *sums = p->step[i].sums;
        int number;

        if (!is_of(&p->step[i], t))
            continue;
        number = sums->first_flag;
        for (tries = 0; flag[number] < 0 && tries < sets; tries++, turn++)
            if (may_have(p, i, first + turn % sets * flags, before))
                flag[number] = first + turn % sets * flags;
        if (flag[number] < 0)
            return err_set(e, "%s: loops in one another leave no sync flags for this collective",
                           p->step[i].name);
        sums->first_flag = before = flag[number];
    }
    return 0;
}

/*
 * A collective that has ended here may go on elsewhere, but the one behind it in the same groups
 * ends only after that: flags are used again by the communicator's one after the next at the
 * earliest, in the order in which they run, round after round of loops (which have more than one:
 * add_while). Other communicators, whose members this core may never have heard of, have flags of
 * their own.
 */
int module_plan_set_flags(struct module_plan *p, struct err *e)
{
    int sets = sets_most(p), all = flags_with(p, sets);
    int first = (int)p->settings->chip->sync_flags - p->settings->message_flags - all;

    if (all > flags_most(p))
        return err_set(e, "collectives take %d sync flags, %d of the %d that a core has are free",
                       all, flags_most(p) < 0 ? 0 : flags_most(p),
                       (int)p->settings->chip->sync_flags);
    for (int t = 0; t < p->communicator_count; t++) {
        int own = sets_of(p, &p->communicator[t], sets);

        if (set_communicator(p, t, first, own, e))
            return -1;
        first += own * p->communicator[t].flags;
    }
    return 0;
}

/* ----- who writes into the bucket */

/* the first step that writes it, if no loop begins or ends from there to `end`; else -1 */
static int writer_of(const struct module_plan *p, const struct module_buffer *b, int end)
{
    for (int i = 0; i < end; i++)
        for (int k = 0; k < p->step[i].result_count; k++)
            if (module_plan_buffer(p, p->step[i].result[k]) == b) {
                for (int at = i; at < end; at++)
                    if (p->step[at].kind != STEP_KERNEL)
                        return -1;
                return i;
            }
    return -1;
}

/* from `begin` on, or as an output */
static bool is_read(const struct module_plan *p, const struct module_buffer *b, int begin)
{
    for (int i = begin; i < p->step_count; i++)
        for (int k = 0; k < p->step[i].operand_count; k++)
            if (module_plan_buffer(p, p->step[i].operand[k]) == b)
                return true;
    return b->role != BUFFER_TEMPORARY;
}

/* the copy's source may be made in the place of its result */
static bool may_fill(const struct module_plan *p, int copy)
{
    const struct module_step *s = &p->step[copy];
    const struct module_buffer *from = module_plan_buffer(p, s->operand[0]);

    return from->role == BUFFER_TEMPORARY && from->bytes == s->result[0]->array.bytes &&
           writer_of(p, from, copy) >= 0 && !is_read(p, from, copy + 1);
}

void module_plan_fill_buckets(struct module_plan *p)
{
    for (int i = 0; i < p->step_count; i++)
        if (p->step[i].fills_bucket && may_fill(p, i)) {
            module_plan_buffer(p, p->step[i].operand[0])->stands_for = p->step[i].result[0]->buffer;
            module_plan_remove_step(p, i--);
        }
}
