/* Tensors of a program in files of safetensors and of NumPy. */
#include "cli/exec/tensor_impl.h"

#include "base/outfile.h"
#include "data/npy.h"
#include "train/checkpoint/safetensors.h"

#include <stdlib.h>
#include <string.h>

static const enum hlo_element of_safetensors[ST_DTYPE_COUNT] = {
    [ST_F64] = ELEMENT_F64, [ST_F32] = ELEMENT_F32, [ST_F16] = ELEMENT_F16,
    [ST_BF16] = ELEMENT_BF16, [ST_F8_E5M2] = ELEMENT_F8E5M2, [ST_F8_E4M3] = ELEMENT_F8E4M3FN,
    [ST_I64] = ELEMENT_S64, [ST_I32] = ELEMENT_S32, [ST_I16] = ELEMENT_S16, [ST_I8] = ELEMENT_S8,
    [ST_U64] = ELEMENT_U64, [ST_U32] = ELEMENT_U32, [ST_U16] = ELEMENT_U16, [ST_U8] = ELEMENT_U8,
    [ST_BOOL] = ELEMENT_PRED, [ST_C64] = ELEMENT_C64};

static const struct { const char *type; enum hlo_element element; } of_npy[] = {
    {"f2", ELEMENT_F16}, {"f4", ELEMENT_F32}, {"f8", ELEMENT_F64}, {"i1", ELEMENT_S8},
    {"i2", ELEMENT_S16}, {"i4", ELEMENT_S32}, {"i8", ELEMENT_S64}, {"u1", ELEMENT_U8},
    {"u2", ELEMENT_U16}, {"u4", ELEMENT_U32}, {"u8", ELEMENT_U64}, {"b1", ELEMENT_PRED},
    {"c8", ELEMENT_C64}, {"c16", ELEMENT_C128}};
enum { NPY_TYPES = sizeof(of_npy) / sizeof(of_npy[0]) };

static int safetensors_type(enum hlo_element e)
{
    int t = 0;

    while (t < ST_DTYPE_COUNT && of_safetensors[t] != e)
        t++;
    return t;
}

static bool is_in_safetensors(enum hlo_element e) { return safetensors_type(e) < ST_DTYPE_COUNT; }

/* c128, which the format does not have, lies in it as F64 with a last dimension of both parts */
static bool is_pair_of_f64(const struct safetensor *stored, const struct hlo_type *wanted)
{
    return wanted->element == ELEMENT_C128 && stored->dtype == ST_F64 &&
           stored->rank == wanted->rank + 1 && stored->dim[wanted->rank] == 2;
}

static int describe(struct safetensor *stored, const struct exec_tensor *t, const char *path,
                    struct err *e)
{
    bool is_pair = t->type.element == ELEMENT_C128;
    enum hlo_element element = is_pair ? ELEMENT_F64
                               : exec_file_element(t->type.element, is_in_safetensors);

    stored->dtype = (enum safetensors_dtype)safetensors_type(element);
    stored->rank = t->type.rank + is_pair;
    if (stored->rank > SAFETENSORS_RANK_MAX)
        return err_at(e, path, 0, 0, "%s has %d dimensions, allowed are up to %d%s", t->name,
                      t->type.rank, SAFETENSORS_RANK_MAX - is_pair, is_pair ? " of c128" : "");
    for (int d = 0; d < t->type.rank; d++)
        stored->dim[d] = t->type.dim[d];
    if (is_pair)
        stored->dim[t->type.rank] = 2;
    return 0;
}

static int npy_type(enum hlo_element e)
{
    int t = 0;

    while (t < NPY_TYPES && of_npy[t].element != e)
        t++;
    return t;
}

static bool is_in_npy(enum hlo_element e) { return npy_type(e) < NPY_TYPES; }

enum hlo_element exec_element_of_npy(const char *type)
{
    for (int t = 0; t < NPY_TYPES; t++) {
        if (strcmp(of_npy[t].type, type) == 0)
            return of_npy[t].element;
    }
    return ELEMENT_COUNT;
}

/* the number that a tensor of the file is named by; -1: another name */
static int number_of(const char *name)
{
    char *end;
    long number = strtol(name, &end, 10);

    return *name >= '0' && *name <= '9' && *end == '\0' && number <= INT32_MAX ? (int)number : -1;
}

