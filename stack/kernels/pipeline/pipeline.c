/*
 * Pipelines: where the buffers lie, who moves with whom, what the copies cost.
 */
#include "stack/kernels/pipeline/pipeline_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "stack/backend/emitters.h"

#define TILE_ROWS 8
#define TILE_GRANULES 128
#define GRANULE_BYTES 32
#define REFRESH_SHARE 0.93              /* of the time that refreshes of all banks leave */
#define STEP_CYCLES 50                  /* of the pipeline's own code */
#define TURN_SHARE 0.2                  /* lost where half of the bytes are written */

bool pipeline_is_copied(const struct pipeline *f, int window)
{
    return f->window[window].array->space != SPACE_VMEM;
}

bool pipeline_is_in_place(const struct pipeline *f, int window)
{
    return !pipeline_is_copied(f, window);
}

int64_t pipeline_steps(const struct pipeline *f, int dim)
{
    return f->share[dim] ? f->share[dim] : f->count[dim];
}

int64_t pipeline_total_steps(const struct pipeline *f)
{
    int64_t total = 1;

    for (int d = 0; d < f->dims; d++)
        total *= pipeline_steps(f, d);
    return total;
}

bool pipeline_moves(const struct pipeline *f, int window, int dim)
{
    return f->window[window].step[dim] != 0 && pipeline_steps(f, dim) > 1;
}

int64_t pipeline_start_tiles(const struct pipeline *f, int window, bool is_moving)
{
    const struct pipeline_window *w = &f->window[window];
    int64_t tiles = 0;

    for (int d = 0; d < f->dims; d++) {
        int64_t along = f->first[d] * w->step[d];

        if (pipeline_moves(f, window, d) == is_moving)
            tiles += w->limit[d] > 0 && along > w->limit[d] ? w->limit[d] : along;
    }
    return tiles;
}

int pipeline_class(const struct pipeline *f, int window)
{
    int found = PIPELINE_CLASS_NONE;

    for (int d = 0; d < f->dims; d++)
        if (pipeline_moves(f, window, d))
            found = d;
    return found;
}

bool pipeline_is_late(const struct pipeline *f, int class_dim)
{
    bool has_more = false;

    for (int d = class_dim + 1; d < f->dims && class_dim >= 0; d++) {
        if (pipeline_steps(f, d) > 1 && !(f->late_dims >> d & 1))
            return false;
        has_more |= pipeline_steps(f, d) > 1;
    }
    return has_more;
}

static bool has_one_buffer(const struct pipeline *f, int window)
{
    int d = pipeline_class(f, window);

    return d == PIPELINE_CLASS_NONE || (f->window[window].is_result && pipeline_is_late(f, d));
}

static int64_t box_tiles(const struct pipeline_window *w)
{
    int64_t tiles = 1;

    for (int i = 0; i < w->box_dims; i++)
        tiles *= w->box_count[i];
    return tiles;
}

static void add_level(struct pipeline_copy *c, int64_t count, int64_t array_stride,
                      int64_t vmem_stride)
{
    struct pipeline_level *last = c->level_count ? &c->level[c->level_count - 1] : NULL;

    if (count == 1)
        return;
    if (!last && array_stride == c->run && vmem_stride == c->run) {
        c->run *= count;
    } else if (last && array_stride == last->array_stride * last->count
               && vmem_stride == last->vmem_stride * last->count) {
        last->count *= count;
    } else {
        assert(c->level_count < PIPELINE_BOX_MAX);
        c->level[c->level_count++] = (struct pipeline_level){count, array_stride, vmem_stride};
    }
}

static void plan_short(const struct pipeline_window *w, struct pipeline_copy *c)
{
    int64_t last = w->box_count[w->box_dims - 1];
    const struct pipeline_level *outer = c->level_count ? &c->level[c->level_count - 1] : NULL;

    assert(w->short_count < last);
    c->short_granules = c->granules / last * (last - w->short_count);
    if (outer)
        c->short_outer = outer->count / last * (last - w->short_count);
}

