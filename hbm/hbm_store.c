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

/* page by page, by number; UINT64_MAX at the end */
static void save_pages(const struct hbm_store *s, struct archive *a)
{
    uint64_t number;

    for (size_t i = 0; i < s->table_count; i++)
        for (size_t k = 0; s->tables[i] && k < TABLE_PAGES; k++) {
            unsigned char *page = s->tables[i]->page[k];

            if (!page || archive_is_zero(page, PAGE_BYTES))
                continue;
            number = i * TABLE_PAGES + k;
            archive_bytes(a, &number, sizeof(number));
            archive_sparse(a, page, PAGE_BYTES);
        }
    number = UINT64_MAX;
    archive_bytes(a, &number, sizeof(number));
}

static void clear_pages(struct hbm_store *s, uint64_t from, uint64_t to)
{
    for (uint64_t n = from; n < to && n >> TABLE_SHIFT < s->table_count; n++) {
        struct table *t = s->tables[n >> TABLE_SHIFT];

        if (!t)
            n |= TABLE_PAGES - 1;       /* none of this table */
        else if (t->page[n & (TABLE_PAGES - 1)])
            memset(t->page[n & (TABLE_PAGES - 1)], 0, PAGE_BYTES);
    }
}

static void load_pages(struct hbm_store *s, struct archive *a)
{
    uint64_t next = 0, number, last = (uint64_t)(s->size_bytes - 1) >> PAGE_SHIFT;
    unsigned char *page;

    for (;;) {
        number = UINT64_MAX;
        archive_bytes(a, &number, sizeof(number));
        if (a->is_failed || number == UINT64_MAX)
            break;
        archive_check(a, number >= next && number <= last,
                      "the snapshot has page %llu of an HBM of %llu", (unsigned long long)number,
                      (unsigned long long)last + 1);
        if (a->is_failed)
            break;
        clear_pages(s, next, number);
        page = make_page(s, (int64_t)(number << PAGE_SHIFT));
        archive_sparse(a, page, PAGE_BYTES);
        archive_check(a, !archive_is_zero(page, PAGE_BYTES), "the snapshot has an empty HBM page");
        next = number + 1;
    }
    clear_pages(s, next, UINT64_MAX);
}

void hbm_store_archive(struct hbm_store *s, struct archive *a)
{
    if (archive_is_loading(a))
        load_pages(s, a);
    else
        save_pages(s, a);
}
