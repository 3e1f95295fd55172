/* Constants: dense elements, or one that all are. */
#include "import/program/program.h"

#include <string.h>

static struct hlo_literal *new_literal(struct arena *a, const struct hlo_type *t)
{
    struct hlo_literal *l = arena_alloc(a, sizeof(*l));

    l->type = *t;
    return l;
}

const struct hlo_literal *hlo_literal_copy(struct arena *a, const struct hlo_type *t,
                                           const void *data)
{
    struct hlo_literal *l = new_literal(a, t);

    l->data = arena_copy(a, data, (size_t)hlo_type_elements(t), hlo_element_bytes(t->element));
    return l;
}

const struct hlo_literal *hlo_literal_splat(struct arena *a, const struct hlo_type *t, double value)
{
    struct hlo_literal *l = new_literal(a, t);
    void *data = arena_alloc(a, 16);    /* the widest element */

    hlo_element_store(t->element, value, data);
    l->data = data;
    l->is_splat = true;
    return l;
}

const struct hlo_literal *hlo_literal_splat_int(struct arena *a, const struct hlo_type *t,
                                                int64_t value)
{
    struct hlo_literal *l = new_literal(a, t);
    void *data = arena_alloc(a, 16);

    hlo_element_store_int(t->element, value, data);
    l->data = data;
    l->is_splat = true;
    return l;
}

const void *hlo_literal_at(const struct hlo_literal *l, int64_t index)
{
    return (const char *)l->data +
           (l->is_splat ? 0 : (size_t)index * hlo_element_bytes(l->type.element));
}