int pipeline_valid_sublanes(const struct array *a)
{
    int64_t used = div_up(a->rows, a->tile_rows / TILE_ROWS), copied = 1;

    if (a->space == SPACE_VMEM || a->is_linear || a->tiles_down > 1)
        return 0;
    while (copied < used)
        copied *= 2;
    return copied < TILE_ROWS ? (int)copied : 0;
}

void pipeline_plan_copy(const struct pipeline_window *w, struct pipeline_copy *out)
{
    int64_t dense = TILE_GRANULES, sublanes = w->valid_sublanes ? w->valid_sublanes : TILE_ROWS;

    memset(out, 0, sizeof(*out));
    out->run = sublanes * (TILE_GRANULES / TILE_ROWS);
    for (int i = 0; i < w->box_dims; i++) {
        add_level(out, w->box_count[i], w->box_stride[i] * TILE_GRANULES, dense);
        dense *= w->box_count[i];
    }
    out->granules = box_tiles(w) * sublanes * (TILE_GRANULES / TILE_ROWS);
    plan_short(w, out);
}

int64_t pipeline_class_granules(const struct pipeline *f, int class_dim, bool is_result)
{
    int64_t sum = 0;

    for (int w = 0; w < f->window_count; w++) {
        struct pipeline_copy c;

        if (!pipeline_is_copied(f, w) || pipeline_class(f, w) != class_dim
            || f->window[w].is_result != is_result)
            continue;
        pipeline_plan_copy(&f->window[w], &c);
        sum += c.granules;
    }
    return sum;
}

/* windows with two buffers stand first, twice; the others behind them, once */
static int64_t place_windows(const struct pipeline *f, int64_t *offset, int64_t *delta)
{
    int64_t moving = 0, fixed = 0;

    for (int w = 0; w < f->window_count; w++) {
        int64_t rows = box_tiles(&f->window[w]) * TILE_ROWS;
        int64_t *sum = has_one_buffer(f, w) ? &fixed : &moving;

        offset[w] = *sum;
        if (pipeline_is_copied(f, w))
            *sum += rows;
    }
    for (int w = 0; w < f->window_count; w++)
        if (has_one_buffer(f, w))
            offset[w] += 2 * moving;
    *delta = moving;
    return 2 * moving + fixed;
}

int64_t pipeline_vmem_rows(const struct pipeline *f)
{
    int64_t offset[PIPELINE_WINDOW_MAX], delta;

    return place_windows(f, offset, &delta) + f->scratch_rows;
}

int pipeline_part_flag(const struct pipeline *f)
{
    return f->job->first_flag + 4 * f->dims + 2;
}

int pipeline_flag_count(const struct pipeline *f)
{
    int parts = 0;

    for (int w = 0; w < f->window_count; w++)
        if (f->window[w].parts > parts)
            parts = f->window[w].parts;
    return pipeline_part_flag(f) - f->job->first_flag + parts;
}

/* ----- two cores */

/* tiles of a result of one box before the upper half of the steps */
static int64_t tiles_below(const struct pipeline *f, const struct pipeline_window *x, int d)
{
    return f->count[d] / 2 * x->core_units / x->core_align * x->core_tiles;
}

static bool has_parts(const struct pipeline *f, const struct pipeline_window *x, int d)
{
    return x->core_units > 0 && x->core_dim == d && x->box_dims == 1 && f->count[d] > 1 &&
           f->count[d] / 2 * x->core_units % x->core_align == 0 &&
           tiles_below(f, x, d) < x->box_count[0];
}

/* boxes that overlap must be one core's: the last two along a dimension */
static bool may_share(const struct pipeline *f, int d)
{
    for (int w = 0; w < f->window_count; w++) {
        const struct pipeline_window *x = &f->window[w];

        if (x->is_result && x->step[d] == 0 && !has_parts(f, x, d))
            return false;
        if (x->is_result && x->limit[d] && f->count[d] == 2)
            return false;
        if (x->short_count && x->short_dim == d && f->count[d] == 2)
            return false;               /* a box that does not move is a whole one */
    }
    return f->count[d] > 1;
}

