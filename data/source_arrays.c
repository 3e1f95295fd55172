/* Sources over files that hold whole arrays, IDX, .npy and CSV, and over lists of files. */
#include "base/csv.h"
#include "base/units.h"
#include "data/dataset_impl.h"
#include "data/files.h"
#include "data/idx_array.h"
#include "data/npy.h"

#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES_MAX ((int64_t)1 << 36)

typedef int parse_array(const unsigned char *bytes, int64_t size, const char *path,
                        struct data_element *x, int i, struct err *e);

static int parse_whole(const struct data_bytes *from, parse_array *parse, struct data_element *x,
                       int i, struct err *e)
{
    if (parse(from->bytes, from->size, from->path, x, i, e))
        return -1;
    return x->tensor[i].spec.rank ? 0 : err_at(e, from->path, 0, 0, "holds a scalar, which has no "
                                               "slices");
}

/* its bytes, or those of the file that it names */
static int load_array(const struct data_bytes *from, parse_array *parse, struct data_element *x,
                      int i, struct err *e)
{
    struct data_bytes whole = *from;
    struct stream *s;
    int status = -1;

    if (from->bytes)
        return parse_whole(from, parse, x, i, e);
    s = stream_open(from->path, DATA_COMPRESSION_AUTO, e);
    if (!s)
        return -1;
    whole.size = stream_whole(s, FILE_BYTES_MAX, &whole.bytes, e);
    if (whole.size >= 0)
        status = parse_whole(&whole, parse, x, i, e);
    stream_close(s);
    return status;
}

static struct dataset *load_arrays(const struct data_bytes *array, int count, parse_array *parse,
                                   const char *name, struct err *e)
{
    struct data_element *x;

    if (count < 1 || count > DATA_TUPLE_MAX)
        return dataset_refuse(NULL, e, "%s: %d files, allowed are 1..%d", name, count,
                              DATA_TUPLE_MAX);
    x = element_new(count);
    for (int i = 0; i < count; i++) {
        int64_t first;

        if (load_array(&array[i], parse, x, i, e)) {
            element_release(x);
            return NULL;
        }
        first = x->tensor[0].spec.dim[0];
        if (x->tensor[i].spec.dim[0] != first) {
            err_at(e, array[i].path, 0, 0, "holds %" PRId64 " slices, %s holds %" PRId64,
                   x->tensor[i].spec.dim[0], array[0].path, first);
            element_release(x);
            return NULL;
        }
    }
    return dataset_of_arrays(x, name, e);
}

static struct dataset *load_files(const char *const *path, int count, parse_array *parse,
                                  const char *name, struct err *e)
{
    struct data_bytes file[DATA_TUPLE_MAX] = {{0}};

    for (int i = 0; i < count && i < DATA_TUPLE_MAX; i++)
        file[i].path = path[i];
    return load_arrays(file, count, parse, name, e);
}

struct dataset *dataset_from_idx(const char *const *path, int count, struct err *e)
{
    return load_files(path, count, idx_parse, "idx", e);
}

/* ---- .npy */

static int parse_npy(const unsigned char *bytes, int64_t size, const char *path,
                     struct data_element *x, int i, struct err *e)
{
    struct npy_array array = {.rank = 0};
    enum data_dtype dtype;
    struct data_spec s;
    struct arena a;
    int status;

    if (npy_parse_array(bytes, (size_t)size, path, &array, e))
        return -1;
    if (array.rank > DATA_RANK_MAX)
        return err_at(e, path, 0, 0, "%d dimensions, at most %d are allowed", array.rank,
                      DATA_RANK_MAX);
    dtype = array.type[0] == 'f' ? DATA_F32
            : array.elem_bytes == 1 && array.type[0] == 'u' ? DATA_U8 : DATA_S32;    /* truths, too */
    arena_init(&a);
    status = npy_take(&array, dtype == DATA_F32 ? "f4" : dtype == DATA_S32 ? "i4" : array.type,
                      path, &a, e);
    s = data_spec_of(dtype, array.rank, array.side);
    if (status == 0)
        memcpy(element_put(x, i, &s), array.data, (size_t)(data_spec_elems(&s) * array.elem_bytes));
    arena_fini(&a);
    return status;
}

struct dataset *dataset_from_npy(const char *const *path, int count, struct err *e)
{
    return load_files(path, count, parse_npy, "npy", e);
}

