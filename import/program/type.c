/* Types of arrays and tuples: made, compared, counted, printed. */
#include "import/program/program.h"

#include <stdio.h>
#include <string.h>

struct hlo_ints hlo_ints_copy(struct arena *a, const int64_t *item, int count)
{
    struct hlo_ints list = { .count = count };

    if (count)
        list.item = arena_copy(a, item, (size_t)count, sizeof(*item));
    return list;
}

struct hlo_type hlo_array_type(struct arena *a, enum hlo_element e, int rank, const int64_t *dim)
{
    return (struct hlo_type){ .element = e, .rank = rank,
                              .dim = hlo_ints_copy(a, dim, rank).item };
}

struct hlo_type hlo_scalar_type(enum hlo_element e) { return (struct hlo_type){ .element = e }; }

struct hlo_type hlo_tuple_type(struct arena *a, int count, const struct hlo_type *part)
{
    struct hlo_type t = { .element = ELEMENT_TUPLE, .part_count = count };

    if (count)
        t.part = arena_copy(a, part, (size_t)count, sizeof(*part));
    return t;
}

bool hlo_type_is_tuple(const struct hlo_type *t) { return t->element == ELEMENT_TUPLE; }

bool hlo_type_same_dims(const struct hlo_type *a, const struct hlo_type *b)
{
    if (a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++) {
        if (a->dim[d] != b->dim[d] ||
            (a->is_bounded && a->is_bounded[d]) != (b->is_bounded && b->is_bounded[d]))
            return false;
    }
    return true;
}

const struct hlo_type *hlo_new_type(struct arena *a, struct hlo_type t)
{
    return arena_copy(a, &t, 1, sizeof(t));
}

bool hlo_type_equal(const struct hlo_type *a, const struct hlo_type *b)
{
    if (a->element != b->element || a->part_count != b->part_count || !hlo_type_same_dims(a, b))
        return false;
    for (int p = 0; p < a->part_count; p++) {
        if (!hlo_type_equal(&a->part[p], &b->part[p]))
            return false;
    }
    return true;
}

bool hlo_type_is_dynamic(const struct hlo_type *t)
{
    for (int d = 0; d < t->rank; d++) {
        if (t->dim[d] == HLO_UNBOUNDED || (t->is_bounded && t->is_bounded[d]))
            return true;
    }
    for (int p = 0; p < t->part_count; p++) {
        if (hlo_type_is_dynamic(&t->part[p]))
            return true;
    }
    return false;
}

/* Sizes come from a file: what does not fit 62 bits stays there, for who refuses it. */
bool hlo_type_physical_order(const struct hlo_type *t, int *order)
{
    struct hlo_ints minor = t->layout ? t->layout->minor_to_major : (struct hlo_ints){0};
    bool is_plain = true;

    for (int k = 0; k < t->rank; k++) {
        order[k] = minor.count == t->rank ? (int)minor.item[t->rank - 1 - k] : k;
        is_plain = is_plain && order[k] == k;
    }
    return is_plain;
}

int64_t hlo_type_elements(const struct hlo_type *t)
{
    int64_t count = 1;

    for (int d = 0; d < t->rank; d++) {
        if (t->dim[d] <= 0)
            return 0;
    }
    for (int d = 0; d < t->rank; d++) {
        if (count > ((int64_t)1 << 62) / t->dim[d])
            return (int64_t)1 << 62;
        count *= t->dim[d];
    }
    return count;
}

size_t hlo_type_bytes(const struct hlo_type *t)
{
    size_t bytes = 0, elements;

    if (!hlo_type_is_tuple(t)) {
        elements = (size_t)hlo_type_elements(t);
        bytes = hlo_element_bytes(t->element);
        return bytes && elements > SIZE_MAX / 4 / bytes ? SIZE_MAX / 4 : elements * bytes;
    }
    for (int p = 0; p < t->part_count && bytes < SIZE_MAX / 4; p++)
        bytes += hlo_type_bytes(&t->part[p]);
    return bytes;
}

int hlo_type_leaves(const struct hlo_type *t)
{
    int count = 0;

    if (!hlo_type_is_tuple(t))
        return 1;
    for (int p = 0; p < t->part_count; p++)
        count += hlo_type_leaves(&t->part[p]);
    return count;
}

const struct hlo_type *hlo_type_leaf(const struct hlo_type *t, int n)
{
    if (!hlo_type_is_tuple(t))
        return n == 0 ? t : NULL;
    for (int p = 0; p < t->part_count; p++) {
        int leaves = hlo_type_leaves(&t->part[p]);

        if (n < leaves)
            return hlo_type_leaf(&t->part[p], n);
        n -= leaves;
    }
    return NULL;
}

static void print(const struct hlo_type *t, FILE *to)
{
    if (hlo_type_is_tuple(t)) {
        for (int p = 0; p < t->part_count; p++) {
            fputs(p ? ", " : "(", to);
            print(&t->part[p], to);
        }
        fputs(t->part_count ? ")" : "()", to);
        return;
    }
    fprintf(to, "%s[", hlo_element_name(t->element));
    for (int d = 0; d < t->rank; d++) {
        fputs(d ? "," : "", to);
        if (t->dim[d] == HLO_UNBOUNDED)
            fputc('?', to);
        else
            fprintf(to, "%s%lld", t->is_bounded && t->is_bounded[d] ? "<=" : "",
                    (long long)t->dim[d]);
    }
    fputc(']', to);
}

char *hlo_type_print(const struct hlo_type *t, char *buf, size_t buf_bytes)
{
    FILE *to = fmemopen(buf, buf_bytes, "w");

    if (!to)
        return strcpy(buf, "");
    print(t, to);
    fclose(to);
    buf[buf_bytes - 1] = '\0';
    return buf;
}
