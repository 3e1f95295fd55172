/*
 * Parses and prints numbers with units, and finds the nearest of some names by edit distance
 * (Levenshtein).
 */
#include "base/text.h"

#include "base/arena.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_CHARS 64

static locale_t c_numbers;
static pthread_once_t made_once = PTHREAD_ONCE_INIT;

static void make_c_numbers(void)
{
    c_numbers = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
}

/* of this thread; gives the locale for leave */
static locale_t enter(void)
{
    pthread_once(&made_once, make_c_numbers);
    return c_numbers ? uselocale(c_numbers) : (locale_t)0;
}

static void leave(locale_t before)
{
    if (before)
        uselocale(before);
}

FILE *text_memory(char **text, size_t *bytes)
{
    FILE *to;

    *text = NULL;
    *bytes = 0;
    to = open_memstream(text, bytes);
    if (!to)
        mem_exhausted(0);
    return to;
}

void text_memory_end(FILE *to, char *const *text)
{
    bool has_failed = ferror(to);

    /* glibc says 0 and leaves NULL where the last of its blocks cannot be had */
    if (fclose(to) != 0 || has_failed || !*text)
        mem_exhausted(0);
}

int text_print_args(char *buf, size_t buf_bytes, const char *fmt, va_list args)
{
    locale_t before = enter();
    int length = vsnprintf(buf, buf_bytes, fmt, args);

    leave(before);
    return length;
}

int text_print(char *buf, size_t buf_bytes, const char *fmt, ...)
{
    va_list args;
    int length;

    va_start(args, fmt);
    length = text_print_args(buf, buf_bytes, fmt, args);
    va_end(args);
    return length;
}

int text_print_file(FILE *to, const char *fmt, ...)
{
    locale_t before = enter();
    va_list args;
    int length;

    va_start(args, fmt);
    length = vfprintf(to, fmt, args);
    va_end(args);
    leave(before);
    return length;
}

double text_to_double(const char *s, char **end)
{
    locale_t before = enter();
    double value = strtod(s, end);

    leave(before);
    return value;
}

float text_to_float(const char *s, char **end)
{
    locale_t before = enter();
    float value = strtof(s, end);

    leave(before);
    return value;
}

/* SIZE_MAX where the distance is not below `bound`, which most candidates show early */
static size_t edit_distance(const char *a, const char *b, size_t bound)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    size_t row[NAME_MAX_CHARS + 1];

    if (a_length > NAME_MAX_CHARS || b_length > NAME_MAX_CHARS ||
        a_length >= b_length + bound || b_length >= a_length + bound)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0], least = i;

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
            least = best < least ? best : least;
        }
        if (least >= bound)
            return SIZE_MAX;
    }
    return row[b_length] < bound ? row[b_length] : SIZE_MAX;
}

static const char *name_at(const char *const *first, size_t stride, size_t i)
{
    return *(const char *const *)((const char *)first + i * stride);
}

static void print_nearest(const char *name, const char *const *first, size_t stride, size_t count,
                          char near[TEXT_NEAR_BYTES])
{
    size_t least = 2 + strlen(name) / 3;

    near[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *candidate = name_at(first, stride, i);
        size_t distance = edit_distance(name, candidate, least);

        if (distance < least) {
            least = distance;
            snprintf(near, TEXT_NEAR_BYTES, " (did you mean \"%s\"?)", candidate);
        }
    }
}

struct near_text text_did_you_mean(const char *name, const char *const *candidates, size_t count)
{
    struct near_text near;

    print_nearest(name, candidates, sizeof(*candidates), count, near.text);
    return near;
}

int text_find(const char *name, const char *const *first, size_t stride, size_t count,
              char near[TEXT_NEAR_BYTES])
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, name_at(first, stride, i)) == 0)
            return (int)i;
    print_nearest(name, first, stride, count, near);
    return -1;
}

struct short_text text_thousands(int64_t value)
{
    struct short_text to;
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRId64, value);
    int first = digits[0] == '-';
    size_t out = 0;

    for (int i = 0; i < length; i++) {
        if (i > first && (length - i) % 3 == 0)
            to.text[out++] = ',';
        to.text[out++] = digits[i];
    }
    to.text[out] = '\0';
    return to;
}

struct short_text text_bytes(int64_t bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    struct short_text to;
    size_t unit = 0;

    while (value >= 1024.0 && unit + 1 < COUNT_OF(names)) {
        value /= 1024.0;
        unit++;
    }
    if (value == (double)(int64_t)value)
        snprintf(to.text, sizeof(to.text), "%" PRId64 " %s", (int64_t)value, names[unit]);
    else
        text_print(to.text, sizeof(to.text), "%.1f %s", value, names[unit]);
    return to;
}

int text_parse_int(const char *s, int64_t lo, int64_t hi, int64_t *value)
{
    char *end;
    long long parsed;
    int base = strncmp(s, "0x", 2) == 0 ? 16 : 10;

    if (*s == '\0' || strchr(" \t\n", *s))
        return -1;
    errno = 0;
    parsed = strtoll(s, &end, base);
    if (errno || *end || parsed < lo || parsed > hi)
        return -1;
    *value = parsed;
    return 0;
}

/* the shift that "K", "KiB", "MB" and so on stand for; -1: none does */
static int shift_of_unit(const char *unit)
{
    static const char letters[] = "KMGTkmgt";
    const char *letter;

    if (*unit == '\0' || strcmp(unit, "B") == 0)
        return 0;
    letter = strchr(letters, *unit);
    if (!letter || (unit[1] && strcmp(unit + 1, "iB") != 0 && strcmp(unit + 1, "B") != 0))
        return -1;
    return 10 * ((int)(letter - letters) % 4 + 1);
}

int text_parse_bytes(const char *s, int64_t lo, int64_t hi, int64_t *bytes)
{
    size_t digits = strncmp(s, "0x", 2) == 0 ? strlen(s) : strspn(s, "0123456789");
    const char *unit = s + digits + (s[digits] == ' ' && s[digits + 1]);
    int shift = shift_of_unit(unit);
    char number[32];
    int64_t value;

    if (digits >= sizeof(number) || shift < 0)
        return -1;
    snprintf(number, sizeof(number), "%.*s", (int)digits, s);
    if (text_parse_int(number, 0, INT64_MAX >> shift, &value))
        return -1;
    value <<= shift;
    if (value < lo || value > hi)
        return -1;
    *bytes = value;
    return 0;
}

int text_parse_double(const char *s, double lo, double hi, double *value)
{
    char *end;
    double parsed;

    if (*s == '\0' || strchr(" \t\n", *s))
        return -1;
    errno = 0;
    parsed = text_to_double(s, &end);
    if (errno || *end || !(parsed >= lo && parsed <= hi))
        return -1;
    *value = parsed;
    return 0;
}

void text_print_csv(const char *text, FILE *to)
{
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', to);
        fputc(*text, to);
    }
    fputc('"', to);
}
