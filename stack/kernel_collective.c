#include "stack/kernel_collective.h"

#include "base/units.h"
#include "stack/collective_table.h"
#include "stack/link.h"

#include <assert.h>
#include <string.h>

static int type_of(enum graph_dtype dtype, enum collective_type *type, struct err *e)
{
    *type = dtype == DTYPE_BF16 ? COLLECTIVE_BF16 : COLLECTIVE_F32;
    if (dtype == DTYPE_F32 || dtype == DTYPE_BF16)
        return 0;
    return err_set(e, "all-reduces add f32 and bf16 only");
}

/* rows of VMEM on every rank, so that small buckets stay there all the way */
static int64_t whole_bytes(const struct slice *s, int64_t bytes)
{
    return round_up(bytes, (int64_t)s->core_count * ARRAY_ROW_BYTES);
}

/* all cores of the slice in one group; NULL with *e set */
static const struct collective_plan *make_plan(const struct chip *chip, const struct slice *slice,
                                               int64_t vmem_bytes, enum collective_type type,
                                               int64_t bytes, struct arena *a, struct err *e)
{
    struct chip own = *chip;
    struct collective_request r = {.kind = COLLECTIVE_ALL_REDUCE, .type = type, .slice = slice,
                                   .chip = &own, .bytes = whole_bytes(slice, bytes)};

    own.vmem_bytes = vmem_bytes;
    for (int i = 0; i < slice->dims; i++)
        r.axis[i] = true;
    return collective_plan_create(&r, a, e);
}

/* where its pages lie in SMEM, which all kernels have alike, and come from */
static struct collective_place place_of(const struct chip *chip, int64_t table, int page_flag)
{
    int64_t smem = round_up(LINK_SMEM_END, ARRAY_GRANULE_BYTES);

    return (struct collective_place){.smem = smem, .smem_bytes = chip->smem_bytes - smem,
                                     .table = table, .page_flag = page_flag};
}

static int most_pages(const struct collective_table *t, const struct slice *s)
{
    int most = 2;                       /* that are always fetched */

    for (int core = 0; core < s->core_count; core++)
        if (collective_table_pages(t, core) > most)
            most = collective_table_pages(t, core);
    return most;
}

int collective_room_of(const struct chip *chip, const struct slice *slice, int64_t vmem_bytes,
                       enum graph_dtype dtype, int64_t bytes, struct collective_room *out,
                       struct err *e)
{
    struct collective_place place = place_of(chip, 0, 0);
    struct collective_table table = {.base.smem = place.smem};
    const struct collective_plan *p;
    enum collective_type type;
    struct arena a;
    int status = -1;

    if (type_of(dtype, &type, e))
        return -1;
    arena_init(&a);
    p = make_plan(chip, slice, vmem_bytes, type, bytes, &a, e);
    if (p && collective_code_make(chip, type, &place, &a, &table.code, e) == 0) {
        collective_lists_of(p, 0, &table.lists);
        *out = (struct collective_room){
            .bucket_bytes = whole_bytes(slice, bytes),
            .table_bytes = (int64_t)most_pages(&table, slice) *
                           collective_table_page_bytes(&table),
            .flag_count = table.lists.flag_count + 1};
        status = 0;
    }
    arena_fini(&a);
    return status;
}

/* ----- the kernel */

static const struct graph_node *sum_of(const struct graph *body)
{
    for (int i = 0; i < body->node_count; i++)
        if (body->node[i].op == HLO_ALL_REDUCE)
            return &body->node[i];
    return NULL;
}

static int all_reduce_takes(const struct graph *body, const struct chip *chip, struct err *e)
{
    const struct graph_node *sum = sum_of(body);
    enum collective_type type;

    (void)chip;
    for (int i = 0; i < body->node_count; i++)
        if (body->node[i].op != HLO_PARAMETER && body->node[i].op != HLO_GET_TUPLE_ELEMENT &&
            &body->node[i] != sum)
            return err_set(e, "an all-reduce is a kernel by itself");
    for (int i = 0; i < sum->operand_count; i++)
        if (body->node[sum->operand[i]].shape.dtype != sum->shape.dtype)
            return err_set(e, "an all-reduce of different types");
    if (sum->groups && sum->groups->count > 1)
        return err_set(e, "all-reduces add over all devices, not over groups of them");
    if (sum->reduce_kind != REDUCE_ADD)
        return err_set(e, "all-reduces add and do nothing else");
    return type_of(sum->shape.dtype, &type, e);
}

