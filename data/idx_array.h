/*
 * IDX files: magic (0, 0, type, rank), big-endian sizes, big-endian elements in C order.
 */
#ifndef DATA_IDX_ARRAY_H
#define DATA_IDX_ARRAY_H
#include "data/element.h"

/*
 * The array in `bytes` becomes tensor i of x: u8 (type 0x08), s32 (0x0c) or f32 (0x0d). -1 names
 * what of the file `path` is wrong.
 */
int idx_parse(const unsigned char *bytes, int64_t size, const char *path, struct data_element *x,
              int i, struct err *e);
#endif
