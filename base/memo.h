/*
 * What was made before, by what it was made from: a key of bytes, compared whole,
 * so that what is found is what would be made again.
 */
#ifndef BASE_MEMO_H
#define BASE_MEMO_H
#include "base/arena.h"

#include <stdint.h>

struct memo_entry;

struct memo {
    struct arena arena;                 /* of values; lives until memo_fini */
    struct memo_entry **slot;           /* by hash */
    size_t slot_count, entry_count;
};

/* A key under way: parts one behind the other. Zeroed to begin with. */
struct memo_key {
    unsigned char *byte;
    size_t byte_count, capacity;
};

void memo_init(struct memo *m);
void memo_fini(struct memo *m);

void memo_key_add(struct memo_key *k, const void *part, size_t bytes);
void memo_key_fini(struct memo_key *k);

/* The value kept under this key, or NULL. */
void *memo_find(const struct memo *m, const struct memo_key *k);
/* Keeps `value`, which should be of m->arena, under a key that is not there yet. */
void memo_keep(struct memo *m, const struct memo_key *k, void *value);
#endif
