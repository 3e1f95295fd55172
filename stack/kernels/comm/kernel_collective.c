/*
 * Makes a segment of a collective: places its bucket, fills its table of operations, and emits the
 * program that reads it.
 */
#include "stack/kernels/comm/kernel_collective.h"

#include "base/units.h"
#include "stack/collective/collective_table.h"
#include "stack/kernels/comm/kernel_collective_lists.h"
#include "stack/backend/abi.h"

#include <assert.h>
#include <string.h>

/* of any core, with ends of parts */
static int most_pages(const struct collective_table *t, const struct slice *s)
{
    int most = 2;                       /* that are always fetched */

    for (int core = 0; core < s->core_count; core++)
        if (collective_table_pages(t, core) > most)
            most = collective_table_pages(t, core);
    return most;
}

int kernel_collective_room_of(const struct kernel_collective_room_need *need, struct arena *a,
                              struct kernel_collective_room *out, struct err *e)
{
    struct collective_place place = {.smem_bytes = need->smem_bytes};
    struct kernel_collective_work *w = kernel_collective_work_of(need, a, e);
    struct collective_table table = {.cut_count =
                                         w && w->spread ? kernel_spread_cuts(w->spread) : 0};

    if (!w || collective_code_make(need->chip, w->type, &place, a, &table.code, e))
        return -1;
    kernel_collective_work_lists(w, 0, &table.lists);
    *out = (struct kernel_collective_room){
        .bucket_bytes = w->bucket_bytes,
        .table_bytes = (int64_t)most_pages(&table, need->devices->slice) *
                       collective_table_page_bytes(&table),
        .flag_count = w->flag_count + 1,
        .seconds = kernel_collective_work_seconds(w, need->chip, need->devices->slice),
        .needs_zeros = w->needs_zeros, .operands_inside = w->operands_inside,
        .results_inside = w->results_inside, .operand_at = w->operand_at,
        .result_at = w->result_at};
    if (w->spread) {
        out->spread = arena_alloc(a, sizeof(*out->spread));
        kernel_spread_predict(w->spread, need->chip, need->devices->slice, out->spread);
    }
    return 0;
}

static int64_t bytes_of(const struct array *const *array, int count)
{
    int64_t bytes = 0;

    for (int i = 0; i < count; i++)
        bytes += array[i]->bytes;
    return bytes;
}

/* what is summed, is so in rows of VMEM */
bool kernel_collective_may_spread(const struct kernel_collective_room_need *need)
{
    const struct graph_groups *s = need->n->groups;
    int ranks = s ? s->size : need->devices->count, copies = 0;

    if (need->n->op == HLO_COLLECTIVE_PERMUTE || need->n->op == HLO_ALL_TO_ALL)
        return false;
    if (need->n->op != HLO_ALL_REDUCE && need->count > 1)
        copies = need->count;
    if (need->n->op == HLO_REDUCE_SCATTER &&
        bytes_of(need->result, need->count) % ARRAY_ROW_BYTES)
        return false;
    return kernel_spread_suits(need->chip, ranks, copies) &&
           need->vmem_bytes >= 4 * (int64_t)ranks * ARRAY_ROW_BYTES;
}

/* ----- the kernel */

static const struct graph_node *node_of(const struct graph *body)
{
    for (int i = 0; i < body->node_count; i++)
        if (graph_op_kind(body->node[i].op) == KIND_COLLECTIVE)
            return &body->node[i];
    return NULL;
}

static int collective_check_supported(const struct graph *body, const struct chip *chip,
                                      struct err *e)
{
    const struct graph_node *n = node_of(body);
    const char *name = graph_op_name(n->op);
    bool adds = n->op == HLO_ALL_REDUCE || n->op == HLO_REDUCE_SCATTER;

    (void)chip;
    for (int i = 0; i < body->node_count; i++)
        if (body->node[i].op != HLO_PARAMETER && body->node[i].op != HLO_GET_TUPLE_ELEMENT &&
            &body->node[i] != n)
            return err_set(e, "%s is a kernel by itself", name);
    for (int i = 0; i < n->operand_count; i++)
        if (body->node[n->operand[i]].shape.dtype != n->shape.dtype)
            return err_set(e, "%s of different types at once", name);
    if (adds && n->reduce_kind != REDUCE_ADD)
        return err_set(e, "%ss add and do nothing else", name);
    if (adds && n->shape.dtype != DTYPE_F32 && n->shape.dtype != DTYPE_BF16)
        return err_set(e, "%ss add f32 and bf16 only", name);
    return 0;
}

/* at the first operand's or result's place there; 0: it has none */
static int64_t bucket_at(const struct kernel_job *job, const struct kernel_collective_work *w)
{
    if (w->operands_inside)
        return job->operand[0]->address - w->operand_at[0];
    return w->results_inside ? job->result[0]->address - w->result_at[0] : 0;
}

/* NULL: the operations cannot be made */
static struct kernel_collective_work *work_of(const struct kernel_job *job, struct arena *a,
                                              struct err *e)
{
    struct kernel_collective_room_need need = {
        .chip = job->chip, .devices = &job->sums->devices,
        .vmem_bytes = job->vmem_rows * ARRAY_ROW_BYTES, .n = node_of(job->body),
        .is_spread = job->sums->is_spread, .stage_bytes = job->sums->stage_bytes,
        .count = job->operand_count, .operand = job->operand, .result = job->result,
        .zeros_at = job->sums->zeros ? job->sums->zeros->address : 0};
    struct kernel_collective_work *w = kernel_collective_work_of(&need, a, e);

    if (!w)
        return NULL;
    need.bucket_at = bucket_at(job, w);
    kernel_collective_work_resolve(w, &need, a);
    return w;
}

