#include "cli/npy.h"

#include "base/outfile.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define HEADER_MAX 4096                 /* more than any array of two dimensions needs */
#define SIDE_MAX (1LL << 30)

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
static int parse_shape(const char *text, struct npy *out)
{
    int64_t side[2] = {1, 1};
    int rank = 0;

    if (*text++ != '(')
        return -1;
    for (;;) {
        int64_t value = 0;

        while (*text == ' ' || *text == ',')
            text++;
        if (*text == ')')
            break;
        if (!isdigit((unsigned char)*text) || rank == 2)
            return -1;
        for (; isdigit((unsigned char)*text) && value < SIDE_MAX; text++)
            value = value * 10 + (*text - '0');
        if (value < 1 || value >= SIDE_MAX)
            return -1;
        side[rank++] = value;
    }
    out->rank = rank;
    out->rows = rank == 2 ? side[0] : 1;
    out->columns = rank == 2 ? side[1] : side[0];
    return 0;
}

static int parse_header(const char *header, const char *file, struct npy *out, struct err *e)
{
    const char *type = value_of(header, "'descr'");
    const char *order = value_of(header, "'fortran_order'");
    const char *shape = value_of(header, "'shape'");

    if (!type || (strncmp(type, "'<f4'", 5) != 0 && strncmp(type, "'<i4'", 5) != 0))
        return err_at(e, file, 0, 0, "only little-endian f32 ('<f4') and s32 ('<i4') arrays "
                      "can be loaded");
    if (!order || strncmp(order, "False", 5) != 0)
        return err_at(e, file, 0, 0, "only arrays in C order can be loaded");
    if (!shape || parse_shape(shape, out))
        return err_at(e, file, 0, 0, "only arrays of 0 to 2 dimensions, each at least 1, "
                      "can be loaded");
    return 0;
}

int npy_parse(const uint8_t *bytes, size_t size, const char *file, struct npy *out,
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
    if ((int64_t)((size - start - length) / 4) / out->rows < out->columns)
        return err_at(e, file, 0, 0, "%lldx%lld elements need %lld bytes; %zu are there",
                      (long long)out->rows, (long long)out->columns,
                      (long long)(4 * out->rows * out->columns), size - start - length);
    out->data = bytes + start + length;
    return 0;
}

static void write_all(FILE *f, const float *data, int64_t rows, int64_t columns)
{
    char header[128];
    unsigned char preamble[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    size_t count = (size_t)(rows * columns), length = sizeof(header) - sizeof(preamble);

    memset(header, ' ', sizeof(header));
    header[snprintf(header, sizeof(header),
                    "{'descr': '<f4', 'fortran_order': False, 'shape': (%lld, %lld), }",
                    (long long)rows, (long long)columns)] = ' ';
    header[length - 1] = '\n';
    preamble[8] = (unsigned char)length;
    fwrite(preamble, 1, sizeof(preamble), f);
    fwrite(header, 1, length, f);
    fwrite(data, 4, count, f);
}

int npy_write(const char *path, const float *data, int64_t rows, int64_t columns, struct err *e)
{
    struct outfile f;

    if (outfile_begin(&f, path, e))
        return -1;
    write_all(f.to, data, rows, columns);
    return outfile_commit(&f, e);
}
