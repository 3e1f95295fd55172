/* What the handles of datasets are. An element's handle is a struct data_element itself. */
#ifndef API_DATASET_H
#define API_DATASET_H
#include "api/api.h"

#include "data/dataset.h"

/* what the user's function and its argument are, as a stage's context needs them */
struct api_callback {
    union {
        sy_map map;
        sy_filter filter;
        sy_open open;
        sy_make_dataset make;
    } function;
    void *user;
    struct api_callbacks *opened;       /* of datasets that the function has made; or NULL */
    struct api_callback *next;
};

/* callbacks live as long as any handle that shares stages with this one */
struct api_callbacks {
    int holders;
    struct api_callback *first;
    struct api_callbacks *other[2];     /* of datasets joined to this one */
};

struct sy_dataset {
    struct dataset *d;
    struct api_callbacks *callbacks;
};

struct sy_iterator {
    struct data_iterator *it;
    struct api_callbacks *callbacks;
};

struct api_callbacks *api_callbacks_hold(struct api_callbacks *c);
void api_callbacks_release(struct api_callbacks *c);
struct api_callback *api_callback_add(sy_dataset *d, void *user);
/* from now on `to` holds `more` too, instead of the caller; on any thread */
void api_callbacks_join(struct api_callbacks **to, struct api_callbacks *more);

/* `made` is what a stage made of d->d, held once more before; NULL: d stays as it was */
sy_status api_dataset_replace(sy_dataset *d, struct dataset *made, const struct err *e);
sy_status api_dataset_new(struct dataset *made, const struct err *e, sy_dataset **out);

static inline struct data_element *api_element(sy_element *x) { return (struct data_element *)x; }
static inline const struct data_element *api_element_const(const sy_element *x)
{
    return (const struct data_element *)x;
}

/* where batches for replicas stand, nothing before the first; the same again */
const sy_strategy *api_distributed_strategy(const sy_distributed *d);
int api_distributed_save(sy_distributed *d, struct bytes *to, struct err *e);
int api_distributed_resume(sy_distributed *d, const void *state, size_t bytes, struct err *e);

/* -1: no such type, a size that cannot be */
int api_spec(sy_dtype dtype, const sy_shape *shape, bool may_be_any, struct data_spec *out,
             struct err *e);
sy_dtype api_data_dtype(enum data_dtype t);
#endif