struct dataset *dataset_from_npy_bytes(const struct data_bytes *array, int count, struct err *e)
{
    return load_arrays(array, count, parse_npy, "npy", e);
}

/* ---- CSV */

static int take_cell(const struct csv *c, int row, int column, struct data_element *x, int i,
                     struct err *e)
{
    const char *text = csv_text(c, row, column);
    enum data_dtype dtype = x->tensor[i].spec.dtype;
    double most = dtype == DATA_S32 ? INT32_MAX : 3.4e38, value;

    if (dtype == DATA_STRING) {
        element_put_string(x, i, row, text, (int64_t)strlen(text));
        return 0;
    }
    if (csv_number(c, row, column, dtype == DATA_S32 ? INT32_MIN : -most, most, &value, e))
        return -1;
    if (isnan(value) || (dtype == DATA_S32 && value != floor(value)))
        return err_at(e, c->path, c->row[row].line, 0, "column %s is '%s', a%s number is needed",
                      c->heading.field[column], text, dtype == DATA_S32 ? " whole" : "");
    if (dtype == DATA_S32)
        ((int32_t *)x->tensor[i].data)[row] = (int32_t)value;
    else
        ((float *)x->tensor[i].data)[row] = (float)value;
    return 0;
}

static int take_column(const struct csv *c, const struct data_column *column,
                       struct data_element *x, int i, struct err *e)
{
    int64_t count = c->row_count;
    struct data_spec s = data_spec_of(column->dtype, 1, &count);
    int at = csv_column(c, column->name, e);

    if (at < 0)
        return -1;
    if (column->dtype == DATA_U8)
        return err_at(e, c->path, 0, 0, "column %s: f32, s32 or string, not u8", column->name);
    element_put(x, i, &s);
    for (int row = 0; row < c->row_count; row++)
        if (take_cell(c, row, at, x, i, e))
            return -1;
    return 0;
}

static char *read_text(const char *path, struct arena *a, struct err *e)
{
    struct stream *s = stream_open(path, DATA_COMPRESSION_AUTO, e);
    const unsigned char *bytes;
    char *text = NULL;
    int64_t size;

    if (!s)
        return NULL;
    size = stream_whole(s, FILE_BYTES_MAX, &bytes, e);
    if (size > 0 && memchr(bytes, '\0', (size_t)size)) {
        err_at(e, path, 0, 0, "holds a byte 0, so it is no text");
    } else if (size >= 0) {
        text = arena_alloc(a, (size_t)size + 1);
        if (size > 0)
            memcpy(text, bytes, (size_t)size);
    }
    stream_close(s);
    return text;
}

static struct data_element *read_columns(const char *path, const struct data_column *column,
                                         int count, struct arena *a, struct err *e)
{
    char *text = read_text(path, a, e);
    struct data_element *x;
    struct csv c;

    if (!text || csv_parse(&c, path, text, NULL, a, e))
        return NULL;
    x = element_new(count);
    for (int i = 0; i < count; i++)
        if (take_column(&c, &column[i], x, i, e)) {
            element_release(x);
            return NULL;
        }
    return x;
}

struct dataset *dataset_from_csv(const char *path, const struct data_column *column, int count,
                                 struct err *e)
{
    struct data_element *x;
    struct arena a;

    if (count < 1 || count > DATA_TUPLE_MAX)
        return dataset_refuse(NULL, e, "csv: %d columns, allowed are 1..%d", count,
                              DATA_TUPLE_MAX);
    arena_init(&a);
    x = read_columns(path, column, count, &a, e);
    arena_fini(&a);
    return x ? dataset_of_arrays(x, "csv", e) : NULL;
}

/* ---- lists of files */

struct dataset *dataset_list_files(const char *pattern, struct err *e)
{
    struct dataset *d = NULL;
    glob_t found;
    int status = glob(pattern, GLOB_ERR, NULL, &found);

    if (status == 0)
        d = dataset_from_paths((const char *const *)found.gl_pathv, (int64_t)found.gl_pathc, e);
    else
        err_at(e, pattern, 0, 0, status == GLOB_NOMATCH ? "no file has a name like this"
                                                        : "a folder cannot be read");
    if (status == 0)
        globfree(&found);
    return d;
}
