/* Keeps the API's statuses and messages, and converts types and shapes. */
#include "api/api.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"

static _Thread_local char message[1024];

const char *sy_message(void) { return message; }
const char *sy_version(void) { return SY_VERSION; }

sy_status api_fail(const struct err *e)
{
    err_format(e, message, sizeof(message));
    return SY_ERROR;
}

sy_status api_restored(int found, const struct err *skipped)
{
    sy_status failed = api_fail(skipped);       /* "" if there is nothing to tell */

    return found ? SY_OK : *skipped->msg ? failed : SY_END;
}

sy_status api_fail_text(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    text_print_args(message, sizeof(message), format, args);
    va_end(args);
    return SY_ERROR;
}

sy_status api_given(const char *function, const char *names, const void *const *pointer, int count)
{
    for (int i = 0; i < count; i++) {
        size_t length = strcspn(names, ",");

        if (!pointer[i])
            return api_fail_text("%s: %.*s is NULL", function, (int)length, names);
        names += length + strspn(names + length, ", ");
    }
    return SY_OK;
}

/* ----- */

static const struct {
    sy_dtype api;
    enum graph_dtype graph;
    const char *name;
} types[] = {
    {SY_F32, DTYPE_F32, "SY_F32"}, {SY_BF16, DTYPE_BF16, "SY_BF16"}, {SY_S32, DTYPE_S32, "SY_S32"},
    {SY_PRED, DTYPE_PRED, "SY_PRED"}, {SY_U32, DTYPE_U32, "SY_U32"}, {SY_U8, DTYPE_U8, "SY_U8"},
};
#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

int api_graph_dtype(sy_dtype dtype, enum graph_dtype *out, struct err *e)
{
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (types[i].api == dtype) {
            *out = types[i].graph;
            return 0;
        }
    return err_set(e, "element type %d is none of SY_F32, SY_BF16, SY_S32, SY_PRED, SY_U32, "
                   "SY_U8", (int)dtype);
}

sy_dtype api_dtype(enum graph_dtype dtype)
{
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (types[i].graph == dtype)
            return types[i].api;
    return SY_S32;                      /* s8: values are int32_t on the host */
}

int api_shape(sy_dtype dtype, const sy_shape *shape, struct shape *out, struct err *e)
{
    enum graph_dtype type = DTYPE_F32;
    int64_t elems = 1;

    if (api_graph_dtype(dtype, &type, e))
        return -1;
    if (shape->rank < 0 || shape->rank > SY_RANK_MAX)
        return err_set(e, "a shape of rank %d; allowed are 0..%d", shape->rank, SY_RANK_MAX);
    for (int d = 0; d < shape->rank; d++) {
        if (shape->dim[d] < 1 || shape->dim[d] > INT64_C(1) << 40 ||
            elems > (INT64_C(1) << 40) / shape->dim[d])
            return err_set(e, "dimension %d of a shape is %" PRId64 "; sizes are at least 1, and "
                           "all together at most 2^40", d, shape->dim[d]);
        elems *= shape->dim[d];
    }
    *out = shape_make(type, shape->rank, shape->dim);
    return 0;
}

sy_shape api_dims(const struct shape *s)
{
    sy_shape out = {.rank = s->rank};

    for (int d = 0; d < s->rank; d++)
        out.dim[d] = s->dim[d];
    return out;
}
