/*
 * A page of a store (hbm_store.c), which several stores and holds may share; private to these.
 * Whoever would write to one that others have, too, takes a copy. Stores may belong to different
 * threads.
 */
#ifndef HBM_HBM_PAGE_H
#define HBM_HBM_PAGE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "hbm/hbm.h"

#define PAGE_SHIFT 16
#define PAGE_BYTES ((size_t)HBM_STORE_PAGE_BYTES)

struct page {
    _Alignas(64) unsigned char bytes[HBM_STORE_PAGE_BYTES];
    atomic_int others;                  /* that have it, beside one */
};

/* a store begins, and ends: while there is one, pages that nobody has any more stay at hand */
void pages_open(void);
void pages_close(void);

struct page *page_create(const struct page *like);      /* NULL: zeros */
struct page *page_create_unset(void);                   /* for who writes all of it at once */
bool page_is_shared(struct page *p);
struct page *page_share(struct page *p);                /* for one more; NULL stays NULL */
void page_release(struct page *p);

struct page *hbm_store_page(const struct hbm_store *s, size_t number);  /* NULL: zeros */
/* page `number` is `page` from now on, which the caller keeps, too; NULL: zeros */
void hbm_store_set_page(struct hbm_store *s, size_t number, struct page *page);
/* the same of one with the same bytes: nothing changes but whose it is */
void hbm_store_share_page(struct hbm_store *s, size_t number, struct page *page);
#endif
