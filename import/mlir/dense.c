/* Elements of dense attributes: from the bytes that files store to those that programs have. */
#include "import/mlir/mlir.h"

#include <string.h>

size_t mlir_type_element_bytes(const struct mlir_type *t)
{
    const struct mlir_type *item = t->item ? t->item : t;
    if (item->kind != MLIR_SCALAR) return 0;
    if (item->element != ELEMENT_COUNT) return hlo_element_bytes(item->element);
    return mlir_text_is(item->text, "index") ? sizeof(int64_t) : 0;
}

/* Narrow integers fill their byte: those with a sign by it, others with zeros. */
static void extend(enum hlo_element e, unsigned char *data, size_t count)
{
    int bits = e == ELEMENT_COUNT ? 64 : hlo_element_bits(e);
    if (bits >= 8) return;
    unsigned mask = (1u << bits) - 1, sign = 1u << (bits - 1);
    bool is_signed = hlo_element_kind(e) == ELEMENT_KIND_SIGNED;
    for (size_t i = 0; i < count; i++) {
        unsigned v = data[i] & mask;
        data[i] = (unsigned char)(is_signed && (v & sign) ? v | ~mask : v);
    }
}

static const struct mlir_attr *packed_bits(struct arena *a, const struct mlir_type *t,
                                           const unsigned char *bytes, size_t elements)
{
    unsigned char *data = arena_alloc(a, elements);
    for (size_t i = 0; i < elements; i++) data[i] = (bytes[i / 8] >> (i % 8)) & 1;
    return mlir_dense(a, t, data, false);
}

static const struct mlir_attr *predicates(struct arena *a, const struct mlir_type *t,
                                          const unsigned char *bytes, size_t count,
                                          size_t elements, const char **wrong)
{
    bool is_one = count == 1;
    if (is_one && (bytes[0] == 0xff || elements > 8 || elements <= 1)) {
        unsigned char *data = arena_alloc(a, 1);
        data[0] = bytes[0] != 0;
        return mlir_dense(a, t, data, true);
    }
    if (count == elements) {
        unsigned char *data = arena_alloc(a, elements);
        for (size_t i = 0; i < elements; i++) data[i] = bytes[i] != 0;
        return mlir_dense(a, t, data, false);
    }
    if (count == (elements + 7) / 8) return packed_bits(a, t, bytes, elements);
    *wrong = "the bytes are neither one for each predicate nor one for each eight";
    return NULL;
}

const struct mlir_attr *mlir_dense_of_bytes(struct arena *a, const struct mlir_type *t,
                                            const void *bytes, size_t count, const char **wrong)
{
    int64_t n = mlir_type_elements(t);
    size_t width = mlir_type_element_bytes(t);

    if (width == 0) return mlir_dense(a, t, NULL, false);
    if (n < 0) {
        *wrong = "the type of dense elements has no fixed size";
        return NULL;
    }
    size_t elements = (size_t)n;
    if (n == 0) return mlir_dense(a, t, arena_alloc(a, width), true);
    if (t->item->element == ELEMENT_PRED) return predicates(a, t, bytes, count, elements, wrong);
    bool is_all = count / width == elements && count % width == 0;
    if (!is_all && count != width) {
        *wrong = "the bytes are neither all elements of the type nor one";
        return NULL;
    }
    unsigned char *data = arena_alloc(a, count);
    memcpy(data, bytes, count);
    extend(t->item->element, data, count / width);
    return mlir_dense(a, t, data, count == width);
}
