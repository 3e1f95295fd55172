/*
 * Any bytes are an IDX array or give an error; what is read, written again as the format says, is
 * the input.
 */
#include "base/archive.h"
#include "base/arena.h"
#include "data/idx_array.h"
#include "tests/rigs/round_trip.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_word(struct bytes *to, uint32_t word)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes_append(to, &(unsigned char){(unsigned char)(word >> shift)}, 1);
}

static void check(const struct data_tensor *t, const uint8_t *data, size_t size)
{
    static const unsigned char types[] = {[DATA_F32] = 13, [DATA_S32] = 12, [DATA_U8] = 8};
    const unsigned char magic[4] = {0, 0, types[t->spec.dtype], (unsigned char)t->spec.rank};
    int64_t count = data_spec_elems(&t->spec);
    struct bytes again = {0};

    bytes_append(&again, magic, sizeof(magic));
    for (int i = 0; i < t->spec.rank; i++)
        put_word(&again, (uint32_t)t->spec.dim[i]);
    if (t->spec.dtype == DATA_U8)
        bytes_append(&again, t->data, (size_t)count);
    for (int64_t i = 0; t->spec.dtype != DATA_U8 && i < count; i++)
        put_word(&again, ((const uint32_t *)t->data)[i]);
    if (again.size != size || memcmp(again.data, data, size) != 0)
        fuzz_fail("written again the array differs", "");
    mem_free(again.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct data_element *x = element_new(1);
    struct err e = {.msg = ""};

    if (idx_parse(data, (int64_t)size, "input", x, 0, &e) == 0)
        check(&x->tensor[0], data, size);
    else if (!e.msg[0])
        fuzz_fail("refused without a message", "");
    element_release(x);
    return 0;
}
