/*
 * HDF5 files as Keras keeps weights in them: groups, arrays of numbers, attributes of text.
 *
 * A file that is read may come from anywhere, and libhdf5 is known to fail on damaged ones. So a
 * process of its own reads it, with a limit on its time, and gives what it found through a pipe;
 * what becomes of that process the caller learns as a message. Not read: links into other files,
 * arrays whose elements lie elsewhere, filters that are not part of libhdf5, and what a Keras
 * optimizer keeps.
 */
#ifndef FILES_H5_H
#define FILES_H5_H
#include "base/archive.h"
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define H5_RANK_MAX 8

struct h5_item {
    const char *path;                   /* "layers/dense/vars/0"; of an attribute its group's */
    const char *attribute;              /* its name, or NULL: an array */
    int rank;                           /* of an array */
    int64_t dim[H5_RANK_MAX];
    const float *value;                 /* numbers of any kind, as f32 */
    const char **text;                  /* of an attribute */
    int text_count;
};

struct h5_file {
    const char *path;                   /* of the file, for messages */
    struct h5_item *item;
    int count;
};

bool h5_is(const uint8_t *bytes, size_t size);
/* all there is, in arena `a`; `path` for messages */
int h5_read(const uint8_t *bytes, size_t size, const char *path, struct arena *a,
            struct h5_file *out, struct err *e);
/* NULL: there is none */
const struct h5_item *h5_find(const struct h5_file *f, const char *path, const char *attribute);

struct h5_output {
    const char *path;                   /* of an array, or of the attribute's group */
    const char *attribute;
    int rank;
    const int64_t *dim;
    const void *value;                  /* of an array: f32, or s32 */
    bool is_s32;
    const char *text;                   /* of an attribute */
};
/* The file's bytes, the same for the same items; for the caller to mem_free `image->data`. */
int h5_write(const struct h5_output *item, int count, struct bytes *image, struct err *e);
#endif
