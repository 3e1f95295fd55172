/*
 * Hash tables by uthash, whose memory is the house's: where there is none, the process ends as
 * mem_exhausted says, not by uthash's exit(-1). Of a table, HASH_CLEAR or HASH_DEL frees what it took.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H
#include "base/arena.h"

#define uthash_malloc(bytes) mem_alloc_unset(bytes)
#define uthash_free(p, bytes) mem_free(p)
#include <uthash.h>
#endif
