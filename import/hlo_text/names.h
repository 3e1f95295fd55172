/*
 * Names of a text and what they stand for, by hashing; texts that occur often, kept once.
 *
 * A table has one scope at a time: names_begin forgets those of the scope before at no cost, so that
 * a file of many computations pays for each only what it holds.
 */
#ifndef IMPORT_HLO_TEXT_NAMES_H
#define IMPORT_HLO_TEXT_NAMES_H
#include "base/arena.h"

#include <stdint.h>

struct hlo_name {
    const char *at;                     /* not ended by 0; must outlive the scope */
    uint32_t length, scope;
    uint32_t hash;
    int value;
};

struct hlo_names {
    struct hlo_name *entry;
    size_t capacity, count;             /* capacity: a power of two */
    uint32_t scope;                     /* entries of others are free */
};

void hlo_names_begin(struct hlo_names *n);
void hlo_names_fini(struct hlo_names *n);
int hlo_names_find(const struct hlo_names *n, const char *at, size_t length);  /* -1: not there */
void hlo_names_add(struct hlo_names *n, const char *at, size_t length, int value);

/* Small pieces of an arena, side by side; 8-byte aligned. */
struct hlo_pool {
    struct arena *arena;
    char *at;
    size_t left;
};
void *hlo_pool_alloc(struct hlo_pool *p, size_t bytes);
void *hlo_pool_copy(struct hlo_pool *p, const void *from, size_t count, size_t elem_bytes);
char *hlo_pool_text(struct hlo_pool *p, const char *at, size_t length);         /* ends by 0 */

/* Texts that end by 0, each kept once. */
struct hlo_texts {
    struct hlo_names names;
    const char **text;
    size_t count, capacity;
};
const char *hlo_texts_keep(struct hlo_texts *t, struct hlo_pool *p, const char *at, size_t length);
void hlo_texts_fini(struct hlo_texts *t);
#endif
