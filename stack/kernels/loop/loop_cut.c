/* Loop fusions: boxes of a step, what they take of VMEM, and which are worth trying. */
#include "stack/kernels/loop/loop_plan.h"

#include <assert.h>
#include <string.h>

#include "base/units.h"

#define SPILL_ROWS_MAX 512              /* kept free behind everything */
#define ROWS_PER_TILE 8

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ----- the grid: axes that stay outside, those that are reduced innermost */

struct grid_axes { int axis[LOOP_AXIS_MAX], count; };       /* outermost first */

static struct grid_axes axes_as_they_are(const struct loop_plan *p)
{
    struct grid_axes g = {.count = 0};

    for (int pass = 0; pass < 2; pass++)
        for (int a = p->axis_count - 1; a >= 0; a--)
            if ((int)(p->reduced_mask >> a & 1) == pass && p->axis[a].count > 1)
                g.axis[g.count++] = a;
    return g;
}

/* elements that windows fetch: one changes with the innermost axis that it moves along */
static double fetched_elements(const struct loop_plan *p, const struct grid_axes *g)
{
    double sum = 0;

    for (int i = 0; i < p->array_count; i++) {
        double box = 1, changes = 1, steps = 1;

        for (int a = 0; a < p->axis_count; a++)
            if (p->array[i].mask >> a & 1)
                box *= (double)p->axis[a].box;
        for (int d = 0; d < g->count; d++) {
            steps *= (double)p->axis[g->axis[d]].count;
            if (p->array[i].mask >> g->axis[d] & 1)
                changes = steps;
        }
        sum += box * changes;
    }
    return sum;
}

static struct grid_axes with_innermost(struct grid_axes g, int d)
{
    int axis = g.axis[d];

    memmove(&g.axis[d], &g.axis[d + 1], (size_t)(g.count - 1 - d) * sizeof(axis));
    g.axis[g.count - 1] = axis;
    return g;
}

/*
 * What is spread over an axis, a bias over the samples of a batch, is fetched once where that axis
 * is the innermost. Where sums are made over steps their axis stays that.
 */
static struct grid_axes best_order(const struct loop_plan *p)
{
    struct grid_axes plain = axes_as_they_are(p), best = plain;

    if (plain.count == 0 || p->reduced_mask >> plain.axis[plain.count - 1] & 1)
        return plain;
    for (int d = plain.count - 2; d >= 0; d--) {
        struct grid_axes g = with_innermost(plain, d);

        if (fetched_elements(p, &g) < fetched_elements(p, &best))
            best = g;
    }
    return best;
}

static void order_grid(struct loop_plan *p)
{
    struct grid_axes g = best_order(p);
    struct pipeline *f = &p->pipeline;

    for (int a = 0; a < p->axis_count; a++)
        p->axis[a].grid_dim = -1;
    for (int d = 0; d < g.count; d++) {
        if (d < PIPELINE_DIM_MAX)
            f->count[d] = p->axis[g.axis[d]].count;
        p->axis[g.axis[d]].grid_dim = d;
    }
    f->dims = g.count;
}

/* ----- windows */

/* tiles of a tiled array per unit of an axis, 0: it does not move along it */
static int64_t unit_tiles(const struct loop_plan *p, const struct loop_array *a, int axis)
{
    const struct array *m = a->array;

    if (!(a->mask >> axis & 1))
        return 0;
    if (axis == AXIS_LANES)
        return p->is_linear ? 0 : 1;
    if (axis == AXIS_ROWS)
        return p->group_rows / m->tile_rows * (p->is_linear ? 1 : m->tiles_across);
    return a->outer_rows[axis] / ROWS_PER_TILE;
}

/* tiles of an axis in a box: rows in tiles, not groups */
static int64_t box_tiles(const struct loop_plan *p, const struct loop_array *a, int axis)
{
    const struct loop_axis *x = &p->axis[axis];
    int64_t ratio = p->group_rows / a->array->tile_rows;

    if (!(a->mask >> axis & 1) || (p->is_linear && axis == AXIS_LANES))
        return 1;
    if (axis != AXIS_ROWS)
        return x->box;
    return x->count == 1 ? x->units * ratio - a->missing : x->box * ratio;
}

static int64_t tile_stride(const struct loop_plan *p, const struct loop_array *a, int axis)
{
    int64_t unit = unit_tiles(p, a, axis);

    return axis == AXIS_ROWS ? unit / (p->group_rows / a->array->tile_rows) : unit;
}