/* core 0 has the upper half, the larger one, and the last box with it */
static void take_half(struct pipeline *f, int core, int d)
{
    int64_t lower = f->count[d] / 2;

    f->first[d] = core == 0 ? lower : 0;
    f->share[d] = core == 0 ? f->count[d] - lower : lower;
}

static void give_back(struct pipeline *f, int d)
{
    f->first[d] = f->share[d] = 0;
}

static void take_parts(struct pipeline *f, int core, int d)
{
    for (int w = 0; w < f->window_count; w++) {
        struct pipeline_window *x = &f->window[w];
        int64_t below;

        if (!x->is_result || x->step[d] != 0)
            continue;
        below = tiles_below(f, x, d);
        x->skipped = core == 0 ? below : 0;
        x->first += x->skipped;
        x->box_count[0] = core == 0 ? x->box_count[0] - below : below;
    }
}

int64_t pipeline_skipped_rows(const struct pipeline *f, int window)
{
    return f->window[window].skipped * TILE_ROWS;
}

void pipeline_share(struct pipeline *f, int core)
{
    double least_steps = 1, least_bytes = 0;
    int best = -1;

    if (f->job->core_count < 2)
        return;
    for (int d = 0; d < f->dims; d++)
        give_back(f, d);
    for (int d = 0; d < f->dims; d++) {
        double steps, bytes;

        if (!may_share(f, d))
            continue;
        take_half(f, 0, d);
        bytes = (double)pipeline_copy_bytes(f);
        give_back(f, d);
        steps = (double)(f->count[d] - f->count[d] / 2) / (double)f->count[d];
        if (steps > least_steps || (best >= 0 && steps == least_steps && bytes >= least_bytes))
            continue;
        least_steps = steps;
        least_bytes = bytes;
        best = d;
    }
    if (best >= 0) {
        take_half(f, core, best);
        take_parts(f, core, best);
    }
    f->is_idle = best < 0 && core != 0;
}

/* ----- what copies cost */

static int64_t box_changes(const struct pipeline *f, int window)
{
    int64_t changes = 1;

    for (int d = 0; d <= pipeline_class(f, window); d++)
        changes *= pipeline_steps(f, d);
    return changes;
}

int64_t pipeline_copy_bytes(const struct pipeline *f)
{
    int64_t bytes = 0;

    for (int w = 0; w < f->window_count; w++) {
        struct pipeline_copy c;

        pipeline_plan_copy(&f->window[w], &c);
        if (pipeline_is_copied(f, w))
            bytes += box_changes(f, w) * c.granules * GRANULE_BYTES;
    }
    return bytes;
}

static double cycles_of_ns(const struct chip *chip, int64_t ns)
{
    return (double)(ns * chip->chip_clock_mhz) / 1e3;
}

/*
 * What the port lets through, or the HBM behind it: its peak less refresh, less what it loses
 * where half of the bytes go the other way, in proportion. Two cores have half of it each.
 */
static double stream_rate(const struct pipeline *f, double in, double out)
{
    const struct chip *chip = f->job->chip;
    double sharers = f->job->core_count > 1 ? f->job->core_count : 1;
    double refresh = chip_refreshes_single_banks(chip) ? 1 : REFRESH_SHARE;
    double turning = in + out > 0 ? 2 * (in < out ? in : out) / (in + out) : 0;
    double hbm = chip_hbm_peak_bytes_per_second(chip) / 1e9 / sharers * refresh
                 * (1 - TURN_SHARE * turning);
    double port = chip->dma_core_gbps;

    return (port < hbm ? port : hbm) * 1e3 / (double)chip->chip_clock_mhz;
}

static double window_bytes(const struct pipeline *f, int window)
{
    struct pipeline_copy c;

    pipeline_plan_copy(&f->window[window], &c);
    return pipeline_is_copied(f, window) ? (double)(c.granules * GRANULE_BYTES) : 0;
}

