/* Elements of the host to the words of the graph's arrays, and back. */
#include "import/lower/lower_values.h"

#include <string.h>

static void to_words(enum hlo_element e, int64_t count, const void *from, void *to)
{
    size_t bytes = hlo_element_bytes(e);

    if (bytes == 4) {
        memcpy(to, from, (size_t)count * 4);
        return;
    }
    if (e == ELEMENT_BF16) {
        for (int64_t i = 0; i < count; i++)
            ((uint32_t *)to)[i] = (uint32_t)((const uint16_t *)from)[i] << 16;
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const char *element = (const char *)from + (size_t)i * bytes;

        if (hlo_element_is_float(e))
            ((float *)to)[i] = (float)hlo_element_load(e, element);
        else
            ((uint32_t *)to)[i] = (uint32_t)hlo_element_load_int(e, element);
    }
}

static void from_words(enum hlo_element e, int64_t count, const void *from, void *to)
{
    size_t bytes = hlo_element_bytes(e);

    if (bytes == 4) {
        memcpy(to, from, (size_t)count * 4);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        char *element = (char *)to + (size_t)i * bytes;

        if (hlo_element_is_float(e))
            hlo_element_store(e, ((const float *)from)[i], element);
        else
            hlo_element_store_int(e, ((const int32_t *)from)[i], element);
    }
}

/* words of an array in the program's order to the graph's, or back */
static void turn(const struct lowered_order *o, int64_t count, const uint32_t *from, uint32_t *to,
                 bool is_back)
{
    int64_t stride[GRAPH_RANK_MAX], index[GRAPH_RANK_MAX] = {0}, at = 0;

    for (int d = 0; d < o->rank; d++) {         /* in the program's, of dimension d of the graph's */
        stride[d] = 1;
        for (int k = o->order[d] + 1; k < o->rank; k++)
            stride[d] *= o->dim[k];
    }
    for (int64_t i = 0; i < count; i++) {
        to[is_back ? at : i] = from[is_back ? i : at];
        for (int d = o->rank - 1; d >= 0; d--) {
            at += stride[d];
            if (++index[d] < o->dim[o->order[d]])
                break;
            at -= stride[d] * index[d];
            index[d] = 0;
        }
    }
}

/* the same words in the other order, in `a` */
static void *turned(const struct lowered_leaf *leaf, void *word, bool is_back, struct arena *a)
{
    int64_t count = hlo_type_elements(&leaf->leaf.type);
    uint32_t *to;

    if (!leaf->order.rank)
        return word;
    to = arena_array(a, (size_t)count + 1, sizeof(*to));
    turn(&leaf->order, count, word, to, is_back);
    return to;
}

static bool has_same_elements(const struct lowered_leaf *leaf)
{
    return leaf->leaf.parts == 1 && leaf->leaf.part == leaf->leaf.type.element;
}

static bool has_words(const struct lowered_leaf *leaf)
{
    return has_same_elements(leaf) && hlo_element_bytes(leaf->leaf.part) == 4;
}

bool lowered_is_same(const struct lowered_leaf *leaf)
{
    return has_words(leaf) && leaf->count == 1 && !leaf->order.rank;
}

static bool is_bounded(const struct hlo_type *t, int dim)
{
    return t->is_bounded && t->is_bounded[dim];
}

/* scalars behind the parts: of bounded dimensions how much is there */
static void pack_sizes(const struct lowered_leaf *leaf, const int64_t *size, void **word,
                       struct arena *a)
{
    const struct hlo_type *t = &leaf->leaf.type;
    int n = leaf->leaf.parts;

    for (int d = 0; d < t->rank && n < leaf->count; d++)
        if (is_bounded(t, d)) {
            word[n] = arena_alloc(a, 4);
            *(int32_t *)word[n++] = (int32_t)(size ? size[d] : t->dim[d]);
        }
}

void **lowered_pack(const struct lowered_leaf *leaf, const void *from, const int64_t *size,
                    struct arena *a)
{
    int64_t count = hlo_type_elements(&leaf->leaf.type);
    void **word = arena_array(a, (size_t)leaf->count + 1, sizeof(*word));
    void **part = arena_array(a, (size_t)leaf->leaf.parts + 1, sizeof(*part));
    size_t bytes = hlo_element_bytes(leaf->leaf.part);
    bool is_same = has_same_elements(leaf), are_words = has_words(leaf);

    for (int k = 0; k < leaf->leaf.parts; k++) {        /* the caller's elements are only read */
        part[k] = is_same ? (void *)(uintptr_t)from
                          : arena_array(a, (size_t)count + 1, bytes ? bytes : 1);
        word[k] = are_words ? part[k] : arena_array(a, (size_t)count + 1, 4);
    }
    if (count > 0 && leaf->leaf.parts > 0 && !is_same)
        expand_split(leaf->leaf.type.element, count, from, part);
    for (int k = 0; k < leaf->leaf.parts && !are_words; k++)
        to_words(leaf->leaf.part, count, part[k], word[k]);
    for (int k = 0; k < leaf->leaf.parts; k++)
        word[k] = turned(leaf, word[k], false, a);
    pack_sizes(leaf, size, word, a);
    return word;
}

static void unpack_sizes(const struct lowered_leaf *leaf, void *const *word, int64_t *size)
{
    const struct hlo_type *t = &leaf->leaf.type;
    int n = leaf->leaf.parts;

    for (int d = 0; d < t->rank; d++)
        size[d] = is_bounded(t, d) && n < leaf->count ? *(const int32_t *)word[n++] : t->dim[d];
}

void *lowered_unpack(const struct lowered_leaf *leaf, void *const *word, int64_t *size,
                     struct arena *a)
{
    int64_t count = hlo_type_elements(&leaf->leaf.type);
    void **part = arena_array(a, (size_t)leaf->leaf.parts + 1, sizeof(*part));
    size_t bytes = hlo_element_bytes(leaf->leaf.part);
    bool are_words = has_words(leaf);
    void *to;

    for (int k = 0; k < leaf->leaf.parts; k++) {
        void *words = turned(leaf, word[k], true, a);

        part[k] = are_words ? words : arena_array(a, (size_t)count + 1, bytes ? bytes : 1);
        if (!are_words)
            from_words(leaf->leaf.part, count, words, part[k]);
    }
    if (size)
        unpack_sizes(leaf, word, size);
    if (has_same_elements(leaf))
        return part[0];
    to = arena_array(a, (size_t)count + 1, hlo_element_bytes(leaf->leaf.type.element) + 1);
    if (count > 0 && leaf->leaf.parts > 0)
        expand_join(leaf->leaf.type.element, count, (const void *const *)part, to);
    return to;
}
