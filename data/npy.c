/* Parses and writes NumPy array files; the header's dictionary is searched for its three keys. */
#include "data/npy.h"

#include "base/floats.h"
#include "base/outfile.h"
#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define HEADER_MAX 4096                 /* more than any array of few dimensions needs */
#define SIDE_MAX (1LL << 30)
#define ELEMS_MAX (1LL << 40)
#define PREAMBLE_BYTES 10
#define HEADER_BYTES 256                /* written, with the preamble; of many dimensions more */
#define LONG_HEADER_BYTES 2048
#define SHORT_RANK_MAX 8

bool npy_is(const uint8_t *bytes, size_t size)
{
    return size >= MAGIC_BYTES && memcmp(bytes, MAGIC, MAGIC_BYTES) == 0;
}

/* what follows "'key':" in the header's dictionary, or NULL */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);

    if (!at)
        return NULL;
    at += strlen(key);
    while (*at == ' ' || *at == ':')
        at++;
    return at;
}

/* "(3, 4)", "(3,)", "()" */
static int parse_shape(const char *text, struct npy_array *out)
{
    int64_t count = 1;

    out->rank = 0;
    if (*text++ != '(')
        return -1;
    for (;;) {
        int64_t value = 0;

        while (*text == ' ' || *text == ',')
            text++;
        if (*text == ')')
            return 0;
        if (!isdigit((unsigned char)*text) || out->rank == NPY_RANK_MAX)
            return -1;
        for (; isdigit((unsigned char)*text) && value < SIDE_MAX; text++)
            value = value * 10 + (*text - '0');
        if (value < 1 || value >= SIDE_MAX || count > ELEMS_MAX / value)
            return -1;
        count *= value;
        out->side[out->rank++] = value;
    }
}

static int bytes_of(const char *type) { return (int)strtol(type + 1, NULL, 10); }

/* "'<f4'", "'>i8'", "'|u1'" */
static int parse_type(const char *text, struct npy_array *out)
{
    static const char *const types[] = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4",
                                        "u8", "b1", "c8", "c16"};

    if (!text || *text != '\'' || !text[1] || !strchr("<>|=", text[1]))
        return -1;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        size_t length = strlen(types[i]);

        if (strncmp(text + 2, types[i], length) == 0 && text[2 + length] == '\'') {
            snprintf(out->type, sizeof(out->type), "%s", types[i]);
            out->elem_bytes = bytes_of(types[i]);
            out->is_big_endian = text[1] == '>' && out->elem_bytes > 1;
            /* of a pair each number would have to be turned round by itself */
            return out->type[0] == 'c' && out->is_big_endian ? -1 : 0;
        }
    }
    return -1;
}

static int parse_header(const char *header, const char *file, struct npy_array *out,
                        struct err *e)
{
    const char *order = value_of(header, "'fortran_order'");
    const char *shape = value_of(header, "'shape'");

    if (parse_type(value_of(header, "'descr'"), out))
        return err_at(e, file, 0, 0, "only arrays of f16, f32, f64, bool and integers of 8 to 64 "
                      "bits can be loaded");
    if (!order || (strncmp(order, "False", 5) != 0 && strncmp(order, "True", 4) != 0))
        return err_at(e, file, 0, 0, "the header does not say in which order the elements are");
    if (!shape || parse_shape(shape, out))
        return err_at(e, file, 0, 0, "only arrays of 0 to %d dimensions, each at least 1, "
                      "can be loaded", NPY_RANK_MAX);
    out->is_fortran = *order == 'T' && out->rank > 1;
    return 0;
}

static int64_t elem_count(const struct npy_array *array)
{
    int64_t count = 1;

    for (int i = 0; i < array->rank; i++)
        count *= array->side[i];
    return count;
}

int npy_parse_array(const uint8_t *bytes, size_t size, const char *file, struct npy_array *out,
                    struct err *e)
{
    char header[HEADER_MAX + 1];
    size_t length, start = MAGIC_BYTES + 4;

