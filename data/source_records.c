/* Sources over files of records, one behind the other. A position is file, record and byte. */
#include "data/dataset_impl.h"
#include "data/record.h"

#include <inttypes.h>
#include <string.h>

#define FIXED_BYTES_MAX ((int64_t)1 << 30)

struct records {
    struct dataset dataset;
    const struct record_format *format;
    const char **path;
    int64_t path_count;
    enum data_compression compression;
    struct data_fixed fixed;
};

struct records_iterator {
    struct data_iterator base;
    int64_t file;                       /* in the list; the stream is open, or it begins */
    struct record_place place;
};

static int open_file(struct records_iterator *it, struct err *e)
{
    const struct records *r = (const struct records *)it->base.dataset;

    it->place = (struct record_place){.options = &r->fixed};
    it->place.stream = stream_open(r->path[it->file], r->compression, e);
    return it->place.stream ? 0 : -1;
}

/* record NULL: pass over it */
static int advance(struct records_iterator *it, const unsigned char **record, int64_t *size,
                   struct err *e)
{
    const struct records *r = (const struct records *)it->base.dataset;

    while (it->file < r->path_count) {
        int status;

        if (!it->place.stream && open_file(it, e))
            return -1;
        status = r->format->next(&it->place, record, size, e);
        if (status)
            return status;
        stream_close(it->place.stream);
        it->place.stream = NULL;
        it->file++;
    }
    return 0;
}

static void step(struct records_iterator *it)
{
    it->place.number++;
    it->place.offset = stream_offset(it->place.stream);
}

static int records_next(struct data_iterator *base, struct data_element **x, struct err *e)
{
    struct records_iterator *it = (struct records_iterator *)base;
    const unsigned char *record;
    int64_t size;
    int status = advance(it, &record, &size, e);

    if (status <= 0)
        return status;
    *x = element_new(1);
    element_put(*x, 0, base->dataset->spec);
    element_put_string(*x, 0, 0, record, size);
    element_set_origin(*x, stream_path(it->place.stream), it->place.number, it->place.offset);
    step(it);
    return 1;
}

static int64_t records_skip(struct data_iterator *base, int64_t n, struct err *e)
{
    struct records_iterator *it = (struct records_iterator *)base;

    for (int64_t i = 0; i < n; i++) {
        int64_t size;
        int status = advance(it, NULL, &size, e);

        if (status <= 0)
            return status < 0 ? -1 : i;
        step(it);
    }
    return n;
}

/* Straight to the byte; a file that has become shorter is found out here. */
static int go_to(struct records_iterator *it, int64_t number, int64_t offset, struct err *e)
{
    int64_t done;

    if (open_file(it, e))
        return -1;
    done = stream_skip(it->place.stream, offset, e);
    if (done < offset)
        return done < 0 ? -1 : err_at(e, stream_path(it->place.stream), 0, 0, "has only %" PRId64
                                      " bytes, record %" PRId64 " began at byte %" PRId64, done,
                                      number, offset);
    it->place.number = number;
    it->place.offset = offset;
    return 0;
}

static void records_archive(struct data_iterator *base, struct archive *a)
{
    struct records_iterator *it = (struct records_iterator *)base;
    int64_t number = it->place.stream ? it->place.number : 0;
    int64_t offset = it->place.stream ? it->place.offset : 0;

    data_iterator_archive_count(a, &it->file, "the number of a file");
    data_iterator_archive_count(a, &number, "the number of a record");
    data_iterator_archive_count(a, &offset, "the byte of a record");
    if (!archive_is_loading(a) || a->is_failed ||
        it->file >= ((const struct records *)base->dataset)->path_count || number == 0)
        return;
    a->is_failed = go_to(it, number, offset, a->e) != 0;
}

static void records_close(struct data_iterator *base)
{
    stream_close(((struct records_iterator *)base)->place.stream);
}

static const struct dataset_kind records_kind = {
    .iterator_bytes = sizeof(struct records_iterator), .state = STATE_OWN,
    .next = records_next, .skip = records_skip, .archive = records_archive,
    .close = records_close,
};

static struct records *new_records(const struct record_format *format, const char *const *path,
                                   int64_t count, enum data_compression c, struct err *e)
{
    struct data_spec spec = data_spec_of(DATA_STRING, 0, NULL);
    struct records *r;

    if (count < 1) {
        err_set(e, "%s: no files", format->name);
        return NULL;
    }
    r = dataset_new(&records_kind, sizeof(*r), NULL, 0);
    r->format = format;
    r->path = arena_array(&r->dataset.arena, (size_t)count, sizeof(*r->path));
    r->path_count = count;
    for (int64_t i = 0; i < count; i++)
        r->path[i] = arena_strdup(&r->dataset.arena, path[i]);
    r->compression = c;
    r->dataset.cardinality = DATA_UNKNOWN;
    dataset_set_specs(&r->dataset, &spec, 1);
    if (count == 1)
        dataset_set_description(&r->dataset, "%s(%s)", format->name, path[0]);
    else
        dataset_set_description(&r->dataset, "%s(%" PRId64 " files from %s)", format->name, count,
                                path[0]);
    return r;
}

static struct dataset *dataset_or_null(struct records *r)
{
    return r ? &r->dataset : NULL;
}

struct dataset *dataset_tfrecords(const char *const *path, int64_t count,
                                  enum data_compression c, struct err *e)
{
    return dataset_or_null(new_records(&tfrecord_format, path, count, c, e));
}

struct dataset *dataset_text_lines(const char *const *path, int64_t count,
                                   enum data_compression c, struct err *e)
{
    return dataset_or_null(new_records(&line_format, path, count, c, e));
}

struct dataset *dataset_fixed_records(const char *const *path, int64_t count,
                                      const struct data_fixed *f, enum data_compression c,
                                      struct err *e)
{
    struct records *r;

    if (f->record_bytes < 1 || f->header_bytes < 0 || f->footer_bytes < 0 ||
        f->record_bytes > FIXED_BYTES_MAX || f->footer_bytes > FIXED_BYTES_MAX)
        return dataset_refuse(NULL, e, "fixed records of %" PRId64 " bytes between %" PRId64
                              " and %" PRId64 "; allowed are 1..%" PRId64
                              " between 0 and more", f->record_bytes, f->header_bytes,
                              f->footer_bytes, FIXED_BYTES_MAX);
    r = new_records(&fixed_format, path, count, c, e);
    if (r)
        r->fixed = *f;
    return dataset_or_null(r);
}
