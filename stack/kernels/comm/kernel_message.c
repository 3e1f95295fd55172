/*
 * Makes the segments that send an array to another core's HBM and receive it, with a flag that
 * says that its slot is free again.
 */
#include "stack/kernels/comm/kernel_message.h"

#include "base/units.h"
#include "stack/collective/collective_table.h"
#include "stack/backend/abi.h"

#include <string.h>

enum { FLAG_OWN, MESSAGE_FLAGS };       /* of the kernel's own flags: copies that this core starts */
#define OPS_MAX 4
#define PAGES 2                         /* that are always fetched */

int kernel_message_room(const struct chip *chip, int64_t smem_bytes, struct arena *a,
                        struct kernel_collective_room *out, struct err *e)
{
    struct collective_place place = {.smem_bytes = smem_bytes};
    struct collective_table table = {.cut_count = 0};

    if (collective_code_make(chip, COLLECTIVE_F32, &place, a, &table.code, e))
        return -1;
    *out =
        (struct kernel_collective_room){.table_bytes = PAGES * collective_table_page_bytes(&table),
                                        .flag_count = MESSAGE_FLAGS + 1};
    return 0;
}

/* ----- the list of a core */

struct message {
    const struct graph_message *what;
    const int32_t *peer;                /* by core; -1: no part in it */
    const struct array *array;
    bool is_send;
    int first_flag;                     /* the kernel's, from which flags are counted */
};

static struct collective_op wait_for(int flag, int64_t value)
{
    return (struct collective_op){.kind = COLLECTIVE_WAIT, .flag = flag, .value = (int32_t)value};
}

static struct collective_op move(const struct message *m, int64_t from, int64_t to)
{
    struct collective_op o = {.kind = COLLECTIVE_COPY, .flag = FLAG_OWN, .from = from, .to = to,
                              .bytes = m->array->bytes, .run_bytes = m->array->bytes};

    for (int i = 0; i < COLLECTIVE_LEVELS; i++)
        o.level[i].count = 1;
    return o;
}

static int send_ops(const struct message *m, int32_t peer, struct collective_op *list)
{
    int count = 0;

    if (m->what->rooms_awaited)
        list[count++] = wait_for(m->what->room_flag - m->first_flag, m->what->rooms_awaited);
    if (m->what->is_wait)
        return count;
    list[count] = move(m, m->array->address, m->what->address);
    list[count].kind = COLLECTIVE_SEND;
    list[count].peer = peer;
    list[count].source_flag = FLAG_OWN;
    list[count++].flag = m->what->arrival_flag - m->first_flag;
    list[count++] = wait_for(FLAG_OWN, m->array->bytes / ARRAY_GRANULE_BYTES);
    return count;
}

static int receive_ops(const struct message *m, int32_t peer, struct collective_op *list)
{
    int count = 0;

    if (m->what->arrival_bytes)
        list[count++] = wait_for(m->what->arrival_flag - m->first_flag,
                                 m->what->arrival_bytes / ARRAY_GRANULE_BYTES);
    list[count++] = move(m, m->what->address, m->array->address);
    list[count++] = wait_for(FLAG_OWN, m->array->bytes / ARRAY_GRANULE_BYTES);
    if (m->what->gives_room)
        list[count++] = (struct collective_op){.kind = COLLECTIVE_SIGNAL, .value = 1, .peer = peer,
                                               .flag = m->what->room_flag - m->first_flag};
    return count;
}

static int list_ops(const struct message *m, int core, struct collective_op *list)
{
    if (m->peer[core] < 0)
        return 0;
    return m->is_send ? send_ops(m, m->peer[core], list) : receive_ops(m, m->peer[core], list);
}

static int count_ops(const void *context, int core)
{
    struct collective_op list[OPS_MAX];

    return list_ops(context, core, list);
}

static void give_op(const void *context, int core, int index, struct collective_op *out)
{
    struct collective_op list[OPS_MAX];

    list_ops(context, core, list);
    *out = list[index];
}

/* ----- the kernel */

static const struct graph_node *node_of(const struct graph *body)
{
    for (int i = 0; i < body->node_count; i++)
        if (graph_op_kind(body->node[i].op) == KIND_MESSAGE)
            return &body->node[i];
    return NULL;
}

