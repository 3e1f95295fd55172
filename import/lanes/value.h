/*
 * Values: arrays and tuples that instructions make, shared by counting who holds them.
 *
 * An array's data are dense row-major elements of hlo_element_bytes of its own sizes, which of a
 * bounded type may be less than the bounds. Who holds a value alone may write into it.
 */
#ifndef IMPORT_EVAL_VALUE_H
#define IMPORT_EVAL_VALUE_H
#include "import/program/program.h"

enum { EVAL_RANK_MAX = 32 };

/* Blocks that were let go, for the next value of their size, and how much is in use. Small ones, of
 * values and of their data, are kept all, each size of VALUE_STEP bytes in a list. */
enum { VALUE_STEP = 64, VALUE_SIZES = 64 };
struct value_pool {
    struct value_small { struct value_small *next; } *small[VALUE_SIZES];
    struct value_block { void *data; size_t bytes; } free[32];
    int free_count;
    size_t used_bytes, limit_bytes;
};

struct value {
    int holders;
    enum hlo_element element;           /* ELEMENT_TUPLE: part[part_count]; TOKEN: nothing */
    int rank;
    int64_t *dim;                       /* of this array as it is */
    void *data;
    size_t block_bytes;                 /* of data; 0: they are a literal's, in `small` or base's */
    struct value *base;                 /* whose data these are, held; NULL: none */
    bool is_splat;                      /* data is one element, in `small`, which all are */
    int part_count;
    struct value **part;
    _Alignas(16) unsigned char small[16];
};

/* NULL where the pool's limit is reached; contents are whatever was there */
struct value *value_array(struct value_pool *p, enum hlo_element e, int rank, const int64_t *dim);
/* takes over the parts; NULL parts may be set later */
struct value *value_tuple(struct value_pool *p, int count, struct value *const *part);
struct value *value_token(struct value_pool *p);
/* `data` stays the caller's and is never written */
struct value *value_borrow(struct value_pool *p, enum hlo_element e, int rank, const int64_t *dim,
                           const void *data);

/* the same data, seen as other elements or sizes */
struct value *value_view(struct value_pool *p, struct value *v, enum hlo_element e, int rank,
                         const int64_t *dim);

/* an array of one number everywhere, that takes no room until it is spread */
struct value *value_splat(struct value_pool *p, enum hlo_element e, int rank, const int64_t *dim,
                          const void *element);
/* v and its parts with all their elements; false where the pool's limit is reached */
bool value_spread(struct value_pool *p, struct value *v);

struct value *value_hold(struct value *v);      /* one holder more; returns v */
void value_drop(struct value_pool *p, struct value *v);         /* NULL is nothing */
/* may its only holder write into its data? */
bool value_is_writable(const struct value *v);

int64_t value_count(const struct value *v);     /* of elements */
int64_t value_product(const int64_t *dim, int from, int to);    /* of dim[from] .. dim[to - 1] */
void value_strides(const struct value *v, int64_t *stride);     /* in elements */
size_t value_element_bytes(const struct value *v);
/* integer of an array at an index, clamped to 64 bits; of pred 0 or 1 */
int64_t value_int(const struct value *v, int64_t at);
void value_pool_free(struct value_pool *p);
#endif