/* all in HBM, and what is inside the bucket at its place there */
static bool is_placed(const struct kernel_job *job, const struct kernel_collective_work *w)
{
    int64_t at = bucket_at(job, w);

    for (int i = 0; i < job->operand_count; i++)
        if (job->operand[i]->space != SPACE_HBM || job->result[i]->space != SPACE_HBM ||
            job->operand[i]->address != at + w->operand_at[i] ||
            job->result[i]->address != at + w->result_at[i])
            return false;
    return true;
}

static int collective_tilings(const struct kernel_job *job, struct tiling *list, int max)
{
    const struct kernel_collective_work *w;
    struct arena a;
    struct err e;
    bool fits;

    if (max < 1 || !job->sums)
        return 0;
    arena_init(&a);
    w = work_of(job, &a, &e);
    fits = w && is_placed(job, w);
    arena_fini(&a);
    list[0] = (struct tiling){.count = 0};
    return fits;
}

/* the whole stands with its first part, but for the cycles, in which others work beside */
static struct kernel_cost part_cost(const struct kernel_job *job, const struct kernel_cost *all)
{
    struct kernel_cost c = {.total_cycles = job->sums->part_cycles, .vmem_rows = all->vmem_rows,
                            .copy_cycles = job->sums->part_cycles, .steps = 1};

    if (job->sums->part == 0)
        c.hbm_bytes = all->hbm_bytes;
    return c;
}

static int collective_cost(const struct kernel_job *job, const struct tiling *t,
                           struct kernel_cost *out)
{
    const struct kernel_collective_work *w;
    const struct chip *c = job->chip;
    struct arena a;
    struct err e;

    (void)t;
    arena_init(&a);
    w = work_of(job, &a, &e);
    if (w) {
        double seconds = kernel_collective_work_seconds(w, c, job->sums->devices.slice);
        int64_t vmem_bytes = w->spread ? w->spread->vmem_bytes
                             : w->plan ? collective_vmem_bytes(w->plan) : 0;

        *out = (struct kernel_cost){
            .copy_cycles = (int64_t)(seconds * 1e6 * (double)c->chip_clock_mhz),
            .fixed_cycles = c->launch_collective_ns * c->chip_clock_mhz / 1000,
            .hbm_bytes = bytes_of(job->operand, job->operand_count) +
                         bytes_of(job->result, job->result_count),
            .vmem_rows = vmem_bytes / ARRAY_ROW_BYTES, .steps = 1};
        if (w->spread)
            out->fixed_cycles = 0;
        out->total_cycles = out->copy_cycles + out->fixed_cycles;
        if (job->sums->cut_count)
            *out = part_cost(job, out);
    }
    arena_fini(&a);
    return w ? 0 : -1;
}

static struct collective_place place_of(const struct kernel_job *job,
                                        const struct collective_table *t)
{
    int64_t smem = round_up(job->smem, ARRAY_GRANULE_BYTES);

    return (struct collective_place){.smem = smem, .smem_bytes = job->smem + job->smem_bytes - smem,
                                     .table = job->sums->table->address,
                                     .page_flag = job->sums->first_flag + t->lists.flag_count};
}

/* a later part goes on where the one before has ended; the table is the first one's */
static int make_part(const struct kernel_job *job, struct collective_place *place,
                     struct collective_table *t, struct arena *a, struct segment *out,
                     struct err *e)
{
    t->cut = job->sums->cut;
    t->cut_count = job->sums->cut_count;
    if (job->sums->part == 0) {
        out->table = t;
        return 0;
    }
    place->resume_row = collective_table_cut_row(t, job->sums->part - 1);
    return collective_code_make(job->chip, t->lists.type, place, a, &t->code, e);
}

/* the program's branches, and the note of each bundle, are those of a segment already */
static int make_segment(const struct kernel_job *job, const struct kernel_collective_work *w,
                        struct collective_table *t, struct arena *a, struct segment *out,
                        struct err *e)
{
    struct collective_place place = place_of(job, t);

    if (collective_code_make(job->chip, t->lists.type, &place, a, &t->code, e))
        return -1;
    t->base = (struct collective_base){.hbm = bucket_at(job, w),
                                       .vmem = job->vmem_row * ARRAY_ROW_BYTES,
                                       .smem = place.smem, .flag = job->sums->first_flag};
    if (make_part(job, &place, t, a, out, e))
        return -1;
    out->program = t->code.program;
    out->stats = (struct vcode_stats){.bundle_count = out->program.bundle_count,
                                      .op_count = out->program.op_count};
    kernel_print_bundles(job, &out->program);
    return 0;
}

static int collective_emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                           struct segment *out, struct err *e)
{
    struct collective_table *table = arena_alloc(a, sizeof(*table));
    const struct kernel_collective_work *w = work_of(job, a, e);

    if (!w)
        return -1;
    *out = (struct segment){.tiling = *t};
    kernel_collective_work_lists(w, job->sums->table->address, &table->lists);
    return make_segment(job, w, table, a, out, e) || collective_cost(job, t, &out->cost) ? -1 : 0;
}

#define KIND(id, hlo_name) \
    const struct kernel_kind kernel_##id = { \
        .name = #id, .category = hlo_name, .check_supported = collective_check_supported, \
        .tilings = collective_tilings, .cost = collective_cost, .emit = collective_emit, \
        .is_for_one_core = true, \
    }

KIND(all_reduce, "all-reduce");
KIND(reduce_scatter, "reduce-scatter");
KIND(all_gather, "all-gather");
KIND(all_to_all, "all-to-all");
KIND(collective_permute, "collective-permute");
