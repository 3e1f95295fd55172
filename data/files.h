/*
 * Datasets of files. Files are read in the order given, each from its beginning; packed ones are
 * unpacked on the way. Mistakes name the file, the record (from 0) and its byte in the file (of
 * packed files: in what they unpack to).
 */
#ifndef DATA_FILES_H
#define DATA_FILES_H
#include "data/dataset.h"
#include "data/stream.h"

/* ---- string scalars, one per record ---- */

/* TFRecord files: lengths and bytes are checked by their CRC-32C */
struct dataset *dataset_tfrecords(const char *const *path, int64_t count,
                                  enum data_compression c, struct err *e);

struct data_fixed {
    int64_t header_bytes, record_bytes, footer_bytes;   /* of every file */
};
struct dataset *dataset_fixed_records(const char *const *path, int64_t count,
                                      const struct data_fixed *f, enum data_compression c,
                                      struct err *e);

/* lines without their ends, LF or CR LF; the last one may have none */
struct dataset *dataset_text_lines(const char *const *path, int64_t count,
                                   enum data_compression c, struct err *e);

/* ---- slices along dimension 0 of what each file holds, side by side; read as a whole ---- */

/* IDX files of u8, s32 or f32, plain or gzip */
struct dataset *dataset_from_idx(const char *const *path, int count, struct err *e);
/* .npy files of floats, integers and bools, plain or gzip; as f32, s32, or u8 */
struct dataset *dataset_from_npy(const char *const *path, int count, struct err *e);
/* the same of what has been read already, as out of a .npz; `path` for messages */
struct data_bytes {
    const char *path;
    const unsigned char *bytes;
    int64_t size;
};
struct dataset *dataset_from_npy_bytes(const struct data_bytes *array, int count, struct err *e);

struct data_column {
    const char *name;                   /* in the heading */
    enum data_dtype dtype;              /* DATA_F32, DATA_S32 or DATA_STRING */
};
/* rows of one CSV file (RFC 4180, plain or gzip), a scalar for each of the columns asked for */
struct dataset *dataset_from_csv(const char *path, const struct data_column *column, int count,
                                 struct err *e);

/* ---- for dataset_interleave: string scalars ---- */

struct dataset *dataset_from_paths(const char *const *path, int64_t count, struct err *e);
/* files whose names match ("data/train-*.tfrecord"), sorted; none is an error */
struct dataset *dataset_list_files(const char *pattern, struct err *e);
#endif