/* CMEM has ports of its own, whose rates the cores of a chip share */
static double cmem_cycles(const struct chip *chip, double in, double out)
{
    double mhz = (double)chip->chip_clock_mhz * (double)chip->chip_cores / 1e3;
    double reading = in > 0 ? in * mhz / (double)chip->cmem_read_gbps : 0;
    double writing = out > 0 ? out * mhz / (double)chip->cmem_write_gbps : 0;

    return reading > writing ? reading : writing;
}

/*
 * A box is asked for before its step waits for the last one: two steps take a round trip. A result's
 * place is waited for behind the step's own code, which that wait hides.
 */
static double round_trip_cycles(const struct chip *chip, double in, double out, double bytes_per_cycle)
{
    double bytes = (in + out) / bytes_per_cycle;
    double read = in > 0 ? (cycles_of_ns(chip, chip->dma_read_ns) + bytes) / 2 + STEP_CYCLES : 0;
    double write = (cycles_of_ns(chip, chip->dma_write_ns) + bytes) / 2 + (in > 0 ? 0 : STEP_CYCLES);

    return out > 0 && write > read ? write : read;
}

static double latency_bound(const struct pipeline *f, double bytes_per_cycle)
{
    double most = 0;

    for (int d = 0; d < f->dims; d++) {
        double in = (double)(pipeline_class_granules(f, d, false) * GRANULE_BYTES);
        double out = (double)(pipeline_class_granules(f, d, true) * GRANULE_BYTES), cycles;

        cycles = round_trip_cycles(f->job->chip, in, out, bytes_per_cycle);
        for (int i = 0; i <= d; i++)
            cycles *= (double)pipeline_steps(f, i);
        most = in + out > 0 && cycles > most ? cycles : most;
    }
    return most;
}

int64_t pipeline_copy_cycles(const struct pipeline *f, int64_t *exposed_cycles)
{
    const struct chip *chip = f->job->chip;
    double first = 0, last = 0, in = 0, out = 0, cmem_in = 0, cmem_out = 0;
    double rate, streaming, waiting;

    for (int w = 0; w < f->window_count; w++) {
        double bytes = window_bytes(f, w);
        double share = f->window[w].parts ? (double)PIPELINE_PARTS_BEFORE / f->window[w].parts : 1;
        bool is_out = f->window[w].is_result, is_common = f->window[w].array->space == SPACE_CMEM;

        *(is_out ? &last : &first) += share * bytes;
        *(is_common ? is_out ? &cmem_out : &cmem_in : is_out ? &out : &in) +=
            bytes * (double)box_changes(f, w);
    }
    rate = stream_rate(f, in, 0);
    *exposed_cycles = (int64_t)((first + last) / rate
                                + (first > 0 ? cycles_of_ns(chip, chip->dma_read_ns) : 0)
                                + (last > 0 ? cycles_of_ns(chip, chip->dma_write_ns) : 0));
    rate = stream_rate(f, in, out);
    streaming = fmax((in + out) / rate, cmem_cycles(chip, cmem_in, cmem_out));
    waiting = latency_bound(f, rate);
    /* the longer of both, and more where they are alike, since neither keeps the other's time */
    return (int64_t)pow(pow(streaming, 4) + pow(waiting, 4), 0.25);
}

/* ----- registers and places */

static bool same_move(const struct pipeline *f, int window, const struct pipeline_move *m)
{
    for (int d = 0; d < f->dims; d++)
        if (pipeline_moves(f, window, d) ? f->window[window].step[d] != m->step[d]
                                        || f->window[window].limit[d] != m->limit[d]
                                      : m->step[d] != 0)
            return false;
    return true;
}

