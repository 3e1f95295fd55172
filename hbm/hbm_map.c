/*
 * Parses and prints address maps, and takes an address apart into channel, bank, row and column,
 * digit by digit.
 */
#include "hbm/hbm_map.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const field_names[HBM_FIELD_COUNT] = {"column", "channel", "group", "bank"};

static bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static int field_named(const char *name, size_t length)
{
    for (int i = 0; i < HBM_FIELD_COUNT; i++)
        if (strlen(field_names[i]) == length && strncmp(field_names[i], name, length) == 0)
            return i;
    return -1;
}

/* "channel:8^" at `at`; returns behind it, NULL if it is none */
static const char *parse_step(struct hbm_step *s, const char *at, struct err *e)
{
    size_t length = strcspn(at, " /"), name = strcspn(at, ": /");
    int field = field_named(at, name), used = 0, count = 0;
    const char *rest = at + name;

    if (field < 0) {
        err_set(e, "\"%.*s\" in an address map: the fields are column, channel, group and bank "
                   "(offset and row are what is left below and above)", (int)length, at);
        return NULL;
    }
    if (sscanf(rest, ":%9d%n", &count, &used) != 1 || count < 1) {
        err_set(e, "\"%.*s\" in an address map: a field is followed by a colon and how many "
                   "there are, such as channel:8", (int)length, at);
        return NULL;
    }
    *s = (struct hbm_step){.field = (enum hbm_field)field, .count = count};
    rest += used;
    if (*rest == '+' || *rest == '^')
        s->spread = *rest++ == '+' ? HBM_ROTATED : HBM_XORED;
    if (rest != at + length) {
        err_set(e, "\"%.*s\" in an address map: only + (rotated) or ^ (xored) may follow the "
                   "number", (int)length, at);
        return NULL;
    }
    if (s->spread == HBM_XORED && !is_power_of_two(count)) {
        err_set(e, "\"%.*s\" in an address map: only a power of two can be xored",
                (int)length, at);
        return NULL;
    }
    return rest;
}

int hbm_map_parse(struct hbm_map *m, const char *text, struct err *e)
{
    const char *at = text + strspn(text, " /");

    *m = (struct hbm_map){.step_count = 0};
    while (*at != '\0') {
        if (m->step_count == HBM_MAP_STEPS_MAX)
            return err_set(e, "an address map has at most %d fields", HBM_MAP_STEPS_MAX);
        at = parse_step(&m->step[m->step_count++], at, e);
        if (!at)
            return -1;
        at += strspn(at, " /");
    }
    return 0;
}

int64_t hbm_map_count(const struct hbm_map *m, enum hbm_field field)
{
    int64_t count = 1;

    for (int i = 0; i < m->step_count; i++)
        if (m->step[i].field == field)
            count *= m->step[i].count;
    return count;
}

int64_t hbm_map_piece_bursts(const struct hbm_map *m)
{
    int64_t count = 1;

    for (int i = 0; i < m->step_count && m->step[i].field == HBM_COLUMN; i++)
        count *= m->step[i].count;
    return count;
}

/* the digits of `n` in base `count`, added up, modulo `count` */
static int64_t digit_sum(int64_t n, int count)
{
    int64_t sum = 0;

    if (count == 1)
        return 0;
    if (is_power_of_two(count)) {       /* as nearly all are; the same without a division */
        int shift = __builtin_ctz((unsigned)count);

        for (; n > 0; n >>= shift)
            sum += n;
        return sum & (count - 1);
    }
    for (; n > 0; n /= count)
        sum += n;
    return sum % count;
}

static int64_t take_digit(int64_t *n, int count)
{
    int64_t digit;

    if (is_power_of_two(count)) {
        digit = *n & (count - 1);
        *n >>= __builtin_ctz((unsigned)count);
    } else {
        digit = *n % count;
        *n /= count;
    }
    return digit;
}

struct hbm_place hbm_map_place(const struct hbm_map *m, int bank_groups, int64_t burst)
{
    int64_t value[HBM_FIELD_COUNT] = {0}, weight[HBM_FIELD_COUNT] = {1, 1, 1, 1}, rest = burst;
    int64_t xored[HBM_MAP_STEPS_MAX], bits;

    for (int i = 0; i < m->step_count; i++) {
        const struct hbm_step *s = &m->step[i];
        int64_t digit = take_digit(&rest, s->count);

        if (s->spread == HBM_ROTATED) {
            digit += digit_sum(rest, s->count);
            digit -= digit >= s->count ? s->count : 0;
        }
        xored[i] = weight[s->field];
        value[s->field] += digit * weight[s->field];
        weight[s->field] *= s->count;
    }
    bits = rest;
    for (int i = 0; i < m->step_count; i++) {
        const struct hbm_step *s = &m->step[i];

        if (s->spread == HBM_XORED)     /* the digits of powers of two are bits of the value */
            value[s->field] ^= take_digit(&bits, s->count) * xored[i];
    }
    return (struct hbm_place){
        .channel = (int)value[HBM_CHANNEL], .row = rest, .column = value[HBM_COLUMN],
        .bank = (int)(weight[HBM_GROUP] > 1 ? value[HBM_GROUP] + bank_groups * value[HBM_BANK]
                                            : value[HBM_BANK])};
}

struct hbm_map hbm_map_interleaved(int channel_count, int bank_count, int64_t piece_bursts,
                                   int64_t row_bursts)
{
    int64_t within = piece_bursts < row_bursts ? piece_bursts : row_bursts;
    struct hbm_map m = {.step_count = 0};

    m.step[m.step_count++] = (struct hbm_step){HBM_COLUMN, (int)within, HBM_PLAIN};
    m.step[m.step_count++] = (struct hbm_step){HBM_CHANNEL, channel_count, HBM_ROTATED};
    if (row_bursts > within)
        m.step[m.step_count++] = (struct hbm_step){HBM_COLUMN, (int)(row_bursts / within),
                                                   HBM_PLAIN};
    m.step[m.step_count++] = (struct hbm_step){HBM_BANK, bank_count, HBM_ROTATED};
    return m;
}
