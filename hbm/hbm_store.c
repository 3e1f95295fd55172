/*
 * Keeps the contents of HBM as pages of 64 KiB that exist once they are written to, found through
 * tables of 256.
 */
#include "hbm/hbm_page.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/*
 * Pages hang in tables of 256, the tables in a directory: an untouched chip of
 * 32 GiB costs 16 KiB. A page, once written, stays until the store is
 * destroyed, another one takes its place, or zeros are written to all of it, as are the margins of
 * images and an optimizer's first state; fresh host memory is slow, so runs reuse it.
 */
enum { TABLE_SHIFT = 8, TABLE_PAGES = 1 << TABLE_SHIFT };

struct table {
    struct hbm_page *page[TABLE_PAGES]; /* NULL = reads as zero */
    uint64_t is_kept[TABLE_PAGES / 64]; /* bit per page */
};

struct kept_page {
    size_t number;
    struct hbm_page *page;              /* as it was; NULL: it did not exist */
};

struct hbm_store {
    int64_t size_bytes;
    size_t table_count;
    struct table **tables;              /* NULL = no page of it exists */
    bool keeps;
    struct kept_page *kept;
    size_t kept_count, kept_capacity;
};

_Static_assert(PAGE_BYTES == (size_t)1 << PAGE_SHIFT, "a page's number is part of an address");

struct hbm_store *hbm_store_create(int64_t size_bytes)
{
    struct hbm_store *s = mem_alloc(sizeof(*s));

    assert(size_bytes > 0);
    hbm_pages_open();
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
            hbm_page_release(s->tables[i]->page[k]);
        mem_free(s->tables[i]);
    }
    hbm_store_free_kept(s);
    mem_free(s->tables);
    mem_free(s);
    hbm_pages_close();
}

/* The part of a range that lies in the page of its first byte. */
static size_t bytes_in_page(int64_t address, size_t bytes)
{
    size_t room = PAGE_BYTES - ((size_t)address & (PAGE_BYTES - 1));

    return bytes < room ? bytes : room;
}

struct hbm_page *hbm_store_page(const struct hbm_store *s, size_t number)
{
    const struct table *t = s->tables[number >> TABLE_SHIFT];

    return t ? t->page[number & (TABLE_PAGES - 1)] : NULL;
}

static const unsigned char *find_page(const struct hbm_store *s, int64_t address)
{
    const struct hbm_page *p = hbm_store_page(s, (size_t)address >> PAGE_SHIFT);

    return p ? p->bytes : NULL;
}

static struct hbm_page **page_at(struct hbm_store *s, size_t number)
{
    struct table **t = &s->tables[number >> TABLE_SHIFT];

    if (!*t)
        *t = mem_alloc(sizeof(**t));
    return &(*t)->page[number & (TABLE_PAGES - 1)];
}