static bool add_box_dim(struct pipeline_window *w, int64_t count, int64_t stride)
{
    int last = w->box_dims - 1;

    if (count == 1 && w->box_dims > 0)
        return true;
    if (last >= 0 && stride == w->box_stride[last] * w->box_count[last]) {
        w->box_count[last] *= count;
        return true;
    }
    if (w->box_dims == PIPELINE_BOX_MAX)
        return false;
    w->box_count[w->box_dims] = count;
    w->box_stride[w->box_dims++] = stride ? stride : 1;
    return true;
}

static bool tiled_window(struct loop_plan *p, struct loop_array *a, struct pipeline_window *w)
{
    int64_t dense = ROWS_PER_TILE, ratio = p->group_rows / a->array->tile_rows;
    bool is_copied = a->array->space != SPACE_VMEM;

    w->first += p->axis[AXIS_ROWS].first * unit_tiles(p, a, AXIS_ROWS);
    for (int x = 0; x < p->axis_count; x++) {
        const struct loop_axis *axis = &p->axis[x];
        int64_t count = box_tiles(p, a, x), stride = tile_stride(p, a, x), rows;

        if (!(a->mask >> x & 1))
            continue;
        if (!add_box_dim(w, count, stride))
            return false;
        rows = is_copied ? dense : stride * ROWS_PER_TILE;
        dense *= count;
        if (x == AXIS_ROWS)
            a->part_rows = rows;
        a->unit_rows[x] = x == AXIS_ROWS ? rows * ratio : rows;
        if (axis->grid_dim < 0)
            continue;
        w->step[axis->grid_dim] = axis->box * unit_tiles(p, a, x);
        if (axis->box * axis->count != axis->units)
            w->limit[axis->grid_dim] = (axis->units - axis->box) * unit_tiles(p, a, x);
    }
    return true;
}

/* all of the array, once */
static void whole_window(const struct loop_array *a, struct pipeline_window *w)
{
    w->box_dims = 1;
    w->box_count[0] = a->array->tile_count;
    w->box_stride[0] = 1;
}

/*
 * A result that is not tiled may be two cores', a part each, along the axis that is outermost in it
 * where the grid counts that: an outer dimension, or else rows. Packed ones are put together of an
 * image of all.
 */
static void let_parts(const struct loop_plan *p, const struct loop_array *a,
                      struct pipeline_window *w)
{
    const struct array *m = a->array;
    int outermost = a->row_axis;
    int64_t unit = m->tiles_across, align = m->tile_rows;

    if (!a->is_result || m->element_bytes != 4 || m->is_linear)
        return;
    for (int x = 0; x < p->axis_count; x++)
        if (a->outer_rows[x] && (align > 1 || a->outer_rows[x] > unit * ROWS_PER_TILE)) {
            outermost = x;
            unit = a->outer_rows[x] / ROWS_PER_TILE;
            align = 1;
        }
    if (outermost < 0 || p->axis[outermost].grid_dim < 0)
        return;
    w->core_dim = p->axis[outermost].grid_dim;
    w->core_units = p->axis[outermost].box * p->axis[outermost].unit_elements;
    w->core_align = align;
    w->core_tiles = unit;
}

static bool needs_window(const struct loop_plan *p, int i)
{
    const struct loop_array *a = &p->array[i];

    if (a->smem >= 0)
        return false;
    return a->is_result || a->lane_axis != -2;  /* an operand that nobody reads has none */
}

static bool make_windows(struct loop_plan *p)
{
    struct pipeline *f = &p->pipeline;

    f->window_count = 0;
    for (int i = 0; i < p->array_count; i++) {
        struct loop_array *a = &p->array[i];
        struct pipeline_window *w = &f->window[f->window_count];

        if (!needs_window(p, i))
            continue;
        if (f->window_count == PIPELINE_WINDOW_MAX)
            return false;
        memset(w, 0, sizeof(*w));
        w->array = a->array;
        w->is_result = a->is_result;
        w->first = a->first;
        w->valid_sublanes = pipeline_valid_sublanes(a->array);
        if (!a->is_tiled) {
            whole_window(a, w);
            let_parts(p, a, w);
        } else if (!tiled_window(p, a, w)) {
            return false;
        }
        a->window = a->is_own ? -1 : f->window_count++;
    }
    return true;
}

/* ----- scratch */

int64_t loop_kept_rows(const struct loop_plan *p, uint32_t mask)
{
    return mask >> AXIS_ROWS & 1 ? (int64_t)p->parts * ROWS_PER_TILE : 1;
}

static int64_t units_of(const struct loop_plan *p, uint32_t mask)
{
    int64_t units = 1;

    for (int a = 0; a < p->axis_count; a++)
        units *= mask >> a & 1 ? p->axis[a].box : 1;
    return units;
}

