/* Categories by the words in notes: tools sum time by them. */
#include "base/units.h"
#include "report/view/hlo_category.h"
#include "tests/test.h"

TEST(exchanges_between_devices_have_categories)
{
    static const char *const kinds[] = {"all-reduce", "reduce-scatter", "all-gather",
                                        "collective-permute"};

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        char note[64];

        snprintf(note, sizeof(note), "%s/dense/MatMul", kinds[i]);
        assert_string_equal(hlo_category(note, true), kinds[i]);
    }
    assert_string_equal(hlo_category("dense/MatMul", false), "convolution fusion");
    assert_string_equal(hlo_category("gather/embedding", false), "loop fusion");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchanges_between_devices_have_categories),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
