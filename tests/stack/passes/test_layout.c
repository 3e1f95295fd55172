/* Tiles: does every element lie in its place? */
#include "tests/test.h"

#include "stack/passes/layout.h"

static struct layout make(int rank, const int64_t *dim)
{
    struct shape s = shape_make(DTYPE_F32, rank, dim);

    return layout_of(&s);
}

TEST(scalar_vector_and_matrix_are_seen_as_matrices)
{
    struct layout scalar = make(0, NULL);
    struct layout vector = make(1, (int64_t[]){300});
    struct layout matrix = make(2, (int64_t[]){784, 128});

    assert_int_equal(scalar.rows, 1);
    assert_int_equal(scalar.columns, 1);
    assert_int_equal(scalar.bytes, TILE_BYTES);
    assert_int_equal(vector.rows, 1);
    assert_int_equal(vector.columns, 300);
    assert_int_equal(vector.tile_columns, 3);
    assert_int_equal(matrix.tile_rows, 98);
    assert_int_equal(matrix.tile_columns, 1);
    assert_int_equal(matrix.bytes, 98 * TILE_BYTES);
}

TEST(leading_dimensions_of_higher_ranks_fold_into_rows)
{
    struct layout l = make(4, (int64_t[]){2, 3, 5, 130});

    assert_int_equal(l.rows, 30);
    assert_int_equal(l.columns, 130);
    assert_int_equal(l.tile_rows, 4);
    assert_int_equal(l.tile_columns, 2);
}

TEST(exactly_full_tiles_need_no_further_tile)
{
    struct layout full = make(2, (int64_t[]){8, 128});
    struct layout over = make(2, (int64_t[]){9, 129});

    assert_int_equal(full.bytes, TILE_BYTES);
    assert_int_equal(over.bytes, 4 * TILE_BYTES);
}

/* element (row, column) by the definition in the header, a word at a time */
static uint32_t word_at(const struct layout *l, const uint32_t *tiles, int64_t row,
                        int64_t column)
{
    int64_t tile = row / 8 * l->tile_columns + column / 128;

    return tiles[tile * 1024 + row % 8 * 128 + column % 128];
}

static void check_pack(int64_t rows, int64_t columns)
{
    struct layout l = make(2, (int64_t[]){rows, columns});
    size_t words = (size_t)(l.bytes / 4), elems = (size_t)(rows * columns), zeros = 0;
    uint32_t *dense = mem_alloc(elems * 4), *back = mem_alloc(elems * 4);
    uint32_t *tiles = mem_alloc(words * 4);

    for (size_t i = 0; i < elems; i++)
        dense[i] = (uint32_t)i + 1;
    memset(tiles, 0xee, words * 4);
    layout_pack(&l, dense, tiles);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            assert_int_equal(word_at(&l, tiles, r, c), r * columns + c + 1);
    for (size_t i = 0; i < words; i++)
        zeros += tiles[i] == 0;
    assert_int_equal(zeros, words - elems);
    layout_unpack(&l, tiles, back);
    assert_memory_equal(back, dense, elems * 4);
    mem_free(dense);
    mem_free(back);
    mem_free(tiles);
}

TEST(pack_puts_every_element_in_its_place_and_zero_elsewhere)
{
    static const int64_t rows[] = {1, 7, 8, 9, 17}, columns[] = {1, 127, 128, 129, 300};

    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            check_pack(rows[i], columns[j]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalar_vector_and_matrix_are_seen_as_matrices),
        cmocka_unit_test(leading_dimensions_of_higher_ranks_fold_into_rows),
        cmocka_unit_test(exactly_full_tiles_need_no_further_tile),
        cmocka_unit_test(pack_puts_every_element_in_its_place_and_zero_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
