/*
 * Arenas as chains of blocks freed together, and large memories mapped from the kernel page by
 * page as they are touched.
 */
#define _DEFAULT_SOURCE                 /* madvise, MAP_ANONYMOUS */
#include "base/arena.h"

#include "base/outfile.h"
#include "base/sanitized.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGN_BYTES 64u
#define FIRST_BLOCK_BYTES (4u * 1024u)  /* many arenas hold little: what is taken is cleared */
#define BLOCK_BYTES (256u * 1024u)      /* blocks are a quarter of what there is, up to this */
#define LARGE_BYTES ((size_t)256 << 10)   /* growing arrays from here on are moved by the kernel */
#define PIECE_ALIGN 8u
/* under the address sanitizer: behind what an arena hands out, and behind pieces */
#define GUARD_BYTES (SANITIZED_ADDRESS ? ALIGN_BYTES : 0u)
#define PIECE_GUARD_BYTES (SANITIZED_ADDRESS ? PIECE_ALIGN : 0u)
#define PACKED_MAX 256u                 /* of a packed arena: pieces are smaller */
#define PIECES_MIN 1024u                /* what they are cut from at once, and at most */
#define PIECES_MAX (16u * 1024u)

struct arena_block {
    struct arena_block *previous;
    size_t used_bytes, size_bytes;      /* of the room behind this header */
};

#define HEADER_BYTES ((sizeof(struct arena_block) + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES)

