/* Reads the environment's words about the simulated machine. */
#include "pjrt/device/settings.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_SLICE "v5e-8"
#define DEFAULT_THREADS_MAX 4
#define THREADS_MAX 256
#define QUEUE_ENTRIES 256

static const char *get(const char *name)
{
    const char *text = getenv(name);

    return text && *text ? text : NULL;
}

static int read_mode(struct settings *s, struct err *e)
{
    static const struct { const char *name; enum run_mode mode; bool is_host; } modes[] = {
        {"both", MODE_BOTH, false}, {"timing", MODE_TIMING, false},
        {"functional", MODE_FUNCTIONAL, false}, {"host", MODE_FUNCTIONAL, true}};
    const char *text = get("SYSTOLE_MODE");

    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
        if (strcmp(text ? text : "both", modes[i].name) == 0) {
            s->mode = modes[i].mode;
            s->is_host = modes[i].is_host;
            return 0;
        }
    return err_set(e, "SYSTOLE_MODE is \"%s\", allowed are both, timing, functional and host", text);
}

static int read_whole(const char *name, int64_t lo, int64_t hi, int64_t *to, struct err *e)
{
    const char *text = get(name);
    char *end;
    long long value;

    if (!text)
        return 0;
    value = strtoll(text, &end, 10);
    if (*end || value < lo || value > hi)
        return err_set(e, "%s is \"%s\", allowed are whole numbers in %lld..%lld", name, text,
                       (long long)lo, (long long)hi);
    *to = value;
    return 0;
}

static int read_branch(struct settings *s, struct err *e)
{
    const char *text = get("SYSTOLE_ASSUME_BRANCH");

    if (!text || strcmp(text, "none") == 0)
        return 0;
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return err_set(e, "SYSTOLE_ASSUME_BRANCH is \"%s\", allowed are none, true and false", text);
    s->assume_branch = *text == 't' ? BRANCH_TRUE : BRANCH_FALSE;
    return 0;
}

/* one of two words, of which the first stands where the variable does not */
static int read_choice(const char *name, const char *usual, const char *other, bool *is_other,
                       struct err *e)
{
    const char *text = get(name);

    *is_other = text && strcmp(text, other) == 0;
    if (text && !*is_other && strcmp(text, usual) != 0)
        return err_set(e, "%s is \"%s\", allowed are %s and %s", name, text, usual, other);
    return 0;
}

static int64_t processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count < 1 ? 1 : count > DEFAULT_THREADS_MAX ? DEFAULT_THREADS_MAX : count;
}

int settings_read(struct settings *s, struct err *e)
{
    const char *slice = get("SYSTOLE_TPU");
    int64_t threads = processors(), trips = 0, entries = QUEUE_ENTRIES;
    bool is_best;

    *s = (struct settings){.slice = slice ? slice : DEFAULT_SLICE};
    if (read_choice("SYSTOLE_CODEGEN", "xla", "best", &is_best, e) ||
        read_choice("SYSTOLE_PRECISION", "program", "highest", &s->is_highest, e))
        return -1;
    s->codegen = is_best ? CODEGEN_BEST : CODEGEN_XLA;
    if (read_mode(s, e) || read_branch(s, e) || read_whole("SYSTOLE_THREADS", 1, THREADS_MAX, &threads, e) ||
        read_whole("SYSTOLE_QUEUE_ENTRIES", 1, 1000000000, &entries, e) ||
        read_whole("SYSTOLE_ASSUME_TRIPS", 1, INT32_MAX, &trips, e))
        return -1;
    s->thread_count = (int)threads;
    s->assume_trips = trips;
    s->queue_entries = entries;
    return 0;
}
