/*
 * What all stages of a pipeline share: reference counts of datasets, and iterators that open,
 * advance, skip and save their inputs.
 */
#include "data/dataset_impl.h"

#include "base/text.h"
#include "base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define STATE_MAGIC 0x31535453u         /* "STS1" */
#define DESCRIPTION_SHOWN 160           /* characters of one in a message */

void *dataset_new(const struct dataset_kind *kind, size_t bytes, struct dataset *const *input,
                  int input_count)
{
    struct dataset *d = mem_alloc(bytes);

    d->kind = kind;
    atomic_init(&d->holder_count, 1);
    arena_init(&d->arena);
    d->input = arena_array(&d->arena, (size_t)input_count, sizeof(struct dataset *));
    d->input_count = input_count;
    for (int i = 0; i < input_count; i++)
        d->input[i] = input[i];
    if (input_count > 0) {
        dataset_set_specs(d, input[0]->spec, input[0]->tensor_count);
        d->cardinality = input[0]->cardinality;
    }
    return d;
}

void dataset_set_specs(struct dataset *d, const struct data_spec *spec, int count)
{
    d->spec = arena_array(&d->arena, (size_t)count, sizeof(*spec));
    d->tensor_count = count;
    for (int i = 0; i < count; i++)
        d->spec[i] = spec[i];
}

void dataset_set_description(struct dataset *d, const char *fmt, ...)
{
    char own[512];
    va_list ap;

    va_start(ap, fmt);
    text_print_args(own, sizeof(own), fmt, ap);
    va_end(ap);
    d->description = d->input_count == 1
                     ? arena_printf(&d->arena, "%s | %s", d->input[0]->description, own)
                     : arena_strdup(&d->arena, own);
}

struct dataset *dataset_refuse(struct dataset *in, struct err *e, const char *fmt, ...)
{
    char msg[sizeof(e->msg)];
    va_list ap;

    va_start(ap, fmt);
    text_print_args(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    dataset_release(in);
    err_set(e, "%s", msg);
    return NULL;
}

struct dataset *dataset_retain(struct dataset *d)
{
    atomic_fetch_add(&d->holder_count, 1);
    return d;
}

void dataset_release(struct dataset *d)
{
    if (!d || atomic_fetch_sub(&d->holder_count, 1) > 1)
        return;
    if (d->kind->fini)
        d->kind->fini(d);
    for (int i = 0; i < d->input_count; i++)
        dataset_release(d->input[i]);
    arena_fini(&d->arena);
    mem_free(d);
}

int64_t dataset_cardinality(const struct dataset *d)
{
    return d->cardinality;
}

int dataset_tensor_count(const struct dataset *d)
{
    return d->tensor_count;
}

const struct data_spec *dataset_spec(const struct dataset *d)
{
    return d->spec;
}

const char *dataset_describe(const struct dataset *d)
{
    return d->description;
}

int data_element_check(const struct data_element *x, const struct data_spec *spec, int count,
                       const char *who, int64_t number, struct err *e)
{
    char is[96], as[96];

    if (x->tensor_count != count)
        return err_set(e, "%s: element %" PRId64 " has %d tensors, declared are %d", who, number,
                       x->tensor_count, count);
    for (int i = 0; i < count; i++) {
        if (!x->tensor[i].data)
            return err_set(e, "%s: element %" PRId64 " has no tensor %d, declared is %s", who,
                           number, i, data_spec_print(&spec[i], as, sizeof(as)));
        if (!data_spec_fits(&x->tensor[i].spec, &spec[i]))
            return err_set(e, "%s: tensor %d of element %" PRId64 " is %s, declared is %s", who, i,
                           number, data_spec_print(&x->tensor[i].spec, is, sizeof(is)),
                           data_spec_print(&spec[i], as, sizeof(as)));
    }
    return 0;
}

/* ---- iterators ------------------------------------------------------------------ */

int data_iterator_open_input(struct data_iterator *it, int i, int64_t pass, struct err *e)
{
    data_iterator_close_input(it, i);
    it->input[i] = data_iterator_open(it->dataset->input[i], pass, e);
    return it->input[i] ? 0 : -1;
}

void data_iterator_close_input(struct data_iterator *it, int i)
{
    data_iterator_destroy(it->input[i]);
    it->input[i] = NULL;
}

static int open_inputs(struct data_iterator *it, struct err *e)
{
    for (int i = 0; i < it->dataset->input_count; i++)
        if (data_iterator_open_input(it, i, it->pass, e))
            return -1;
    return 0;
}

struct data_iterator *data_iterator_open(struct dataset *d, int64_t pass, struct err *e)
{
    struct data_iterator *it = mem_alloc(d->kind->iterator_bytes);

