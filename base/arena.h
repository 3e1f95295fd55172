/*
 * Memory with one lifetime: allocate piece by piece, free all at once.
 *
 * Every block is zeroed, but mem_alloc_unset's, and never NULL; when the host
 * has no memory left the process ends with a message and status 1, and leaves no file half written
 * (mem_exhausted). Sizes that come from a user are range-checked before they get here.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H
#include <stdbool.h>
#include <stddef.h>

struct arena {
    struct arena_block *last;
    size_t used_bytes;                  /* handed out since init */
    char *piece;                        /* what is left of a block that pieces are cut from */
    size_t piece_bytes;
    bool is_packed;                     /* arena_pack */
};

void arena_init(struct arena *a);
void arena_fini(struct arena *a);       /* frees all; the arena may be used again */
void *arena_alloc(struct arena *a, size_t bytes);               /* 64-byte aligned */
/*
 * From now on pieces of less than 256 bytes lie side by side, 8-byte aligned: for who makes very
 * many that no vector instruction sees, names, lists, nodes of a tree. Gives what held before, for
 * arena_pack again: who is called with somebody's arena leaves it as it was.
 */
bool arena_pack(struct arena *a, bool is_packed);
void *arena_array(struct arena *a, size_t count, size_t elem_bytes);
void *arena_copy(struct arena *a, const void *from, size_t count, size_t elem_bytes);
/* the same of what mem_grow has made, which is freed */
void *arena_take(struct arena *a, void *items, size_t count, size_t elem_bytes);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * A growing array outside any arena: mem_grow returns `items` with room for at
 * least `need` elements and updates *capacity; new room is zeroed. mem_free
 * releases it. mem_alloc is one zeroed, 64-byte aligned block for mem_free;
 * mem_alloc_unset one of any contents, for who writes all of it at once.
 */
void *mem_grow(void *items, size_t *capacity, size_t need, size_t elem_bytes);
/* a new element behind `count` others, which it counts: MEM_ADD(l->item, l->count, l->room) = x;
 * what is assigned must not read the array or its count */
#define MEM_ADD(items, count, capacity) \
    (*((items) = mem_grow(items, &(capacity), (size_t)(count) + 1, sizeof(*(items))), \
       &(items)[(count)++]))
void *mem_alloc(size_t bytes);
void *mem_alloc_unset(size_t bytes);
void mem_free(void *p);
/* The same block with room for so many elements, as many as were there unchanged, the others of any
 * contents: where the heap can it stays where it is, and there are never two of them. */
void *mem_resize(void *items, size_t count, size_t elem_bytes);
/* What of another library could not be made is the end in the same way; 0: nobody knows how much. */
void mem_exhausted(size_t bytes) __attribute__((noreturn, cold));
/* A library in somebody else's process is told instead, once for all its threads; `call` does not
 * come back. */
void mem_when_exhausted(void (*call)(size_t bytes));

/*
 * A large block of which only the pages that are touched take host memory;
 * zeroed, 64-byte aligned; released by mem_free_lazy.
 */
void *mem_alloc_lazy(size_t bytes);
void *mem_alloc_sparse(size_t bytes);   /* for what is touched here and there: small pages */
void mem_free_lazy(void *p);            /* of both */
#endif