static int64_t up_to_tiles(int64_t rows)
{
    return div_up(rows, ROWS_PER_TILE) * ROWS_PER_TILE;
}

/* rows of a 32-bit image of a packed array */
static int64_t image_rows(const struct array *a)
{
    return a->tile_count * a->tile_rows;
}

static void place_scratch(struct loop_plan *p)
{
    int64_t next = 0;

    for (int i = 0; i < p->body.node_count; i++) {
        uint32_t mask = p->mask[i];

        p->kept_row[i] = next;
        if (p->is_kept[i])              /* some more than are, for loads that need none */
            next += up_to_tiles(units_of(p, mask) * loop_kept_rows(p, mask));
        p->sum_row[i] = next;
        if (p->body.node[i].op == HLO_REDUCE && !p->is_lifted[i])
            next += units_of(p, mask) * loop_parts(p, mask) * ROWS_PER_TILE
                    * (loop_is_arg(&p->body.node[i]) ? 2 : 1);
    }
    for (int i = p->operand_count; i < p->array_count; i++) {
        struct loop_array *a = &p->array[i];

        a->image_row = -1;
        if (a->is_tiled || a->array->element_bytes == 4)
            continue;
        a->image_row = next;
        next += image_rows(a->array);
    }
    p->pipeline.scratch_rows = next;
}

bool loop_plan_place(struct loop_plan *p)
{
    p->pipeline.job = p->job;
    if (!make_windows(p))
        return false;
    place_scratch(p);
    return true;
}

/* the rows of a part: all but the last group, that group, or all */
static void take_part(struct loop_plan *p, int part)
{
    struct loop_axis *x = &p->axis[AXIS_ROWS];
    bool is_parted = p->part_count > 1, is_last = part == p->part_count - 1;
    int64_t before = p->all_row_units - 1;

    x->first = part ? before : 0;
    x->units = !is_parted ? p->all_row_units : is_last ? 1 : before;
    x->elements = (is_last ? p->all_rows : before * x->unit_elements) - x->first * x->unit_elements;
    if (p->is_linear)
        p->linear_elements = is_last ? p->all_linear - x->first * x->unit_elements * ARRAY_LANES
                                     : x->elements * ARRAY_LANES;
    for (int i = 0; i < p->array_count; i++)
        p->array[i].missing = is_last ? p->array[i].missing_at_end : 0;
}

/* of a small memory not more than half: windows of few rows spill little */
static int64_t spill_rows(const struct kernel_job *job)
{
    return least(SPILL_ROWS_MAX, job->vmem_rows / 2);
}

bool loop_plan_enter(struct loop_plan *p, int part, const int64_t *box)
{
    take_part(p, part);
    for (int a = 0; a < p->axis_count; a++) {
        struct loop_axis *x = &p->axis[a];

        if (box[a] < 1)
            return false;
        x->box = a == AXIS_ROWS ? least(box[a], x->units) : box[a];
        if (x->box > x->units)
            return false;
        x->count = div_up(x->units, x->box);
        if (x->count > 1 && p->whole_mask >> a & 1)
            return false;
        if (x->box * x->count != x->units && p->reduced_mask >> a & 1)
            return false;
    }
    memset(&p->pipeline, 0, sizeof(p->pipeline));
    order_grid(p);
    if (p->pipeline.dims > PIPELINE_DIM_MAX || !loop_plan_place(p))
        return false;
    if (pipeline_updates_twice(&p->pipeline))
        return false;
    pipeline_share(&p->pipeline, p->job->core);
    return pipeline_vmem_rows(&p->pipeline) + spill_rows(p->job) <= p->job->vmem_rows
           && pipeline_flag_count(&p->pipeline) <= p->job->flag_count;
}

bool loop_plan_cut(struct loop_plan *p, const int64_t *box)
{
    if (box[AXIS_ROWS] > p->all_row_units)
        return false;
    loop_place_scalars(p);
    p->part_count = p->may_part && box[AXIS_ROWS] < p->all_row_units ? 2 : 1;
    for (int part = p->part_count - 1; part >= 0; part--)
        if (!loop_plan_enter(p, part, box))
            return false;
    return true;
}

/* ----- costs */

#define STEP_CYCLES 60                  /* of the pipeline */
#define PHASE_CYCLES 100                /* a loop begins and ends */

