/*
 * The host's end of a program's queues: what infeeds and receives take comes from files or is made
 * up, what outfeeds and sends give is kept, entry behind entry, step after step.
 *
 * Every device has queues of its own; all are given the same entries.
 */
#include "cli/exec/exec.h"

#include <stdlib.h>
#include <string.h>

struct kept { char *data; size_t capacity; };

struct exec_queues {
    struct structure_queues found;      /* in the program of one device */
    int devices;
    int64_t *used;                      /* by queue and device: entries so far */
    struct kept *kept;                  /* by leaf that goes out and device */
};

static const struct structure_queue *queue_of_leaf(const struct exec_queues *x, bool goes_in, int leaf)
{
    for (int k = 0; k < x->found.count; k++) {
        const struct structure_queue *q = &x->found.item[k];

        if (q->goes_in == goes_in && leaf >= q->first && leaf < q->first + q->leaves)
            return q;
    }
    return NULL;
}

static int64_t *used_of(const struct exec_queues *x, int queue, int device)
{
    return &x->used[queue * x->devices + device];
}

/* so many entries of a leaf */
static struct hlo_type stack_type(struct arena *a, const struct hlo_type *leaf, int64_t entries)
{
    int64_t *dim = arena_array(a, (size_t)leaf->rank + 1, sizeof(*dim));

    dim[0] = entries;
    for (int d = 0; d < leaf->rank; d++)
        dim[1 + d] = leaf->dim[d];
    return hlo_array_type(a, leaf->element, leaf->rank + 1, dim);
}

static struct exec_tensor tensor_of(struct exec_program *p, bool goes_in, int leaf, int64_t entries)
{
    const struct structure_queue *q = queue_of_leaf(p->queues, goes_in, leaf);
    const struct hlo_type *t = hlo_type_leaf(&q->type, leaf - q->first);
    const char *kind = goes_in ? "infeed" : "outfeed";
    const char *at = q->at->label && *hlo_name(q->at) ? hlo_name_in(&p->arena, q->at)
                                                      : structure_queue_name(q->kind);

    return (struct exec_tensor){
        .name = q->channel ? arena_printf(&p->arena, "%s %d (%s, channel %lld)", kind, leaf, at,
                                          (long long)q->channel)
                           : arena_printf(&p->arena, "%s %d (%s)", kind, leaf, at),
        .key = arena_printf(&p->arena, "%s.%d", kind, leaf), .is_queue = true,
        .type = stack_type(&p->arena, t, entries)};
}

void exec_find_queues(const struct exec_options *o, struct exec_program *p)
{
    struct exec_queues *x = arena_alloc(&p->arena, sizeof(*x));
    size_t counters;

    structure_find_queues(p->graph.device, &p->arena, &x->found);
    p->queues = x;
    x->devices = p->graph.devices;
    counters = (size_t)x->found.count * (size_t)x->devices + 1;
    x->used = arena_array(&p->arena, counters, sizeof(*x->used));
    x->kept = arena_array(&p->arena, (size_t)(x->found.leaves_out * x->devices) + 1,
                          sizeof(*x->kept));
    p->infeed_count = x->found.leaves_in;
    p->infeed = arena_array(&p->arena, (size_t)p->infeed_count + 1, sizeof(*p->infeed));
    for (int n = 0; n < p->infeed_count; n++) {
        const struct structure_queue *q = queue_of_leaf(x, true, n);
        int64_t entries = o->queue_entries;

        if (q->uses >= 0)
            entries = structure_queue_capacity(q, 1) * o->steps;
        p->infeed[n] = tensor_of(p, true, n, entries);
    }
    p->outfeed_count = x->found.leaves_out * x->devices;
    p->outfeed = arena_array(&p->arena, (size_t)p->outfeed_count + 1, sizeof(*p->outfeed));
    for (int n = 0; n < p->outfeed_count; n++) {
        struct exec_tensor *t = &p->outfeed[n];

        *t = tensor_of(p, false, n % x->found.leaves_out, 0);
        if (x->devices > 1)
            t->key = arena_printf(&p->arena, "%s.device.%d", t->key, n / x->found.leaves_out);
    }
}

