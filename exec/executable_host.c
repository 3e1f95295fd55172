/*
 * Launches of programs that talk with their host while they run: callbacks.
 *
 * Cores have no host beside them: what a program receives are arrays that stand in memory before it
 * begins (import/structure/structure_queue.h), and what a callback answers may depend on what was
 * sent. So the host's evaluator goes through the program and tells the order of sends and receives,
 * while their values are the cores': at a send behind a receive that the cores have not had, the
 * program runs on them once more, with all that has been received so far, and what it sent by then
 * is taken. Where answers are what the cores assumed (zeros at first), once is enough. The host is
 * called once for each entry.
 */
#include "exec/executable_impl.h"

#include <string.h>

struct entries {                        /* of a queue on a device */
    char *data;                         /* received ones */
    size_t capacity;
    int64_t count;                      /* received, or sent to the host */
    const char *on_cores;               /* what the last run on cores has sent, */
    int64_t on_cores_count;             /* so many */
};

struct talk {
    struct executable *x;
    const struct executable_host *host;
    struct value *const *const *argument;
    struct arena *arena;
    struct entries *entries;            /* by queue and device */
    bool has_run, is_stale;             /* on cores; they have not had all that was received */
    struct err *e;
    bool has_failed;
};

static size_t entry_bytes(const struct structure_queue *q)
{
    return hlo_type_bytes(&q->type);
}

static struct entries *entries_of(const struct talk *t, int queue, int device)
{
    return &t->entries[queue * t->x->graph.devices + device];
}

/* one device speaks for all: what is sent has a place of its own */
static bool is_for_one(const struct structure_queue *q)
{
    const struct hlo_detail *detail = hlo_detail(q->at);

    return detail->sharding_count > 0 && detail->sharding[0].kind == HLO_MAXIMAL;
}

int executable_check_queues(const struct executable *x, struct err *e)
{
    for (int k = 0; k < x->queues.count; k++) {
        const struct structure_queue *q = &x->queues.item[k];

        if (q->kind == QUEUE_SEND || q->kind == QUEUE_RECEIVE) {
            if (q->leaves == 1)
                continue;
            return err_set(e, "%s: %s of %d arrays; one is served", hlo_name(q->at),
                           structure_queue_name(q->kind), q->leaves);
        }
        return err_set(e, "%s: %s is not served; sends and receives are", hlo_name(q->at),
                       structure_queue_name(q->kind));
    }
    return 0;
}

/* ----- on cores */

static int write_received(struct talk *t)
{
    const struct lowered *l = &t->x->graph.lowered;
    const struct lowered_leaf *in = &l->parameter[l->parameter_count - t->x->queues.leaves_in];

    for (int d = 0; d < t->x->graph.devices; d++) {
        struct loaded_device device = loaded_device(&t->x->loaded, d);

        for (int k = 0; k < t->x->queues.count; k++) {
            const struct structure_queue *q = &t->x->queues.item[k];
            const struct lowered_leaf *leaf = &in[q->first];
            struct entries *of = entries_of(t, k, d);
            size_t room, used = (size_t)of->count * entry_bytes(q);
            char *block;

            if (!q->goes_in)
                continue;
            room = hlo_type_bytes(&leaf->leaf.type);
            block = arena_alloc(t->arena, room + 1);
            memcpy(block, of->data ? of->data : "", used < room ? used : room);
            if (loaded_write_leaf(&device, leaf, block, t->arena, t->e))
                return -1;
        }
    }
    return 0;
}

static int read_sent(struct talk *t, int d)
{
    const struct lowered *l = &t->x->graph.lowered;
    const struct structure_queues *found = &t->x->queues;
    const struct lowered_leaf *leaf = &l->result[l->result_count - found->count -
                                                 found->leaves_out];
    struct loaded_device device = loaded_device(&t->x->loaded, d);

    for (int k = 0; k < found->count; k++) {
        const struct structure_queue *q = &found->item[k];
        struct entries *of = entries_of(t, k, d);
        const int32_t *count = loaded_read_leaf(&device, leaf++, NULL, t->arena, t->e);

        if (!count)
            return -1;
        of->on_cores_count = *count;
        if (q->goes_in)
            continue;
        if (*count > leaf->leaf.type.dim[0])
            return err_set(t->e,
                           "%s was used %d times in a launch, there is room for %lld: "
                           "SYSTOLE_QUEUE_ENTRIES says another number",
                           hlo_name(q->at), (int)*count, (long long)leaf->leaf.type.dim[0]);
        of->on_cores = loaded_read_leaf(&device, leaf++, NULL, t->arena, t->e);
        if (!of->on_cores)
            return -1;
    }
    return 0;
}

