#include "stack/kernel_move.h"

#include <string.h>

#include "stack/move_tiles.h"

/* ---- the general path: every move, element run by element run ---- */

static int takes_general(const struct kernel_job *job, struct err *e)
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
           (job->chip->xlu_permute_cycles + 100);
}

const struct move_way move_general = {"general", takes_general, cost_general, emit_general};

/* ---- the kind ---- */

static const struct move_way *const ways[] = {&move_general};

static int takes(const struct graph *body, const struct chip *chip, struct err *e)
{
    (void)chip;
    if (body->output_count != 1)
        return err_set(e, "a move of %d results (exactly 1)", body->output_count);
    return gather_takes(body, body->output[0].node, e);
}

static int tilings(const struct kernel_job *job, struct tiling *list, int max)
{
    int count = 0;
    struct err e;

    for (int i = 0; i < (int)COUNT_OF(ways) && count < max; i++) {
        struct tiling t = {.count = 1, .size = {i}};
        int k;

        if (ways[i]->takes(job, &e))
            continue;
        t.predicted_cycles = ways[i]->cost(job);
        for (k = count++; k > 0 && list[k - 1].predicted_cycles > t.predicted_cycles; k--)
            list[k] = list[k - 1];
        list[k] = t;
    }
    return count;
}

static int cost(const struct kernel_job *job, const struct tiling *t, struct kernel_cost *out)
{
    *out = (struct kernel_cost){.total_cycles = ways[t->size[0]]->cost(job), .steps = 1};
    for (int i = 0; i < job->operand_count; i++)
        out->hbm_bytes += job->operand[i]->space == SPACE_HBM ? job->operand[i]->bytes : 0;
    out->hbm_bytes += job->result[0]->space == SPACE_HBM ? job->result[0]->bytes : 0;
    out->vmem_rows = job->vmem_rows;
    return 0;
}

static int emit(const struct kernel_job *job, const struct tiling *t, struct arena *a,
                struct segment *out, struct err *e)
{
    *out = (struct segment){.tiling = *t};
    cost(job, t, &out->cost);
    return ways[t->size[0]]->emit(job, a, out, e);
}

const struct kernel_kind kernel_move = {"move", "data formatting", takes, tilings, cost, emit};
