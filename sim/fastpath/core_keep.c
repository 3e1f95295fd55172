/* Memories of a core are put aside and back; pages of VMEM that nobody touched are zeros. */
#include "sim/fastpath/core_keep.h"

#include "base/arena.h"

#include <string.h>

#define PAGE_BYTES ((size_t)VMEM_PAGE_ROWS * ROW_BYTES)

static size_t page_bytes(const struct core *c, int64_t page)
{
    size_t whole = (size_t)c->chip->vmem_bytes, first = (size_t)page * PAGE_BYTES;

    return whole - first < PAGE_BYTES ? whole - first : PAGE_BYTES;
}

int64_t core_keep_bytes(const struct core *c)
{
    int64_t bytes = c->chip->smem_bytes + c->cmem_bytes;

    for (int64_t i = 0; i < core_vmem_pages(c); i++)
        if (c->vmem_touched[i])
            bytes += (int64_t)page_bytes(c, i);
    return bytes;
}

void core_keep(struct core_keep *k, const struct core *c)
{
    size_t pages = (size_t)core_vmem_pages(c);
    unsigned char *to;

    k->data = mem_grow(k->data, &k->capacity, (size_t)core_keep_bytes(c), 1);
    if (!k->touched)
        k->touched = mem_alloc(pages);
    memcpy(k->touched, c->vmem_touched, pages);
    memcpy(k->data, c->smem, (size_t)c->chip->smem_bytes);
    to = k->data + c->chip->smem_bytes;
    for (size_t i = 0; i < pages; i++)
        if (k->touched[i]) {
            memcpy(to, c->vmem + i * PAGE_BYTES, page_bytes(c, (int64_t)i));
            to += page_bytes(c, (int64_t)i);
        }
    if (c->cmem)
        memcpy(to, c->cmem, (size_t)c->cmem_bytes);
}

void core_put_back(const struct core_keep *k, struct core *c)
{
    const unsigned char *from = k->data + c->chip->smem_bytes;

    memcpy(c->smem, k->data, (size_t)c->chip->smem_bytes);
    for (int64_t i = 0; i < core_vmem_pages(c); i++) {
        unsigned char *page = c->vmem + (size_t)i * PAGE_BYTES;

        if (k->touched[i]) {
            memcpy(page, from, page_bytes(c, i));
            from += page_bytes(c, i);
        } else if (c->vmem_touched[i]) {
            memset(page, 0, page_bytes(c, i));
        }
    }
    if (c->cmem)
        memcpy(c->cmem, from, (size_t)c->cmem_bytes);
}

void core_keep_free(struct core_keep *k)
{
    mem_free(k->data);
    mem_free(k->touched);
    *k = (struct core_keep){0};
}
