/* Folds rows by one operation, in blocks that stay in the cache. */
#include "import/lanes/fold.h"

#include <string.h>

enum { FOLD_BLOCK = 256 };

bool fold_init(struct fold *f, enum fold_kind kind, enum hlo_opcode op, enum hlo_element e)
{
    enum lane l = lane_of(e);
    bool is_wide = kind == FOLD_WIDE && op == OPCODE_ADD;

    if (l == LANE_COUNT)
        return false;
    f->element = e;
    f->wide = !is_wide ? l : l == LANE_F32 ? LANE_F64 : l == LANE_C64 ? LANE_C128 : l;
    f->is_rounded = kind == FOLD_STEPS && lane_is_narrow(e);
    f->k = kernel_of(op, f->wide);
    return f->k;
}

void fold_load(const struct fold *f, void *wide, const void *from, int64_t n)
{
    _Alignas(16) char room[FOLD_BLOCK * LANE_BYTES_MAX];
    enum lane l = lane_of(f->element);
    int64_t block;

    if (l == f->wide) {
        lane_widen(f->element, wide, from, n);
        return;
    }
    for (int64_t i = 0; i < n; i += block) {
        const char *x = (const char *)from + (size_t)i * hlo_element_bytes(f->element);

        block = n - i < FOLD_BLOCK ? n - i : FOLD_BLOCK;
        if (lane_is_narrow(f->element)) {
            lane_widen(f->element, room, x, block);
            x = room;
        }
        lane_cast(f->wide, (char *)wide + (size_t)i * lane_bytes(f->wide), l, x, block);
    }
}

void fold_store(const struct fold *f, void *to, const void *wide, int64_t n)
{
    _Alignas(16) char room[FOLD_BLOCK * LANE_BYTES_MAX];
    enum lane l = lane_of(f->element);
    int64_t block;

    for (int64_t i = 0; i < n; i += block) {
        const char *x = (const char *)wide + (size_t)i * lane_bytes(f->wide);

        block = n - i < FOLD_BLOCK ? n - i : FOLD_BLOCK;
        lane_cast(l, room, f->wide, x, block);
        lane_narrow(f->element, (char *)to + (size_t)i * hlo_element_bytes(f->element), room,
                    block);
    }
}

void fold_row(const struct fold *f, void *wide, const void *from, int64_t n)
{
    _Alignas(16) char room[FOLD_BLOCK * LANE_BYTES_MAX];
    size_t bytes = lane_bytes(f->wide);
    int64_t block;

    if (lane_of(f->element) == f->wide && !lane_is_narrow(f->element)) {
        f->k(wide, wide, from, NULL, n);
        return;
    }
    for (int64_t i = 0; i < n; i += block) {
        char *z = (char *)wide + (size_t)i * bytes;

        block = n - i < FOLD_BLOCK ? n - i : FOLD_BLOCK;
        fold_load(f, room, (const char *)from + (size_t)i * hlo_element_bytes(f->element), block);
        f->k(z, z, room, NULL, block);
        if (f->is_rounded)
            lane_round(f->element, z, block);
    }
}

void fold_line(const struct fold *f, void *wide, const void *from, int64_t n)
{
    _Alignas(16) char room[FOLD_BLOCK * LANE_BYTES_MAX];
    size_t bytes = lane_bytes(f->wide), step = hlo_element_bytes(f->element);
    int64_t width = n < FOLD_BLOCK ? n : FOLD_BLOCK, half;

    if (n == 0)
        return;
    fold_load(f, room, from, width);
    for (int64_t i = width; i < n; i += width)
        fold_row(f, room, (const char *)from + (size_t)i * step, n - i < width ? n - i : width);
    for (; width > 1; width = half) {
        half = (width + 1) / 2;
        f->k(room, room, room + (size_t)half * bytes, NULL, width - half);
    }
    f->k(wide, wide, room, NULL, 1);
}
