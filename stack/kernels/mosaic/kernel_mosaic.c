/* Kernels of kind "mosaic": those that a program brings, written in Pallas. docs/mosaic.md. */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/mosaic/expand/expand.h"
#include "stack/kernels/mosaic/lower.h"

static const struct graph_node *node_of(const struct graph *body)
{
    for (int i = 0; i < body->node_count; i++)
        if (body->node[i].op == HLO_MOSAIC)
            return &body->node[i];
    return NULL;
}

/* ----- what is known before any code is made */

static int number_block(struct lower *l, const struct mosaic_block *b, int at);

static int number_op(struct lower *l, const struct mosaic_op *op, int at)
{
    int own = ++at;

    for (int r = 0; r < op->region_count; r++)
        at = number_block(l, op->region[r], at);
    for (int i = 0; i < op->operand_count; i++)
        if (l->last_use[op->operand[i]->id] < own)
            l->last_use[op->operand[i]->id] = own;
    return at;
}

/* Who reads a value last; what a loop reads from around it is read until the loop ends. */
static int number_block(struct lower *l, const struct mosaic_block *b, int at)
{
    for (int i = 0; i < b->op_count; i++)
        at = number_op(l, b->op[i], at);
    return at;
}

static void set_later(int *to, int number)
{
    if (*to < number)
        *to = number;
}

static void extend_in(struct lower *l, const struct mosaic_block *b, int end, int first_inside)
{
    for (int i = 0; i < b->op_count; i++) {
        const struct mosaic_op *op = b->op[i];

        for (int k = 0; k < op->operand_count; k++) {
            int id = op->operand[k]->id;

            if (id >= first_inside)
                continue;
            set_later(&l->last_use[id], end);
            set_later(&l->needed_until[id], end);
            if (l->read_whole[id])
                set_later(&l->read_whole[id], end);
        }
        for (int r = 0; r < op->region_count; r++)
            extend_in(l, op->region[r], end, first_inside);
    }
}

static int first_id(const struct mosaic_block *b)
{
    int first = INT32_MAX;

    for (int i = 0; i < b->argument_count; i++)
        if (b->argument[i]->id < first)
            first = b->argument[i]->id;
    for (int i = 0; i < b->op_count; i++) {
        for (int r = 0; r < b->op[i]->result_count; r++)
            if (b->op[i]->result[r]->id < first)
                first = b->op[i]->result[r]->id;
        for (int r = 0; r < b->op[i]->region_count; r++) {
            int inner = first_id(b->op[i]->region[r]);

            first = inner < first ? inner : first;
        }
    }
    return first;
}

int pallas_count_ops(const struct mosaic_block *b)
{
    int n = 0;

    for (int i = 0; i < b->op_count; i++) {
        n++;
        for (int r = 0; r < b->op[i]->region_count; r++)
            n += pallas_count_ops(b->op[i]->region[r]);
    }
    return n;
}

/* ids rise in the order of the text, but results come behind what is in their regions */
static int extend_loops(struct lower *l, const struct mosaic_block *b, int at)
{
    for (int i = 0; i < b->op_count; i++) {
        const struct mosaic_op *op = b->op[i];
        int inner = ++at;

        for (int r = 0; r < op->region_count; r++) {
            int end = inner + pallas_count_ops(op->region[r]);

            if (op->code == MOSAIC_FOR || op->code == MOSAIC_WHILE)
                extend_in(l, op->region[r], end + 1, first_id(op->region[0]));
            inner = extend_loops(l, op->region[r], inner);
        }
        at = inner;
    }
    return at;
}

static bool is_store(enum mosaic_code c)
{
    return c == MOSAIC_VECTOR_STORE || c == MOSAIC_TPU_VECTOR_STORE;
}

/* An operation that does nothing but pass tiles on, or makes them when they are pulled. */
static bool is_pulled_op(const struct mosaic_op *op)
{
    switch (op->code) {
    case MOSAIC_TRANSPOSE: case MOSAIC_VECTOR_TRANSPOSE:
        return false;
    default:
        return op->region_count == 0 && op->result_count == 1 &&
               op->result[0]->type.kind == MOSAIC_VECTOR;
    }
}

/*
 * Backwards: until when a value is needed by a root, until when by one that does not round it to
 * bf16; whether all who read it pack it.
 */
