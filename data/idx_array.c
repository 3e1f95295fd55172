/* Parses one IDX file as an array of any type and rank. */
#include "data/idx_array.h"

#include <inttypes.h>
#include <string.h>

#define HEAD_BYTES 4

static uint32_t big_endian(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static int parse_type(const unsigned char *bytes, const char *path, struct data_spec *s,
                      struct err *e)
{
    switch (bytes[2]) {
    case 0x08: s->dtype = DATA_U8; break;
    case 0x0c: s->dtype = DATA_S32; break;
    case 0x0d: s->dtype = DATA_F32; break;
    default:
        return err_at(e, path, 0, 0, "elements of type 0x%02x at byte 2, allowed are 0x08 (u8), "
                      "0x0c (s32) and 0x0d (f32)", bytes[2]);
    }
    s->rank = bytes[3];
    if (s->rank < 1 || s->rank > DATA_RANK_MAX)
        return err_at(e, path, 0, 0, "%d dimensions at byte 3, allowed are 1..%d", s->rank,
                      DATA_RANK_MAX);
    return 0;
}

/* The sizes must multiply to just what is there: no product can then overflow unseen. */
static int parse_sizes(const unsigned char *bytes, int64_t size, const char *path,
                       struct data_spec *s, struct err *e)
{
    int64_t head = HEAD_BYTES + 4 * s->rank, elem_bytes = (int64_t)data_dtype_bytes(s->dtype);
    int64_t count = 1;

    if (size < head)
        return err_at(e, path, 0, 0, "truncated: a header of %" PRId64 " bytes, the file has %"
                      PRId64, head, size);
    for (int d = 0; d < s->rank; d++) {
        s->dim[d] = big_endian(bytes + HEAD_BYTES + 4 * d);
        if (s->dim[d] > 0 && count > DATA_TENSOR_ELEMS_MAX / s->dim[d])
            return err_at(e, path, 0, 0, "dimension %d at byte %d is %" PRId64 ": too many "
                          "elements for one array", d, HEAD_BYTES + 4 * d, s->dim[d]);
        count *= s->dim[d];
    }
    if (size - head != count * elem_bytes)
        return err_at(e, path, 0, 0, "%s: %" PRId64 " elements need %" PRId64 " bytes behind byte %"
                      PRId64 ", the file has %" PRId64,
                      size - head < count * elem_bytes ? "truncated" : "goes on too long", count,
                      count * elem_bytes, head, size - head);
    return 0;
}

int idx_parse(const unsigned char *bytes, int64_t size, const char *path, struct data_element *x,
              int i, struct err *e)
{
    struct data_spec s = {.rank = 0};
    int64_t count;
    void *to;

    if (size < HEAD_BYTES || bytes[0] != 0 || bytes[1] != 0)
        return err_at(e, path, 0, 0, "not an IDX file: it begins with two bytes 0, a type and a "
                      "number of dimensions");
    if (parse_type(bytes, path, &s, e) || parse_sizes(bytes, size, path, &s, e))
        return -1;
    to = element_put(x, i, &s);
    count = data_spec_elems(&s);
    bytes += HEAD_BYTES + 4 * s.rank;
    if (s.dtype == DATA_U8 && count > 0)
        memcpy(to, bytes, (size_t)count);
    for (int64_t k = 0; s.dtype != DATA_U8 && k < count; k++) {
        uint32_t word = big_endian(bytes + 4 * k);

        memcpy((char *)to + 4 * k, &word, sizeof(word));
    }
    return 0;
}
