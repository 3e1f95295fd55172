/* Hashes names into tables with linear probing; hands out small pieces of larger ones. */
#include "import/hlo_text/names.h"

#include <string.h>

#define FIRST_CAPACITY 64
#define POOL_BYTES (32u * 1024u)
#define POOL_ALIGN 8u

static uint32_t hash_of(const char *at, size_t length)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ length, word;

    for (; length >= 8; at += 8, length -= 8) {
        memcpy(&word, at, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, at, length);
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    return (uint32_t)(h >> 32);
}

void hlo_names_begin(struct hlo_names *n)
{
    n->count = 0;
    n->scope++;
    if (n->scope == 0) {                /* after 2^32 scopes old entries would come to life again */
        hlo_names_fini(n);
        n->scope = 1;
    }
}

void hlo_names_fini(struct hlo_names *n)
{
    mem_free(n->entry);
    *n = (struct hlo_names){.scope = n->scope};
}

/* where the name is, or the free entry where it would be */
static struct hlo_name *look(const struct hlo_names *n, const char *at, size_t length, uint32_t hash)
{
    for (size_t i = hash & (n->capacity - 1);; i = (i + 1) & (n->capacity - 1)) {
        struct hlo_name *e = &n->entry[i];

        if (e->scope != n->scope
            || (e->hash == hash && e->length == length && memcmp(e->at, at, length) == 0))
            return e;
    }
}

int hlo_names_find(const struct hlo_names *n, const char *at, size_t length)
{
    struct hlo_name *e;

    if (n->count == 0)
        return -1;
    e = look(n, at, length, hash_of(at, length));
    return e->scope == n->scope ? e->value : -1;
}

static void widen(struct hlo_names *n)
{
    struct hlo_names wide = {.capacity = n->capacity ? 2 * n->capacity : FIRST_CAPACITY,
                             .count = n->count, .scope = n->scope};

    wide.entry = mem_alloc(wide.capacity * sizeof(*wide.entry));
    for (size_t i = 0; i < n->capacity; i++) {
        const struct hlo_name *e = &n->entry[i];

        if (e->scope == n->scope)
            *look(&wide, e->at, e->length, e->hash) = *e;
    }
    mem_free(n->entry);
    *n = wide;
}

void hlo_names_add(struct hlo_names *n, const char *at, size_t length, int value)
{
    uint32_t hash = hash_of(at, length);

    if (n->scope == 0)
        n->scope = 1;
    if (4 * (n->count + 1) > 3 * n->capacity)
        widen(n);
    *look(n, at, length, hash) = (struct hlo_name){at, (uint32_t)length, n->scope, hash, value};
    n->count++;
}

void *hlo_pool_alloc(struct hlo_pool *p, size_t bytes)
{
    size_t whole = (bytes + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
    void *piece;

    if (whole > POOL_BYTES / 8)
        return arena_alloc(p->arena, bytes);
    if (whole > p->left || !p->at) {
        p->at = arena_alloc(p->arena, POOL_BYTES);
        p->left = POOL_BYTES;
    }
    piece = p->at;
    p->at += whole;
    p->left -= whole;
    return piece;
}

void *hlo_pool_copy(struct hlo_pool *p, const void *from, size_t count, size_t elem_bytes)
{
    void *to = hlo_pool_alloc(p, count * elem_bytes);

    if (count)
        memcpy(to, from, count * elem_bytes);
    return to;
}

char *hlo_pool_text(struct hlo_pool *p, const char *at, size_t length)
{
    char *to = hlo_pool_alloc(p, length + 1);

    memcpy(to, at, length);
    return to;
}

const char *hlo_texts_keep(struct hlo_texts *t, struct hlo_pool *p, const char *at, size_t length)
{
    int found = hlo_names_find(&t->names, at, length);
    const char *kept;

    if (found >= 0)
        return t->text[found];
    kept = hlo_pool_text(p, at, length);
    hlo_names_add(&t->names, kept, length, (int)t->count);
    MEM_ADD(t->text, t->count, t->capacity) = kept;
    return kept;
}

void hlo_texts_fini(struct hlo_texts *t)
{
    hlo_names_fini(&t->names);
    mem_free(t->text);
}