static int look_back(struct lower *l, const struct mosaic_block *b, int end)
{
    for (int i = b->op_count - 1; i >= 0; i--) {
        const struct mosaic_op *op = b->op[i];
        bool is_shape = op->code == MOSAIC_SHAPE_CAST;
        int number;

        /* what a region gives may stand where its result does */
        for (int r = op->region_count - 1; r >= 0; r--) {
            const struct mosaic_block *in = op->region[r];
            const struct mosaic_op *last = in->op_count ? in->op[in->op_count - 1] : NULL;

            for (int k = 0; last && k < op->result_count && k < last->operand_count; k++)
                set_later(&l->needed_until[last->operand[k]->id],
                          l->needed_until[op->result[k]->id]);
            for (int k = 0; k < in->argument_count; k++)
                for (int q = 0; q < op->result_count; q++)
                    set_later(&l->needed_until[in->argument[k]->id],
                              l->needed_until[op->result[q]->id]);
            for (int k = 0; k < in->argument_count; k++)
                set_later(&l->needed_until[in->argument[k]->id], end);
            end = look_back(l, in, end);
        }
        number = end--;
        for (int k = 0; k < op->operand_count; k++) {
            int id = op->operand[k]->id, until = number, whole = number;
            bool is_product = op->code == MOSAIC_MATMUL && k < 2;

            if (is_pulled_op(op))
                until = l->needed_until[op->result[0]->id];
            if (until > whole)
                whole = until;
            if (op->code == MOSAIC_FOR && k >= 3)
                until = l->needed_until[op->region[0]->argument[k - 2]->id];
            if (is_product)
                whole = 0;
            else if (is_shape)
                whole = l->read_whole[op->result[0]->id];
            set_later(&l->needed_until[id], until > number ? until : number);
            set_later(&l->read_whole[id], whole);
            if (!is_product && !(is_store(op->code) && k == 0) &&
                !(is_shape && l->only_packed[op->result[0]->id]))
                l->only_packed[id] = false;
        }
    }
    return end;
}

static void analyse(struct lower *l)
{
    size_t values = (size_t)l->k->value_count + 1;

    l->scalar = arena_array(l->a, values, sizeof(*l->scalar));
    l->is_late = arena_array(l->a, values, sizeof(bool));
    l->place = arena_array(l->a, values, sizeof(*l->place));
    l->sum = arena_array(l->a, values, sizeof(*l->sum));
    l->sum_parts = arena_array(l->a, values, sizeof(*l->sum_parts));
    l->depends = arena_array(l->a, values, sizeof(*l->depends));
    l->turn = arena_array(l->a, values, sizeof(*l->turn));
    l->range = arena_array(l->a, values, sizeof(*l->range));
    l->move_run = arena_array(l->a, values, sizeof(int));
    l->pulled = arena_array(l->a, values, sizeof(*l->pulled));
    l->last_use = arena_array(l->a, values, sizeof(int));
    l->live = arena_array(l->a, values, sizeof(const struct mosaic_value *));
    l->only_packed = arena_array(l->a, values, sizeof(bool));
    memset(l->only_packed, 1, values);
    l->needed_until = arena_array(l->a, values, sizeof(int));
    l->read_whole = arena_array(l->a, values, sizeof(int));
    number_block(l, l->k->main->body, 0);
    look_back(l, l->k->main->body, pallas_count_ops(l->k->main->body));
    extend_loops(l, l->k->main->body, 0);
}

static void collect_operands(struct lower *l)
{
    const struct kernel_job *job = l->job;
    const struct graph_node *n = node_of(job->body);
    int count = 0, inputs = l->k->array_count - l->k->output_count;

    l->operand = arena_array(l->a, (size_t)l->k->array_count + 1, sizeof(const struct array *));
    for (int i = 0; i < n->operand_count; i++) {
        const struct array *a =
            job->operand[job->body->node[n->operand[i]].parameter_index];

        if (i < l->k->dynamic_count)
            l->bounds[i] = a;
        else
            l->operand[count++] = a;
    }
    for (int i = 0; i < l->k->output_count; i++)
        l->operand[inputs + i] = job->result[i];
}

/* tiles across of the widest vector */
static int64_t widest_in(const struct mosaic_block *b)
{
    int64_t most = 0;

    for (int i = 0; i < b->op_count; i++) {
        const struct mosaic_op *op = b->op[i];

        for (int r = 0; r < op->result_count; r++) {
            const struct mosaic_type *t = &op->result[r]->type;
            int64_t across = t->kind == MOSAIC_VECTOR && t->rank
                                 ? div_up(t->dim[t->rank - 1], TILE_LANES) : 0;

            most = across > most ? across : most;
        }
        for (int r = 0; r < op->region_count; r++) {
            int64_t across = widest_in(op->region[r]);

            most = across > most ? across : most;
        }
    }
    return most;
}

