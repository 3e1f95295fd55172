/* Chooses among the ways of making a move the one with the least cost, and emits it. */
#include "stack/kernels/move/kernel_move.h"

#include <string.h>

#include "stack/kernels/move/move_map.h"
#include "stack/kernels/move/move_pieces.h"
#include "stack/kernels/move/move_step.h"
#include "stack/kernels/move/move_tiles.h"

#define RUNS_UNKNOWN 2                  /* of a row, where odd sizes are cut anew */
#define GENERAL_CYCLES 2000             /* whole arrays into VMEM first, the result out last */
#define RUN_CYCLES 200                  /* its scalar arithmetic, load, select, store in a row */

/* ---- the general path: every move, element run by element run ---- */

static int run_of_output(struct move_tiles *t, struct move_gather_place *place, void *user)
{
    (void)user;
    return move_gather_node(&t->g, t->job->body->output[0].node, place);
}

static int emit_general(const struct kernel_job *job, struct arena *a, struct segment *out,
                        struct err *e)
{
    struct move_tiles t;

    if (move_tiles_begin(&t, job, 0, a, e))
        return -1;
    move_tiles_make(&t, &t.result, run_of_output, NULL);
    return move_tiles_end(&t, a, out, e);
}

static int lanes_of(const struct array *a)
{
    return a->is_linear ? a->shape.rank - 1 : a->lane_dim;
}

/* elements that lie next to each other along lanes in the operand and in the result */
static int64_t run_elems(const struct move_source *s, const struct array *from,
                         const struct array *to)
{
    for (int k = 0; k < s->index_dim_count; k++) {
        const struct move_index_dim *x = &s->index_dim[k];

        if (x->to_dim == lanes_of(to) && x->to_scale == 1)
            return x->from_dim == lanes_of(from) && x->from_scale == 1 ? x->count : 1;
    }
    return 1;
}

/* what a row of the result takes; of one without a map a few, as reshapes of odd sizes do */
static int64_t runs_of_row(const struct kernel_job *job)
{
    struct move_map *map = mem_alloc(sizeof(*map));
    int64_t most = move_map_make(job->body, map) ? RUNS_UNKNOWN : 1;
    const struct array *to = job->result[0];

    for (int i = 0; i < map->source_count && most != RUNS_UNKNOWN; i++) {
        int64_t run = run_elems(&map->source[i], job->operand[map->source[i].parameter], to);
        int64_t size = to->shape.rank ? to->shape.dim[lanes_of(to)] : 1;
        int64_t lanes = size < ARRAY_LANES ? size : ARRAY_LANES;

        if (div_up(lanes, run) > most)
            most = div_up(lanes, run);
    }
    mem_free(map);
    return most;
}

/* a run costs the latencies of its scalar arithmetic and of a rotation, however short it is */
static int64_t cost_general(const struct kernel_job *job)
{
    if (move_tiles_least_rows(job, 0) > job->vmem_rows)
        return INT64_MAX;
    return GENERAL_CYCLES +
           job->result[0]->tile_count * job->result[0]->tile_rows * runs_of_row(job) *
           (job->chip->xlu_permute_cycles + RUN_CYCLES) / job->core_count;
}

const struct move_way move_general = {cost_general, emit_general};

/* ---- streamed: boxes of whole tiles, moved in VMEM between copies in and out ---- */

struct stream {
    struct move_words words;
    struct move_box region[MOVE_REGIONS_MAX];   /* of the result */
    struct move_box box;                        /* of the one at hand */
};

static int64_t plan_region(void *user, int piece)
{
    struct stream *s = user;

    s->box = s->region[piece];
    return s->box.cycles;
}

static void emit_step(struct move_step *step, void *user)
{
    struct stream *s = user;

    move_box_resolve(&s->box);
    move_step_emit(step);
}

static struct move_pieces regions_of(struct stream *s, const struct kernel_job *job)
{
    return (struct move_pieces){.count = move_box_plan(job, &s->words, s->region), .user = s,
                                .plan = plan_region, .box = &s->box, .step = emit_step};
}

static int64_t cost_stream(const struct kernel_job *job)
{
    struct stream *s = mem_alloc(sizeof(*s));
    struct move_pieces w = regions_of(s, job);
    int64_t cycles = w.count > 0 ? move_pieces_cycles(&w) : INT64_MAX;

    mem_free(s);
    return cycles;
}

static int emit_stream(const struct kernel_job *job, struct arena *a, struct segment *out,
                       struct err *e)
{
    struct stream *s = mem_alloc(sizeof(*s));
    struct move_pieces w = regions_of(s, job);
    int status = move_pieces_emit(job, &w, a, out, e);

    mem_free(s);
    return status;
}

const struct move_way move_stream = {cost_stream, emit_stream};

/* ---- the kind ---- */

static const struct move_way *const ways[] = {&move_general, &move_stream};

static int check_supported(const struct graph *body, const struct chip *chip, struct err *e)
{
    (void)chip;
    if (body->output_count != 1)
        return err_set(e, "a move of %d results (exactly 1)", body->output_count);
    return move_gather_check_supported(body, body->output[0].node, e);
}

#define WAYS_MAX 8

int move_ways_list(const struct move_way *const *way, int way_count,
                   const struct kernel_job *job, struct tiling *list, int max)
{
    struct tiling all[WAYS_MAX];
    int count = 0;

    for (int i = 0; i < way_count; i++) {
        struct tiling t = {.count = 1, .size = {i}, .predicted_cycles = way[i]->cost(job)};
        int k;

        if (t.predicted_cycles == INT64_MAX)
            continue;
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
