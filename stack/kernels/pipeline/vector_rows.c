/* Unpacks vectors of bf16 into rows of f32. */
#include "stack/kernels/pipeline/vector_rows.h"

#include "base/units.h"
#include "stack/backend/emitters.h"

#define ROWS_PER_TILE 8
#define TILES_PER_PIECE 16              /* of 128 elements: in 8 rows of words */
#define UPPER_HALF 0xffff0000

int64_t vector_rows(const struct array *a)
{
    bool is_packed = a->is_linear && a->shape.rank == 1 && a->shape.dtype == DTYPE_BF16;

    return is_packed ? round_up(a->shape.dim[0], TILES_PER_PIECE * ARRAY_LANES) / ARRAY_LANES : 0;
}

/* the word's low half is of the even tile, its upper half of the odd one behind it */
static void unpack(struct vcode *c, int64_t from, int64_t to)
{
    int words = emit_vld(c, isa_rows_at(NONE, from), VCODE_REGION_ANY);
    int even = emit_vshll_u32(c, R(words), I(16));
    int odd = emit_vand_u32(c, R(words), I((int32_t)UPPER_HALF));

    emit_vst(c, isa_rows_apart(NONE, to, 2), even, VCODE_REGION_ANY);
    emit_vst(c, isa_rows_apart(NONE, to + 1, 2), odd, VCODE_REGION_ANY);
}

void vector_rows_unpack(const struct array *a, int64_t from, int64_t to, struct vcode *c)
{
    int64_t pieces = vector_rows(a) / TILES_PER_PIECE;

    for (int64_t i = 0; i < pieces; i++)
        unpack(c, from + i * ROWS_PER_TILE, to + i * TILES_PER_PIECE);
}