static int read_one(const struct safetensors *s, int i, struct exec_tensor *t, struct arena *a,
                    struct err *e)
{
    const struct safetensor *stored = &s->tensor[i];
    struct hlo_type type = is_pair_of_f64(stored, &t->type)
                               ? hlo_array_type(a, ELEMENT_C128, stored->rank - 1, stored->dim)
                               : hlo_array_type(a, of_safetensors[stored->dtype], stored->rank,
                                                stored->dim);
    int64_t bytes = safetensor_bytes(stored);
    void *data = mem_alloc((size_t)bytes + 1);
    int status = safetensors_read(s, i, 0, data, bytes, e);

    if (status == 0)
        status = exec_take(t, &type, data, s->path, a, e);
    mem_free(data);
    return status;
}

static struct exec_tensor *named(const char *name, struct exec_tensors numbered,
                                 struct exec_tensors keyed)
{
    int number = number_of(name);

    if (number >= 0)
        return number < numbered.count ? &numbered.item[number] : NULL;
    for (int k = 0; k < keyed.count; k++)
        if (strcmp(keyed.item[k].key, name) == 0)
            return &keyed.item[k];
    return NULL;
}

static int refuse_name(const char *path, const char *name, int numbered, int keyed, const char *key,
                       struct err *e)
{
    char range[64];

    snprintf(range, sizeof(range), numbered == 1 ? "the only array is 0" : "of %d arrays 0 to %d",
             numbered, numbered - 1);
    if (numbered == 0)
        snprintf(range, sizeof(range), "there are no arrays");
    return err_at(e, path, 0, 0, "tensor \"%s\": names are numbers, %s%s%s", name, range,
                  keyed ? ", and of queues " : "", keyed ? key : "");
}

int exec_read_safetensors(const char *path, struct exec_tensors numbered, struct exec_tensors keyed,
                          struct arena *a, struct err *e)
{
    struct safetensors s;
    FILE *from = safetensors_file(path, e);
    int status = 0;

    if (!from || safetensors_of(&s, from, path, e))
        return -1;
    for (int i = 0; i < s.tensor_count && status == 0; i++) {
        struct exec_tensor *t = named(s.tensor[i].name, numbered, keyed);

        if (t)
            status = read_one(&s, i, t, a, e);
        else
            status = refuse_name(path, s.tensor[i].name, numbered.count, keyed.count,
                                 keyed.count ? keyed.item[0].key : NULL, e);
    }
    safetensors_close(&s);
    return status;
}

static int write_tensors(const char *path, struct safetensor *stored,
                         const struct exec_tensor *tensor, int count, struct arena *a,
                         struct err *e)
{
    struct outfile f;

    if (outfile_begin(&f, path, e))
        return -1;
    if (safetensors_write_header(f.to, stored, count, NULL, 0, NULL, e) < 0) {
        outfile_abandon(&f);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        bool is_pair = is_pair_of_f64(&stored[i], &tensor[i].type);
        enum hlo_element element = of_safetensors[stored[i].dtype];

        fwrite(is_pair ? tensor[i].data : exec_convert(&tensor[i], element, a), 1,
               (size_t)safetensor_bytes(&stored[i]), f.to);
    }
    return outfile_commit(&f, e);
}

int exec_write_safetensors(const char *path, const struct exec_tensor *tensor, int count,
                           struct err *e)
{
    struct arena a;
    struct safetensor *stored;
    int status = 0;

    arena_init(&a);
    stored = arena_array(&a, (size_t)count + 1, sizeof(*stored));
    for (int i = 0; i < count && status == 0; i++) {
        stored[i].name = tensor[i].key ? (char *)tensor[i].key : arena_printf(&a, "%d", i);
        status = describe(&stored[i], &tensor[i], path, e);
    }
    if (status == 0)
        status = write_tensors(path, stored, tensor, count, &a, e);
    arena_fini(&a);
    return status;
}

int exec_write_npy(const char *path, const struct exec_tensor *t, struct err *e)
{
    enum hlo_element element = exec_file_element(t->type.element, is_in_npy);
    struct npy_array array = {.elem_bytes = (int)hlo_element_bytes(element), .rank = t->type.rank};
    struct arena a;
    int status;

    if (t->type.rank > NPY_RANK_MAX)
        return err_at(e, path, 0, 0, "%s has %d dimensions, allowed are up to %d", t->name,
                      t->type.rank, NPY_RANK_MAX);
    arena_init(&a);
    snprintf(array.type, sizeof(array.type), "%s", of_npy[npy_type(element)].type);
    for (int d = 0; d < t->type.rank; d++)
        array.side[d] = t->type.dim[d];
    array.data = exec_convert(t, element, &a);
    status = npy_write_array(path, &array, e);
    arena_fini(&a);
    return status;
}
