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

struct hbm_page {
    _Alignas(64) unsigned char bytes[HBM_STORE_PAGE_BYTES];
    atomic_int others;                  /* that have it, beside one */
};

/* a store begins, and ends: while there is one, pages that nobody has any more stay at hand */
void hbm_pages_open(void);
void hbm_pages_close(void);

size_t hbm_pages_used(void);            /* by all stores and holds together */

struct hbm_page *hbm_page_create(const struct hbm_page *like); /* NULL: zeros */
struct hbm_page *hbm_page_create_unset(void);           /* for who writes all of it at once */
bool hbm_page_is_shared(struct hbm_page *p);
struct hbm_page *hbm_page_share(struct hbm_page *p);    /* for one more; NULL stays NULL */
void hbm_page_release(struct hbm_page *p);

struct hbm_page *hbm_store_page(const struct hbm_store *s, size_t number); /* NULL: zeros */
/* page `number` is `page` from now on, which the caller keeps, too; NULL: zeros */
void hbm_store_set_page(struct hbm_store *s, size_t number, struct hbm_page *page);
/* the same of one with the same bytes: nothing changes but whose it is */
void hbm_store_share_page(struct hbm_store *s, size_t number, struct hbm_page *page);
#endif
