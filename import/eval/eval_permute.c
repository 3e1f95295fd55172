/* Messages from one device to another: permutes, broadcasts, ragged exchanges, send and receive. */
#include "import/eval/collective.h"

#include <string.h>

static int64_t id_of(const struct eval *ev, enum collective_mode mode, int device)
{
    int64_t partitions = ev->s.partition_count;

    return mode == COLLECTIVE_PARTITIONS ? device % partitions : device / partitions;
}

static int device_of(const struct eval *ev, enum collective_mode mode, int device, int64_t id)
{
    int64_t partitions = ev->s.partition_count;

    return (int)(mode == COLLECTIVE_PARTITIONS ? device / partitions * partitions + id
                                               : id * partitions + device % partitions);
}

/* the device whose operand goes to this one; -1: none */
static int source_of(const struct call *c)
{
    const struct hlo_groups *g = hlo_detail(c->i)->groups;
    enum collective_mode mode = collective_mode_of(c->i);

    for (int k = 0; g && k + 1 < g->pair.count; k += 2)
        if (g->pair.item[k + 1] == id_of(c->ev, mode, c->device))
            return device_of(c->ev, mode, c->device, g->pair.item[k]);
    return -1;
}

static struct value *zeros_like(struct call *c, const struct value *v)
{
    struct value *made = call_array(c, v->element, v->rank, v->dim);

    if (made)
        memset(made->data, 0, (size_t)value_count(v) * value_element_bytes(v));
    return made;
}

/* who receives nothing gets zeros */
static int permute_one(struct call *c)
{
    int source = source_of(c);
    bool is_tuple = c->i->op == OPCODE_COLLECTIVE_PERMUTE && c->i->type->element == ELEMENT_TUPLE;
    int count = is_tuple ? c->i->type->part_count : 1;

    if (is_tuple)
        call_result_tuple(c);
    for (int k = 0; k < count; k++) {
        struct value *from = source < 0 ? zeros_like(c, c->operand[k])
                                        : collective_operand(c->f, c->i, source, k);

        if (!from)
            return -1;
        *(is_tuple ? &c->result->part[k] : &c->result) = source < 0 ? from : value_hold(from);
    }
    return 0;
}

int eval_collective_permute(struct frame *f, int index)
{
    const struct hlo_instruction *i = &f->c->instruction[index];
    struct value **operand = mem_alloc((size_t)(i->operand_count + 1) * sizeof(*operand));
    int status = 0;

    for (int k = 0; k < f->device_count && !status; k++) {
        struct call c = { .f = f, .ev = f->ev, .i = i, .index = index, .device = f->device[k],
                          .operand = operand };

        for (int o = 0; o < i->operand_count; o++)
            operand[o] = *frame_value(f, k, i->operand[o]);
        status = permute_one(&c);
        if (status)
            value_drop(&f->ev->pool, c.result);
        else
            *frame_value(f, k, index) = c.result;
    }
    mem_free(operand);
    return status;
}

/* the group's first device gives; who is in no group gets zeros */
int eval_collective_broadcast(struct frame *f, int index)
{
    const struct hlo_instruction *i = &f->c->instruction[index];
    struct collective_group g = { .device = mem_alloc((size_t)f->ev->device_count * sizeof(int)) };
    struct err ignored = *f->ev->err;
    int status = 0;

    for (int k = 0; k < f->device_count && !status; k++) {
        struct call c = { .f = f, .ev = f->ev, .i = i, .index = index, .device = f->device[k] };
        struct value *own = *frame_value(f, k, i->operand[0]), *from;

        if (collective_group_of(f, i, f->device[k], &g)) {
            *f->ev->err = ignored;
            from = zeros_like(&c, own);
        } else {
            from = collective_operand(f, i, g.device[0], 0);
            from = from ? value_hold(from) : NULL;
        }
        *frame_value(f, k, index) = from;
        status = from ? 0 : -1;
    }
    mem_free(g.device);
    return status;
}

/* rows of the operand, from offset to offset + size, that go to each device of the group */
static int ragged_one(struct call *c, const struct collective_group *g)
{
    struct value *output = c->operand[1];
    size_t bytes = value_element_bytes(output);
    int64_t row = output->rank > 1 ? value_product(output->dim, 1, output->rank) : 1;
    int place = 0;

    if (call_result(c))
        return -1;
    memcpy(c->result->data, output->data, (size_t)value_count(output) * bytes);
    while (place < g->count && g->device[place] != c->device)
        place++;
    for (int k = 0; k < g->count; k++) {
        struct value *from[6];
        int64_t first, size, to;

        for (int o = 0; o < 6; o++)
            if (!(from[o] = collective_operand(c->f, c->i, g->device[k], o)))
                return -1;
        first = value_int(from[2], place);
        size = value_int(from[3], place);
        to = value_int(from[4], place);
        if (first < 0 || size < 0 || to < 0 || first + size > from[0]->dim[0] ||
            to + size > output->dim[0])
            return call_fail(c, "device %d sends %lld rows from %lld to %lld, beyond an array",
                             g->device[k], (long long)size, (long long)first, (long long)to);
        memcpy((char *)c->result->data + (size_t)(to * row) * bytes,
               (char *)from[0]->data + (size_t)(first * row) * bytes,
               (size_t)(size * row) * bytes);
    }
    return 0;
}

int eval_ragged_all_to_all(struct frame *f, int index)
{
    return collective_run(f, index, ragged_one);
}