static int run_on_cores(struct talk *t)
{
    if (executable_begin(t->x, t->e) || executable_write(t->x, t->argument, t->arena, t->e) ||
        write_received(t) || executable_run(t->x, t->e))
        return -1;
    for (int d = 0; d < t->x->graph.devices; d++)
        if (read_sent(t, d))
            return -1;
    t->has_run = true;
    t->is_stale = false;
    return 0;
}

/* ----- what the evaluator asks */

static int fail(struct talk *t)
{
    t->has_failed = true;
    return -1;
}

static int take_sent(void *user, const struct eval_queue *from, const struct eval_array *array)
{
    struct talk *t = user;
    int k = structure_queue_of(&t->x->queues, from->computation, from->instruction);
    const struct structure_queue *q = &t->x->queues.item[k < 0 ? 0 : k];
    struct entries *of = entries_of(t, k < 0 ? 0 : k, from->device);
    const void *bytes = array->data;
    int64_t number = of->count++;

    if (k < 0)
        return -1;
    if (is_for_one(q) && from->device != 0)
        return 0;
    if (!t->x->settings.is_host) {
        if ((!t->has_run || t->is_stale) && run_on_cores(t))
            return fail(t);
        if (number >= of->on_cores_count) {
            err_set(t->e, "%s: the cores have sent it %lld times, the host's evaluator more often: "
                    "their roundings took other branches", hlo_name(q->at),
                    (long long)of->on_cores_count);
            return fail(t);
        }
        bytes = of->on_cores + (size_t)number * entry_bytes(q);
    }
    return t->host->send(t->host->user, from->device, q->channel, bytes, entry_bytes(q), t->e)
           ? fail(t) : 0;
}

static bool is_zero(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

static int give_received(void *user, const struct eval_queue *to, const struct eval_array *array)
{
    struct talk *t = user;
    int k = structure_queue_of(&t->x->queues, to->computation, to->instruction);
    const struct structure_queue *q = &t->x->queues.item[k < 0 ? 0 : k];
    struct entries *of = entries_of(t, k < 0 ? 0 : k, to->device);
    struct entries *first = entries_of(t, k < 0 ? 0 : k, 0);
    size_t bytes = entry_bytes(q), at = (size_t)of->count * bytes;

    if (k < 0)
        return -1;
    of->data = mem_grow(of->data, &of->capacity, at + bytes + 1, 1);
    if (is_for_one(q) && to->device != 0 && first->count > of->count)
        memcpy(of->data + at, first->data + at, bytes);
    else if (t->host->receive(t->host->user, to->device, q->channel, of->data + at, bytes, t->e))
        return fail(t);
    memcpy(array->data, of->data + at, bytes);
    of->count++;
    t->is_stale |= !is_zero(of->data + at, bytes);
    return 0;
}

int executable_converse(struct executable *x, const struct executable_host *host,
                        struct value *const *const *argument, struct value *const *const *result,
                        struct arena *a, struct err *e)
{
    struct err own;
    struct talk t = {.x = x, .host = host, .argument = argument, .arena = a, .e = &own};
    const struct eval_settings settings = {.user = &t, .infeed = give_received,
                                           .outfeed = take_sent};
    size_t count = (size_t)x->queues.count * (size_t)x->graph.devices;
    int status;

    if (!host)
        return err_set(e, "the program has callbacks, and nobody serves them");
    t.entries = arena_array(a, count + 1, sizeof(*t.entries));
    status = executable_evaluate(x, &settings, argument, x->settings.is_host ? result : NULL, a, e);
    if (t.has_failed)
        *e = own;
    else if (status == 0 && !x->settings.is_host) {
        t.e = e;
        status = ((!t.has_run || t.is_stale) && run_on_cores(&t)) || executable_read(x, result, a, e)
                 ? -1 : 0;
    }
    for (size_t i = 0; i < count; i++)
        mem_free(t.entries[i].data);
    return status;
}
