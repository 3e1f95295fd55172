/* Makes a core from a chip's parameters, and puts it into its state at the start of a launch. */
#include "sim/core/overlay.h"

#include "base/arena.h"
#include "sim/core/vregs.h"

#include <assert.h>
#include <string.h>

#define LANE_ALIGN 64

static size_t aligned(size_t bytes)
{
    return (bytes + LANE_ALIGN - 1) / LANE_ALIGN * LANE_ALIGN;
}

/*
 * What holds lanes is one block that takes no host memory until it is written
 * to: in timing mode, never.
 */
static size_t all_lane_bytes(const struct chip *c)
{
    const struct xlu *x = NULL;

    return aligned(V_CONST * sizeof(tile_t)) + fifo_tile_bytes(c->eup_fifo_depth)
           + fifo_tile_bytes(c->cmem_fifo_depth)
           + (size_t)c->xlu_count * (fifo_tile_bytes(c->xlu_fifo_depth)
                                     + XLU_ROWS * sizeof(*x->buffer))
           + (size_t)c->mxu_count * fifo_tile_bytes(c->mxu_fifo_depth);
}

static void *take_lanes(struct core *c, size_t bytes)
{
    void *p = c->lanes + c->lane_bytes;

    c->lane_bytes += aligned(bytes);
    return p;
}

static void tiles_init(struct core *c, struct fifo *f, int64_t depth, struct arena *a)
{
    fifo_init(f, depth, take_lanes(c, fifo_tile_bytes(depth)), a);
}

static void units_init(struct core *c, struct arena *a)
{
    tiles_init(c, &c->eup, c->chip->eup_fifo_depth, a);
    tiles_init(c, &c->crf, c->chip->cmem_fifo_depth, a);
    fifo_init(&c->v2s, c->chip->scalar_v2s_depth, NULL, a);
    fifo_init(&c->drf, 2 * c->chip->scalar_div_depth, NULL, a);
    c->fifo[RESULT_EUP] = &c->eup;
    c->fifo[RESULT_CRF] = &c->crf;
    c->xlu = arena_array(a, (size_t)c->chip->xlu_count, sizeof(*c->xlu));
    for (int i = 0; i < c->chip->xlu_count; i++) {
        tiles_init(c, &c->xlu[i].result, c->chip->xlu_fifo_depth, a);
        c->xlu[i].buffer = take_lanes(c, XLU_ROWS * sizeof(*c->xlu[i].buffer));
        c->fifo[RESULT_XLU + i] = &c->xlu[i].result;
    }
    c->sums_quads = strcmp(c->chip->mxu_sum, "quad4") == 0;
    c->mxu_memory = mem_alloc_lazy((size_t)c->chip->mxu_count * mxu_bytes(c->chip));
    c->mxu = arena_array(a, (size_t)c->chip->mxu_count, sizeof(*c->mxu));
    for (int i = 0; i < c->chip->mxu_count; i++) {
        tiles_init(c, &c->mxu[i].result, c->chip->mxu_fifo_depth, a);
        c->fifo[RESULT_MXU + i] = &c->mxu[i].result;
        mxu_init(&c->mxu[i], c->chip, c->mxu_memory + (size_t)i * mxu_bytes(c->chip), a);
    }
    assert(c->lane_bytes == all_lane_bytes(c->chip));
}