/* to be written to, by this store alone: with is_written_over all of it, before anybody reads it */
static unsigned char *make_page(struct hbm_store *s, size_t number, bool is_written_over)
{
    struct hbm_page **p = page_at(s, number);

    if (!*p) {
        *p = is_written_over ? hbm_page_create_unset() : hbm_page_create(NULL);
    } else if (hbm_page_is_shared(*p)) {
        struct hbm_page *own = is_written_over ? hbm_page_create_unset() : hbm_page_create(*p);

        hbm_page_release(*p);
        *p = own;
    }
    return (*p)->bytes;
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

/* before the first write to page `number` since hbm_store_keep: the next one makes another page */
static void keep_page(struct hbm_store *s, size_t number)
{
    struct hbm_page *page = *page_at(s, number);
    struct table *t = s->tables[number >> TABLE_SHIFT];
    uint64_t bit = UINT64_C(1) << number % 64;

    if (t->is_kept[number % TABLE_PAGES / 64] & bit)
        return;
    t->is_kept[number % TABLE_PAGES / 64] |= bit;
    MEM_ADD(s->kept, s->kept_count, s->kept_capacity) =
        (struct kept_page){number, hbm_page_share(page)};
}

/* `bytes` of it will be */
static unsigned char *page_to_write(struct hbm_store *s, int64_t address, size_t bytes)
{
    size_t number = (size_t)address >> PAGE_SHIFT;

    if (s->keeps)
        keep_page(s, number);
    return make_page(s, number, bytes == PAGE_BYTES);
}

void hbm_store_share_page(struct hbm_store *s, size_t number, struct hbm_page *page)
{
    struct hbm_page **p = page_at(s, number), *old = *p;

    *p = hbm_page_share(page);
    hbm_page_release(old);
}

void hbm_store_set_page(struct hbm_store *s, size_t number, struct hbm_page *page)
{
    if (s->keeps)
        keep_page(s, number);
    hbm_store_share_page(s, number, page);
}

#if defined(__x86_64__)
#define LINE_BYTES 64u
#define STREAM_BYTES_MIN 1024u
#define STREAM_PAGES_MIN 512u           /* 32 MiB */

/*
 * Past the host's caches, where all pages are more than these hold: what programs write there is
 * not in them any more when it is read again, and a line that is written whole need not be read
 * first.
 */
static void write_bytes(unsigned char *to, const char *from, size_t bytes)
{
    if (bytes < STREAM_BYTES_MIN || hbm_pages_used() < STREAM_PAGES_MIN || (uintptr_t)to % LINE_BYTES != 0 || bytes % LINE_BYTES != 0) {
        memcpy(to, from, bytes);
        return;
    }
    for (size_t done = 0; done < bytes; done += LINE_BYTES) {
        const __m128i *in = (const __m128i *)(const void *)(from + done);
        __m128i *out = (__m128i *)(void *)(to + done);
        __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
        __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);

        _mm_stream_si128(out, a);
        _mm_stream_si128(out + 1, b);
        _mm_stream_si128(out + 2, c);
        _mm_stream_si128(out + 3, d);
    }
    _mm_sfence();                       /* other threads find it when they are told of it */
}
#else
static void write_bytes(unsigned char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
#endif

void hbm_store_write(struct hbm_store *s, int64_t address, const void *from, size_t bytes)
{
    const char *in = from;

    assert_range(s, address, bytes);
    while (bytes > 0) {
        size_t piece = bytes_in_page(address, bytes);

        if (piece == PAGE_BYTES && archive_is_zero(in, PAGE_BYTES))
            hbm_store_set_page(s, (size_t)address >> PAGE_SHIFT, NULL);
        else
            write_bytes(page_to_write(s, address, piece) + ((size_t)address & (PAGE_BYTES - 1)),
                        in, piece);
        in += piece;
        address += (int64_t)piece;
        bytes -= piece;
    }
}

void hbm_store_keep(struct hbm_store *s)
{
    assert(!s->keeps && s->kept_count == 0);
    s->keeps = true;
}

static void stop_keeping(struct hbm_store *s, bool puts_back)
{
    for (size_t i = 0; i < s->kept_count; i++) {
        const struct kept_page *k = &s->kept[i];

        s->tables[k->number >> TABLE_SHIFT]->is_kept[k->number % TABLE_PAGES / 64] = 0;
        if (puts_back)
            hbm_store_share_page(s, k->number, k->page);
        hbm_page_release(k->page);
    }
    s->kept_count = 0;
    s->keeps = false;
}

void hbm_store_put_back(struct hbm_store *s)
{
    stop_keeping(s, true);
}

void hbm_store_let_go(struct hbm_store *s)
{
    stop_keeping(s, false);
}

void hbm_store_free_kept(struct hbm_store *s)
{
    assert(s->kept_count == 0);
    mem_free(s->kept);
    s->kept = NULL;
    s->kept_count = s->kept_capacity = 0;
}

/* page by page, by number; UINT64_MAX at the end */
static void save_pages(const struct hbm_store *s, struct archive *a)
{
    uint64_t number;

    for (size_t i = 0; i < s->table_count; i++)
        for (size_t k = 0; s->tables[i] && k < TABLE_PAGES; k++) {
            struct hbm_page *page = s->tables[i]->page[k];

            if (!page || archive_is_zero(page->bytes, PAGE_BYTES))
                continue;
            number = i * TABLE_PAGES + k;
            archive_bytes(a, &number, sizeof(number));
            archive_sparse(a, page->bytes, PAGE_BYTES);
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
            memset(make_page(s, n, true), 0, PAGE_BYTES);
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
        page = make_page(s, number, true);
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