double loop_step_cycles(const struct loop_plan *p)
{
    double sum = 0;

    for (int i = 0; i < p->phase_count; i++) {
        const struct loop_phase *x = &p->phase[i];
        int64_t units = units_of(p, x->mask);

        sum += (double)units * x->cycles + PHASE_CYCLES + x->latency;
        if (x->mask != p->full_mask && x->mask >> AXIS_ROWS & 1 && !loop_has_chunks(p))
            sum += (double)(units * 2 * p->job->chip->xlu_permute_cycles);
        if (x->block_units)
            sum += (double)(div_up(units, x->block_units) * x->block_latency);
    }
    return sum;
}

static void add_cost(struct kernel_cost *sum, const struct kernel_cost *part)
{
    sum->compute_cycles += part->compute_cycles;
    sum->copy_cycles += part->copy_cycles;
    sum->fixed_cycles += part->fixed_cycles;
    sum->total_cycles += part->total_cycles;
    sum->hbm_bytes += part->hbm_bytes;
    sum->steps += part->steps;
    sum->is_idle &= part->is_idle;
}

static void cost_of_part(struct loop_plan *p, struct kernel_cost *out)
{
    int64_t steps = pipeline_total_steps(&p->pipeline), exposed, compute, copies;
    struct err e;

    *out = (struct kernel_cost){.is_idle = p->pipeline.is_idle};
    if (p->pipeline.is_idle)
        return;
    if (!p->phase && loop_measure(p, &e))
        p->phase_count = 0;             /* emit tells why */
    compute = (int64_t)((double)steps * (STEP_CYCLES + loop_step_cycles(p)));
    copies = pipeline_copy_cycles(&p->pipeline, &exposed);
    *out = (struct kernel_cost){
        .compute_cycles = compute, .copy_cycles = copies, .fixed_cycles = exposed,
        .hbm_bytes = pipeline_copy_bytes(&p->pipeline), .flops = graph_flops(p->job->body),
        .vmem_rows = pipeline_vmem_rows(&p->pipeline), .steps = steps};
    out->total_cycles = steps == 1 ? compute + exposed
                        : (compute > copies ? compute : copies)
                              + exposed + (compute < copies ? compute / steps : 0);
}

/* of all parts; the first is in hand before and after */
static void cost_of(struct loop_plan *p, const int64_t *box, struct kernel_cost *out)
{
    struct kernel_cost last;

    cost_of_part(p, out);
    if (p->part_count == 1)
        return;
    loop_plan_enter(p, 1, box);
    cost_of_part(p, &last);
    add_cost(out, &last);
    loop_plan_enter(p, 0, box);
}

/* ----- candidates */

/* boxes of `units` near `most` that are all alike, or, where they may overlap, nearly */
static int64_t fitting_box(const struct loop_plan *p, int a, int64_t most)
{
    int64_t units = a == AXIS_ROWS ? p->all_row_units : p->axis[a].units;
    int64_t box = least(units, most < 1 ? 1 : most);

    if (p->whole_mask >> a & 1 || box == units)
        return units;
    if (a == AXIS_ROWS && p->may_part)
        box = least(box, --units);
    box = div_up(units, div_up(units, box));
    if (a == AXIS_ROWS && box > loop_chunk_units(p))
        box = least(units, div_up(box, loop_chunk_units(p)) * loop_chunk_units(p));
    if (p->reduced_mask >> a & 1)
        while (units % box)
            box--;
    return box;
}

/* a step of about `tiles` groups: the innermost axes first */
static void box_of(const struct loop_plan *p, int64_t tiles, int64_t *box)
{
    for (int a = 0; a < p->axis_count; a++)
        if (p->whole_mask >> a & 1)
            tiles = tiles / (a == AXIS_ROWS ? p->all_row_units : p->axis[a].units);
    for (int a = 0; a < p->axis_count; a++) {
        box[a] = fitting_box(p, a, tiles);
        if (!(p->whole_mask >> a & 1))
            tiles /= box[a];
    }
}

static bool is_known(const struct tiling *list, int count, const struct tiling *t)
{
    for (int i = 0; i < count; i++)
        if (!memcmp(list[i].size, t->size, sizeof(t->size)))
            return true;
    return false;
}

static int insert(struct tiling *list, int count, int max, const struct tiling *t)
{
    int at = count;

    if (is_known(list, count, t))
        return count;
    while (at > 0 && list[at - 1].predicted_cycles > t->predicted_cycles)
        at--;
    if (at == max)
        return count;
    if (count < max)
        count++;
    memmove(list + at + 1, list + at, (size_t)(count - 1 - at) * sizeof(*list));
    list[at] = *t;
    return count;
}

