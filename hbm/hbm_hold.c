/* What a range of a store holds at some time: its pages, shared, until somebody writes to them. */
#include "hbm/hbm_page.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/arena.h"

struct hbm_hold {
    size_t first, bytes;                /* of its first page */
    size_t page_count;
    struct hbm_page *page[];            /* NULL: zeros */
};

/*
 * Pages are cut out of blocks on the host's large pages: copies walk them from end to end, and on
 * small ones the host would look for a translation sixteen times a page, and clear each by itself.
 * They come and go with every sum over cores, in turn on several threads: what is free waits for
 * the next one, until the last store and the last page that somebody holds have gone.
 */
#define BLOCK_PAGES 1023                /* 64 MiB with what stands before them */

struct block {
    struct block *next;
    int cut;                            /* pages that somebody has had */
    _Alignas(64) struct hbm_page page[BLOCK_PAGES];
};

static struct {
    pthread_mutex_t lock;
    int stores;
    atomic_size_t used;                 /* pages that somebody has; changes under the lock */
    struct hbm_page *free;              /* each begins with the next one */
    struct block *block;                /* the newest, of which pages are cut */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

void hbm_pages_open(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.stores++;
    pthread_mutex_unlock(&pool.lock);
}

/* the lock is held: all memory back, if nobody wants it any more */
static void clear_pool(void)
{
    if (pool.stores > 0 || pool.used > 0)
        return;
    pool.free = NULL;
    while (pool.block) {
        struct block *last = pool.block;

        pool.block = last->next;
        mem_free_lazy(last);
    }
}

size_t hbm_pages_used(void)
{
    return atomic_load_explicit(&pool.used, memory_order_relaxed);
}

void hbm_pages_close(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.stores--;
    clear_pool();
    pthread_mutex_unlock(&pool.lock);
}

static void give_back(struct hbm_page *p)
{
    pthread_mutex_lock(&pool.lock);
    memcpy(p->bytes, &pool.free, sizeof(pool.free));
    pool.free = p;
    pool.used--;
    clear_pool();
    pthread_mutex_unlock(&pool.lock);
}

/* the lock is held */
static struct hbm_page *cut_page(void)
{
    if (!pool.block || pool.block->cut == BLOCK_PAGES) {
        struct block *b = mem_alloc_lazy(sizeof(*b));

        b->next = pool.block;
        pool.block = b;
    }
    return &pool.block->page[pool.block->cut++];
}

struct hbm_page *hbm_page_create_unset(void)
{
    struct hbm_page *p;

    pthread_mutex_lock(&pool.lock);
    p = pool.free;
    if (p)
        memcpy(&pool.free, p->bytes, sizeof(pool.free));
    else
        p = cut_page();
    pool.used++;
    pthread_mutex_unlock(&pool.lock);
    atomic_init(&p->others, 0);
    return p;
}

struct hbm_page *hbm_page_create(const struct hbm_page *like)
{
    struct hbm_page *p = hbm_page_create_unset();

    if (like)
        memcpy(p->bytes, like->bytes, PAGE_BYTES);
    else
        memset(p->bytes, 0, PAGE_BYTES);
    return p;
}

bool hbm_page_is_shared(struct hbm_page *p)
{
    return atomic_load_explicit(&p->others, memory_order_acquire) > 0;
}

struct hbm_page *hbm_page_share(struct hbm_page *p)
{
    if (p)
        atomic_fetch_add_explicit(&p->others, 1, memory_order_relaxed);
    return p;
}

void hbm_page_release(struct hbm_page *p)
{
    if (p && atomic_fetch_sub_explicit(&p->others, 1, memory_order_acq_rel) == 0)
        give_back(p);
}

struct hbm_hold *hbm_store_hold(const struct hbm_store *s, int64_t address, size_t bytes)
{
    size_t first = (size_t)address & (PAGE_BYTES - 1), number = (size_t)address >> PAGE_SHIFT;
    size_t count = (first + bytes + PAGE_BYTES - 1) >> PAGE_SHIFT;
    struct hbm_hold *h = mem_alloc(sizeof(*h) + count * sizeof(h->page[0]));

    h->first = first;
    h->bytes = bytes;
    h->page_count = count;
    for (size_t i = 0; i < count; i++)
        h->page[i] = hbm_page_share(hbm_store_page(s, number + i));
    return h;
}

void hbm_hold_free(struct hbm_hold *h)
{
    for (size_t i = 0; h && i < h->page_count; i++)
        hbm_page_release(h->page[i]);
    mem_free(h);
}

static const unsigned char zero_page[HBM_STORE_PAGE_BYTES];

/* a range of one page: its bytes */
static const unsigned char *bytes_of(const struct hbm_hold *h, size_t page, size_t at)
{
    return (h->page[page] ? h->page[page]->bytes : zero_page) + at;
}

void hbm_hold_read(const struct hbm_hold *h, size_t at, void *to, size_t bytes)
{
    size_t begin = h->first + at, end = begin + bytes;
    char *out = to;

    assert(at <= h->bytes && bytes <= h->bytes - at);
    while (begin < end) {
        size_t in_page = begin % PAGE_BYTES, piece = PAGE_BYTES - in_page;

        piece = piece < end - begin ? piece : end - begin;
        memcpy(out, bytes_of(h, begin / PAGE_BYTES, in_page), piece);
        out += piece;
        begin += piece;
    }
}

void hbm_store_put(struct hbm_store *s, int64_t address, const struct hbm_hold *h)
{
    size_t begin = h->first, end = h->first + h->bytes, number = (size_t)address >> PAGE_SHIFT;

    assert(((size_t)address & (PAGE_BYTES - 1)) == h->first);
    for (size_t i = 0; i < h->page_count; i++, begin = 0) {
        size_t most = end - i * PAGE_BYTES < PAGE_BYTES ? end - i * PAGE_BYTES : PAGE_BYTES;

        if (most - begin == PAGE_BYTES)
            hbm_store_set_page(s, number + i, h->page[i]);
        else
            hbm_store_write(s, (int64_t)(((number + i) << PAGE_SHIFT) + begin),
                            bytes_of(h, i, begin), most - begin);
    }
}

bool hbm_store_match(struct hbm_store *s, int64_t address, const struct hbm_hold *h)
{
    size_t number = (size_t)address >> PAGE_SHIFT;

    assert(h->first == 0 && h->bytes % PAGE_BYTES == 0 && (size_t)address % PAGE_BYTES == 0);
    for (size_t i = 0; i < h->page_count; i++) {
        const struct hbm_page *own = hbm_store_page(s, number + i);

        if (own == h->page[i])
            continue;
        if (memcmp(own ? own->bytes : zero_page, bytes_of(h, i, 0), PAGE_BYTES) != 0)
            return false;
        hbm_store_share_page(s, number + i, h->page[i]);
    }
    return true;
}