    if (!npy_is(bytes, size) || size < 12)
        return err_at(e, file, 0, 0, "not a .npy file, or cut short");
    length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1) {
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
        start += 2;
    }
    if (length > HEADER_MAX || length > size - start)
        return err_at(e, file, 0, 0, "header of %zu bytes; the file has %zu", length,
                      size - start);
    memcpy(header, bytes + start, length);
    header[length] = '\0';
    if (parse_header(header, file, out, e) != 0)
        return -1;
    if ((int64_t)(size - start - length) / out->elem_bytes < elem_count(out))
        return err_at(e, file, 0, 0, "%lld elements need %lld bytes; %zu are there",
                      (long long)elem_count(out),
                      (long long)(out->elem_bytes * elem_count(out)), size - start - length);
    out->data = bytes + start + length;
    return 0;
}

/* ---- as another type ---- */

struct taking {
    const struct npy_array *from;
    const char *type, *file;
    int elem_bytes;                     /* of `type` */
};

/* where the element is that is number `index` in C order */
static const uint8_t *element_at(const struct npy_array *a, int64_t index)
{
    int64_t place = index, stride = 1, rest = index, dim[NPY_RANK_MAX];

    if (a->is_fortran) {
        for (int d = a->rank - 1; d >= 0; rest /= a->side[d--])
            dim[d] = rest % a->side[d];
        place = 0;
        for (int d = 0; d < a->rank; stride *= a->side[d++])
            place += dim[d] * stride;
    }
    return (const uint8_t *)a->data + place * a->elem_bytes;
}

/* of a number of up to 64 bits, little-endian */
static uint64_t bits_of(const struct npy_array *a, int64_t index)
{
    const uint8_t *at = element_at(a, index);
    uint64_t bits = 0;

    for (int i = 0; i < a->elem_bytes; i++)
        bits |= (uint64_t)at[i] << 8 * (a->is_big_endian ? a->elem_bytes - 1 - i : i);
    return bits;
}

static int take_float(const struct taking *t, int64_t index, uint64_t bits, uint8_t *to,
                      struct err *e)
{
    double wide;
    float value;

    if (t->from->elem_bytes == 2) {
        value = f32_from_f16((uint16_t)bits);
    } else {
        memcpy(&wide, &bits, sizeof(wide));
        value = (float)wide;
        if (isinf(value) && !isinf(wide))
            return err_at(e, t->file, 0, 0, "element %lld is %g, which f32 does not have",
                          (long long)index, wide);
    }
    memcpy(to, &value, sizeof(value));
    return 0;
}

static int take_integer(const struct taking *t, int64_t index, uint64_t bits, uint8_t *to,
                        struct err *e)
{
    int from_bits = 8 * t->from->elem_bytes, to_bits = 8 * t->elem_bytes;
    bool is_negative = t->from->type[0] == 'i' && bits >> (from_bits - 1) & 1;
    uint64_t size, most = t->type[0] == 'b' ? 1 : UINT64_MAX >> (64 - to_bits);

    if (is_negative && from_bits < 64)
        bits |= UINT64_MAX << from_bits;
    size = is_negative ? ~bits : bits;          /* -1 - x, which fits where x does */
    if (t->type[0] == 'i')
        most >>= 1;
    if (size > most || (is_negative && t->type[0] != 'i'))
        return err_at(e, t->file, 0, 0, is_negative ? "element %lld is %lld, which %s does not have"
                      : "element %lld is %llu, which %s does not have", (long long)index,
                      (long long)bits, t->type);
    memcpy(to, &bits, (size_t)t->elem_bytes);
    return 0;
}

static int take_element(const struct taking *t, int64_t index, uint8_t *to, struct err *e)
{
    bool is_same = strcmp(t->from->type, t->type) == 0;
    uint64_t bits;

    if (is_same && !t->from->is_big_endian) {   /* a pair has more than 64 bits */
        memcpy(to, element_at(t->from, index), (size_t)t->elem_bytes);
        return 0;
    }
    bits = bits_of(t->from, index);
    if (!is_same)
        return (t->type[0] == 'f' ? take_float : take_integer)(t, index, bits, to, e);
    memcpy(to, &bits, (size_t)t->elem_bytes);
    return 0;
}