    assert(pass >= 0 && d->kind->iterator_bytes >= sizeof(*it));
    it->dataset = dataset_retain(d);
    it->pass = pass;
    it->input = mem_alloc((size_t)d->input_count * sizeof(struct data_iterator *));
    if ((d->kind->open ? d->kind->open : open_inputs)(it, e) == 0)
        return it;
    data_iterator_destroy(it);
    return NULL;
}

struct data_iterator *dataset_iterate(struct dataset *d, int64_t pass, struct err *e)
{
    if (pass >= 0)
        return data_iterator_open(d, pass, e);
    err_set(e, "pass is %" PRId64 ", the first is 0", pass);
    return NULL;
}

void data_iterator_destroy(struct data_iterator *it)
{
    if (!it)
        return;
    if (it->dataset->kind->close)
        it->dataset->kind->close(it);
    for (int i = 0; i < it->dataset->input_count; i++)
        data_iterator_destroy(it->input[i]);
    mem_free(it->input);
    dataset_release(it->dataset);
    mem_free(it);
}

static int fail(struct data_iterator *it, struct err *e)
{
    if (!it->is_failed)
        it->err = *e;
    it->is_failed = true;
    *e = it->err;
    return -1;
}

int data_iterator_next(struct data_iterator *it, struct data_element **x, struct err *e)
{
    int status;

    *x = NULL;
    if (it->is_failed)
        return fail(it, e);
    if (it->is_done)
        return 0;
    status = it->dataset->kind->next(it, x, e);
    if (status < 0)
        return fail(it, e);
    it->is_done = status == 0;
    it->count += status;
    return status;
}

static int64_t skip_by_next(struct data_iterator *it, int64_t n, struct err *e)
{
    for (int64_t i = 0; i < n; i++) {
        struct data_element *x;
        int status = it->dataset->kind->next(it, &x, e);

        if (status <= 0)
            return status < 0 ? -1 : i;
        element_release(x);
    }
    return n;
}

int64_t data_iterator_skip(struct data_iterator *it, int64_t n, struct err *e)
{
    int64_t done;

    if (it->is_failed)
        return fail(it, e);
    if (it->is_done || n <= 0)
        return 0;
    done = (it->dataset->kind->skip ? it->dataset->kind->skip : skip_by_next)(it, n, e);
    if (done < 0)
        return fail(it, e);
    it->is_done = done < n;
    it->count += done;
    return done;
}

int64_t iterator_skip_input(struct data_iterator *it, int64_t n, struct err *e)
{
    return data_iterator_skip(it->input[0], n, e);
}

/* ---- positions ------------------------------------------------------------------- */

void data_iterator_archive_count(struct archive *a, int64_t *count, const char *what)
{
    archive_bytes(a, count, sizeof(*count));
    archive_check(a, *count >= 0 && *count <= INT64_MAX / 2, "%s is %" PRId64, what, *count);
}

static void archive_by_count(struct data_iterator *it, int64_t count, struct archive *a)
{
    struct err e;
    int64_t done;

    if (!archive_is_loading(a) || a->is_failed || count == 0)
        return;
    done = (it->dataset->kind->skip ? it->dataset->kind->skip : skip_by_next)(it, count, &e);
    if (done < 0) {
        a->is_failed = true;
        *a->e = e;
    }
    archive_check(a, done == count, "%.*s: there are only %" PRId64 " elements where %" PRId64
                  " were read", DESCRIPTION_SHOWN, it->dataset->description, done, count);
}

void data_iterator_archive(struct data_iterator *it, struct archive *a)
{
    const struct dataset_kind *kind = it->dataset->kind;
    int64_t count = it->count;
    uint8_t is_done = it->is_done;

    data_iterator_archive_count(a, &count, "a count of elements");
    archive_bytes(a, &is_done, 1);
    archive_check(a, is_done <= 1, "a mark of an end is %d", is_done);
    if (a->is_failed)
        return;
    if (kind->state == STATE_COUNT)
        archive_by_count(it, count, a);
    else if (kind->archive)
        kind->archive(it, a);
    if (kind->state == STATE_INPUTS)
        for (int i = 0; i < it->dataset->input_count && !a->is_failed; i++)
            data_iterator_archive(it->input[i], a);
    it->count = count;
    it->is_done = is_done;
}

/* magic, description, pass, stages; then the CRC-32 of all that */
int data_iterator_save(struct data_iterator *it, struct bytes *to, struct err *e)
{
    struct archive a = {.out = to};
    uint32_t magic = STATE_MAGIC, crc;
    const char *description = it->dataset->description;
    size_t from = to->size;

    if (it->is_failed)
        return err_set(e, "an iterator that has failed has no position to save");
    archive_bytes(&a, &magic, sizeof(magic));
    archive_text(&a, &description);
    archive_bytes(&a, &it->pass, sizeof(it->pass));
    data_iterator_archive(it, &a);
    crc = (uint32_t)crc32_z(0, to->data + from, to->size - from);
    archive_bytes(&a, &crc, sizeof(crc));
    return 0;
}

static int check_state(const unsigned char *state, size_t bytes, struct err *e)
{
    uint32_t magic, crc;

    if (bytes < sizeof(magic) + sizeof(crc))
        return err_set(e, "position of an iterator: %zu bytes are too few", bytes);
    memcpy(&magic, state, sizeof(magic));
    memcpy(&crc, state + bytes - sizeof(crc), sizeof(crc));
    if (magic != STATE_MAGIC)
        return err_set(e, "these bytes are no position of an iterator");
    if (crc != (uint32_t)crc32_z(0, state, bytes - sizeof(crc)))
        return err_set(e, "position of an iterator: its %zu bytes are damaged (checksum)", bytes);
    return 0;
}

static struct data_iterator *resume(struct dataset *d, struct archive *a)
{
    struct data_iterator *it = NULL;
    const char *description;
    int64_t pass = 0;

