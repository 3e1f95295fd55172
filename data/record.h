/*
 * Files of records: what differs from format to format is how the next one is found.
 */
#ifndef DATA_RECORD_H
#define DATA_RECORD_H
#include "data/files.h"

/* where a reader stands in one file */
struct record_place {
    struct stream *stream;
    int64_t number;                     /* of the next record in this file */
    int64_t offset;                     /* where it begins */
    const void *options;                /* of the format */
};

struct record_format {
    const char *name;
    /*
     * 1: *record is the next one, of *size bytes, valid until the next call; 0: the end of the
     * file; -1. With record NULL it is only passed over, its bytes unchecked.
     */
    int (*next)(struct record_place *p, const unsigned char **record, int64_t *size,
                struct err *e);
};

extern const struct record_format tfrecord_format, line_format, fixed_format;

/* a message about the next record of p: "record 3 at byte 120: ..."; -1 */
int record_fail(const struct record_place *p, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#endif
