/*
 * Writes files into HBM and shows matrices from it, converting between row-major arrays and tiles.
 */
#include "cli/common/hbm_data.h"

#include "base/arena.h"
#include "base/outfile.h"
#include "base/text.h"
#include "data/npy.h"
#include "isa/file.h"
#include "stack/hlo/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct array array_of_matrix(int64_t rows, int64_t columns)
{
    struct shape s = shape_make(DTYPE_F32, 2, (int64_t[]){rows, columns});
    struct array a;

    array_init(&a, "matrix", &s, NULL);
    return a;
}

static int parse_address(const char *text, size_t length, int64_t *address, struct err *e)
{
    char word[32];

    if (length >= sizeof(word))
        length = sizeof(word) - 1;
    memcpy(word, text, length);
    word[length] = '\0';
    if (text_parse_int(word, 0, INT64_MAX / 2, address) != 0 || *address % 32 != 0)
        return err_set(e, "hbm address \"%s\"; a multiple of 32 bytes is needed, decimal or 0x",
                       word);
    return 0;
}

static int write_cores(struct machine *m, int first, int last, int64_t address, const void *from,
                       int64_t bytes, struct err *e)
{
    for (int i = first; i <= last; i++)
        if (machine_hbm_write(m, i, address, from, bytes, e) != 0)
            return -1;
    return 0;
}

static int load_npy(struct machine *m, int first, int last, int64_t address,
                    const uint8_t *bytes, size_t size, const char *file, struct arena *a,
                    struct err *e)
{
    struct array l;
    struct npy array;
    void *tiles;
    int status;

    if (npy_parse(bytes, size, file, a, &array, e) != 0)
        return -1;
    if (array.rank < 2)
        return write_cores(m, first, last, address, array.data, 4 * array.columns, e);
    l = array_of_matrix(array.rows, array.columns);
    if (l.bytes > machine_hbm_share_bytes(m))
        return err_at(e, file, 0, 0, "%lldx%lld elements take %lld bytes as tiles; a core has "
                      "%lld bytes of HBM", (long long)array.rows, (long long)array.columns,
                      (long long)l.bytes, (long long)machine_hbm_share_bytes(m));
    tiles = mem_alloc((size_t)l.bytes);
    array_pack(&l, array.data, tiles);
    status = write_cores(m, first, last, address, tiles, l.bytes, e);
    mem_free(tiles);
    return status;
}

int hbm_data_load(struct machine *m, int first, int last, const char *argument, struct err *e)
{
    const char *equals = strchr(argument, '=');
    struct arena a;
    int64_t address;
    uint8_t *bytes;
    size_t size;
    int status;

    if (!equals || !equals[1])
        return err_set(e, "--hbm \"%s\"; ADDR=FILE is needed", argument);
    if (parse_address(argument, (size_t)(equals - argument), &address, e) != 0)
        return -1;
    arena_init(&a);
    status = isa_file_read(equals + 1, &a, &bytes, &size, e);
    if (status == 0 && npy_is(bytes, size))
        status = load_npy(m, first, last, address, bytes, size, equals + 1, &a, e);
    else if (status == 0)
        status = write_cores(m, first, last, address, bytes, (int64_t)size, e);
    arena_fini(&a);
    return status;
}

int hbm_matrix_parse(const char *argument, bool with_path, struct hbm_matrix *matrix,
                     struct err *e)
{
    const char *colon = strchr(argument, ':');
    char *after = NULL;
    bool is_whole;

    if (!colon)
        return err_set(e, "\"%s\"; ADDR:ROWSxCOLS%s is needed", argument, with_path ? "=FILE" : "");
    if (parse_address(argument, (size_t)(colon - argument), &matrix->address, e) != 0)
        return -1;
    matrix->rows = strtoll(colon + 1, &after, 10);
    matrix->columns = *after == 'x' ? strtoll(after + 1, &after, 10) : 0;
    is_whole = with_path ? after[0] == '=' && after[1] : !*after;
    matrix->path = with_path ? after + 1 : NULL;
    if (!is_whole || matrix->rows < 1 || matrix->columns < 1 ||
        matrix->rows > HBM_MATRIX_ELEMS_MAX / matrix->columns)
        return err_set(e, "\"%s\"; ADDR:ROWSxCOLS%s is needed, with sides of at least 1 and at "
                       "most %d elements", argument, with_path ? "=FILE" : "",
                       HBM_MATRIX_ELEMS_MAX);
    return 0;
}

int hbm_matrix_check(const struct machine *m, const struct hbm_matrix *matrix, struct err *e)
{
    struct array l = array_of_matrix(matrix->rows, matrix->columns);
    int64_t share = machine_hbm_share_bytes(m);

    if (matrix->address > share - l.bytes)
        return err_set(e, "%lldx%lld elements take %lld bytes as tiles; a core has %lld bytes of "
                       "HBM, %lld from 0x%llx on", (long long)matrix->rows,
                       (long long)matrix->columns, (long long)l.bytes, (long long)share,
                       (long long)(matrix->address < share ? share - matrix->address : 0),
                       (long long)matrix->address);
    return matrix->path ? outfile_check(matrix->path, e) : 0;
}

static void print_matrix(int core, const struct hbm_matrix *matrix, const float *dense)
{
    printf("core %d, hbm 0x%llx, f32[%lld,%lld]\n", core, (long long)matrix->address,
           (long long)matrix->rows, (long long)matrix->columns);
    for (int64_t i = 0; i < matrix->rows; i++)
        for (int64_t j = 0; j < matrix->columns; j++)
            printf("%.9g%c", (double)dense[i * matrix->columns + j],
                   j + 1 < matrix->columns ? ' ' : '\n');
}

int hbm_matrix_show(struct machine *m, int core, const struct hbm_matrix *matrix, struct err *e)
{
    struct array l = array_of_matrix(matrix->rows, matrix->columns);
    void *tiles = mem_alloc((size_t)l.bytes);
    int status = machine_hbm_read(m, core, matrix->address, tiles, l.bytes, e);

    if (status == 0) {
        float *dense = mem_alloc(sizeof(float) * (size_t)(matrix->rows * matrix->columns));

        array_unpack(&l, tiles, dense);
        if (matrix->path)
            status = npy_write(matrix->path, dense, matrix->rows, matrix->columns, e);
        else
            print_matrix(core, matrix, dense);
        mem_free(dense);
    }
    mem_free(tiles);
    return status;
}
