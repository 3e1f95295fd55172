/* Does array_is_bitcast say what comparing the place of every element says? */
#include "base/rng.h"
#include "stack/hlo/array.h"
#include "stack/hlo/bitcast.h"
#include "tests/test.h"

static struct array_place place_of(const struct array *a, int64_t element)
{
    int64_t index[GRAPH_RANK_MAX] = {0};

    for (int d = a->shape.rank - 1; d >= 0; d--) {
        index[d] = element % a->shape.dim[d];
        element /= a->shape.dim[d];
    }
    return array_place_of(a, index);
}

static bool every_element_stays(const struct shape *from, const struct shape *to)
{
    struct array a, b;

    array_init(&a, "a", from, NULL);
    array_init(&b, "b", to, NULL);
    for (int64_t i = 0; i < shape_elems(from); i++) {
        struct array_place x = place_of(&a, i), y = place_of(&b, i);

        if (x.tile != y.tile || x.sublane != y.sublane || x.part != y.part || x.lane != y.lane)
            return false;
    }
    return true;
}

/* the same elements in a random number of dimensions */
static struct shape random_shape(struct rng *r, int64_t elems, enum graph_dtype dtype)
{
    static const int64_t factors[] = {1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 40, 128, 256};
    struct shape s = {.dtype = dtype};

    while (s.rank < 4 && rng_below(r, 5) > 0) {
        int64_t f = factors[rng_below(r, sizeof(factors) / sizeof(factors[0]))];

        if (elems % f == 0) {
            s.dim[s.rank++] = f;
            elems /= f;
        }
    }
    s.dim[s.rank++] = elems;
    return s;
}

TEST(says_what_places_of_elements_say)
{
    static const int64_t sizes[] = {1, 5, 24, 128, 130, 384, 1000, 1024, 4096, 7680, 12288};
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_PRED};
    int same = 0;
    struct rng r;

    rng_init(&r, 5);
    for (int i = 0; i < 4000; i++) {
        int64_t elems = sizes[rng_below(&r, sizeof(sizes) / sizeof(sizes[0]))];
        enum graph_dtype dtype = types[rng_below(&r, 3)];
        struct shape from = random_shape(&r, elems, dtype), to = random_shape(&r, elems, dtype);
        bool expected = every_element_stays(&from, &to);
        char x[96], y[96];

        if (array_is_bitcast(&from, &to) != expected)
            fail_msg("%s to %s: expected %d", shape_print(&from, x, sizeof(x)),
                     shape_print(&to, y, sizeof(y)), expected);
        same += expected;
    }
    assert_in_range(same, 400, 3600);
}

TEST(merging_whole_tiles_of_rows_is_free)
{
    struct shape a = shape_make(DTYPE_F32, 3, (int64_t[]){4, 16, 100});
    struct shape b = shape_make(DTYPE_F32, 2, (int64_t[]){64, 100});
    struct shape c = shape_make(DTYPE_F32, 3, (int64_t[]){16, 4, 100});

    assert_true(array_is_bitcast(&a, &b));
    assert_false(array_is_bitcast(&c, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_places_of_elements_say),
        cmocka_unit_test(merging_whole_tiles_of_rows_is_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
