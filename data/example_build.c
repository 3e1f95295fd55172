/* Packs tensors into tf.train.Example records, whose message is put together in an arena first. */
#include "data/example.h"

#include "base/arena.h"
#include "data/proto/example.pb-c.h"

#include <assert.h>
#include <string.h>

struct example {
    struct arena arena;
    Example__Features features;
    size_t capacity;
};

struct example *example_new(void)
{
    struct example *x = mem_alloc(sizeof(*x));

    arena_init(&x->arena);
    example__features__init(&x->features);
    return x;
}

void example_destroy(struct example *x)
{
    if (!x)
        return;
    mem_free(x->features.feature);
    arena_fini(&x->arena);
    mem_free(x);
}

static Example__Feature *add(struct example *x, const char *name,
                             Example__Feature__KindCase kind)
{
    Example__FeatureEntry *entry = arena_alloc(&x->arena, sizeof(*entry));
    Example__Feature *f = arena_alloc(&x->arena, sizeof(*f));
    size_t count = x->features.n_feature;

    for (size_t i = 0; i < count; i++)
        assert(strcmp(x->features.feature[i]->key, name) != 0);
    example__feature_entry__init(entry);
    example__feature__init(f);
    entry->key = arena_strdup(&x->arena, name);
    entry->value = f;
    f->kind_case = kind;
    x->features.feature = mem_grow(x->features.feature, &x->capacity, count + 1,
                                   sizeof(Example__FeatureEntry *));
    x->features.feature[x->features.n_feature++] = entry;
    return f;
}

void example_add_floats(struct example *x, const char *name, const float *value, int64_t count)
{
    Example__Feature *f = add(x, name, EXAMPLE__FEATURE__KIND_FLOAT_LIST);

    f->float_list = arena_alloc(&x->arena, sizeof(*f->float_list));
    example__float_list__init(f->float_list);
    f->float_list->n_value = (size_t)count;
    f->float_list->value = arena_copy(&x->arena, value, (size_t)count, sizeof(*value));
}

void example_add_ints(struct example *x, const char *name, const int64_t *value, int64_t count)
{
    Example__Feature *f = add(x, name, EXAMPLE__FEATURE__KIND_INT64_LIST);

    f->int64_list = arena_alloc(&x->arena, sizeof(*f->int64_list));
    example__int64_list__init(f->int64_list);
    f->int64_list->n_value = (size_t)count;
    f->int64_list->value = arena_copy(&x->arena, value, (size_t)count, sizeof(*value));
}

void example_add_strings(struct example *x, const char *name, const struct data_string *value,
                         int64_t count)
{
    Example__Feature *f = add(x, name, EXAMPLE__FEATURE__KIND_BYTES_LIST);
    ProtobufCBinaryData *to = arena_array(&x->arena, (size_t)count, sizeof(*to));

    f->bytes_list = arena_alloc(&x->arena, sizeof(*f->bytes_list));
    example__bytes_list__init(f->bytes_list);
    f->bytes_list->n_value = (size_t)count;
    f->bytes_list->value = to;
    for (int64_t i = 0; i < count; i++) {
        to[i].len = (size_t)value[i].size;
        to[i].data = arena_copy(&x->arena, value[i].byte, (size_t)value[i].size, 1);
    }
}

void example_pack(const struct example *x, struct bytes *to)
{
    Example__Example all = EXAMPLE__EXAMPLE__INIT;
    Example__Features features = x->features;
    size_t size;

    all.features = &features;
    size = example__example__get_packed_size(&all);
    to->data = mem_grow(to->data, &to->capacity, to->size + size, 1);
    to->size += example__example__pack(&all, to->data + to->size);
}
