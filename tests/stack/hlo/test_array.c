/* Does every element of an array lie where XLA's tiled layout puts it? */
#include "tests/test.h"

#include "base/floats.h"
#include "base/rng.h"
#include "stack/hlo/array.h"

/*
 * XLA's rule, by itself: number of an element of a layout with tiles (rows,128)
 * and, within these, (pack,1), minor dimensions last: tiles in row-major order,
 * then what lies inside a tile in row-major order, then what lies in a subtile.
 */
static int64_t xla_number(const int64_t *size, const int64_t *index, int rank, int rows, int pack)
{
    int64_t row = index[rank - 2], lane = index[rank - 1], tile = 0;
    int64_t down = (size[rank - 2] + rows - 1) / rows, across = (size[rank - 1] + 127) / 128;

    for (int d = 0; d < rank - 2; d++)
        tile = tile * size[d] + index[d];
    tile = (tile * down + row / rows) * across + lane / 128;
    return ((tile * (rows / pack) + row % rows / pack) * 128 + lane % 128) * pack + row % pack;
}

/* the same of any array: dimensions from major to minor; rank 0 and 1 in rows of 128 */
static int64_t number_of(const struct array *a, const int64_t *index)
{
    int64_t size[GRAPH_RANK_MAX + 1] = {0}, at[GRAPH_RANK_MAX + 1] = {0};
    int rank = a->shape.rank, pack = 4 / array_element_bytes(a->shape.dtype);

    if (rank < 2) {
        int64_t count = rank ? a->shape.dim[0] : 1, i = rank ? index[0] : 0;

        return xla_number((int64_t[]){(count + 127) / 128, 128}, (int64_t[]){i / 128, i % 128},
                          2, 8 * pack, pack);
    }
    for (int d = 0; d < rank; d++) {
        size[rank - 1 - d] = a->shape.dim[a->order[d]];
        at[rank - 1 - d] = index[a->order[d]];
    }
    return xla_number(size, at, rank, 8 * pack, pack);
}

static void shuffle(struct rng *r, int *order, int count)
{
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(rng_next(r) % (uint64_t)(i + 1)), k = order[i];

        order[i] = order[j];
        order[j] = k;
    }
}

static struct shape random_shape(struct rng *r, enum graph_dtype dtype, int rank)
{
    static const int64_t awkward[] = {1, 7, 8, 9, 127, 128, 129};
    struct shape s = {.dtype = dtype, .rank = rank};

    for (int d = 0; d < rank; d++)
        s.dim[d] = d < 2 ? awkward[rng_next(r) % 7] : 1 + (int64_t)(rng_next(r) % 4);
    return s;
}

static uint32_t random_element(struct rng *r, enum graph_dtype dtype)
{
    uint32_t bits = (uint32_t)rng_next(r);

    switch (dtype) {
    case DTYPE_F32: return bits;
    case DTYPE_BF16: return bits & 0x7fff0000u;
    case DTYPE_S8: return (uint32_t)(int32_t)(int8_t)bits;
    case DTYPE_U8: return bits & 0xff;
    case DTYPE_PRED: return bits & 1;
    default: return bits;
    }
}

static void next_index(const struct shape *s, int64_t *index)
{
    for (int d = s->rank - 1; d >= 0 && ++index[d] == s->dim[d]; d--)
        index[d] = 0;
}

/* every element's bytes stand where the rule says, and come back */
static void check_array(struct rng *r, const struct array *a)
{
    int64_t count = shape_elems(&a->shape), index[GRAPH_RANK_MAX] = {0};
    uint32_t *dense = test_calloc((size_t)count, 4), *back = test_calloc((size_t)count, 4);
    unsigned char *tiles = test_malloc((size_t)a->bytes);

    for (int64_t i = 0; i < count; i++)
        dense[i] = random_element(r, a->shape.dtype);
    if (a->shape.dtype == DTYPE_BF16)   /* no NaN: its bits need not come back */
        for (int64_t i = 0; i < count; i++)
            dense[i] = (dense[i] & 0x7f800000u) == 0x7f800000u || !(dense[i] & 0x7f800000u)
                       ? 0x3f800000u : dense[i];
    memset(tiles, 0xaa, (size_t)a->bytes);
    array_pack(a, dense, tiles);
    for (int64_t i = 0; i < count; i++, next_index(&a->shape, index)) {
        int64_t at = number_of(a, index) * a->element_bytes;
        struct array_place p = array_place_of(a, index);
        uint32_t want = a->shape.dtype == DTYPE_BF16 ? dense[i] >> 16 : dense[i];

        assert_in_range(at, 0, a->bytes - a->element_bytes);
        assert_memory_equal(tiles + at, &want, (size_t)a->element_bytes);
        assert_int_equal(at, p.tile * ARRAY_TILE_BYTES + p.sublane * ARRAY_ROW_BYTES
                             + p.lane * 4 + p.part * a->element_bytes);
    }
    array_unpack(a, tiles, back);
    assert_memory_equal(back, dense, (size_t)count * 4);
    test_free(dense);
    test_free(back);
    test_free(tiles);
}

