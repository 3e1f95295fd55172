/* Parses and writes NumPy array files; the header's dictionary is searched for its three keys. */
#include "data/npy.h"

#include "base/outfile.h"
#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define HEADER_MAX 4096                 /* more than any array of few dimensions needs */
#define SIDE_MAX (1LL << 30)
#define ELEMS_MAX (1LL << 40)
#define PREAMBLE_BYTES 10
#define HEADER_BYTES 256                /* written, with the preamble */

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

/* "'<f4'", "'|u1'" */
static int parse_type(const char *text, struct npy_array *out)
{
    static const char *const types[] = {"<f4", "<i4", "<u4", "<f2", "<i2", "<u2", "|i1", "|u1",
                                        "|b1"};

    for (size_t i = 0; text && *text == '\'' && i < COUNT_OF(types); i++)
        if (strncmp(text + 1, types[i], 3) == 0 && text[4] == '\'') {
            snprintf(out->type, sizeof(out->type), "%s", types[i] + 1);
            out->elem_bytes = types[i][2] - '0';
            return 0;
        }
    return -1;
}

static int parse_header(const char *header, const char *file, struct npy_array *out,
                        struct err *e)
{
    const char *order = value_of(header, "'fortran_order'");
    const char *shape = value_of(header, "'shape'");

    if (parse_type(value_of(header, "'descr'"), out))
        return err_at(e, file, 0, 0, "only little-endian f32, s32, u32 and 16- and 8-bit arrays "
                      "can be loaded");
    if (!order || strncmp(order, "False", 5) != 0)
        return err_at(e, file, 0, 0, "only arrays in C order can be loaded");
    if (!shape || parse_shape(shape, out))
        return err_at(e, file, 0, 0, "only arrays of 0 to %d dimensions, each at least 1, "
                      "can be loaded", NPY_RANK_MAX);
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

int npy_parse(const uint8_t *bytes, size_t size, const char *file, struct npy *out,
              struct err *e)
{
    struct npy_array array = {.rank = 0};

    if (npy_parse_array(bytes, size, file, &array, e) != 0)
        return -1;
    if (strcmp(array.type, "f4") != 0 && strcmp(array.type, "i4") != 0)
        return err_at(e, file, 0, 0, "only little-endian f32 ('<f4') and s32 ('<i4') arrays "
                      "can be loaded");
    if (array.rank > 2)
        return err_at(e, file, 0, 0, "only arrays of 0 to 2 dimensions, each at least 1, "
                      "can be loaded");
    *out = (struct npy){.rank = array.rank, .rows = 1, .columns = 1, .data = array.data};
    if (array.rank > 0)
        out->columns = array.side[array.rank - 1];
    if (array.rank == 2)
        out->rows = array.side[0];
    return 0;
}

void npy_write_header(FILE *f, const struct npy_array *array)
{
    char header[HEADER_BYTES];
    unsigned char preamble[PREAMBLE_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    size_t length = sizeof(header) - sizeof(preamble), used;

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
