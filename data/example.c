/* Parses tf.train.Example records into tensors. */
#include "data/example.h"

#include "base/arena.h"
#include "base/text.h"
#include "data/proto/example.pb-c.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAMES_MAX 256                   /* of those compared for "did you mean" */

static const char *kind_name(Example__Feature__KindCase kind)
{
    switch (kind) {
    case EXAMPLE__FEATURE__KIND_BYTES_LIST: return "bytes_list";
    case EXAMPLE__FEATURE__KIND_FLOAT_LIST: return "float_list";
    case EXAMPLE__FEATURE__KIND_INT64_LIST: return "int64_list";
    default: return "nothing";
    }
}

static Example__Feature__KindCase kind_of(enum data_dtype t)
{
    return t == DATA_F32 ? EXAMPLE__FEATURE__KIND_FLOAT_LIST
           : t == DATA_S32 ? EXAMPLE__FEATURE__KIND_INT64_LIST
           : EXAMPLE__FEATURE__KIND_BYTES_LIST;
}

/* the last entry of a name counts, as in a map on the wire */
static const Example__Feature *find(const Example__Example *x, const char *name)
{
    for (size_t i = x->features ? x->features->n_feature : 0; i > 0; i--)
        if (strcmp(x->features->feature[i - 1]->key, name) == 0)
            return x->features->feature[i - 1]->value;
    return NULL;
}

static int fail_missing(const Example__Example *x, const char *name, struct err *e)
{
    const char *names[NAMES_MAX];
    size_t count = 0, all = x->features ? x->features->n_feature : 0;

    for (; count < all && count < NAMES_MAX; count++)
        names[count] = x->features->feature[count]->key;
    return err_set(e, "feature \"%s\" is missing; the record has %zu%s", name, all,
                   text_did_you_mean(name, names, count).text);
}

/* ---- values of each kind into tensor i */

static int put_floats(const Example__Feature *f, struct data_element *x, int i, const char *name,
                      struct err *e)
{
    (void)name;
    (void)e;
    if (f->float_list->n_value > 0)
        memcpy(x->tensor[i].data, f->float_list->value,
               f->float_list->n_value * sizeof(float));
    return 0;
}

static int put_ints(const Example__Feature *f, struct data_element *x, int i, const char *name,
                    struct err *e)
{
    int32_t *to = x->tensor[i].data;

    for (size_t k = 0; k < f->int64_list->n_value; k++) {
        int64_t value = f->int64_list->value[k];

        if (value < INT32_MIN || value > INT32_MAX)
            return err_set(e, "feature \"%s\": value %zu is %" PRId64 ", which does not fit s32",
                           name, k, value);
        to[k] = (int32_t)value;
    }
    return 0;
}

static int put_strings(const Example__Feature *f, struct data_element *x, int i, const char *name,
                       struct err *e)
{
    (void)name;
    (void)e;
    for (size_t k = 0; k < f->bytes_list->n_value; k++)
        element_put_string(x, i, (int64_t)k, f->bytes_list->value[k].data,
                           (int64_t)f->bytes_list->value[k].len);
    return 0;
}

static int put_raw(const Example__Feature *f, struct data_element *x, int i, const char *name,
                   struct err *e)
{
    (void)name;
    (void)e;
    if (f->bytes_list->n_value == 1 && f->bytes_list->value[0].len > 0)
        memcpy(x->tensor[i].data, f->bytes_list->value[0].data, f->bytes_list->value[0].len);
    return 0;
}

static const struct {
    int (*put)(const Example__Feature *f, struct data_element *x, int i, const char *name,
               struct err *e);
} kinds[DATA_DTYPE_COUNT] = {
    [DATA_F32] = {put_floats}, [DATA_S32] = {put_ints}, [DATA_STRING] = {put_strings},
    [DATA_U8] = {put_raw},
};

/* of u8 the bytes of the one string; -1 with a message when there are several */
static int64_t value_count(const Example__Feature *f, const struct example_feature *want,
                           struct err *e)
{
    switch (want->spec.dtype) {
    case DATA_F32: return (int64_t)f->float_list->n_value;
    case DATA_S32: return (int64_t)f->int64_list->n_value;
    case DATA_STRING: return (int64_t)f->bytes_list->n_value;
    default:
        break;
    }
    if (f->bytes_list->n_value > 1)
        return err_set(e, "feature \"%s\" has %zu values of bytes; u8 is made from one",
                       want->name, f->bytes_list->n_value);
    return f->bytes_list->n_value == 1 ? (int64_t)f->bytes_list->value[0].len : 0;
}

static int put_values(const Example__Feature *f, const struct example_feature *want,
                      struct data_element *x, int i, struct err *e)
{
    bool is_fixed = want->spec.rank != 1 || want->spec.dim[0] != DATA_ANY_SIZE;
    struct data_spec s = want->spec;
    int64_t count = value_count(f, want, e);
    char shape[96];