TEST(elements_lie_where_the_rule_of_tiles_puts_them)
{
    struct rng r;

    rng_init(&r, 3);
    for (enum graph_dtype t = 0; t < DTYPE_COUNT; t++)
        for (int rank = 0; rank <= 5; rank++)
            for (int round = 0; round < 4; round++) {
                struct shape s = random_shape(&r, t, rank);
                int order[GRAPH_RANK_MAX];
                struct array a;

                shuffle(&r, order, rank);
                array_init(&a, "a", &s, round ? order : NULL);
                check_array(&r, &a);
            }
}

TEST(padding_is_counted_and_zero)
{
    int64_t dim[] = {3, 9, 130};
    struct shape s = shape_make(DTYPE_BF16, 3, dim);
    static uint32_t dense[3 * 9 * 130];
    static unsigned char tiles[3 * 2 * ARRAY_TILE_BYTES];
    struct array a;
    int64_t set = 0;

    array_init(&a, "a", &s, NULL);
    assert_int_equal(a.tile_count, 3 * 1 * 2);
    assert_int_equal(a.bytes, sizeof(tiles));
    assert_int_equal(array_payload_bytes(&a), 3 * 9 * 130 * 2);
    assert_int_equal(array_outer_stride(&a, 0), 2);
    for (size_t i = 0; i < 3 * 9 * 130; i++)
        dense[i] = f32_bits(1.0f);
    memset(tiles, 0xff, sizeof(tiles));
    array_pack(&a, dense, tiles);
    for (size_t i = 0; i < sizeof(tiles); i++)
        set += tiles[i] != 0;
    assert_int_equal(set, 3 * 9 * 130 * 2);     /* 1.0 is 0x3f80: both bytes */
}

TEST(f32_is_rounded_to_the_nearest_even_bf16)
{
    struct shape s = shape_scalar(DTYPE_BF16);
    static unsigned char tiles[ARRAY_TILE_BYTES];
    struct array a;
    float in, out;

    array_init(&a, "a", &s, NULL);
    in = 1.0f + 1.0f / 256.0f;                  /* halfway, the even one is below */
    array_pack(&a, &in, tiles);
    array_unpack(&a, tiles, &out);
    assert_true(out == 1.0f);
    in = 1.0f + 3.0f / 256.0f;                  /* halfway, the even one is above */
    array_pack(&a, &in, tiles);
    array_unpack(&a, tiles, &out);
    assert_true(out == 1.0f + 4.0f / 256.0f);
}

static void assert_prints(enum graph_dtype t, int rank, const int64_t *dim, const int *order,
                          enum array_space space, const char *want)
{
    struct shape s = shape_make(t, rank, dim);
    struct array a;
    char text[100];

    array_init(&a, "a", &s, order);
    a.space = space;
    assert_string_equal(array_print(&a, text, sizeof(text)), want);
}

TEST(layouts_print_as_xla_prints_them)
{
    int64_t dim[] = {64, 128, 3};

    assert_prints(DTYPE_F32, 2, dim, NULL, SPACE_HBM, "f32[64,128]{1,0:T(8,128)}");
    assert_prints(DTYPE_BF16, 2, dim, NULL, SPACE_VMEM, "bf16[64,128]{1,0:T(16,128)(2,1)S(1)}");
    assert_prints(DTYPE_S8, 3, dim, (int[]){1, 0, 2}, SPACE_HBM,
                  "s8[64,128,3]{1,0,2:T(32,128)(4,1)}");
    assert_prints(DTYPE_F32, 1, dim, NULL, SPACE_HBM, "f32[64]{0:T(1024)}");
    assert_prints(DTYPE_BF16, 1, dim, NULL, SPACE_HBM, "bf16[64]{0:T(2048)(128)(2,1)}");
    assert_prints(DTYPE_S32, 0, dim, NULL, SPACE_HBM, "s32[]{:T(1024)}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_lie_where_the_rule_of_tiles_puts_them),
        cmocka_unit_test(padding_is_counted_and_zero),
        cmocka_unit_test(f32_is_rounded_to_the_nearest_even_bf16),
        cmocka_unit_test(layouts_print_as_xla_prints_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
