/* Any bytes are a .npy array that lies within them, or give an error. */
#include "data/npy.h"
#include "tests/rigs/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct npy_array *a, const uint8_t *data, size_t size)
{
    const uint8_t *first = a->data;
    int64_t bytes = a->elem_bytes;

    for (int i = 0; i < a->rank; i++)
        bytes *= a->side[i];
    if (first < data || bytes < 0 || (size_t)(first - data) + (size_t)bytes > size)
        fuzz_fail("the array goes beyond the file", a->type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct npy_array array = {.rank = 0};
    struct err e = {.msg = ""};
    struct npy matrix;
    struct arena a;

    arena_init(&a);
    if (npy_parse_array(data, size, "input", &array, &e) == 0)
        check(&array, data, size);
    else if (!e.msg[0])
        fuzz_fail("refused without a message", "");
    if (npy_parse(data, size, "input", &a, &matrix, &e) == 0 &&
        (size_t)matrix.rows * (size_t)matrix.columns > size)
        fuzz_fail("the matrix has more elements than the file bytes", "");
    arena_fini(&a);
    return 0;
}