void exec_free_queues(struct exec_program *p)
{
    for (int n = 0; p->queues && n < p->outfeed_count; n++)
        mem_free(p->queues->kept[n].data);
}

int64_t exec_queue_entries(const struct exec_options *o, const struct exec_program *p)
{
    int64_t most = o->queue_entries;

    for (int n = 0; n < p->infeed_count; n++)
        most = p->infeed[n].type.dim[0] > most ? p->infeed[n].type.dim[0] : most;
    return most;
}

void exec_rewind_queues(struct exec_program *p)
{
    struct exec_queues *x = p->queues;

    memset(x->used, 0, (size_t)x->found.count * (size_t)x->devices * sizeof(*x->used));
    for (int n = 0; n < p->outfeed_count; n++) {
        int64_t *dim = arena_copy(&p->arena, p->outfeed[n].type.dim,
                                  (size_t)p->outfeed[n].type.rank, sizeof(*dim));

        dim[0] = 0;
        p->outfeed[n].type.dim = dim;
    }
}

static size_t entry_bytes(const struct exec_tensor *t)
{
    size_t bytes = hlo_element_bytes(t->type.element);

    for (int d = 1; d < t->type.rank; d++)
        bytes *= (size_t)t->type.dim[d];
    return bytes;
}

/* entries behind those that there are */
static void keep(struct exec_program *p, int leaf, int device, const void *from, int64_t entries)
{
    int n = device * p->queues->found.leaves_out + leaf;
    struct exec_tensor *t = &p->outfeed[n];
    struct kept *k = &p->queues->kept[n];
    size_t bytes = entry_bytes(t), before = (size_t)t->type.dim[0] * bytes;
    int64_t *dim = arena_copy(&p->arena, t->type.dim, (size_t)t->type.rank, sizeof(*dim));

    k->data = mem_grow(k->data, &k->capacity, before + (size_t)entries * bytes + 1, 1);
    memcpy(k->data + before, from, (size_t)entries * bytes);
    dim[0] += entries;
    t->type.dim = dim;
    t->data = k->data;
}

static int refuse_empty(const struct exec_program *p, const struct structure_queue *q, int64_t wanted,
                        struct err *e)
{
    const struct exec_tensor *t = &p->infeed[q->first];

    return err_at(e, p->graph.module->file ? p->graph.module->file : "", q->at->line, q->at->col,
                  "%s: the queue is empty: it has %lld entries, the program takes %s%lld", t->name,
                  (long long)t->type.dim[0], wanted > t->type.dim[0] + 1 ? "" : "at least ",
                  (long long)wanted);
}

int exec_check_queues(const struct exec_program *p, struct err *e)
{
    for (int k = 0; k < p->queues->found.count; k++) {
        const struct structure_queue *q = &p->queues->found.item[k];

        for (int n = 1; q->goes_in && n < q->leaves; n++)
            if (p->infeed[q->first + n].type.dim[0] != p->infeed[q->first].type.dim[0])
                return err_set(e, "%s has %lld entries, %s %lld: they are taken together",
                               p->infeed[q->first].name,
                               (long long)p->infeed[q->first].type.dim[0],
                               p->infeed[q->first + n].name,
                               (long long)p->infeed[q->first + n].type.dim[0]);
    }
    return 0;
}

/* ----- the evaluator's end */

int exec_evaluator_takes(void *user, const struct eval_queue *from, const struct eval_array *to)
{
    struct exec_program *p = user;
    const struct exec_queues *x = p->queues;
    int queue = structure_queue_of(&x->found, from->computation, from->instruction);
    const struct structure_queue *q = &x->found.item[queue < 0 ? 0 : queue];
    const struct exec_tensor *t;
    int64_t *used;
    size_t bytes;

    if (queue < 0 || from->leaf >= q->leaves)   /* of a type that no infeed has */
        return -1;
    t = &p->infeed[q->first + from->leaf];
    used = used_of(x, queue, from->device);
    bytes = entry_bytes(t);
    if (*used >= t->type.dim[0])
        return -1;
    memcpy(to->data, (const char *)t->data + (size_t)*used * bytes, bytes);
    *used += from->leaf == q->leaves - 1;
    return 0;
}

