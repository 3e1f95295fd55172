/* Parses the names of access patterns, and walks through their addresses one by one or in runs. */
#include "hbm/hbm_pattern.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

#define SEED 88172645463325252ULL

/* How a pattern is written; names of one kind and direction stand together, ours first. */
static const struct spelling {
    const char *name;
    enum hbm_pattern_kind kind;
    bool is_write;
    const char *number;                 /* what stands behind the colon; NULL: nothing */
} spellings[] = {
    {"seq", HBM_SEQUENTIAL, false, NULL},
    {"seq_rd", HBM_SEQUENTIAL, false, NULL},
    {"seq_wr", HBM_SEQUENTIAL, true, NULL},
    {"stride", HBM_STRIDE, false, "bytes"},
    {"stride_rd", HBM_STRIDE, false, "bytes"},
    {"stride_wr", HBM_STRIDE, true, "bytes"},
    {"random", HBM_RANDOM, false, NULL},
    {"random_rd", HBM_RANDOM, false, NULL},
    {"rand", HBM_RANDOM, false, NULL},
    {"rand_rd", HBM_RANDOM, false, NULL},
    {"random_wr", HBM_RANDOM, true, NULL},
    {"rand_wr", HBM_RANDOM, true, NULL},
    {"copy", HBM_COPY, false, NULL},
    {"copy64", HBM_COPY, false, NULL},
    {"mix", HBM_MIX, false, "percentage of reads"},
    {"random_mix", HBM_RANDOM_MIX, false, "percentage of reads"},
};

/* "stride512" and "stride:512": the name into `name`, what follows is returned */
static const char *split_name(const char *text, char *name, size_t name_bytes)
{
    size_t length = strcspn(text, ":");
    const char *number = text + length + (text[length] == ':');

    if (text[length] == '\0' && strncmp(text, "stride", 6) == 0) {
        length = strcspn(text, "0123456789");
        number = text + length;
    }
    snprintf(name, name_bytes, "%.*s", (int)length, text);
    return number;
}

static int take_number(struct hbm_pattern *p, const struct spelling *s, const char *text,
                       const char *number, struct err *e)
{
    int64_t percent = 0;

    if (!s->number)
        return *number == '\0' && !strchr(text, ':')
                   ? 0 : err_set(e, "pattern \"%s\": %s takes no number", text, s->name);
    if (p->kind == HBM_STRIDE) {
        if (text_parse_bytes(number, 1, 1LL << 50, &p->stride_bytes))
            return err_set(e, "pattern \"%s\": expected a stride of at least 1 byte, as in "
                           "stride:512 or stride:4K", text);
        return 0;
    }
    if (text_parse_int(number, 0, 100, &percent))
        return err_set(e, "pattern \"%s\": expected a %s in 0..100, as in %s:70", text,
                       s->number, s->name);
    p->read_percent = (int)percent;
    return 0;
}

int hbm_pattern_parse(struct hbm_pattern *p, const char *text, struct err *e)
{
    char name[32], near[TEXT_NEAR_BYTES];
    const char *number = split_name(text, name, sizeof(name));
    int i = text_find(name, &spellings[0].name, sizeof(*spellings), COUNT_OF(spellings), near);

    if (i < 0)
        return err_set(e, "unknown pattern \"%s\"%s; there are seq, stride:BYTES, random (each "
                       "with _wr for writes), copy, mix:PERCENT and random_mix:PERCENT", name, near);
    *p = (struct hbm_pattern){.kind = spellings[i].kind, .is_write = spellings[i].is_write};
    return take_number(p, &spellings[i], text, number, e);
}

static int check_stride(const struct hbm_pattern *p, struct err *e)
{
    int64_t a = p->access_bytes, nearest = round_up(p->stride_bytes, a);

    if (p->stride_bytes % a)
        return err_set(e, "a stride of %" PRId64 " bytes is no multiple of an access of %" PRId64
                       " bytes; the nearest is %" PRId64, p->stride_bytes, a, nearest);
    if (p->footprint_bytes % p->stride_bytes == 0)
        return 0;
    nearest = p->footprint_bytes / p->stride_bytes * p->stride_bytes;
    if (nearest == 0)
        return err_set(e, "a stride of %" PRId64 " bytes is longer than the footprint of %" PRId64
                       " bytes", p->stride_bytes, p->footprint_bytes);
    return err_set(e, "a footprint of %" PRId64 " bytes is no multiple of the stride of %" PRId64
                   " bytes; the nearest below is %" PRId64, p->footprint_bytes, p->stride_bytes,
                   nearest);
}

