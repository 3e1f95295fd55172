/* Any bytes are an HDF5 file whose items are what they say, or are refused with a message. */
#include "files/h5.h"
#include "tests/rigs/round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* reads every element, so that one that is not there is noticed */
static void check(const struct h5_item *item)
{
    int64_t elems = 1, odd = 0;

    for (int i = 0; i < item->rank; i++)
        elems *= item->dim[i];
    for (int64_t i = 0; !item->attribute && i < elems; i++)
        odd += item->value[i] != item->value[i];
    if (odd > elems || (!item->attribute && elems < 0))
        fuzz_fail("an array has less than no elements", item->path);
    for (int i = 0; i < item->text_count; i++)
        if (!item->text[i])
            fuzz_fail("an attribute lacks a text", item->path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {.msg = ""};
    struct h5_file f;
    struct arena a;

    if (!h5_is(data, size))
        return 0;                       /* nobody asks the reader about other files */
    arena_init(&a);
    if (h5_read(data, size, "input", &a, &f, &e) != 0 && !e.msg[0])
        fuzz_fail("refused without a message", "");
    for (int i = 0; i < f.count; i++)
        check(&f.item[i]);
    arena_fini(&a);
    return 0;
}
