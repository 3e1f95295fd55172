/*
 * Collectives: devices of a group give each other arrays. Device numbers are replica times
 * partitions plus partition; what a group's numbers mean depends on channel and global ids.
 */
#include "import/eval/collective.h"
#include "import/eval/region.h"

#include <string.h>

static int device_at(const struct eval *ev, int64_t replica, int64_t partition)
{
    return (int)(replica * ev->s.partition_count + partition);
}

/* how many ids the operation's numbers run over, where it names no groups */
static int64_t id_count(const struct eval *ev, enum collective_mode mode)
{
    if (mode == COLLECTIVE_GLOBAL)
        return ev->device_count;
    return mode == COLLECTIVE_PARTITIONS ? ev->s.partition_count : ev->s.replica_count;
}

enum collective_mode collective_mode_of(const struct hlo_instruction *i)
{
    bool has_channel = hlo_detail(i)->groups && hlo_detail(i)->groups->channel_id > 0;

    switch (i->op) {
    case OPCODE_ALL_REDUCE: case OPCODE_ALL_REDUCE_START: case OPCODE_ALL_GATHER:
    case OPCODE_ALL_GATHER_START: case OPCODE_REDUCE_SCATTER:
        if (!has_channel)
            return COLLECTIVE_REPLICAS;
        return hlo_detail(i)->groups->use_global_ids ? COLLECTIVE_GLOBAL : COLLECTIVE_REPLICAS_ALL;
    default:
        return has_channel ? COLLECTIVE_PARTITIONS : COLLECTIVE_REPLICAS;
    }
}

static void add_member(struct collective_group *g, int device)
{
    g->device[g->count++] = device;
}

/* the device that one number of a group stands for, seen from `device` */
static int device_of_id(const struct eval *ev, enum collective_mode mode, int device, int64_t id)
{
    int64_t partitions = ev->s.partition_count;

    if (mode == COLLECTIVE_GLOBAL)
        return (int)id;
    return mode == COLLECTIVE_PARTITIONS ? device_at(ev, device / partitions, id)
                                         : device_at(ev, id, device % partitions);
}

/* all ids of a list (NULL: 0, 1, ..), which of all partitions means one partition after another */
static void add_ids(const struct eval *ev, enum collective_mode mode, int device,
                    const int64_t *id, int64_t count, struct collective_group *g)
{
    bool is_all = mode == COLLECTIVE_REPLICAS_ALL;

    g->count = 0;
    for (int64_t p = 0; p < (is_all ? ev->s.partition_count : 1); p++)
        for (int64_t k = 0; k < count; k++) {
            int64_t n = id ? id[k] : k;

            if (n >= 0)                         /* -1 fills a short group up */
                add_member(g, is_all ? device_at(ev, n, p) : device_of_id(ev, mode, device, n));
        }
}

static bool is_member(const struct collective_group *g, int device)
{
    for (int k = 0; k < g->count; k++)
        if (g->device[k] == device)
            return true;
    return false;
}

static bool is_id(const struct eval *ev, enum collective_mode mode, int64_t id)
{
    return id >= 0 && id < id_count(ev, mode);
}

int collective_group_of(struct frame *f, const struct hlo_instruction *i, int device,
                        struct collective_group *g)
{
    const struct hlo_groups *groups = hlo_detail(i)->groups;
    enum collective_mode mode = collective_mode_of(i);
    int64_t first = 0;

    if (!groups || groups->size.count == 0) {
        add_ids(f->ev, mode, device, NULL, id_count(f->ev, mode), g);
        return 0;
    }
    for (int k = 0; k < groups->size.count; first += groups->size.item[k++]) {
        const int64_t *id = groups->id.item + first;

        for (int64_t n = 0; n < groups->size.item[k]; n++)
            if (id[n] != -1 && !is_id(f->ev, mode, id[n]))
                return eval_fail(f->ev, i, "group %d names %lld, but there are %lld", k,
                                 (long long)id[n], (long long)id_count(f->ev, mode));
        add_ids(f->ev, mode, device, id, groups->size.item[k], g);
        if (is_member(g, device))
            return 0;
    }
    return eval_fail(f->ev, i, "no group has device %d", device);
}