    if (count < 0)
        return -1;
    if (is_fixed && count != data_spec_elems(&s))
        return err_set(e, "feature \"%s\" has %" PRId64 " %s, %s needs %" PRId64, want->name,
                       count, s.dtype == DATA_U8 ? "bytes" : "values",
                       data_spec_print(&s, shape, sizeof(shape)), data_spec_elems(&s));
    if (!is_fixed)
        s.dim[0] = count;
    element_put(x, i, &s);
    return kinds[s.dtype].put(f, x, i, want->name, e);
}

static void put_standard(const struct example_feature *want, struct data_element *x, int i)
{
    struct data_spec s = want->spec;

    if (s.rank == 1 && s.dim[0] == DATA_ANY_SIZE)
        s.dim[0] = 0;
    element_put(x, i, &s);
    for (int64_t k = data_spec_elems(&s) - 1; k >= 0; k--)
        element_copy_part(x, i, k, want->standard, 0, 1);
}

static int take_feature(const Example__Example *all, const struct example_feature *want,
                        struct data_element *x, int i, struct err *e)
{
    const Example__Feature *f = find(all, want->name);
    bool is_variable = want->spec.rank == 1 && want->spec.dim[0] == DATA_ANY_SIZE;

    if (!f || f->kind_case == EXAMPLE__FEATURE__KIND__NOT_SET) {
        if (!want->standard && !is_variable)
            return fail_missing(all, want->name, e);
        put_standard(want, x, i);
        return 0;
    }
    if (f->kind_case != kind_of(want->spec.dtype))
        return err_set(e, "feature \"%s\" is a %s, %s is made from a %s", want->name,
                       kind_name(f->kind_case), data_dtype_name(want->spec.dtype),
                       kind_name(kind_of(want->spec.dtype)));
    return put_values(f, want, x, i, e);
}

int example_parse(const void *record, int64_t bytes, const struct example_feature *feature,
                  int count, struct data_element *x, struct err *e)
{
    Example__Example *all = example__example__unpack(NULL, (size_t)bytes, record);
    int status = 0;

    if (!all)
        return err_set(e, "its %" PRId64 " bytes are no tf.train.Example", bytes);
    for (int i = 0; i < count && status == 0; i++)
        status = take_feature(all, &feature[i], x, i, e);
    example__example__free_unpacked(all, NULL);
    return status;
}

/* ---- the stage ---- */

struct parser {
    struct example_feature *feature;
    struct data_element *standard;
    int count;
    struct arena arena;
};

static int parse_one(void *context, const struct data_element *in, struct data_element *out,
                     struct err *e)
{
    const struct parser *p = context;
    const struct data_string *s = in->tensor[0].data;

    return example_parse(s->byte, s->size, p->feature, p->count, out, e);
}

static void destroy_parser(void *context)
{
    struct parser *p = context;

    element_release(p->standard);
    arena_fini(&p->arena);
    mem_free(p);
}

static int check_feature(const struct example_feature *f, struct err *e)
{
    bool is_known = true;

    for (int d = 0; d < f->spec.rank; d++)
        is_known = is_known && f->spec.dim[d] >= 0;
    if (!is_known && (f->spec.rank != 1 || f->spec.dim[0] != DATA_ANY_SIZE))
        return err_set(e, "feature \"%s\": sizes are all known, or it is a vector of any size",
                       f->name);
    if (f->standard && (f->standard->spec.rank != 0 || f->standard->spec.dtype != f->spec.dtype))
        return err_set(e, "feature \"%s\": what fills it when it is missing is one %s", f->name,
                       data_dtype_name(f->spec.dtype));
    return 0;
}

static struct parser *new_parser(const struct example_feature *feature, int count)
{
    struct parser *p = mem_alloc(sizeof(*p));

    arena_init(&p->arena);
    p->count = count;
    p->feature = arena_array(&p->arena, (size_t)count, sizeof(*feature));
    p->standard = element_new(count);
    for (int i = 0; i < count; i++) {
        p->feature[i] = feature[i];
        p->feature[i].name = arena_strdup(&p->arena, feature[i].name);
        if (!feature[i].standard)
            continue;
        element_put_tensor(p->standard, i, feature[i].standard);
        p->feature[i].standard = &p->standard->tensor[i];
    }
    return p;
}

struct dataset *dataset_parse_examples(struct dataset *in, const struct example_feature *feature,
                                       int count, int thread_count, struct err *e)
{
    struct data_spec spec[DATA_TUPLE_MAX];
    struct data_map map = {.apply = parse_one, .destroy = destroy_parser, .output = spec,
                           .output_count = count, .thread_count = thread_count,
                           .name = "parse examples"};
    int status = 0;

    if (!in)
        return NULL;
    if (dataset_tensor_count(in) != 1 || dataset_spec(in)->rank != 0 ||
        dataset_spec(in)->dtype != DATA_STRING)
        status = err_set(e, "examples are parsed from string scalars, one per element");
    if (status == 0 && (count < 1 || count > DATA_TUPLE_MAX))
        status = err_set(e, "%d features, allowed are 1..%d", count, DATA_TUPLE_MAX);
    for (int i = 0; i < count && status == 0; i++) {
        status = check_feature(&feature[i], e);
        spec[i] = feature[i].spec;
    }
    if (status) {
        dataset_release(in);
        return NULL;
    }
    map.context = new_parser(feature, count);
    return dataset_map(in, &map, e);
}