static void say(const struct npy_array *a, const char *type, const char *file)
{
    fprintf(stderr, "systole: %s: %s%s%s elements are read as %s%s\n", file,
            a->is_big_endian ? "big-endian " : "", a->is_fortran ? "Fortran-ordered " : "",
            a->type, type, strcmp(a->type, "f8") == 0 && strcmp(type, "f4") == 0 ? ", rounded" : "");
}

int npy_take(struct npy_array *array, const char *type, const char *file, struct arena *a,
             struct err *e)
{
    struct taking t = {array, type, file, bytes_of(type)};
    bool is_same = strcmp(array->type, type) == 0;
    int64_t count = elem_count(array);
    uint8_t *to;

    if (is_same && !array->is_big_endian && !array->is_fortran)
        return 0;
    if (!is_same && ((array->type[0] == 'f') != (type[0] == 'f') || array->type[0] == 'c' ||
                     type[0] == 'c' || (type[0] == 'f' && strcmp(type, "f4") != 0)))
        return err_at(e, file, 0, 0, "elements of type %s; %s is needed", array->type, type);
    to = arena_array(a, (size_t)count, (size_t)t.elem_bytes);
    for (int64_t i = 0; i < count; i++)
        if (take_element(&t, i, to + i * t.elem_bytes, e))
            return -1;
    say(array, type, file);
    if (!is_same)                       /* `type` may be the array's own text */
        snprintf(array->type, sizeof(array->type), "%s", type);
    array->elem_bytes = t.elem_bytes;
    array->is_big_endian = array->is_fortran = false;
    array->data = to;
    return 0;
}

int npy_parse(const uint8_t *bytes, size_t size, const char *file, struct arena *a,
              struct npy *out, struct err *e)
{
    struct npy_array array = {.rank = 0};

    if (npy_parse_array(bytes, size, file, &array, e) != 0)
        return -1;
    if (array.rank > 2)
        return err_at(e, file, 0, 0, "only arrays of 0 to 2 dimensions, each at least 1, "
                      "can be loaded");
    if (npy_take(&array, array.type[0] == 'f' ? "f4" : "i4", file, a, e))
        return -1;
    *out = (struct npy){.is_f32 = array.type[0] == 'f', .rank = array.rank, .rows = 1,
                        .columns = 1, .data = array.data};
    if (array.rank > 0)
        out->columns = array.side[array.rank - 1];
    if (array.rank == 2)
        out->rows = array.side[0];
    return 0;
}

void npy_write_header(FILE *f, const struct npy_array *array)
{
    char header[LONG_HEADER_BYTES];
    unsigned char preamble[PREAMBLE_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    size_t used, length = (array->rank > SHORT_RANK_MAX ? LONG_HEADER_BYTES : HEADER_BYTES) -
                          sizeof(preamble);

    memset(header, ' ', sizeof(header));
    used = (size_t)snprintf(header, sizeof(header),
                            "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                            array->elem_bytes > 1 ? '<' : '|', array->type);
    for (int i = 0; i < array->rank; i++)
        used += (size_t)snprintf(header + used, sizeof(header) - used, "%s%lld%s", i ? " " : "",
                                 (long long)array->side[i],
                                 i + 1 < array->rank || array->rank == 1 ? "," : "");
    used += (size_t)snprintf(header + used, sizeof(header) - used, "), }");
    header[used] = ' ';
    header[length - 1] = '\n';
    preamble[8] = (unsigned char)length;
    preamble[9] = (unsigned char)(length >> 8);
    fwrite(preamble, 1, sizeof(preamble), f);
    fwrite(header, 1, length, f);
}

int npy_write_array(const char *path, const struct npy_array *array, struct err *e)
{
    struct outfile f;

    if (outfile_begin(&f, path, e))
        return -1;
    npy_write_header(f.to, array);
    fwrite(array->data, (size_t)array->elem_bytes, (size_t)elem_count(array), f.to);
    return outfile_commit(&f, e);
}

int npy_write(const char *path, const float *data, int64_t rows, int64_t columns, struct err *e)
{
    struct npy_array array = {.type = "f4", .elem_bytes = 4, .rank = 2, .side = {rows, columns},
                              .data = data};

    return npy_write_array(path, &array, e);
}