struct value *collective_operand(struct frame *f, const struct hlo_instruction *i, int device,
                                 int operand)
{
    for (int k = 0; k < f->device_count; k++)
        if (f->device[k] == device)
            return *frame_value(f, k, i->operand[operand]);
    eval_fail(f->ev, i, "device %d does not get here", device);
    return NULL;
}

int collective_run(struct frame *f, int index, collective_handler handler)
{
    const struct hlo_instruction *i = &f->c->instruction[index];
    size_t room = (size_t)f->ev->device_count;
    struct collective_group g = { .device = mem_alloc(room * sizeof(int)) };
    struct value **operand = mem_alloc((size_t)(i->operand_count + 1) * sizeof(*operand));
    int status = 0;

    for (int k = 0; k < f->device_count && !status; k++) {
        struct call c = { .f = f, .ev = f->ev, .i = i, .index = index, .device = f->device[k],
                          .operand = operand };

        for (int o = 0; o < i->operand_count; o++)
            operand[o] = *frame_value(f, k, i->operand[o]);
        status = collective_group_of(f, i, c.device, &g);
        if (!status)
            status = handler(&c, &g);
        if (status)
            value_drop(&f->ev->pool, c.result);
        else
            *frame_value(f, k, index) = c.result;
    }
    mem_free(g.device);
    mem_free(operand);
    return status;
}

/* results: one array, or a tuple with one for each operand */
struct value *collective_part(struct call *c, int k)
{
    if (c->i->type->element != ELEMENT_TUPLE || c->i->operand_count == 1)
        return c->result;
    return c->result->part[k];
}

int collective_results(struct call *c)
{
    const struct hlo_type *t = c->i->type;

    if (t->element != ELEMENT_TUPLE)
        return call_result(c);
    call_result_tuple(c);
    for (int k = 0; k < t->part_count; k++)
        if (!call_part(c, k))
            return -1;
    return 0;
}

/* The sum (or what the region does) of one operand over a group, in the order of the group. */
struct value *collective_reduced(struct call *c, const struct collective_group *g, int operand)
{
    struct region *r = region_of(c->ev, hlo_detail(c->i)->computation[0]);
    struct value *sum = NULL;

    for (int k = 0; k < g->count; k++) {
        struct value *x = collective_operand(c->f, c->i, g->device[k], operand);
        const void *in[2];
        void *out[1];

        if (!x)
            break;
        if (k == 0) {
            sum = call_array(c, x->element, x->rank, x->dim);
            if (!sum)
                return NULL;
            memcpy(sum->data, x->data, (size_t)value_count(x) * value_element_bytes(x));
            continue;
        }
        in[0] = out[0] = sum->data;
        in[1] = x->data;
        if (region_run(c, r, value_count(x), in, out))
            break;
        if (k == g->count - 1)
            return sum;
    }
    if (g->count == 1)
        return sum;
    value_drop(&c->ev->pool, sum);
    return NULL;
}

static int all_reduce_one(struct call *c, const struct collective_group *g)
{
    bool is_tuple = c->i->type->element == ELEMENT_TUPLE;

    if (is_tuple)
        call_result_tuple(c);
    for (int k = 0; k < c->i->operand_count; k++) {
        struct value *sum = collective_reduced(c, g, k);

        if (!sum)
            return -1;
        *(is_tuple ? &c->result->part[k] : &c->result) = sum;
    }
    return 0;
}

int eval_all_reduce(struct frame *f, int index)
{
    return collective_run(f, index, all_reduce_one);
}