void core_init(struct core *c, int number, const struct chip *chip, int core_count,
               enum run_mode mode, struct arena *a)
{
    c->number = number;
    c->core_count = core_count;
    c->chip = chip;
    c->mode = mode;
    c->clock_mhz = chip->chip_clock_mhz;
    c->vmem = mem_alloc_lazy((size_t)chip->vmem_bytes);
    c->vmem_rows = chip->vmem_bytes / ROW_BYTES;
    c->vmem_touched = mem_alloc((size_t)core_vmem_pages(c));
    c->store_gap_cycles = chip->vmem_store_to_load_cycles;
    c->smem = mem_alloc_sparse((size_t)chip->smem_bytes);
    c->cmem_bytes = chip->cmem_bytes / chip->chip_cores / ROW_BYTES * ROW_BYTES;
    if (c->cmem_bytes > 0)
        c->cmem = mem_alloc_lazy((size_t)c->cmem_bytes);
    c->flag = arena_array(a, (size_t)chip->sync_flags, sizeof(*c->flag));
    c->dma = arena_array(a, (size_t)chip->dma_queue_depth, sizeof(*c->dma));
    c->dma_free = arena_array(a, (size_t)chip->dma_queue_depth, sizeof(*c->dma_free));
    c->lanes = mem_alloc_sparse(all_lane_bytes(chip));
    c->registers = take_lanes(c, V_CONST * sizeof(*c->registers));
    for (int i = 0; i < V_CONST; i++)
        c->own[i] = c->registers[i];
    units_init(c, a);
}

static void drop_program(struct core *c)
{
    mem_free(c->s);
    mem_free(c->tile);
    mem_free(c->bundle_count);
    mem_free(c->bundle_stall);
    mem_free(c->bundle_copies);
    mem_free(c->guarded_count);
    c->s = NULL;
    c->tile = NULL;
    c->bundle_stall = NULL;
    c->bundle_copies = NULL;
    c->bundle_count = c->guarded_count = NULL;
}

/* before core_init has come to them there are none */
static void units_fini(struct core *c)
{
    fifo_fini(&c->eup);
    fifo_fini(&c->crf);
    fifo_fini(&c->v2s);
    fifo_fini(&c->drf);
    for (int i = 0; c->xlu && i < c->chip->xlu_count; i++)
        fifo_fini(&c->xlu[i].result);
    for (int i = 0; c->mxu && i < c->chip->mxu_count; i++)
        fifo_fini(&c->mxu[i].result);
}

/* complete or under way, their contents are not wanted any more */
static void drop_copies(struct core *c)
{
    for (size_t i = 0; i < c->copy_count; i++)
        dma_drop_data(&c->copy[i]);
    c->copy_count = c->copy_visible = 0;
    for (int64_t j = 0; c->dma && j < c->chip->dma_queue_depth; j++)
        dma_drop_data(&c->dma[j]);
}

void core_fini(struct core *c)
{
    drop_copies(c);
    drop_program(c);
    units_fini(c);
    ranges_fini(&c->unknown_host);
    mem_free_lazy(c->vmem);
    mem_free(c->vmem_touched);
    mem_free_lazy(c->cmem);
    mem_free_lazy(c->smem);
    mem_free_lazy(c->lanes);
    mem_free_lazy(c->mxu_memory);
    mem_free(c->outbox.item);
    mem_free(c->copy);
}

void core_set_program(struct core *c, const struct decoded_program *p)
{
    drop_program(c);
    c->program = p;
    if (!p)
        return;
    c->s = mem_alloc((S_CONST + p->scalar_count) * sizeof(*c->s));
    memcpy(c->s + S_CONST, p->scalar, p->scalar_count * sizeof(*c->s));
    c->tile = mem_alloc((V_CONST + p->tile_count) * sizeof(*c->tile));
    for (uint32_t i = 0; i < V_CONST; i++)
        c->tile[i] = c->own[i];
    for (uint32_t i = 0; i < p->tile_count; i++)
        c->tile[V_CONST + i] = p->tile[i];
    c->bundle_count = mem_alloc(p->bundle_count * sizeof(*c->bundle_count));
    c->bundle_stall = mem_alloc(p->bundle_count * sizeof(*c->bundle_stall));
    c->bundle_copies = mem_alloc(p->bundle_count * sizeof(*c->bundle_copies));
    c->guarded_count = mem_alloc(p->source->op_count * sizeof(*c->guarded_count));
}

