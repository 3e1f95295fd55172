#include "stack/kernels/move/kernel_move.h"

#include <string.h>

#include "stack/kernels/move/move_loops.h"
#include "stack/kernels/move/move_step.h"
#include "stack/kernels/move/move_tiles.h"

/* ---- the general path: every move, element run by element run ---- */

static int check_general(const struct kernel_job *job, struct err *e)
{
    (void)e;
    return tiles_least_rows(job, 0) <= job->vmem_rows ? 0 : -1;
}

static int run_of_output(struct tiles *t, struct gather_place *place, void *user)
{
    (void)user;
    return gather_node(&t->g, t->job->body->output[0].node, place);
}

static int emit_general(const struct kernel_job *job, struct arena *a, struct segment *out,
                        struct err *e)
{
    struct tiles t;

    if (tiles_begin(&t, job, 0, a, e))
        return -1;
    tiles_make(&t, &t.result, run_of_output, NULL);
    return tiles_end(&t, a, out, e);
}

/* a run of a few elements costs the latencies of its scalar arithmetic and of a rotation */
static int64_t cost_general(const struct kernel_job *job)
{
    return job->result[0]->tile_count * job->result[0]->tile_rows * 4 *
           (job->chip->xlu_permute_cycles + 100) / job->core_count;
}

const struct move_way move_general = {"general", check_general, cost_general, emit_general};

/* ---- streamed: boxes of whole tiles, moved in VMEM between copies in and out ---- */

#define SPILL_TILES 16
#define STEP_SREGS 16                   /* that a frame leaves to its step */

/* regions of the result; the caller frees them */
static struct move_box *plan_stream(const struct kernel_job *job, int *count)
{
    struct move_box *b = mem_alloc(MOVE_REGIONS_MAX * sizeof(*b));

    *count = move_box_plan(job, b);
    return b;
}

static int check_stream(const struct kernel_job *job, struct err *e)
{
    int count;

    (void)e;
    mem_free(plan_stream(job, &count));
    return count > 0 ? 0 : -1;
}

static int64_t cost_stream(const struct kernel_job *job)
{
    int64_t cycles = 0;
    int count;
    struct move_box *b = plan_stream(job, &count);

    for (int i = 0; i < count; i++)
        cycles += b[i].cycles;
    mem_free(b);
    return cycles;
}

static int emit_region(struct move_box *b, struct vcode *code, struct arena *a, struct err *e)
{
    struct move_step s = {.box = b};

    frame_share(&b->frame, b->job->core);
    if (b->frame.is_idle)
        return 0;
    vcode_begin_block(code);
    if (frame_begin(&b->frame, code, a, e))
        return -1;
    move_box_resolve(b);
    builder_init(&s.m, code, b->job->chip);
    s.m.sreg_end = STEP_SREGS;
    move_step_emit(&s);
    frame_end(&b->frame, code);
    return 0;
}

static int emit_stream(const struct kernel_job *job, struct arena *a, struct segment *out,
                       struct err *e)
{
    int64_t spill_row = job->vmem_row;
    int count, status = 0;
    struct move_box *b = plan_stream(job, &count);
    struct vcode code;

    vcode_init(&code, a);
    code.note = job->name;
    for (int i = 0; i < count && !status; i++) {
        status = emit_region(&b[i], &code, a, e);
        if (!status && b[i].frame.state && frame_spill_row(&b[i].frame) > spill_row)
            spill_row = frame_spill_row(&b[i].frame);
    }
    if (!status)
        status = kernel_finish(job, &code, spill_row, SPILL_TILES, a, out, e);
    vcode_fini(&code);
    mem_free(b);
    return status;
}

const struct move_way move_stream = {"stream", check_stream, cost_stream, emit_stream};

/* ---- the kind ---- */

static const struct move_way *const ways[] = {&move_general, &move_stream};

static int check_supported(const struct graph *body, const struct chip *chip, struct err *e)
{
    (void)chip;
    if (body->output_count != 1)
        return err_set(e, "a move of %d results (exactly 1)", body->output_count);
    return gather_check_supported(body, body->output[0].node, e);
}

#define WAYS_MAX 8

int move_ways_list(const struct move_way *const *way, int way_count,
                   const struct kernel_job *job, struct tiling *list, int max)
{
    struct tiling all[WAYS_MAX];
    int count = 0;
    struct err e;

    for (int i = 0; i < way_count; i++) {
        struct tiling t = {.count = 1, .size = {i}};
        int k;

        if (way[i]->check_supported(job, &e))
            continue;
        t.predicted_cycles = way[i]->cost(job);
        for (k = count++; k > 0 && all[k - 1].predicted_cycles > t.predicted_cycles; k--)
            all[k] = all[k - 1];
        all[k] = t;
    }
    count = count < max ? count : max;
    memcpy(list, all, (size_t)count * sizeof(*list));
    return count;
}

int move_way_cost(const struct move_way *way, const struct kernel_job *job,
                  struct kernel_cost *out)
{
    *out = (struct kernel_cost){.total_cycles = way->cost(job), .steps = 1};
    for (int i = 0; i < job->operand_count; i++)
        out->hbm_bytes += job->operand[i]->space == SPACE_HBM ? job->operand[i]->bytes : 0;
    out->hbm_bytes += job->result[0]->space == SPACE_HBM ? job->result[0]->bytes : 0;
    out->vmem_rows = job->vmem_rows;
    return 0;
}

static int tilings(const struct kernel_job *job, struct tiling *list, int max)
{
    return move_ways_list(ways, (int)COUNT_OF(ways), job, list, max);
}

static int cost(const struct kernel_job *job, const struct tiling *t, struct kernel_cost *out)
{
    return move_way_cost(ways[t->size[0]], job, out);
}

static int emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                struct segment *out, struct err *e)
{
    *out = (struct segment){.tiling = *t};
    cost(job, t, &out->cost);
    return ways[t->size[0]]->emit(job, a, out, e);
}

const struct kernel_kind kernel_move = {
    .name = "move", .category = "data formatting",
    .check_supported = check_supported, .tilings = tilings, .cost = cost,
    .emit = emit};