static int64_t bytes_of(const struct kernel_job *job)
{
    int64_t bytes = 0;

    for (int i = 0; i < job->operand_count; i++)
        bytes += job->operand[i]->bytes;
    return bytes;
}

/* operands and results at the same places, one behind the other in HBM */
static bool is_bucket(const struct kernel_job *job)
{
    int64_t address = job->operand[0]->address;

    for (int i = 0; i < job->operand_count; i++) {
        if (job->operand[i]->space != SPACE_HBM || job->operand[i]->address != address ||
            job->result[i]->space != SPACE_HBM || job->result[i]->address != address)
            return false;
        address += job->operand[i]->bytes;
    }
    return true;
}

static const struct collective_plan *plan_of(const struct kernel_job *job, struct arena *a,
                                             struct err *e)
{
    enum collective_type type;

    if (type_of(job->operand[0]->shape.dtype, &type, e))
        return NULL;
    return make_plan(job->chip, job->sums->slice, job->vmem_rows * ARRAY_ROW_BYTES, type,
                     bytes_of(job), a, e);
}

static int all_reduce_tilings(const struct kernel_job *job, struct tiling *list, int max)
{
    if (max < 1 || !job->sums || !is_bucket(job))
        return 0;
    list[0] = (struct tiling){.count = 0};
    return 1;
}

static int all_reduce_cost(const struct kernel_job *job, const struct tiling *t,
                           struct kernel_cost *out)
{
    const struct collective_plan *p;
    const struct chip *c = job->chip;
    struct arena a;
    struct err e;

    (void)t;
    arena_init(&a);
    p = plan_of(job, &a, &e);
    if (p) {
        double seconds = collective_predicted_seconds(p, collective_plan_request(p)->algo);

        *out = (struct kernel_cost){
            .copy_cycles = (int64_t)(seconds * 1e6 * (double)c->chip_clock_mhz),
            .fixed_cycles = c->launch_collective_ns * c->chip_clock_mhz / 1000,
            .hbm_bytes = 2 * bytes_of(job),
            .vmem_rows = collective_vmem_bytes(p) / ARRAY_ROW_BYTES, .steps = 1};
        out->total_cycles = out->copy_cycles + out->fixed_cycles;
    }
    arena_fini(&a);
    return p ? 0 : -1;
}

/* the program's branches, and the note of each bundle, are those of a segment already */
static int make_segment(const struct kernel_job *job, struct collective_table *t, struct arena *a,
                        struct segment *out, struct err *e)
{
    struct collective_place place =
        place_of(job->chip, job->sums->table->address, job->sums->first_flag +
                                                       t->lists.flag_count);

    if (collective_code_make(job->chip, t->lists.type, &place, a, &t->code, e))
        return -1;
    t->base = (struct collective_base){.hbm = job->operand[0]->address,
                                       .vmem = job->vmem_row * ARRAY_ROW_BYTES,
                                       .smem = place.smem, .flag = job->sums->first_flag};
    out->program = t->code.program;
    out->stats = (struct vcode_stats){.bundle_count = out->program.bundle_count,
                                      .op_count = out->program.op_count};
    kernel_print_bundles(job, &out->program);
    return 0;
}

static int all_reduce_emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                           struct segment *out, struct err *e)
{
    struct collective_table *table = arena_alloc(a, sizeof(*table));
    const struct collective_plan *p = plan_of(job, a, e);

    if (!p)
        return -1;
    *out = (struct segment){.tiling = *t, .table = table};
    collective_lists_of(p, job->sums->table->address, &table->lists);
    return make_segment(job, table, a, out, e) || all_reduce_cost(job, t, &out->cost) ? -1 : 0;
}

const struct kernel_kind kernel_all_reduce = {
    .name = "all_reduce", .category = "all-reduce", .takes = all_reduce_takes,
    .tilings = all_reduce_tilings, .cost = all_reduce_cost, .emit = all_reduce_emit,
};
