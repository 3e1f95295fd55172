/*
 * Any record is a tf.train.Example or gives an error; the tensors taken from one fit what was
 * asked for, and a record made of them gives the same tensors.
 */
#include "base/arena.h"
#include "data/example.h"
#include "tests/rigs/example_tensor.h"
#include "tests/rigs/round_trip.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FEATURES = 5 };

static const int32_t seven = 7;
static const struct data_tensor standard = {{DATA_S32, 0, {0}}, (void *)(uintptr_t)&seven};
static const struct example_feature feature[FEATURES] = {
    {"f", {DATA_F32, 1, {DATA_ANY_SIZE}}, NULL},
    {"i", {DATA_S32, 1, {2}}, &standard},
    {"s", {DATA_STRING, 1, {DATA_ANY_SIZE}}, NULL},
    {"u", {DATA_U8, 1, {DATA_ANY_SIZE}}, NULL},
    {"v", {DATA_S32, 1, {DATA_ANY_SIZE}}, NULL},
};

static bool is_same(const struct data_tensor *a, const struct data_tensor *b)
{
    const struct data_string *s = a->data, *t = b->data;
    int64_t count = data_spec_elems(&a->spec);

    if (!data_spec_is_equal(&a->spec, &b->spec))
        return false;
    if (a->spec.dtype != DATA_STRING)
        return memcmp(a->data, b->data, (size_t)count * data_dtype_bytes(a->spec.dtype)) == 0;
    for (int64_t i = 0; i < count; i++)
        if (s[i].size != t[i].size || memcmp(s[i].byte, t[i].byte, (size_t)s[i].size) != 0)
            return false;
    return true;
}

static void check(const struct data_element *x)
{
    struct data_element *again = element_new(FEATURES);
    struct example *record = example_new();
    struct bytes b = {0};
    struct err e;

    for (int i = 0; i < FEATURES; i++) {
        if (!data_spec_fits(&x->tensor[i].spec, &feature[i].spec))
            fuzz_fail("a tensor is not as asked for", feature[i].name);
        example_add_tensor(record, feature[i].name, &x->tensor[i]);
    }
    example_pack(record, &b);
    if (example_parse(b.data, (int64_t)b.size, feature, FEATURES, again, &e))
        fuzz_fail("what was made is refused", e.msg);
    for (int i = 0; i < FEATURES; i++)
        if (!is_same(&x->tensor[i], &again->tensor[i]))
            fuzz_fail("what was made differs", feature[i].name);
    mem_free(b.data);
    example_destroy(record);
    element_release(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct data_element *x = element_new(FEATURES);
    struct err e = {.msg = ""};

    if (example_parse(data, (int64_t)size, feature, FEATURES, x, &e) == 0)
        check(x);
    else if (!e.msg[0])
        fuzz_fail("refused without a message", "");
    element_release(x);
    return 0;
}
