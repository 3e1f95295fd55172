/* Writes TFRecord files, and looks through them for damage; dataset_tfrecords reads them. */
#ifndef DATA_TFRECORD_H
#define DATA_TFRECORD_H
#include "base/outfile.h"
#include "data/stream.h"

struct tfrecord_writer;

/* The file appears whole, when it is committed, or not at all. AUTO: gzip where it ends in .gz. */
struct tfrecord_writer *tfrecord_begin(const char *path, enum data_compression c, struct err *e);
void tfrecord_write(struct tfrecord_writer *w, const void *record, int64_t bytes);
int tfrecord_commit(struct tfrecord_writer *w, struct err *e);  /* -1: could not be written */
void tfrecord_abandon(struct tfrecord_writer *w);

#endif
