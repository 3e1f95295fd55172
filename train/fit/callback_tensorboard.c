/*
 * Writes TensorBoard's event files: TFRecords of Event messages (tensorflow/core/util/event.proto),
 * a scalar each.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"
#include "data/crc32c.h"
#include "train/fit/callbacks.h"

#define EVENT_BYTES 512
#define TAG_BYTES 200

enum { TRAIN, VALIDATION, WRITERS };

struct board {
    struct tensorboard_options options;
    const char *path[WRITERS];
    FILE *to[WRITERS];                  /* NULL: nothing yet */
    double began_s;                     /* of the epoch */
};

/* ----- messages */

struct message { unsigned char byte[EVENT_BYTES]; size_t count; };

static void put(struct message *m, const void *p, size_t bytes)
{
    memcpy(m->byte + m->count, p, bytes);
    m->count += bytes;
}

static void put_varint(struct message *m, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        put(m, &(unsigned char){(unsigned char)(value | 128)}, 1);
    put(m, &(unsigned char){(unsigned char)value}, 1);
}

enum wire { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

static void put_tag(struct message *m, int field, enum wire wire)
{
    put_varint(m, (uint64_t)field << 3 | wire);
}

static void put_bytes(struct message *m, int field, const void *p, size_t bytes)
{
    put_tag(m, field, WIRE_BYTES);
    put_varint(m, bytes);
    put(m, p, bytes);
}

/* little-endian, as hosts of this program are */
static void begin_event(struct message *m, int64_t step)
{
    struct timespec now;
    double wall;

    clock_gettime(CLOCK_REALTIME, &now);
    wall = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    m->count = 0;
    put_tag(m, 1, WIRE_64);
    put(m, &wall, sizeof(wall));
    put_tag(m, 2, WIRE_VARINT);
    put_varint(m, (uint64_t)step);
}

/* length, its checksum, the message, its checksum */
static int write_record(const struct board *b, int writer, const struct message *m, struct err *e)
{
    uint64_t length = m->count;
    uint32_t of_length = crc32c_masked(&length, sizeof(length));
    uint32_t of_message = crc32c_masked(m->byte, m->count);
    FILE *to = b->to[writer];

    if (fwrite(&length, sizeof(length), 1, to) == 1 &&
        fwrite(&of_length, sizeof(of_length), 1, to) == 1 &&
        fwrite(m->byte, 1, m->count, to) == m->count &&
        fwrite(&of_message, sizeof(of_message), 1, to) == 1)
        return 0;
    return err_at(e, b->path[writer], 0, 0, "%s", strerror(errno));
}

static int write_scalar(const struct board *b, int writer, const char *prefix, const char *name,
                        double value, int64_t step, struct err *e)
{
    struct message event, summary = {.count = 0}, one = {.count = 0};
    char tag[TAG_BYTES];
    float single = (float)value;

    snprintf(tag, sizeof(tag), "%s%.150s", prefix, name);
    put_bytes(&one, 1, tag, strlen(tag));
    put_tag(&one, 2, WIRE_32);
    put(&one, &single, sizeof(single));
    put_bytes(&summary, 1, one.byte, one.count);
    begin_event(&event, step);
    put_bytes(&event, 5, summary.byte, summary.count);
    return write_record(b, writer, &event, e);
}

/* ----- files */

/* the file's first event says of what form it is */
static int open_writer(struct board *b, int writer, struct err *e)
{
    static const char version[] = "brain.Event:2";
    struct message event;

    if (b->to[writer])
        return 0;
    b->to[writer] = fopen(b->path[writer], "wbx");
    if (!b->to[writer])
        return err_at(e, b->path[writer], 0, 0, "%s", strerror(errno));
    begin_event(&event, 0);
    put_bytes(&event, 3, version, sizeof(version) - 1);
    return write_record(b, writer, &event, e);
}

static int flush(const struct board *b, struct err *e)
{
    for (int w = 0; w < WRITERS; w++)
        if (b->to[w] && fflush(b->to[w]) != 0)
            return err_at(e, b->path[w], 0, 0, "%s", strerror(errno));
    return 0;
}

/* ----- what is told */

static int write_epoch(const struct board *b, int writer, const struct fit_options *o,
                       double loss, const double *metric, int64_t epoch, struct err *e)
{
    if (write_scalar(b, writer, "epoch_", "loss", loss, epoch, e))
        return -1;
    for (int i = 0; i < o->metric_count; i++)
        if (write_scalar(b, writer, "epoch_", o->metric[i].name, metric[i], epoch, e))
            return -1;
    return 0;
}

static int board_epoch_begin(void *context, struct fit *f, int64_t epoch, struct err *e)
{
    struct board *b = context;

    (void)f;
    (void)epoch;
    b->began_s = progress_seconds();
    return open_writer(b, TRAIN, e);
}

/* as often as steps pass a multiple of what is wanted */
static int board_step(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    const struct board *b = context;
    int64_t often = b->options.update_steps;

    (void)f;
    if (!often || log->step / often == (log->step - log->steps) / often)
        return 0;
    return write_scalar(b, TRAIN, "batch_", "loss", log->loss, log->step, e) || flush(b, e) ? -1 : 0;
}

static int board_epoch(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    struct board *b = context;
    const struct fit_options *o = fit_options(f);
    int64_t epoch = log->epoch - 1;     /* Keras counts from 0 */
    double seconds = progress_seconds() - b->began_s;

    if (write_epoch(b, TRAIN, o, log->loss, log->metric, epoch, e) ||
        write_scalar(b, TRAIN, "epoch_", "learning_rate", log->learning_rate, epoch, e))
        return -1;
    if (b->options.writes_speed && seconds > 0 &&
        write_scalar(b, TRAIN, "epoch_", "steps_per_second", (double)log->steps / seconds, epoch, e))
        return -1;
    if (log->has_validation &&
        (open_writer(b, VALIDATION, e) ||
         write_epoch(b, VALIDATION, o, log->validation_loss, log->validation_metric, epoch, e) ||
         write_scalar(b, VALIDATION, "evaluation_", "loss_vs_iterations", log->validation_loss,
                      log->step, e)))
        return -1;
    return flush(b, e);
}

static void board_close(void *context)
{
    struct board *b = context;

    for (int w = 0; w < WRITERS; w++) {
        if (b->to[w])
            fclose(b->to[w]);
        b->to[w] = NULL;
    }
}

/* ----- */

/* with all folders above it */
static int make_folder(char *path, struct err *e)
{
    for (char *at = path + 1; ; at++) {
        char end = *at;

        if (end && end != '/')
            continue;
        *at = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return err_at(e, path, 0, 0, "%s", strerror(errno));
        *at = end;
        if (!end)
            return 0;
    }
}

int callback_tensorboard(struct fit_callback *c, const struct tensorboard_options *o,
                         struct arena *a, struct err *e)
{
    static const char *const folders[WRITERS] = {"train", "validation"};
    static int count;
    struct board *b = arena_alloc(a, sizeof(*b));
    char host[64] = "host";

    *b = (struct board){.options = *o};
    gethostname(host, sizeof(host) - 1);
    count++;
    for (int w = 0; w < WRITERS; w++) {
        char *folder = arena_printf(a, "%s/%s", o->folder, folders[w]);

        if (make_folder(folder, e))
            return -1;
        b->path[w] = arena_printf(a, "%s/events.out.tfevents.%010lld.%s.%ld.%d.v2", folder,
                                  (long long)time(NULL), host, (long)getpid(), count);
    }
    *c = (struct fit_callback){.epoch_begin = board_epoch_begin, .step = board_step,
                                .epoch = board_epoch, .close = board_close, .context = b};
    return 0;
}
