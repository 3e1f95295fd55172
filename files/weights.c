/* Reads weights of whatever format a file has, and holds them against the model. */
#include "files/weights.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "files/weights_impl.h"
#include "files/zipfile.h"
#include "isa/file.h"
#include "train/checkpoint/safetensors.h"

#define WEIGHTS_MEMBER "model.weights.h5"       /* of a .keras */

int weights_fail(struct weights_reader *r, const struct layer *l, const char *fmt, ...)
{
    char text[sizeof(r->err->msg)];
    va_list args;

    va_start(args, fmt);
    text_print_args(text, sizeof(text), fmt, args);
    va_end(args);
    return err_at(r->err, r->path, 0, 0, "layer \"%s\": %s", l->name, text);
}

const char *weights_local_name(const struct weights_reader *r, const struct layer *l, int variable)
{
    return r->m->set->variable[variable].name + strlen(l->name) + 1;
}

/* "(3, 3, 16)", as NumPy has it */
static const char *print_shape(int rank, const int64_t *dim, struct arena *a)
{
    const char *text = "(";

    for (int i = 0; i < rank; i++)
        text = arena_printf(a, "%s%s%" PRId64, text, i ? ", " : "", dim[i]);
    return arena_printf(a, "%s%s)", text, rank == 1 ? "," : "");
}

int weights_take(struct weights_reader *r, const struct layer *l, int variable,
                 const struct weights_array *from, const char *where)
{
    const struct shape *s = &r->m->set->variable[variable].shape;

    if (from->rank != s->rank || memcmp(from->dim, s->dim, (size_t)s->rank * sizeof(*s->dim)) != 0)
        return weights_fail(r, l, "its \"%s\" is %s in the file, where it is \"%s\" of \"%s\", and "
                            "%s in the model", weights_local_name(r, l, variable),
                            print_shape(from->rank, from->dim, r->arena), from->name, where,
                            print_shape(s->rank, s->dim, r->arena));
    r->value[r->count++] = (struct weights_value){variable, from->value};
    return 0;
}

int weights_list(const struct model *m, struct arena *a, struct weights_value **value)
{
    int count = 0;

    *value = arena_array(a, (size_t)m->variable_count + 1, sizeof(**value));
    for (int i = 0; i < m->layer_count; i++)
        for (int k = 0; k < m->layer[i]->variable_count; k++)
            (*value)[count++].variable = m->layer[i]->variable[k];
    return count;
}

/* ---- formats ---- */

static int read_h5(struct weights_reader *r, const uint8_t *bytes, size_t size)
{
    struct h5_file f;

    if (h5_read(bytes, size, r->path, r->arena, &f, r->err) != 0)
        return -1;
    for (int i = 0; i < f.count; i++) {
        if (f.item[i].attribute && strncmp(f.item[i].attribute, "layer_names", 11) == 0)
            return weights_of_groups(r, &f);
        /* as TensorFlow 2.12 and 2.13 call what has been "layers" since */
        if (strncmp(f.item[i].path, "_layer_checkpoint_dependencies/", 31) == 0)
            f.item[i].path = arena_printf(r->arena, "layers/%s", f.item[i].path + 31);
    }
    return weights_of_places(r, &f);
}

static int read_keras(struct weights_reader *r, const uint8_t *bytes, size_t size)
{
    struct zipfile z;
    uint8_t *member;
    char list[300];
    size_t member_size;
    int i, status;

    if (zipfile_open(&z, bytes, size, r->path, r->arena, r->err) != 0)
        return -1;
    i = zipfile_find(&z, WEIGHTS_MEMBER);
    status = i < 0 ? err_at(r->err, r->path, 0, 0, "holds no " WEIGHTS_MEMBER ", but %s",
                            zipfile_print(&z, list, sizeof(list)))
                   : zipfile_read(&z, i, r->arena, &member, &member_size, r->err);
    zipfile_close(&z);
    return status ? -1 : read_h5(r, member, member_size);
}

static int take_tensor(struct weights_reader *r, const struct safetensors *s,
                       const struct layer *l, int variable)
{
    const char *name = r->m->set->variable[variable].name;
    struct err why;
    int i = safetensors_find(s, name, &why);
    const struct safetensor *t = i < 0 ? NULL : &s->tensor[i];
    float *value;

    if (!t)
        return weights_fail(r, l, "%s", why.msg);
    if (t->dtype != ST_F32)
        return weights_fail(r, l, "its \"%s\" is of type %s in the file; it must be F32",
                            weights_local_name(r, l, variable), safetensors_dtype_name(t->dtype));
    value = arena_array(r->arena, (size_t)safetensor_bytes(t) / 4 + 1, sizeof(*value));
    if (safetensors_read(s, i, 0, value, safetensor_bytes(t), r->err) != 0)
        return -1;
    return weights_take(r, l, variable,
                        &(struct weights_array){name, t->rank, t->dim, value}, l->name);
}

static int read_safetensors(struct weights_reader *r)
{
    FILE *from = safetensors_file(r->path, r->err);
    struct safetensors s;
    int status = 0;

    if (!from || safetensors_of(&s, from, r->path, r->err) != 0)
        return -1;
    for (int i = 0; i < r->m->layer_count && status == 0; i++)
        for (int k = 0; k < r->m->layer[i]->variable_count && status == 0; k++)
            status = take_tensor(r, &s, r->m->layer[i], r->m->layer[i]->variable[k]);
    safetensors_close(&s);
    return status;
}

/* the length of a header, then the header */
static bool is_safetensors(const uint8_t *bytes, size_t size)
{
    return size > 9 && bytes[8] == '{' && bytes[7] == 0 && bytes[6] == 0;
}

int weights_read(const char *path, const struct model *m, struct arena *a,
                 struct weights_value **value, int *count, struct err *e)
{
    struct weights_reader r = {.m = m, .path = path, .arena = a, .err = e};
    uint8_t *bytes;
    size_t size;
    int status;

    if (isa_file_read(path, a, &bytes, &size, e) != 0)
        return -1;
    r.value = arena_array(a, (size_t)m->variable_count + 1, sizeof(*r.value));
    if (h5_is(bytes, size))
        status = read_h5(&r, bytes, size);
    else if (zipfile_is(bytes, size))
        status = read_keras(&r, bytes, size);
    else if (is_safetensors(bytes, size))
        status = read_safetensors(&r);
    else if (size > 0 && strchr("{ \t\r\n", bytes[0]))
        status = weights_of_tfjs(&r, bytes, size);
    else
        status = err_at(e, path, 0, 0, "is in no format that weights are read from: HDF5, .keras, "
                        "safetensors, TensorFlow.js's model.json");
    *value = r.value;
    *count = r.count;
    return status;
}
