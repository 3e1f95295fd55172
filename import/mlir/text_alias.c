/*
 * Names that stand for attributes and types, `#loc3 = loc(..)`. Definitions may stand behind their
 * uses, so all are found first, as lines that begin so, and each is read when it is first used.
 */
#include "import/mlir/text.h"

#include <ctype.h>
#include <string.h>

/* the place behind `#name =` of the line at p; NULL: it is no definition */
static const char *definition(const char *p, const char *end, struct mlir_span *name)
{
    const char *q = p + 1;
    while (q < end && (isalnum((unsigned char)*q) || strchr("_$.-", *q))) q++;
    *name = (struct mlir_span){p, (size_t)(q - p)};
    while (q < end && *q == ' ') q++;
    return name->bytes > 1 && q < end && *q == '=' ? q + 1 : NULL;
}

static void index_aliases(struct mlir_reader *r)
{
    size_t slots = 64;
    while (slots < r->aliases.count * 2) slots *= 2;
    mem_free(r->alias_slot);
    r->alias_slot = mem_alloc(slots * sizeof(int));
    r->alias_slots = slots;
    for (size_t i = 0; i < r->aliases.count; i++) {
        struct mlir_span s = r->aliases.item[i].name;
        size_t slot = mlir_hash(s.data, s.bytes) & (slots - 1);
        while (r->alias_slot[slot]) slot = (slot + 1) & (slots - 1);
        r->alias_slot[slot] = (int)i + 1;
    }
}

void mlir_find_aliases(struct mlir_reader *r, const char *from, const char *to)
{
    r->aliases.count = 0;
    r->bare_calls = false;
    for (const char *p = from; p && p < to;) {
        struct mlir_span name;
        const char *body = *p == '#' || *p == '!' ? definition(p, to, &name) : NULL;
        if (body) MLIR_PUSH(r->aliases, ((struct mlir_alias){.name = name, .body = body}));
        if (to - p > 4 && !memcmp(p, " at ", 4)) r->bare_calls = true;
        p = memchr(p, '\n', (size_t)(to - p));
        if (p) p++;
    }
    index_aliases(r);
}

struct mlir_alias *mlir_alias_of(struct mlir_reader *r, struct mlir_span name)
{
    size_t slot = mlir_hash(name.data, name.bytes) & (r->alias_slots - 1);
    for (; r->alias_slot[slot]; slot = (slot + 1) & (r->alias_slots - 1)) {
        struct mlir_alias *a = &r->aliases.item[r->alias_slot[slot] - 1];
        if (a->name.bytes == name.bytes && !memcmp(a->name.data, name.data, name.bytes)) return a;
    }
    return NULL;
}

static bool is_location_name(struct mlir_span name)
{
    return name.bytes >= 4 && !memcmp(name.data, "#loc", 4);
}

/* reads a definition's body at its place; the cursor comes back */
static int resolve(struct mlir_reader *r, struct mlir_alias *a)
{
    const char *back = r->at, *name = a->name.data;
    size_t index = (size_t)(a - r->aliases.item);

    if (a->is_open)
        return mlir_fail_at(r, name, "%.*s is defined by itself", (int)a->name.bytes, name);
    a->is_open = true;
    r->at = a->body;
    bool is_type = name[0] == '!';
    const struct mlir_type *type = is_type ? mlir_read_type(r) : NULL;
    const struct mlir_attr *attr = is_type                      ? NULL
                                   : is_location_name(a->name) ? mlir_read_location_body(r)
                                                                : mlir_read_attr(r);
    a = &r->aliases.item[index];
    a->is_open = false;
    a->type = type;
    a->attr = attr;
    r->at = back;
    return type || attr ? 0 : -1;
}

static struct mlir_alias *resolved(struct mlir_reader *r, struct mlir_span name)
{
    struct mlir_alias *a = mlir_alias_of(r, name);
    if (!a) {
        mlir_fail_at(r, name.data, "%.*s is not defined", (int)name.bytes, name.data);
        return NULL;
    }
    return a->attr || a->type || !resolve(r, a) ? a : NULL;
}

const struct mlir_attr *mlir_alias_attr(struct mlir_reader *r, struct mlir_span name)
{
    struct mlir_alias *a = resolved(r, name);
    return a ? a->attr : NULL;
}

const struct mlir_type *mlir_alias_type(struct mlir_reader *r, struct mlir_span name)
{
    struct mlir_alias *a = resolved(r, name);
    return a ? a->type : NULL;
}