static int message_check_supported(const struct graph *body, const struct chip *chip, struct err *e)
{
    const struct graph_node *n = node_of(body);

    (void)chip;
    for (int i = 0; i < body->node_count; i++)
        if (body->node[i].op != HLO_PARAMETER && &body->node[i] != n)
            return err_set(e, "%s is a kernel by itself", graph_op_name(n->op));
    return 0;
}

static const struct array *array_of(const struct kernel_job *job)
{
    return node_of(job->body)->op == HLO_SEND ? job->operand[0] : job->result[0];
}

static int message_tilings(const struct kernel_job *job, struct tiling *list, int max)
{
    if (max < 1 || !job->sums || array_of(job)->space != SPACE_HBM)
        return 0;
    list[0] = (struct tiling){.count = 0};
    return 1;
}

/* what the core does, not what it waits for */
static int message_cost(const struct kernel_job *job, const struct tiling *t,
                        struct kernel_cost *out)
{
    const struct chip *c = job->chip;
    const struct graph_node *n = node_of(job->body);
    double bytes = (double)array_of(job)->bytes, ns = (double)(c->dma_read_ns + c->dma_write_ns);

    (void)t;
    ns += n->op == HLO_SEND ? bytes / (double)c->ici_link_gbps
                            : 2 * bytes / (double)c->dma_core_gbps;
    *out = (struct kernel_cost){
        .fixed_cycles = c->launch_collective_ns * c->chip_clock_mhz / 1000, .steps = 1};
    if (!n->message->is_wait) {
        out->copy_cycles = (int64_t)(ns * 1e-3 * (double)c->chip_clock_mhz);
        out->hbm_bytes = 2 * array_of(job)->bytes;
    }
    out->total_cycles = out->copy_cycles + out->fixed_cycles;
    return 0;
}

static const struct message *message_of(const struct kernel_job *job, struct arena *a)
{
    const struct kernel_devices *d = &job->sums->devices;
    const struct graph_node *n = node_of(job->body);
    int cores = d->slice->core_count;
    int32_t *peer = arena_array(a, (size_t)cores, sizeof(*peer));
    struct message *m = arena_alloc(a, sizeof(*m));

    for (int i = 0; i < cores; i++)
        peer[i] = -1;
    for (int i = 0; i < d->count; i++)
        peer[d->core ? d->core[i] : i] = n->message->peer[i];
    *m = (struct message){.what = n->message, .peer = peer, .array = array_of(job),
                          .is_send = n->op == HLO_SEND, .first_flag = job->sums->first_flag};
    return m;
}

static int message_emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                        struct segment *out, struct err *e)
{
    struct collective_table *table = arena_alloc(a, sizeof(*table));
    int64_t smem = round_up(job->smem, ARRAY_GRANULE_BYTES);
    struct collective_place place = {.smem = smem, .smem_bytes = job->smem + job->smem_bytes - smem,
                                     .table = job->sums->table->address,
                                     .page_flag = job->sums->first_flag + MESSAGE_FLAGS};

    memset(table, 0, sizeof(*table));
    table->lists = (struct collective_lists){
        .type = COLLECTIVE_F32, .flag_count = MESSAGE_FLAGS, .table_address = place.table,
        .count = count_ops, .op = give_op, .context = message_of(job, a)};
    table->base = (struct collective_base){.smem = smem, .flag = job->sums->first_flag};
    if (collective_code_make(job->chip, COLLECTIVE_F32, &place, a, &table->code, e))
        return -1;
    *out = (struct segment){.tiling = *t, .table = table, .program = table->code.program};
    out->stats = (struct vcode_stats){.bundle_count = out->program.bundle_count,
                                      .op_count = out->program.op_count};
    kernel_print_bundles(job, &out->program);
    return message_cost(job, t, &out->cost);
}

#define KIND(id, hlo_name) \
    const struct kernel_kind kernel_##id = { \
        .name = #id, .category = hlo_name, .check_supported = message_check_supported, \
        .tilings = message_tilings, \
        .cost = message_cost, .emit = message_emit, \
    }

KIND(send, "send");
KIND(receive, "recv");