static int try_box(struct loop_plan *p, struct tiling *t, struct tiling *list, int count, int max)
{
    struct kernel_cost cost;

    if (!loop_plan_cut(p, t->size))
        return count;
    cost_of(p, t->size, &cost);
    t->predicted_cycles = cost.total_cycles;
    return insert(list, count, max, t);
}

/* for two cores: axes that are not reduced, in two boxes, or in three where two would overlap */
static int try_shares(struct loop_plan *p, const struct tiling *whole, struct tiling *list,
                      int count, int max)
{
    for (int a = 0; a < p->axis_count; a++) {
        int64_t units = a == AXIS_ROWS ? p->all_row_units : p->axis[a].units;
        struct tiling t = *whole;

        if ((p->reduced_mask | p->whole_mask) >> a & 1 || units == 1 || t.size[a] < units)
            continue;
        t.size[a] = units % 2 ? div_up(units, 3) : units / 2;
        count = try_box(p, &t, list, count, max);
    }
    return count;
}

static int candidates(struct loop_plan *p, struct tiling *list, int max)
{
    int count = 0;

    for (int64_t tiles = 1; tiles <= 1 << 15; tiles *= 2)
        for (int third = 0; third < 2; third++) {
            struct tiling t = {.count = p->axis_count};

            box_of(p, third ? tiles * 3 / 2 : tiles, t.size);
            count = try_box(p, &t, list, count, max);
            if (p->job->core_count > 1)
                count = try_shares(p, &t, list, count, max);
        }
    return count;
}

/* ----- the kind */

static int check_supported(const struct graph *body, const struct chip *chip, struct err *e)
{
    (void)chip;
    return loop_plan_check_supported(body, e);
}

static int begin_alone(struct loop_plan *p, const struct kernel_job *job, struct arena *a,
                       struct err *e)
{
    int status = loop_plan_init(p, job, a, e);

    p->is_alone = true;
    return status;
}

static int tilings(const struct kernel_job *job, struct tiling *list, int max)
{
    struct loop_plan p;
    struct arena a;
    struct err e;
    int count = 0;

    arena_init(&a);
    if (!begin_alone(&p, job, &a, &e))
        count = candidates(&p, list, max);
    loop_plan_fini(&p);
    arena_fini(&a);
    return count;
}

static int cost(const struct kernel_job *job, const struct tiling *t, struct kernel_cost *out)
{
    struct loop_plan p;
    struct arena a;
    struct err e;
    int status = -1;

    arena_init(&a);
    if (!begin_alone(&p, job, &a, &e) && loop_plan_cut(&p, t->size)) {
        cost_of(&p, t->size, out);
        status = 0;
    }
    loop_plan_fini(&p);
    arena_fini(&a);
    return status;
}

static int emit_part(struct loop_plan *p, struct vcode *c, struct arena *a, struct err *e)
{
    if (p->pipeline.is_idle)
        return 0;
    vcode_begin_block(c);
    if (pipeline_begin(&p->pipeline, c, a, e))
        return -1;
    loop_await_scalars(p, c);
    if (loop_emit_step(p, c, e))
        return -1;
    pipeline_finish(&p->pipeline, c);
    loop_emit_last(p, c);
    pipeline_end(&p->pipeline, c);
    return 0;
}

static int emit_code(struct loop_plan *p, const int64_t *box, struct vcode *c, struct arena *a,
                     struct segment *out, struct err *e)
{
    int64_t spill_row = 0;

    c->note = p->job->name;
    loop_fetch_scalars(p, c);
    for (int part = 0; part < p->part_count; part++) {
        loop_plan_enter(p, part, box);
        if (emit_part(p, c, a, e))
            return -1;
        if (!p->pipeline.is_idle && pipeline_spill_row(&p->pipeline) > spill_row)
            spill_row = pipeline_spill_row(&p->pipeline);
    }
    loop_forget_scalars(p, c);
    return kernel_finish(p->job, c, spill_row, (int)(spill_rows(p->job) / 8), a, out, e);
}

static int emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                struct segment *out, struct err *e)
{
    struct loop_plan *p = arena_alloc(a, sizeof(*p));
    struct vcode c;
    int status;

    if (begin_alone(p, job, a, e))
        return -1;
    if (!loop_plan_cut(p, t->size))
        return err_set(e, "the tiling does not fit");
    vcode_init(&c, a);
    status = emit_code(p, t->size, &c, a, out, e);
    vcode_fini(&c);
    loop_plan_fini(p);
    return status;
}

const struct kernel_kind kernel_loop = {
    .name = "loop", .category = "loop fusion",
    .check_supported = check_supported, .tilings = tilings, .cost = cost,
    .emit = emit, .takes_cmem = true};
