/*
 * Reads the options of `systole collective`: a table of setters, which the command line and sweeps
 * share.
 */
#include "cli/collective/collective.h"

#include "base/text.h"
#include "base/units.h"

#include <limits.h>
#include <string.h>

#define BYTES_MAX (1LL << 40)

static int read_bytes(const char *key, const char *text, int64_t lo, int64_t *to, struct err *e)
{
    if (text_parse_bytes(text, lo, BYTES_MAX, to) == 0)
        return 0;
    return err_set(e, "--%s is \"%s\", allowed are sizes from %lld byte%s to 1T, with K, M or G "
                   "for 1024, 1024^2 or 1024^3 (256M)", key, text, (long long)lo,
                   lo == 1 ? "" : "s");
}

static int read_number(const char *key, const char *text, int64_t lo, int64_t hi, int64_t *to,
                       struct err *e)
{
    if (text_parse_int(text, lo, hi, to) == 0)
        return 0;
    return err_set(e, "--%s is \"%s\", allowed are whole numbers in %lld..%lld", key, text,
                   (long long)lo, (long long)hi);
}

/* the index of `text` in a list of names; the message lists them, and the nearest */
static int read_word(const char *key, const char *text, const char *const *names, size_t count,
                     int *index, struct err *e)
{
    char hint[64], all[96];
    size_t length = 0;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            *index = (int)i;
            return 0;
        }
        length += (size_t)snprintf(all + length, sizeof(all) - length, "%s%s", i ? ", " : "",
                                   names[i]);
    }
    return err_set(e, "--%s is \"%s\", allowed are %s%s", key, text, all,
                   text_did_you_mean(text, names, count, hint, sizeof(hint)));
}

static int set_tpu(struct collective_options *o, const char *text, struct err *e)
{
    (void)e;
    o->tpu = text;
    return 0;
}

static int set_kind(struct collective_options *o, const char *text, struct err *e)
{
    o->has_kind = true;
    return collective_find_kind(text, &o->kind, e);
}

static int set_algo(struct collective_options *o, const char *text, struct err *e)
{
    return collective_find_algo(text, &o->algo, e);
}

static int set_bytes(struct collective_options *o, const char *text, struct err *e)
{
    o->has_bytes = true;
    return read_bytes("bytes", text, 1, &o->bytes, e);
}

static int set_chunk(struct collective_options *o, const char *text, struct err *e)
{
    return read_bytes("chunk", text, 1, &o->chunk_bytes, e);
}

static int set_type(struct collective_options *o, const char *text, struct err *e)
{
    static const char *const names[] = {[COLLECTIVE_F32] = "f32", [COLLECTIVE_BF16] = "bf16"};
    int index = 0;

    if (read_word("type", text, names, COUNT_OF(names), &index, e))
        return -1;
    o->type = (enum collective_type)index;
    return 0;
}

static int set_over(struct collective_options *o, const char *text, struct err *e)
{
    static const char *const names[] = {"chips", "cores"};
    int index = 0;

    if (read_word("over", text, names, COUNT_OF(names), &index, e))
        return -1;
    o->over = index == 0 ? OVER_CHIPS : OVER_CORES;
    return 0;
}

static int set_axes(struct collective_options *o, const char *text, struct err *e)
{
    static const char letters[] = "xyz";
    bool axis[3] = {false, false, false};

    for (const char *c = text; *c; c++) {
        const char *at = strchr(letters, *c);

        if (!at || axis[at - letters])
            return err_set(e, "--axes is \"%s\", allowed are x, y and z, each once, as in xy",
                           text);
        axis[at - letters] = true;
    }
    if (!*text)
        return err_set(e, "--axes is empty; name one or more of x, y and z, as in xy");
    memcpy(o->axis, axis, sizeof(axis));
    return 0;
}

static int set_root(struct collective_options *o, const char *text, struct err *e)
{
    return read_number("root", text, 0, INT_MAX, &o->root, e);
}

static int set_shift(struct collective_options *o, const char *text, struct err *e)
{
    return read_number("shift", text, -INT_MAX, INT_MAX, &o->shift, e);
}

static int set_engine(struct collective_options *o, const char *text, struct err *e)
{
    static const char *const names[] = {[ENGINE_AUTO] = "auto", [ENGINE_CORES] = "cores",
                                        [ENGINE_STEPS] = "steps"};
    int index = 0;

    if (read_word("engine", text, names, COUNT_OF(names), &index, e))
        return -1;
    o->engine = (enum collective_engine)index;
    return 0;
}

static const struct setter {
    const char *key;
    int (*set)(struct collective_options *o, const char *text, struct err *e);
} setters[] = {
    {"tpu", set_tpu}, {"kind", set_kind}, {"algo", set_algo}, {"bytes", set_bytes},
    {"chunk", set_chunk}, {"type", set_type}, {"over", set_over}, {"axes", set_axes},
    {"root", set_root}, {"shift", set_shift}, {"engine", set_engine},
};

int collective_set_option(struct collective_options *o, const char *key, const char *text,
                          struct err *e)
{
    const char *names[COUNT_OF(setters)];
    char hint[64];

    for (size_t i = 0; i < COUNT_OF(setters); i++) {
        if (strcmp(setters[i].key, key) == 0)
            return setters[i].set(o, text, e);
        names[i] = setters[i].key;
    }
    return err_set(e, "--sweep: no option \"%s\"%s; there are tpu, kind, algo, bytes, chunk, type, "
                   "over, axes, root, shift, engine", key,
                   text_did_you_mean(key, names, COUNT_OF(names), hint, sizeof(hint)));
}
