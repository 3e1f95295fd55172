/*
 * The FIFOs between units and their pops. Their depth is the chip file's; for
 * a compiler's listing they grow, because the compiler knew the real depth,
 * which nobody has published.
 */
#include "sim/core/core.h"

#include "base/arena.h"

#include <string.h>

#define GROWN_MAX 8192                  /* a loop that pushes and never pops ends here */

static uint32_t ring_size(int64_t depth)
{
    uint32_t size = 1;

    while (size < depth)
        size *= 2;
    return size;
}

size_t fifo_tile_bytes(int64_t depth)
{
    return ring_size(depth) * sizeof(tile_t);
}

void fifo_init(struct fifo *f, int64_t depth, void *tiles, struct arena *a)
{
    uint32_t size = ring_size(depth);

    f->depth = (uint32_t)depth;
    f->mask = size - 1;
    f->ready_at = arena_array(a, size, sizeof(*f->ready_at));
    f->tile = tiles;
    if (tiles)
        f->code = arena_array(a, size, sizeof(*f->code));
    else
        f->word = arena_array(a, size, sizeof(*f->word));
}

void fifo_reset(struct fifo *f)
{
    f->pushed = f->popped = f->written = f->read = 0;
}

void fifo_fini(struct fifo *f)
{
    if (!f->is_grown)
        return;
    mem_free(f->ready_at);
    mem_free(f->code);
    mem_free(f->tile);
    mem_free(f->word);
}

/* a ring of twice the size with the `size` entries before `end` where it has them; NULL of NULL */
static void *larger(const void *ring, size_t elem_bytes, uint32_t size, uint32_t end)
{
    const unsigned char *old = ring;
    unsigned char *new = ring ? mem_alloc(2 * size * elem_bytes) : NULL;

    for (uint32_t i = end - size; ring && i != end; i++)
        memcpy(new + (i & (2 * size - 1)) * elem_bytes, old + (i & (size - 1)) * elem_bytes,
               elem_bytes);
    return new;
}

bool fifo_grow(struct fifo *f)
{
    struct fifo old = *f;
    uint32_t size = f->mask + 1;

    if (size >= GROWN_MAX)
        return false;
    f->ready_at = larger(old.ready_at, sizeof(*f->ready_at), size, f->pushed);
    f->code = larger(old.code, sizeof(*f->code), size, f->pushed);
    f->tile = larger(old.tile, sizeof(*f->tile), size, f->written);
    f->word = larger(old.word, sizeof(*f->word), size, f->written);
    f->depth = 2 * size;
    f->mask = 2 * size - 1;
    f->is_grown = true;
    fifo_fini(&old);
    return true;
}

static bool is_ring_mask(uint32_t mask)
{
    return mask < GROWN_MAX && (mask & (mask + 1)) == 0;
}

bool fifo_resize(struct fifo *f, uint32_t mask)
{
    size_t size = (size_t)mask + 1;
    struct fifo old = *f;

    if (f->mask == mask || !is_ring_mask(mask))
        return f->mask == mask;
    f->ready_at = mem_alloc(size * sizeof(*f->ready_at));
    f->code = old.code ? mem_alloc(size * sizeof(*f->code)) : NULL;
    f->tile = old.tile ? mem_alloc(size * sizeof(*f->tile)) : NULL;
    f->word = old.word ? mem_alloc(size * sizeof(*f->word)) : NULL;
    f->mask = mask;
    f->is_grown = true;
    fifo_fini(&old);
    return true;
}
