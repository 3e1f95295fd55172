/*
 * A tensor of any type as a feature of a tf.train.Example: the way back from example_parse.
 */
#ifndef TESTS_EXAMPLE_TENSOR_H
#define TESTS_EXAMPLE_TENSOR_H
#include "base/arena.h"
#include "data/example.h"

static inline void example_add_s32(struct example *x, const char *name, const int32_t *value,
                                   int64_t count)
{
    int64_t *wide = mem_alloc((size_t)count * sizeof(*wide));

    for (int64_t i = 0; i < count; i++)
        wide[i] = value[i];
    example_add_ints(x, name, wide, count);
    mem_free(wide);
}

/* f32, s32, string by the lists of data/example.h; u8 as one value of bytes */
static inline void example_add_tensor(struct example *x, const char *name,
                                      const struct data_tensor *t)
{
    int64_t count = data_spec_elems(&t->spec);
    struct data_string all = {.byte = t->data, .size = count};

    switch (t->spec.dtype) {
    case DATA_F32: example_add_floats(x, name, t->data, count); break;
    case DATA_STRING: example_add_strings(x, name, t->data, count); break;
    case DATA_U8: example_add_strings(x, name, &all, 1); break;
    default: example_add_s32(x, name, t->data, count); break;
    }
}
#endif