static int find_move(struct pipeline *f, int window)
{
    struct pipeline_state *s = f->state;
    struct pipeline_move *m;

    for (int i = 0; i < s->move_count; i++)
        if (same_move(f, window, &s->move[i]))
            return i;
    m = &s->move[s->move_count];
    m->sreg = -1;
    for (int d = 0; d < f->dims; d++)
        if (pipeline_moves(f, window, d)) {
            m->step[d] = f->window[window].step[d];
            m->limit[d] = f->window[window].limit[d];
        }
    return s->move_count++;
}

static int take_sreg(struct pipeline_state *s)
{
    return s->next_sreg++;
}

static void give_registers(struct pipeline *f)
{
    struct pipeline_state *s = f->state;

    s->next_sreg = PIPELINE_FIRST_SREG;
    s->counter = take_sreg(s);
    for (int d = 0; d < f->dims; d++) {
        s->index[d] = f->count[d] > 1 ? take_sreg(s) : -1;
        s->base[d] = -1;
    }
    for (int w = 0; w < f->window_count; w++) {
        int d = s->class_of[w];
        struct pipeline_move *m = &s->move[s->move_of[w]];

        if (d == PIPELINE_CLASS_NONE)
            continue;
        if (pipeline_is_copied(f, w) && s->base[d] < 0)
            s->base[d] = take_sreg(s);
        if (!pipeline_is_copied(f, w) && m->sreg < 0)
            m->sreg = take_sreg(s);
    }
}

static bool share_memory(const struct array *a, const struct array *b)
{
    return a->space == b->space && a->address < b->address + b->bytes
           && b->address < a->address + a->bytes;
}

static bool is_updated_in_place(const struct pipeline *f)
{
    for (int w = 0; w < f->window_count; w++)
        for (int v = 0; v < f->window_count; v++)
            if (f->window[w].is_result && !f->window[v].is_result && pipeline_is_copied(f, w)
                && share_memory(f->window[w].array, f->window[v].array))
                return true;
    return false;
}

static bool has_steps_inside(const struct pipeline *f, int dim)
{
    for (int d = dim + 1; d < f->dims; d++)
        if (f->count[d] > 1)
            return true;
    return false;
}

/* the next box of an operand is read before this one of the result is sent; later ones are not */
static bool rereads(const struct pipeline *f, const struct pipeline_window *result)
{
    for (int d = 0; d < f->dims; d++)
        if (result->limit[d] && (result->array->space == SPACE_VMEM || has_steps_inside(f, d)))
            return true;
    return false;
}

bool pipeline_updates_twice(const struct pipeline *f)
{
    for (int w = 0; w < f->window_count; w++)
        for (int v = 0; v < f->window_count; v++)
            if (f->window[w].is_result && !f->window[v].is_result && rereads(f, &f->window[w])
                && share_memory(f->window[w].array, f->window[v].array))
                return true;
    return false;
}

static int give_descriptors(struct pipeline *f, struct err *e)
{
    struct pipeline_state *s = f->state;
    int64_t next = f->job->smem;

    for (int w = 0; w < f->window_count; w++) {
        s->smem[w] = -1;
        if (!pipeline_is_copied(f, w) || s->copy[w].level_count < 2)
            continue;
        s->smem[w] = next;
        next += PIPELINE_DESCRIPTOR_BYTES;
    }
    if (next > f->job->smem + f->job->smem_bytes)
        return err_set(e, "%s: descriptors of copies take %lld bytes of SMEM, it has %lld",
                       f->job->name, (long long)(next - f->job->smem),
                       (long long)f->job->smem_bytes);
    return 0;
}