static size_t align_up(size_t bytes)
{
    return (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

static void (*when_exhausted)(size_t bytes);

void mem_when_exhausted(void (*call)(size_t bytes))
{
    when_exhausted = call;
}

/*
 * Not by exit(): other threads go on, and what they use must stay. What the process has begun to
 * write goes away here, for nobody else will.
 */
void mem_exhausted(size_t bytes)
{
    if (when_exhausted)
        when_exhausted(bytes);
    if (bytes)
        fprintf(stderr, "systole: out of host memory (%zu bytes asked)\n", bytes);
    else
        fputs("systole: out of host memory\n", stderr);
    outfile_abandon_all();
    fflush(stdout);
    _exit(1);
}

/* `*size_bytes`: as aligned; holds anything */
static void *alloc_uncleared(size_t bytes, size_t *size_bytes)
{
    size_t size = align_up(bytes ? bytes : 1);
    void *p = size < bytes ? NULL : aligned_alloc(ALIGN_BYTES, size);

    if (!p)
        mem_exhausted(bytes);
    *size_bytes = size;
    return p;
}

void *mem_alloc(size_t bytes)
{
    size_t size;
    void *p = alloc_uncleared(bytes, &size);

    return memset(p, 0, size);
}

void *mem_alloc_unset(size_t bytes)
{
    size_t size;

    return alloc_uncleared(bytes, &size);
}

void mem_free(void *p)
{
    free(p);
}

/* In front of a lazy block: what to give back, and how. */
struct lazy_header {
    void *start;
    size_t mapped_bytes;                /* 0: start is calloc's */
};

#define MAPPED_BYTES_MIN ((size_t)256 << 10)
#define SMALL_PAGE ((size_t)4096)
#define LARGE_PAGE ((size_t)1 << 21)

static void *lazy_block(struct lazy_header header, size_t align)
{
    char *p = (char *)(((uintptr_t)header.start + sizeof(header) + align - 1) / align * align);

    memcpy(p - sizeof(header), &header, sizeof(header));
    return p;
}

/*
 * Large blocks come from the kernel: what calloc takes from a heap that has
 * been used before it must clear. Address space is not memory: nothing is
 * reserved for pages that may never be touched.
 */
static void *alloc_lazy(size_t bytes, size_t align)
{
    size_t size = bytes + sizeof(struct lazy_header) + align;
    struct lazy_header header = {.mapped_bytes = size >= MAPPED_BYTES_MIN ? size : 0};

    if (size < bytes)
        header.start = MAP_FAILED;
    else if (header.mapped_bytes)
        header.start = mmap(NULL, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    else
        header.start = calloc(1, size);
    if (!header.start || header.start == MAP_FAILED)
        mem_exhausted(bytes);
    return lazy_block(header, align);
}

void *mem_alloc_sparse(size_t bytes)
{
    return alloc_lazy(bytes, bytes >= MAPPED_BYTES_MIN ? SMALL_PAGE : ALIGN_BYTES);
}

/*
 * Simulated memories are walked a tile of 4 KiB at a time; on pages of that size
 * the host would look for a translation at every tile.
 */
void *mem_alloc_lazy(size_t bytes)
{
    void *p;

    if (bytes < LARGE_PAGE)
        return mem_alloc_sparse(bytes);
    p = alloc_lazy(bytes, LARGE_PAGE);
#ifdef MADV_HUGEPAGE
    madvise(p, bytes / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);     /* a wish; refusing is fine */
#endif
    return p;
}

void mem_free_lazy(void *p)
{
    struct lazy_header header;

    if (!p)
        return;
    memcpy(&header, (char *)p - sizeof(header), sizeof(header));
    if (header.mapped_bytes)
        munmap(header.start, header.mapped_bytes);
    else
        free(header.start);
}

/* Under the address sanitizer short arrays move with every element, so that whoever keeps a pointer
 * to one across a growth is found. */
static size_t grown_capacity(size_t capacity, size_t need, size_t elem_bytes)
{
    size_t grown = capacity > 16 ? capacity : 16;

    if (SANITIZED_ADDRESS && need <= 4096)
        return need;
    while (grown < need)
        grown += grown / (grown < LARGE_BYTES / elem_bytes ? 2 : 8);
    return grown;
}

static char *move_small(void *items, size_t kept, size_t bytes, size_t *size_bytes)
{
    char *p = alloc_uncleared(bytes, size_bytes);

    if (kept)
        memcpy(p, items, kept);
    free(items);
    return p;
}

/* The kernel moves pages of large blocks without a copy: there are never two of them, so that
 * they need not grow by much at a time. Where it is a copy after all, its alignment may be lost. */
static char *move_large(void *items, size_t bytes, size_t *size_bytes)
{
    size_t size = align_up(bytes);
    char *p = size < bytes ? NULL : realloc(items, size);

    if (!p)
        mem_exhausted(bytes);
    *size_bytes = size;
    return (uintptr_t)p % ALIGN_BYTES == 0 ? p : move_small(p, size, size, size_bytes);
}

void *mem_grow(void *items, size_t *capacity, size_t need, size_t elem_bytes)
{
    size_t grown, kept, size;
    char *p;

    if (need <= *capacity)
        return items;
    grown = grown_capacity(*capacity, need, elem_bytes);
    if (grown > SIZE_MAX / elem_bytes)
        mem_exhausted(SIZE_MAX);
    kept = items ? *capacity * elem_bytes : 0;
    p = kept >= LARGE_BYTES ? move_large(items, grown * elem_bytes, &size)
                            : move_small(items, kept, grown * elem_bytes, &size);
    memset(p + kept, 0, size - kept);
    *capacity = grown;
    return p;
}

void *mem_resize(void *items, size_t count, size_t elem_bytes)
{
    size_t bytes = count * elem_bytes, size;

    if (elem_bytes && count > SIZE_MAX / elem_bytes)
        mem_exhausted(SIZE_MAX);
    return items ? move_large(items, bytes ? bytes : 1, &size) : mem_alloc_unset(bytes);
}

void arena_init(struct arena *a)
{
    *a = (struct arena){.last = NULL};
}

bool arena_pack(struct arena *a, bool is_packed)
{
    bool before = a->is_packed;

    a->is_packed = is_packed;
    return before;
}

void arena_fini(struct arena *a)
{
    while (a->last) {
        struct arena_block *b = a->last;

        a->last = b->previous;
        free(b);
    }
    a->used_bytes = 0;
    a->piece_bytes = 0;
}

static void *alloc_block(struct arena *a, size_t bytes)
{
    size_t size = align_up(bytes ? bytes : 1);
    struct arena_block *b = a->last;
    void *p;

    if (!b || b->size_bytes - b->used_bytes < size + GUARD_BYTES) {
        size_t usual = a->used_bytes / 4 / ALIGN_BYTES * ALIGN_BYTES, room;

        usual = usual < FIRST_BLOCK_BYTES ? FIRST_BLOCK_BYTES
                : usual < BLOCK_BYTES     ? usual
                                          : BLOCK_BYTES;
        room = size + GUARD_BYTES > usual ? size + GUARD_BYTES : usual;
        b = mem_alloc(HEADER_BYTES + room);
        b->previous = a->last;
        b->size_bytes = room;
        a->last = b;
        POISON((char *)b + HEADER_BYTES, room);
    }
    p = (char *)b + HEADER_BYTES + b->used_bytes;
    UNPOISON(p, size);
    b->used_bytes += size + GUARD_BYTES;
    a->used_bytes += size;
    return p;
}

static void *alloc_piece(struct arena *a, size_t bytes)
{
    size_t size = (bytes + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
    char *p;

    size = size ? size : PIECE_ALIGN;
    if (a->piece_bytes < size + PIECE_GUARD_BYTES) {
        size_t room = a->used_bytes / 16 / ALIGN_BYTES * ALIGN_BYTES;

        room = room < PIECES_MIN ? PIECES_MIN : room > PIECES_MAX ? PIECES_MAX : room;
        a->piece = alloc_block(a, room);
        a->piece_bytes = room;
        POISON(a->piece, room);
    }
    p = a->piece;
    UNPOISON(p, bytes);
    a->piece += size + PIECE_GUARD_BYTES;
    a->piece_bytes -= size + PIECE_GUARD_BYTES;
    return p;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    return a->is_packed && bytes < PACKED_MAX ? alloc_piece(a, bytes) : alloc_block(a, bytes);
}

void *arena_array(struct arena *a, size_t count, size_t elem_bytes)
{
    if (elem_bytes && count > SIZE_MAX / elem_bytes)
        mem_exhausted(SIZE_MAX);
    return arena_alloc(a, count * elem_bytes);
}

void *arena_copy(struct arena *a, const void *from, size_t count, size_t elem_bytes)
{
    void *to = arena_array(a, count, elem_bytes);

    if (count)
        memcpy(to, from, count * elem_bytes);
    return to;
}

void *arena_take(struct arena *a, void *items, size_t count, size_t elem_bytes)
{
    void *to = arena_copy(a, items, count, elem_bytes);

    mem_free(items);
    return to;
}

char *arena_strdup(struct arena *a, const char *s)
{
    size_t bytes = strlen(s) + 1;

    return memcpy(arena_alloc(a, bytes), s, bytes);
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    int length;
    char *s;

    va_start(ap, fmt);
    va_copy(again, ap);
    length = text_print_args(NULL, 0, fmt, ap);
    va_end(ap);
    s = arena_alloc(a, (size_t)length + 1);
    text_print_args(s, (size_t)length + 1, fmt, again);
    va_end(again);
    return s;
}