int hbm_pattern_check(const struct hbm_pattern *p, struct err *e)
{
    int64_t a = p->access_bytes, unit = p->kind == HBM_COPY ? 2 * a : a;

    if (a < 1)
        return err_set(e, "an access must have at least 1 byte");
    if (p->footprint_bytes < unit)
        return err_set(e, "a footprint of %" PRId64 " bytes has no room for %s of %" PRId64
                       " bytes", p->footprint_bytes,
                       p->kind == HBM_COPY ? "two accesses" : "an access", a);
    if (p->footprint_bytes % unit)
        return err_set(e, "a footprint of %" PRId64 " bytes is no multiple of %s of %" PRId64
                       " bytes; the nearest below is %" PRId64, p->footprint_bytes,
                       p->kind == HBM_COPY ? "two accesses" : "an access", a,
                       p->footprint_bytes / unit * unit);
    return p->kind == HBM_STRIDE ? check_stride(p, e) : 0;
}

char *hbm_pattern_print(const struct hbm_pattern *p, char *buf, size_t buf_bytes)
{
    const struct spelling *s = spellings;

    while (s->kind != p->kind || s->is_write != p->is_write)
        s++;
    if (p->kind == HBM_STRIDE)
        snprintf(buf, buf_bytes, "%s:%" PRId64, s->name, p->stride_bytes);
    else if (s->number)
        snprintf(buf, buf_bytes, "%s:%d", s->name, p->read_percent);
    else
        snprintf(buf, buf_bytes, "%s", s->name);
    return buf;
}

void hbm_walk_init(struct hbm_walk *w, const struct hbm_pattern *p)
{
    *w = (struct hbm_walk){.pattern = p, .random = SEED};
}

static uint64_t next_random(struct hbm_walk *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

static int64_t next_in_sequence(struct hbm_walk *w, int64_t end)
{
    int64_t address = w->address;

    w->address += w->pattern->access_bytes;
    if (w->address == end)
        w->address = 0;
    return address;
}

static int64_t next_of_stride(struct hbm_walk *w)
{
    const struct hbm_pattern *p = w->pattern;
    int64_t address = w->address + w->round * p->access_bytes;

    w->address += p->stride_bytes;
    if (w->address == p->footprint_bytes) {
        w->address = 0;
        if (++w->round == p->stride_bytes / p->access_bytes)
            w->round = 0;
    }
    return address;
}

static int64_t next_at_random(struct hbm_walk *w)
{
    const struct hbm_pattern *p = w->pattern;
    uint64_t count = (uint64_t)(p->footprint_bytes / p->access_bytes);

    return (int64_t)(next_random(w) % count) * p->access_bytes;
}

static bool draws_write(struct hbm_walk *w)
{
    return next_random(w) % 100 >= (uint64_t)w->pattern->read_percent;
}

int64_t hbm_walk_next(struct hbm_walk *w, bool *is_write)
{
    const struct hbm_pattern *p = w->pattern;
    int64_t address, half = p->footprint_bytes / 2;

    *is_write = p->is_write;
    w->index++;
    switch (p->kind) {
    case HBM_SEQUENTIAL: return next_in_sequence(w, p->footprint_bytes);
    case HBM_STRIDE: return next_of_stride(w);
    case HBM_RANDOM: return next_at_random(w);
    case HBM_COPY:
        *is_write = w->index % 2 == 0;
        return *is_write ? half + next_in_sequence(w, half) : w->address;
    case HBM_MIX:
        *is_write = draws_write(w);
        return next_in_sequence(w, p->footprint_bytes);
    case HBM_RANDOM_MIX:
        address = next_at_random(w);
        *is_write = draws_write(w);
        return address;
    }
    return 0;
}

int64_t hbm_walk_run(struct hbm_walk *w, int64_t most, int64_t *count, bool *is_write)
{
    const struct hbm_pattern *p = w->pattern;
    int64_t address = w->address, left;

    *count = 1;
    if (p->kind != HBM_SEQUENTIAL)
        return hbm_walk_next(w, is_write);
    left = (p->footprint_bytes - address) / p->access_bytes;
    *count = left < most ? left : most;
    *is_write = p->is_write;
    w->index += *count;
    w->address += *count * p->access_bytes;
    if (w->address == p->footprint_bytes)
        w->address = 0;
    return address;
}
