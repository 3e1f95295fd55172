/* StableHLO's tests run a function on several devices in the midst of a program of one. */
#include "import/eval/custom.h"

#include <string.h>

/* what an evaluation has of devices, to be put back */
struct devices {
    int count;
    int64_t replicas, partitions;
    uint64_t *drawn, (*state)[2];
};

static struct devices devices_of(const struct eval *ev)
{
    return (struct devices){ ev->device_count, ev->s.replica_count, ev->s.partition_count,
                             ev->rng_drawn, ev->rng_state };
}

static void set_devices(struct eval *ev, struct devices d)
{
    ev->device_count = d.count;
    ev->s.replica_count = d.replicas;
    ev->s.partition_count = d.partitions;
    ev->rng_drawn = d.drawn;
    ev->rng_state = d.state;
}

static struct devices new_devices(struct eval *ev, int count, int replicas)
{
    size_t n = (size_t)count;

    return (struct devices){ count, replicas, count / replicas,
                             arena_array(&ev->scratch, n, sizeof(uint64_t)),
                             arena_array(&ev->scratch, n, 2 * sizeof(uint64_t)) };
}

int eval_parallel_rows(const struct hlo_instruction *i)
{
    const struct hlo_pairs *l = &hlo_detail(i)->frontend;
    int rows = -1;

    for (int k = 0; k < l->count; k++)
        for (const char *t = l->item[k].value; t && !strcmp(l->item[k].key, "programs") && *t; t++)
            rows += *t == '[';
    return rows > 0 ? rows : hlo_detail(i)->computation_count;
}

static int run(struct call *c, int count, int parameters, struct value **result)
{
    int *device = mem_alloc((size_t)count * sizeof(*device)), status;
    struct value ***row = mem_alloc((size_t)count * sizeof(*row));
    struct value **item = mem_alloc((size_t)(count * parameters + 1) * sizeof(*item));

    for (int k = 0; k < count; k++) {
        device[k] = k;
        row[k] = item + (size_t)k * (size_t)parameters;
        for (int p = 0; p < parameters; p++)
            row[k][p] = value_hold(c->operand[k * parameters + p]);
    }
    status = eval_computation(c->ev, hlo_detail(c->i)->computation[0], count, device, row, result);
    mem_free(device);
    mem_free(row);
    mem_free(item);
    return status;
}

int custom_run_parallel(struct call *c)
{
    int count = hlo_detail(c->i)->computation_count, rows = eval_parallel_rows(c->i), next = 0,
        status;
    struct devices before = devices_of(c->ev);
    struct value **result;

    for (int k = 1; k < count; k++)
        if (hlo_detail(c->i)->computation[k] != hlo_detail(c->i)->computation[0])
            return call_fail(c, "devices with functions of their own are not run in step");
    if (count < 1 || count % rows || c->i->operand_count % count)
        return call_fail(c, "%d operands and %d rows do not fit %d functions",
                         c->i->operand_count, rows, count);
    result = mem_alloc((size_t)count * sizeof(*result));
    set_devices(c->ev, new_devices(c->ev, count, rows));
    status = run(c, count, c->i->operand_count / count, result);
    set_devices(c->ev, before);
    if (!status && c->i->type->element != ELEMENT_TUPLE) {
        c->result = value_hold(result[0]);
    } else if (!status) {
        call_result_tuple(c);
        for (int k = 0; k < count; k++) {
            struct value *leaf[64];
            int leaves = value_leaves(result[k], leaf, 64);

            for (int l = 0; l < leaves && next < c->result->part_count; l++)
                c->result->part[next++] = value_hold(leaf[l]);
        }
    }
    for (int k = 0; k < count && !status; k++)
        value_drop(&c->ev->pool, result[k]);
    mem_free(result);
    return status;
}