/* part `at` of `parts` along a dimension of `from` becomes part `to_at` of `to_parts` of `to` */
void collective_copy(struct value *to, int to_dim, int64_t to_at, const struct value *from,
                     int from_dim, int64_t from_at, int64_t from_parts)
{
    struct stride_copy s = { .rank = from->rank };
    size_t bytes = value_element_bytes(from);
    int64_t to_first, from_first;

    value_strides(from, s.from_step);
    value_strides(to, s.to_step);
    for (int d = 0; d < from->rank; d++)
        s.dim[d] = d == from_dim ? from->dim[d] / from_parts : from->dim[d];
    from_first = from_at * s.dim[from_dim] * s.from_step[from_dim];
    to_first = to_at * s.dim[to_dim] * s.to_step[to_dim];
    stride_copy(s, bytes, (char *)to->data + (size_t)to_first * bytes,
                (char *)from->data + (size_t)from_first * bytes);
}

static int all_gather_one(struct call *c, const struct collective_group *g)
{
    int along = (int)hlo_detail(c->i)->dims.item[0];
    const struct hlo_type *whole = c->i->type;
    bool is_start = c->i->op == OPCODE_ALL_GATHER_START;

    for (int o = 0; o < c->i->operand_count; o++) {
        const struct hlo_type *t = is_start ? &whole->part[1] : whole;
        struct value *to;

        if (t->element == ELEMENT_TUPLE) {
            if (o == 0)
                c->result = value_tuple(&c->ev->pool, t->part_count, NULL);
            to = c->result->part[o] = call_array(c, t->part[o].element, t->part[o].rank,
                                                 t->part[o].dim);
        } else {
            to = c->result = call_array(c, t->element, t->rank, t->dim);
        }
        if (!to)
            return -1;
        if (to->dim[along] != c->operand[o]->dim[along] * g->count)
            return call_fail(c, "%d parts of %lld are not the result's %lld", g->count,
                             (long long)c->operand[o]->dim[along], (long long)to->dim[along]);
        for (int k = 0; k < g->count; k++) {
            struct value *from = collective_operand(c->f, c->i, g->device[k], o);

            if (!from)
                return -1;
            collective_copy(to, along, k, from, along, 0, 1);
        }
    }
    return 0;
}

int eval_all_gather(struct frame *f, int index)
{
    return collective_run(f, index, all_gather_one);
}

static int place_in(const struct collective_group *g, int device)
{
    int k = 0;

    while (k < g->count && g->device[k] != device)
        k++;
    return k;
}

static int reduce_scatter_one(struct call *c, const struct collective_group *g)
{
    int along = (int)hlo_detail(c->i)->dims.item[0], place = place_in(g, c->device);

    if (collective_results(c))
        return -1;
    for (int o = 0; o < c->i->operand_count; o++) {
        struct value *sum = collective_reduced(c, g, o);

        if (!sum)
            return -1;
        collective_copy(collective_part(c, o), along, 0, sum, along, place, g->count);
        value_drop(&c->ev->pool, sum);
    }
    return 0;
}

int eval_reduce_scatter(struct frame *f, int index)
{
    return collective_run(f, index, reduce_scatter_one);
}

/* with one operand: parts of it along one dimension go out, and stand along another; with several:
 * operand number k goes to the group's device number k */
static int all_to_all_one(struct call *c, const struct collective_group *g)
{
    int place = place_in(g, c->device);
    bool is_tuple = c->i->type->element == ELEMENT_TUPLE;

    if (collective_results(c))
        return -1;
    for (int k = 0; k < g->count; k++) {
        struct value *from = collective_operand(c->f, c->i, g->device[k], is_tuple ? place : 0);

        if (!from)
            return -1;
        if (is_tuple && k < c->result->part_count)
            memcpy(c->result->part[k]->data, from->data,
                   (size_t)value_count(from) * value_element_bytes(from));
        else if (!is_tuple)
            collective_copy(
                c->result,
                (int)hlo_detail(c->i)->dims.item[hlo_detail(c->i)->dims.count > 1 ? 1 : 0], k, from,
                (int)hlo_detail(c->i)->dims.item[0], place, g->count);
    }
    return 0;
}

int eval_all_to_all(struct frame *f, int index)
{
    return collective_run(f, index, all_to_all_one);
}
