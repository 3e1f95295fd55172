#include "hbm/hbm.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"

/*
 * Pages hang in tables of 256, the tables in a directory: an untouched chip of
 * 32 GiB costs 16 KiB. A page, once written, stays until the store is
 * destroyed; fresh host memory is slow, so runs reuse it.
 */
enum { PAGE_SHIFT = 16, TABLE_SHIFT = 8, TABLE_PAGES = 1 << TABLE_SHIFT };

#define PAGE_BYTES ((size_t)1 << PAGE_SHIFT)

struct table {
    unsigned char *page[TABLE_PAGES];   /* NULL = reads as zero */
};

struct hbm_store {
    int64_t size_bytes;
    int64_t page_count;                 /* that exist */
    size_t table_count;
    struct table **tables;              /* NULL = no page of it exists */
};

struct hbm_store *hbm_store_create(int64_t size_bytes)
{
    struct hbm_store *s = mem_alloc(sizeof(*s));

    assert(size_bytes > 0);
    s->size_bytes = size_bytes;
    s->table_count = (size_t)(((size_bytes - 1) >> (PAGE_SHIFT + TABLE_SHIFT)) + 1);
    s->tables = mem_alloc(s->table_count * sizeof(*s->tables));
    return s;
}

void hbm_store_destroy(struct hbm_store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->table_count; i++) {
        for (int k = 0; s->tables[i] && k < TABLE_PAGES; k++)
            mem_free(s->tables[i]->page[k]);
        mem_free(s->tables[i]);
    }
    mem_free(s->tables);
    mem_free(s);
}

/* The part of a range that lies in the page of its first byte. */
static size_t bytes_in_page(int64_t address, size_t bytes)
{
    size_t room = PAGE_BYTES - ((size_t)address & (PAGE_BYTES - 1));

    return bytes < room ? bytes : room;
}

static const unsigned char *find_page(const struct hbm_store *s, int64_t address)
{
    size_t page = (size_t)address >> PAGE_SHIFT;
    const struct table *t = s->tables[page >> TABLE_SHIFT];

    return t ? t->page[page & (TABLE_PAGES - 1)] : NULL;
}

static unsigned char *make_page(struct hbm_store *s, int64_t address)
{
    size_t page = (size_t)address >> PAGE_SHIFT;
    struct table **t = &s->tables[page >> TABLE_SHIFT];
    unsigned char **p;

    if (!*t)
        *t = mem_alloc(sizeof(**t));
    p = &(*t)->page[page & (TABLE_PAGES - 1)];
    if (!*p) {
        *p = mem_alloc(PAGE_BYTES);
        s->page_count++;
    }
    return *p;
}

static void assert_range(const struct hbm_store *s, int64_t address, size_t bytes)
{
    assert(address >= 0 && address <= s->size_bytes);
    assert(bytes <= (size_t)(s->size_bytes - address));
    (void)s;
    (void)address;
    (void)bytes;
}

void hbm_store_read(const struct hbm_store *s, int64_t address, void *to, size_t bytes)
{
    char *out = to;

    assert_range(s, address, bytes);
    while (bytes > 0) {
        size_t piece = bytes_in_page(address, bytes);
        const unsigned char *page = find_page(s, address);

        if (page)
            memcpy(out, page + ((size_t)address & (PAGE_BYTES - 1)), piece);
        else
            memset(out, 0, piece);
        out += piece;
        address += (int64_t)piece;
        bytes -= piece;
    }
}

void hbm_store_write(struct hbm_store *s, int64_t address, const void *from, size_t bytes)
{
    const char *in = from;

    assert_range(s, address, bytes);
    while (bytes > 0) {
        size_t piece = bytes_in_page(address, bytes);

        memcpy(make_page(s, address) + ((size_t)address & (PAGE_BYTES - 1)), in, piece);
        in += piece;
        address += (int64_t)piece;
        bytes -= piece;
    }
}

int64_t hbm_store_touched_bytes(const struct hbm_store *s)
{
    return s->page_count << PAGE_SHIFT;
}
