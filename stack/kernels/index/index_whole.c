/* Makes dynamic slices and updates that take whole tiles by copies alone. */
#include "stack/kernels/index/kernel_index.h"

#include <string.h>

#define COPY_CYCLES 6                   /* the scalar side's of one that is asked for */

static const struct array *table_of(const struct index_work *w)
{
    return w->is_scatter ? w->result : w->table;
}

bool index_is_whole(const struct index_work *w)
{
    const struct array *t = table_of(w);

    if (w->indices || t->is_linear || w->rows->is_linear ||
        memcmp(t->order, w->rows->order, sizeof(t->order)) != 0)
        return false;
    return w->axis[t->lane_dim].component < 0 && w->axis[t->row_dim].component < 0;
}

/* outer dimensions of `rows` from here on lie one behind the other in the table too */
static int first_of_run(const struct index_work *w)
{
    int i = w->rows->outer_count;

    while (i > 0 && w->axis[w->rows->outer_dim[i - 1]].component < 0)
        i--;
    return i > 0 ? i - 1 : 0;
}

int64_t index_whole_cycles(const struct index_work *w)
{
    const struct chip *chip = w->job->chip;
    int64_t copies = 1;

    for (int i = 0; i < first_of_run(w); i++)
        copies *= w->rows->shape.dim[w->rows->outer_dim[i]];
    return copies * COPY_CYCLES + chip->dma_local_ns * chip->chip_clock_mhz / 1000;
}

static void copy_run(struct index_work *w, int64_t tiles, int flag)
{
    const struct array *t = table_of(w);
    struct builder *m = &w->m;
    struct isa_operand there, here;
    struct index_spot spot;
    int kept = m->next_sreg;

    index_only_spot(w, &spot);
    there = builder_add(m, builder_shift(m, spot.tile, 7), I(t->address / ARRAY_GRANULE_BYTES));
    here = builder_add(m, builder_shift(m, index_outer_tile(w, w->rows), 7),
                       I(w->rows->address / ARRAY_GRANULE_BYTES));
    if (w->is_scatter)
        emit_dma(m->code, index_copy_code(w->rows->space, t->space), here,
                 I(tiles * INDEX_GRANULES), there, I(flag));
    else
        emit_dma(m->code, index_copy_code(t->space, w->rows->space), there,
                 I(tiles * INDEX_GRANULES), here, I(flag));
    m->next_sreg = kept;
}

bool index_whole_tiles(struct index_work *w)
{
    int flag = w->flag_index + 1, run;
    struct array loops;
    struct index_nest nest;

    if (!index_is_whole(w) || !index_fits_smem(w))
        return false;
    run = first_of_run(w);
    loops = *w->rows;
    for (int d = 0; d < GRAPH_RANK_MAX; d++)
        w->coordinate[d] = I(0);
    loops.outer_count = run;
    if (w->is_scatter)
        index_copy_operand(w, flag);
    index_begin(w);
    index_nest_begin(w, &loops, &nest);
    copy_run(w, run < w->rows->outer_count
                ? array_outer_stride(w->rows, w->rows->outer_dim[run])
                  * w->rows->shape.dim[w->rows->outer_dim[run]]
                : w->rows->tile_count, flag);
    index_nest_end(w, &nest);
    vcode_await(w->m.code, I(flag), w->rows->tile_count * INDEX_GRANULES, -1);
    return true;
}