    archive_text(a, &description);
    archive_check(a, strcmp(description, d->description) == 0,
                  "it is of another pipeline: %.*s; this one is %.*s", DESCRIPTION_SHOWN,
                  description, DESCRIPTION_SHOWN, d->description);
    data_iterator_archive_count(a, &pass, "the pass");
    if (a->is_failed)
        return NULL;
    it = data_iterator_open(d, pass, a->e);
    a->is_failed = !it;
    if (it)
        data_iterator_archive(it, a);
    archive_check(a, a->at == a->end, "%zu bytes too many", (size_t)(a->end - a->at));
    return it;
}

struct data_iterator *dataset_resume(struct dataset *d, const void *state, size_t bytes,
                                     struct err *e)
{
    struct err why = {.line = 0};
    struct archive a = {.e = &why};
    struct data_iterator *it;

    if (check_state(state, bytes, e))
        return NULL;
    a.at = (const unsigned char *)state + sizeof(uint32_t);
    a.end = (const unsigned char *)state + bytes - sizeof(uint32_t);
    it = resume(d, &a);
    if (!a.is_failed)
        return it;
    data_iterator_destroy(it);
    if (why.file[0])
        *e = why;
    else
        err_set(e, "position of an iterator: %s", why.msg);
    return NULL;
}