static void reset_registers(struct core *c)
{
    memset(c->s, 0, S_CONST * sizeof(*c->s));
    memcpy(c->s, c->entry_s, sizeof(c->entry_s));
    memset(c->p, 0, sizeof(c->p));
    c->p[ISA_PRED_ALWAYS] = 1;
    memset(c->m, 0, sizeof(c->m));
    mask_fill(&c->m[M_TRUE], true);
    if (c->mode != MODE_TIMING)
        memset(c->registers, 0, (size_t)c->chip->core_vregs * sizeof(tile_t));
    vregs_reset(c);
    memset(c->ready_at, 0, sizeof(c->ready_at));
    memset(c->iar, 0, sizeof(c->iar));
    memset(c->iar_is_unknown, 0, sizeof(c->iar_is_unknown));
    c->rng_seed = c->rng_draw = 0;
    c->trace_mask = UINT32_MAX;
}

static void reset_units(struct core *c)
{
    fifo_reset(&c->eup);
    fifo_reset(&c->crf);
    c->cmem_free_at = 0;
    c->eup_free_at = 0;
    fifo_reset(&c->v2s);
    fifo_reset(&c->drf);
    for (int i = 0; i < c->chip->xlu_count; i++) {
        c->xlu[i].free_at = 0;
        c->xlu[i].next_xpose_at = 0;
        c->xlu[i].is_open = false;
        c->xlu[i].row_count = c->xlu[i].pushed_rows = 0;
        fifo_reset(&c->xlu[i].result);
    }
    for (int i = 0; i < c->chip->mxu_count; i++) {
        fifo_reset(&c->mxu[i].result);
        mxu_reset(&c->mxu[i], c->chip);
    }
}

static void reset_counters(struct core *c)
{
    memset(c->stall_cycles, 0, sizeof(c->stall_cycles));
    memset(c->waiting_cycles, 0, sizeof(c->waiting_cycles));
    memset(c->busy_cycles, 0, sizeof(c->busy_cycles));
    memset(c->busy_until, 0, sizeof(c->busy_until));
    memset(&c->fault, 0, sizeof(c->fault));
    memset(&c->late_fault, 0, sizeof(c->late_fault));
    memset(&c->stand_in, 0, sizeof(c->stand_in));
    c->dma_issued = 0;
    c->dma_count = c->hbm_read_bytes = c->hbm_write_bytes = 0;
    c->ici_sent_bytes = c->ici_received_bytes = 0;
    c->cmem_read_bytes = c->cmem_write_bytes = 0;
    c->host_read_bytes = c->host_write_bytes = 0;
    c->peer_sent_bytes = 0;
    c->dma_staging_ps = c->peer_busy_ps = 0;
    if (!c->program)
        return;
    memset(c->bundle_count, 0, c->program->bundle_count * sizeof(*c->bundle_count));
    memset(c->bundle_stall, 0, c->program->bundle_count * sizeof(*c->bundle_stall));
    memset(c->bundle_copies, 0, c->program->bundle_count * sizeof(*c->bundle_copies));
    memset(c->guarded_count, 0, c->program->source->op_count * sizeof(*c->guarded_count));
}

void core_launch(struct core *c, cycle_t limit)
{
    reset_counters(c);
    c->outbox.count = 0;
    drop_copies(c);
    memset(c->flag, 0, (size_t)c->chip->sync_flags * sizeof(*c->flag));
    c->sequence = 0;
    c->serial_sequence = EVENT_SERIAL;
    c->halted_at = c->now = c->issue_at = 0;
    c->state = c->program ? CORE_RUNNING : CORE_EMPTY;
    if (!c->program)
        return;
    reset_registers(c);
    reset_units(c);
    overlay_launch(c);
    c->limit = limit;
    c->delay_until = c->dma_issue_at = 0;
    c->store_count = 0;
    c->last_store_at = c->last_sst_at = c->wide_store_at = INT64_MIN / 2;
    for (int i = 0; i < (int)COUNT_OF(c->store_at); i++)
        c->store_at[i] = INT64_MIN / 2;
    c->pc = 0;
    c->branch_in = 0;
    c->halts = c->is_resumed = c->is_waiting = false;
    c->dma_active = 0;
    c->dma_free_count = (int)c->chip->dma_queue_depth;
    for (int i = 0; i < c->dma_free_count; i++)
        c->dma_free[i] = i;
}
