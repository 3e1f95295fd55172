/* Unpacks vectors of bf16 into rows of f32, for the rounds of a product's last pass. */
#include "stack/kernels/dot/kernel_dot_columns.h"

#include "base/units.h"
#include "stack/backend/emitters.h"

#define ROWS_PER_TILE 8
#define TILES_PER_PIECE 16              /* of 128 elements: in 8 rows of words */
#define UPPER_HALF 0xffff0000

static bool is_packed(const struct dot_extra *x)
{
    return x->kind == EXTRA_COLUMNS && x->matrix.array->element_bytes == 2;
}

static int64_t pieces_of(const struct dot_extra *x)
{
    return div_up(x->matrix.array->shape.dim[0], TILES_PER_PIECE * ARRAY_LANES);
}

void dot_columns_place(struct dot_grid *g)
{
    for (int i = 0; i < g->p->extra_count; i++) {
        if (!is_packed(&g->p->extra[i]))
            continue;
        g->columns_row[i] = g->pipeline.scratch_rows;
        g->pipeline.scratch_rows += pieces_of(&g->p->extra[i]) * TILES_PER_PIECE;
    }
}

int64_t dot_columns_row(const struct dot_grid *g, int extra)
{
    return is_packed(&g->p->extra[extra])
               ? pipeline_scratch_row(&g->pipeline) + g->columns_row[extra]
               : pipeline_row(&g->pipeline, g->window[extra]);
}

/* the word's low half is of the even tile, its upper half of the odd one behind it */
static void unpack(struct vcode *c, int64_t from, int64_t to)
{
    struct isa_operand zero = NONE;
    int words = emit_vld(c, isa_rows_at(zero, from), VCODE_REGION_ANY);

    emit_vst(c, isa_rows_apart(zero, to, 2), emit_vshll_u32(c, R(words), I(16)),
             VCODE_REGION_ANY);
    emit_vst(c, isa_rows_apart(zero, to + 1, 2),
             emit_vand_u32(c, R(words), I((int32_t)UPPER_HALF)), VCODE_REGION_ANY);
}

void dot_columns_unpack(const struct dot_grid *g, struct vcode *c)
{
    for (int i = 0; i < g->p->extra_count; i++) {
        const struct dot_extra *x = &g->p->extra[i];

        for (int64_t k = 0; is_packed(x) && k < pieces_of(x); k++)
            unpack(c, pipeline_row(&g->pipeline, g->window[i]) + k * ROWS_PER_TILE,
                   dot_columns_row(g, i) + k * TILES_PER_PIECE);
    }
}
