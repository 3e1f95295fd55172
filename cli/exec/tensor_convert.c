/* Elements of one type as another: what files bring for what programs want, and the other way. */
#include "cli/exec/tensor_impl.h"

#include <string.h>

static void convert_one(enum hlo_element from, const void *source, enum hlo_element to, void *target)
{
    if (from == to)
        memcpy(target, source, hlo_element_bytes(from));
    else if (hlo_element_is_float(from) || hlo_element_is_float(to))
        hlo_element_store(to, hlo_element_load(from, source), target);
    else
        hlo_element_store_int(to, hlo_element_load_int(from, source), target);
}

/* floats from floats, integers and predicates from each other */
static bool is_same_kind(enum hlo_element a, enum hlo_element b)
{
    if (a == b)
        return true;
    return !hlo_element_is_complex(a) && !hlo_element_is_complex(b) &&
           hlo_element_is_float(a) == hlo_element_is_float(b);
}

static int take_elements(struct exec_tensor *t, enum hlo_element from, const char *data,
                         const char *file, struct err *e)
{
    enum hlo_element to = t->type.element;
    size_t from_bytes = hlo_element_bytes(from), to_bytes = hlo_element_bytes(to);
    bool is_whole = !hlo_element_is_float(to) && !hlo_element_is_complex(to);
    int64_t count = hlo_type_elements(&t->type);

    for (int64_t i = 0; i < count; i++) {
        const char *source = data + (size_t)i * from_bytes;
        char *target = (char *)t->data + (size_t)i * to_bytes;

        convert_one(from, source, to, target);
        if (is_whole && from != to &&
            hlo_element_load_int(from, source) != hlo_element_load_int(to, target))
            return err_at(e, file, 0, 0, "%s is %s, which has no value %lld (element %lld)", t->name,
                          hlo_element_name(to), (long long)hlo_element_load_int(from, source),
                          (long long)i);
    }
    return 0;
}

/* of a queue as many entries as the file has; an array without that dimension is one entry */
static void fit_queue(struct exec_tensor *t, const struct hlo_type *stored, struct arena *a)
{
    int64_t *dim = arena_copy(a, t->type.dim, (size_t)t->type.rank, sizeof(*dim));

    dim[0] = stored->rank == t->type.rank ? stored->dim[0] : 1;
    t->type.dim = dim;
}

static bool has_dims_of(const struct exec_tensor *t, const struct hlo_type *stored)
{
    struct hlo_type entry = t->type;

    entry.dim++;
    entry.rank--;
    return hlo_type_same_dims(stored, &t->type) || (t->is_queue && hlo_type_same_dims(stored, &entry));
}

int exec_take(struct exec_tensor *t, const struct hlo_type *stored, const void *data,
              const char *file, struct arena *a, struct err *e)
{
    char wanted[200], given[200];

    if (stored->element == ELEMENT_COUNT)
        return err_at(e, file, 0, 0, "%s: an array of a type that programs do not have", t->name);
    if (t->is_queue)
        fit_queue(t, stored, a);
    if (!has_dims_of(t, stored) || !is_same_kind(stored->element, t->type.element))
        return err_at(e, file, 0, 0, "%s is %s, this is %s", t->name,
                      hlo_type_print(&t->type, wanted, sizeof(wanted)),
                      hlo_type_print(stored, given, sizeof(given)));
    t->data = arena_array(a, (size_t)hlo_type_elements(&t->type) + 1,
                          hlo_element_bytes(t->type.element));
    return take_elements(t, stored->element, data, file, e);
}

enum hlo_element exec_file_element(enum hlo_element e, bool (*known)(enum hlo_element e))
{
    if (known(e))
        return e;
    if (hlo_element_is_float(e))
        return ELEMENT_F32;
    return hlo_element_kind(e) == ELEMENT_KIND_SIGNED ? ELEMENT_S8 : ELEMENT_U8;
}

void *exec_convert(const struct exec_tensor *t, enum hlo_element to, struct arena *a)
{
    int64_t count = hlo_type_elements(&t->type);
    size_t from_bytes = hlo_element_bytes(t->type.element), to_bytes = hlo_element_bytes(to);
    char *made;

    if (to == t->type.element)
        return t->data;
    made = arena_array(a, (size_t)count + 1, to_bytes);
    for (int64_t i = 0; i < count; i++)
        convert_one(t->type.element, (const char *)t->data + (size_t)i * from_bytes, to,
                    made + (size_t)i * to_bytes);
    return made;
}

void *exec_pack(const void *block, const struct hlo_type *t, const int64_t *size, struct arena *a)
{
    struct hlo_type packed = hlo_array_type(a, t->element, t->rank, size);
    size_t bytes = hlo_element_bytes(t->element);
    int64_t count = hlo_type_elements(&packed);
    char *made = arena_array(a, (size_t)count + 1, bytes);

    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, from = 0, stride = 1;

        for (int d = t->rank - 1; d >= 0; d--) {
            from += rest % size[d] * stride;
            rest /= size[d];
            stride *= t->dim[d];
        }
        memcpy(made + (size_t)i * bytes, (const char *)block + (size_t)from * bytes, bytes);
    }
    return made;
}
