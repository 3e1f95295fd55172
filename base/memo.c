/*
 * A hash table with chains: keys are compared byte for byte, and the number of slots doubles as
 * entries come.
 */
#include "base/memo.h"

#include <string.h>

#define SLOTS_MIN 64u

struct memo_entry {
    struct memo_entry *next;            /* of the same slot */
    uint64_t hash;
    unsigned char *byte;
    size_t byte_count;
    void *value;
};

void memo_init(struct memo *m)
{
    *m = (struct memo){.slot_count = SLOTS_MIN};
    arena_init(&m->arena);
    m->slot = mem_alloc(SLOTS_MIN * sizeof(struct memo_entry *));
}

void memo_fini(struct memo *m)
{
    mem_free(m->slot);
    arena_fini(&m->arena);
}

void memo_key_add(struct memo_key *k, const void *part, size_t bytes)
{
    if (!bytes)
        return;
    k->byte = mem_grow(k->byte, &k->capacity, k->byte_count + bytes, 1);
    memcpy(k->byte + k->byte_count, part, bytes);
    k->byte_count += bytes;
}

void memo_key_fini(struct memo_key *k)
{
    mem_free(k->byte);
}

static uint64_t hash_of(const struct memo_key *k)
{
    uint64_t h = 0xcbf29ce484222325u, word;
    size_t i = 0;

    for (; i + sizeof(word) <= k->byte_count; i += sizeof(word)) {
        memcpy(&word, k->byte + i, sizeof(word));
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    for (; i < k->byte_count; i++)
        h = (h ^ k->byte[i]) * 0x100000001b3u;
    return h ^ h >> 29;
}

void *memo_find(const struct memo *m, const struct memo_key *k)
{
    uint64_t hash = hash_of(k);

    for (struct memo_entry *e = m->slot[hash % m->slot_count]; e; e = e->next)
        if (e->hash == hash && e->byte_count == k->byte_count
            && (!k->byte_count || !memcmp(e->byte, k->byte, k->byte_count)))
            return e->value;
    return NULL;
}

static void link_entry(struct memo_entry **slot, size_t slot_count, struct memo_entry *e)
{
    struct memo_entry **at = &slot[e->hash % slot_count];

    e->next = *at;
    *at = e;
}

static void double_slots(struct memo *m)
{
    size_t count = 2 * m->slot_count;
    struct memo_entry **slot = mem_alloc(count * sizeof(struct memo_entry *)), *e, *next;

    for (size_t i = 0; i < m->slot_count; i++)
        for (e = m->slot[i]; e; e = next) {
            next = e->next;
            link_entry(slot, count, e);
        }
    mem_free(m->slot);
    m->slot = slot;
    m->slot_count = count;
}

void memo_keep(struct memo *m, const struct memo_key *k, void *value)
{
    struct memo_entry *e = arena_alloc(&m->arena, sizeof(*e));

    *e = (struct memo_entry){.hash = hash_of(k), .byte_count = k->byte_count, .value = value,
                             .byte = arena_array(&m->arena, k->byte_count, 1)};
    if (k->byte_count)
        memcpy(e->byte, k->byte, k->byte_count);
    if (++m->entry_count > m->slot_count)
        double_slots(m);
    link_entry(m->slot, m->slot_count, e);
}
