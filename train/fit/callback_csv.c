/* Writes the CSV log, one row per epoch, as a whole file each time. */
#include "train/fit/callbacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "base/text.h"

struct logger {
    const char *path;
    char separator;
    bool appends, is_first;             /* row of this training */
    struct outfile_lock lock;           /* while it trains */
    struct arena *arena;
    char *text;                         /* rows so far; the heading is the first */
    size_t bytes, capacity;
};

static void append(struct logger *l, const char *text, size_t bytes)
{
    if (l->bytes + bytes > l->capacity) {
        char *larger;

        l->capacity = 2 * (l->bytes + bytes);
        larger = arena_alloc(l->arena, l->capacity);
        memcpy(larger, l->text ? l->text : "", l->bytes);
        l->text = larger;
    }
    memcpy(l->text + l->bytes, text, bytes);
    l->bytes += bytes;
}

static void print_heading(const struct fit_options *o, FILE *to)
{
    fprintf(to, "epoch,loss");
    for (int i = 0; i < o->metric_count; i++)
        fprintf(to, ",%s", o->metric[i].name);
    fprintf(to, ",val_loss");
    for (int i = 0; i < o->metric_count; i++)
        fprintf(to, ",val_%s", o->metric[i].name);
    fprintf(to, ",learning_rate,steps,step_cycles\n");
}

static void print_row(const struct fit_options *o, const struct fit_log *log, FILE *to)
{
    text_print_file(to, "%" PRId64 ",%.9g", log->epoch, log->loss);
    for (int i = 0; i < o->metric_count; i++)
        text_print_file(to, ",%.9g", log->metric[i]);
    if (log->has_validation)
        text_print_file(to, ",%.9g", log->validation_loss);
    else
        fputc(',', to);
    for (int i = 0; i < o->metric_count; i++)
        if (log->has_validation)
            text_print_file(to, ",%.9g", log->validation_metric[i]);
        else
            fputc(',', to);
    text_print_file(to, ",%.9g,%" PRId64 ",%lld\n", log->learning_rate, log->steps,
                    (long long)log->cycles);
}

static int write_file(const struct logger *l, struct err *e)
{
    struct outfile f;

    if (outfile_begin(&f, l->path, e))
        return -1;
    fwrite(l->text, 1, l->bytes, f.to);
    return outfile_commit(&f, e);
}

/* text behind what there is; `print` with a log, or the heading */
static void add(struct logger *l, const struct fit_options *o, const struct fit_log *log)
{
    char *line;
    size_t bytes;
    FILE *to = text_memory(&line, &bytes);

    if (log)
        print_row(o, log, to);
    else
        print_heading(o, to);
    text_memory_end(to, &line);
    for (size_t i = 0; i < bytes; i++)
        line[i] = line[i] == ',' ? l->separator : line[i];
    append(l, line, bytes);
    free(line);
}

static int read_file(struct logger *l, struct err *e)
{
    FILE *from = fopen(l->path, "r");
    char block[4096];
    size_t got;
    int code;

    if (!from && errno == ENOENT)
        return 0;                       /* nothing to append to */
    if (!from)
        return err_at(e, l->path, 0, 0, "cannot be read: %s", strerror(errno));
    errno = 0;
    while ((got = fread(block, 1, sizeof(block), from)) > 0)
        append(l, block, got);
    code = ferror(from) ? errno : 0;
    fclose(from);
    return code ? err_at(e, l->path, 0, 0, "cannot be read: %s", strerror(code)) : 0;
}

/* the file's first line must be the heading that this run would write */
static int begin(void *context, struct fit *f, struct err *e)
{
    struct logger *l = context;
    struct logger fresh = {.arena = l->arena, .separator = l->separator};
    int status = 0;

    if (outfile_lock(&l->lock, l->path, e))
        return -1;
    l->bytes = 0;
    l->is_first = true;
    add(&fresh, fit_options(f), NULL);
    if (l->appends && read_file(l, e))
        status = -1;
    else if (l->bytes == 0)
        add(l, fit_options(f), NULL);
    else if (l->bytes < fresh.bytes || memcmp(l->text, fresh.text, fresh.bytes) != 0)
        status = err_at(e, l->path, 1, 0, "other columns than this run's: %.*s",
                        (int)fresh.bytes - 1, fresh.text);
    return status;
}

/* rows of epochs that are done again, behind the checkpoint that was gone on from */
static void drop_rows(struct logger *l, int64_t from)
{
    for (size_t at = 0, end; at < l->bytes; at = end) {
        const char *line = l->text + at, *stop = memchr(line, '\n', l->bytes - at);

        end = stop ? (size_t)(stop - l->text) + 1 : l->bytes;
        if (at > 0 && strtoll(line, NULL, 10) >= from) {
            l->bytes = at;
            return;
        }
    }
}

static int epoch(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    struct logger *l = context;

    if (l->is_first && log->epoch > 1)
        drop_rows(l, log->epoch);
    l->is_first = false;
    add(l, fit_options(f), log);
    return write_file(l, e);
}

static void unlock(void *context)
{
    outfile_unlock(&((struct logger *)context)->lock);
}

int callback_csv(struct fit_callback *c, const char *path, bool appends, struct arena *a,
                 struct err *e)
{
    return callback_csv_by(c, path, ',', appends, a, e);
}

int callback_csv_by(struct fit_callback *c, const char *path, char separator, bool appends,
                    struct arena *a, struct err *e)
{
    struct logger *l = arena_alloc(a, sizeof(*l));

    *l = (struct logger){.path = path, .separator = separator, .appends = appends, .arena = a};
    *c = (struct fit_callback){.begin = begin, .epoch = epoch, .close = unlock, .context = l};
    return outfile_check(path, e);
}