/* a row of a wide vector is more than registers hold */
static int64_t spill_tiles(const struct mosaic_kernel *k)
{
    int64_t most = widest_in(k->main->body);

    return SPILL_TILES + (most > WIDE_TILES ? 4 * most : 0);
}

static void open_lower(struct lower *l, const struct kernel_job *job,
                       const struct mosaic_kernel *k, struct arena *a, struct err *e)
{
    *l = (struct lower){.job = job, .k = k, .chip = job->chip, .a = a,
                        .err = e, .next_region = LOWER_REGION_SCRATCH,
                        .until = FOREVER, .spill_tiles = spill_tiles(k),
                        .next_smem = (int)round_up(job->smem, 32),
                        .smem_end = (int)(job->smem + job->smem_bytes),
                        .next_flag = job->first_flag};
    vcode_init(&l->code, a);
    l->code.note = job->name;
    l->code.memo = job->memo;
    builder_init(&l->m, &l->code, job->chip);
    scalar_forget(l);
    analyse(l);
    collect_operands(l);
}

/* ----- the kind */

static int check_supported(const struct graph *body, const struct chip *chip, struct err *e)
{
    (void)body;
    (void)chip;
    (void)e;
    return 0;
}

static bool is_row_major(const struct array *a)
{
    for (int i = 0; i < a->shape.rank; i++)
        if (a->order[i] != a->shape.rank - 1 - i)
            return false;
    return true;
}

/* blocks are the program's; arrays lie row-major in HBM */
static int tilings(const struct kernel_job *job, struct tiling *list, int max)
{
    for (int i = 0; i < job->operand_count; i++)
        if (!is_row_major(job->operand[i]) || job->operand[i]->space != SPACE_HBM)
            return 0;
    for (int i = 0; i < job->result_count; i++)
        if (!is_row_major(job->result[i]) || job->result[i]->space != SPACE_HBM)
            return 0;
    if (max < 1)
        return 0;
    list[0] = (struct tiling){.count = 0};
    return 1;
}

/* No cost is known before the code is; what is copied at least is. */
static int cost(const struct kernel_job *job, const struct tiling *t, struct kernel_cost *out)
{
    const struct mosaic_kernel *k = node_of(job->body)->mosaic;
    int64_t mhz = job->chip->chip_clock_mhz;

    (void)t;
    *out = (struct kernel_cost){
        .steps = grid_steps(k), .flops = k->cost.flops,
        .fixed_cycles = (job->chip->dma_read_ns + job->chip->dma_write_ns) * mhz / 1000};
    for (int i = 0; i < job->operand_count; i++)
        out->hbm_bytes += job->operand[i]->bytes;
    for (int i = 0; i < job->result_count; i++)
        out->hbm_bytes += job->result[i]->bytes;
    out->is_idle = job->core_count > 1 && job->core > 0 && grid_shared(k) < 0;
    out->copy_cycles = out->hbm_bytes * mhz / (int64_t)(job->chip->dma_core_gbps * 1000);
    out->total_cycles = out->fixed_cycles + out->copy_cycles;
    return 0;
}

static int emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                struct segment *out, struct err *e)
{
    struct err inner = {.msg = ""};
    struct lower *l = arena_alloc(a, sizeof(*l));
    const struct mosaic_kernel *k = expand_kernel(node_of(job->body)->mosaic, job->chip, a, &inner);
    int status;

    *out = (struct segment){.tiling = *t};
    if (!k) {
        *e = inner;
        return -1;
    }
    open_lower(l, job, k, a, &inner);
    status = grid_emit(l);
    scalar_drop_unread(l);
    if (!status) {
        vcode_join_blocks(&l->code, l->room, l->room_count);
        status = kernel_finish(job, &l->code, job->vmem_row, l->spill_tiles, a, out, &inner);
    }
    if (!status)
        pallas_note_lines(l, &out->program);
    vcode_fini(&l->code);
    mem_free(l->taken);
    out->buffer = arena_copy(a, l->buffer, (size_t)l->buffer_count, sizeof(*l->buffer));
    out->buffer_count = l->buffer_count;
    mem_free(l->buffer);
    mem_free(l->written);
    mem_free(l->room);
    if (!status) {
        cost(job, t, &out->cost);
        out->cost.vmem_rows = l->peak_rows - job->vmem_row;
        return 0;
    }
    *e = inner;
    return -1;
}

const struct kernel_kind kernel_mosaic = {
    .name = "mosaic", .category = "custom-call", .check_supported = check_supported,
    .tilings = tilings, .cost = cost, .emit = emit,
    .takes_all_vmem = true};