int exec_evaluator_gives(void *user, const struct eval_queue *to, const struct eval_array *from)
{
    struct exec_program *p = user;
    const struct exec_queues *x = p->queues;
    int queue = structure_queue_of(&x->found, to->computation, to->instruction);

    if (queue < 0)
        return -1;
    keep(p, x->found.item[queue].first + to->leaf, to->device, from->data, 1);
    *used_of(x, queue, to->device) += to->leaf == 0;
    return 0;
}

/* ----- the cores' end: arrays of the program's boundary (import/structure/structure_queue.h) */

static const struct lowered_leaf *infeed_leaf(const struct exec_program *p, int n)
{
    return &p->graph.lowered.parameter[p->graph.lowered.parameter_count - p->infeed_count + n];
}

static int64_t capacity_of(const struct lowered_leaf *leaf) { return leaf->leaf.type.dim[0]; }

/* the entries that come next, zeros behind the last */
static void *next_entries(const struct exec_program *p, int n, int64_t begun, struct arena *a)
{
    const struct exec_tensor *t = &p->infeed[n];
    size_t bytes = entry_bytes(t);
    int64_t room = capacity_of(infeed_leaf(p, n)), left = t->type.dim[0] - begun;
    char *block = arena_array(a, (size_t)room + 1, bytes);

    if (left > 0)
        memcpy(block, (const char *)t->data + (size_t)begun * bytes,
               (size_t)(left < room ? left : room) * bytes);
    return block;
}

int exec_write_queues(const struct exec_program *p, const struct loaded_device *d, struct arena *a,
                      struct err *e)
{
    const struct exec_queues *x = p->queues;

    for (int k = 0; k < x->found.count; k++) {
        const struct structure_queue *q = &x->found.item[k];
        int64_t begun = *used_of(x, k, d->number);

        for (int n = 0; q->goes_in && n < q->leaves; n++)
            if (loaded_write_leaf(d, infeed_leaf(p, q->first + n),
                                  next_entries(p, q->first + n, begun, a), a, e))
                return -1;
    }
    return 0;
}

static int take_count(const struct exec_program *p, int queue, int device, int64_t count,
                      int64_t capacity, struct err *e)
{
    const struct structure_queue *q = &p->queues->found.item[queue];
    int64_t *used = used_of(p->queues, queue, device);

    if (q->goes_in && q->leaves && *used + count > p->infeed[q->first].type.dim[0])
        return refuse_empty(p, q, *used + count, e);
    if (count > capacity)
        return err_at(e, p->graph.module->file ? p->graph.module->file : "", q->at->line, q->at->col,
                      "%s: %s was used %lld times in a run, its array has room for %lld: "
                      "--queue-entries says another number", hlo_name(q->at),
                      structure_queue_name(q->kind), (long long)count, (long long)capacity);
    *used += count;
    return 0;
}

int exec_read_queues(struct exec_program *p, const struct loaded_device *d, struct arena *a,
                     struct err *e)
{
    const struct lowered *l = &p->graph.lowered;
    const struct structure_queues *found = &p->queues->found;
    const struct lowered_leaf *leaf = &l->result[l->result_count - found->count - found->leaves_out];

    for (int k = 0; k < found->count; k++) {
        const struct structure_queue *q = &found->item[k];
        const struct lowered_leaf *counter = leaf++;
        int64_t capacity = !q->leaves  ? INT32_MAX
                           : q->goes_in ? capacity_of(infeed_leaf(p, q->first)) : capacity_of(leaf);
        const int32_t *count;
        const void *block;

        if (!(count = loaded_read_leaf(d, counter, NULL, a, e)) ||
            take_count(p, k, d->number, *count, capacity, e))
            return -1;
        for (int n = 0; !q->goes_in && n < q->leaves; n++, leaf++) {
            if (!(block = loaded_read_leaf(d, leaf, NULL, a, e)))
                return -1;
            keep(p, q->first + n, d->number, block, *count);
        }
    }
    return 0;
}