int pipeline_begin(struct pipeline *f, struct vcode *c, struct arena *a, struct err *e)
{
    struct pipeline_state *s = f->state = arena_alloc(a, sizeof(*s));

    s->code = c;
    s->total = pipeline_total_steps(f);
    for (int w = 0; w < f->window_count; w++) {
        s->class_of[w] = pipeline_class(f, w);
        s->move_of[w] = find_move(f, w);
        pipeline_plan_copy(&f->window[w], &s->copy[w]);
    }
    s->rows = place_windows(f, s->offset, &s->delta);
    s->is_awaited = is_updated_in_place(f);
    give_registers(f);
    if (s->next_sreg > ISA_SREG_COUNT)
        return err_set(e, "%s: its windows move in too many ways", f->job->name);
    if (pipeline_flag_count(f) > f->job->flag_count)
        return err_set(e, "%s: a pipeline of %d dimensions needs %d sync flags, it has %d",
                       f->job->name, f->dims, pipeline_flag_count(f), f->job->flag_count);
    if (give_descriptors(f, e))
        return -1;
    if (f->job->llo)
        pipeline_tell(f, c);
    pipeline_emit_begin(f);
    return 0;
}

void pipeline_finish(struct pipeline *f, struct vcode *c)
{
    assert(c == f->state->code);
    pipeline_emit_finish(f);
    f->state->is_finished = true;
}

void pipeline_end(struct pipeline *f, struct vcode *c)
{
    if (!f->state->is_finished)
        pipeline_finish(f, c);
    pipeline_emit_end(f);
}

/* ----- for the step */

void pipeline_part(const struct pipeline *f, int window, struct pipeline_part *out)
{
    const struct pipeline_window *w = &f->window[window];
    int64_t count = w->part_count, whole = w->box_count[0];
    int64_t each = box_tiles(w) / w->box_count[w->part_dim] * TILE_GRANULES;
    int64_t offset[PIPELINE_WINDOW_MAX], delta;

    place_windows(f, offset, &delta);
    assert(w->box_dims == 2 && w->box_stride[0] == 1);
    *out = (struct pipeline_part){
        .from = w->array->address / GRANULE_BYTES
                + (w->first + pipeline_start_tiles(f, window, false)
                   + pipeline_start_tiles(f, window, true)) * TILE_GRANULES,
        .from_step = count * w->box_stride[w->part_dim] * TILE_GRANULES,
        .to = (f->job->vmem_row + offset[window]) * (TILE_GRANULES / TILE_ROWS),
        .to_step = count * (w->part_dim ? whole : 1) * TILE_GRANULES,
        .granules = count * each,
        .last_granules = (w->box_count[w->part_dim] - (w->parts - 1) * count) * each,
        .run = (w->part_dim ? whole : count) * TILE_GRANULES,
        .array_stride = w->box_stride[1] * TILE_GRANULES, .vmem_stride = whole * TILE_GRANULES};
}

int pipeline_base(const struct pipeline *f, int window)
{
    const struct pipeline_state *s = f->state;

    if (s->class_of[window] == PIPELINE_CLASS_NONE
        || (pipeline_is_copied(f, window) && has_one_buffer(f, window)))
        return -1;
    return pipeline_is_copied(f, window) ? s->base[s->class_of[window]]
                                      : s->move[s->move_of[window]].sreg;
}

int64_t pipeline_row(const struct pipeline *f, int window)
{
    return pipeline_is_copied(f, window)
               ? f->job->vmem_row + f->state->offset[window]
               : f->window[window].array->address / ARRAY_ROW_BYTES
                     + (f->window[window].first + pipeline_start_tiles(f, window, false))
                           * TILE_ROWS;
}

int64_t pipeline_stride(const struct pipeline *f, int window, int box_dim)
{
    const struct pipeline_window *w = &f->window[window];
    int64_t dense = TILE_ROWS;

    if (pipeline_is_in_place(f, window))
        return w->box_stride[box_dim] * TILE_ROWS;
    for (int i = 0; i < box_dim; i++)
        dense *= w->box_count[i];
    return dense;
}

int64_t pipeline_scratch_row(const struct pipeline *f)
{
    return f->job->vmem_row + f->state->rows;
}

int64_t pipeline_spill_row(const struct pipeline *f)
{
    return pipeline_scratch_row(f) + f->scratch_rows;
}

int pipeline_index(const struct pipeline *f, int dim)
{
    return dim < 0 ? -1 : f->state->index[dim];
}
