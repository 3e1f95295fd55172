/*
 * Reads the arguments of the debugger's commands: words, numbers, names that may be cut short,
 * ranges.
 */
#include "cli/debug/debug.h"

#include "base/text.h"
#include "base/units.h"

#include <ctype.h>
#include <string.h>

#define ROW_BYTES 512

const char *debug_skip_space(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

bool debug_next_word(const char **at, char word[DEBUG_WORD_MAX])
{
    const char *start = debug_skip_space(*at), *end = start;
    size_t length;

    while (*end && !isspace((unsigned char)*end))
        end++;
    length = (size_t)(end - start);
    if (length >= DEBUG_WORD_MAX)
        length = DEBUG_WORD_MAX - 1;    /* matches nothing, and shows in the message */
    memcpy(word, start, length);
    word[length] = '\0';
    *at = end;
    return length > 0;
}

int debug_expect_end(const char *at, struct err *e)
{
    at = debug_skip_space(at);
    return *at ? err_set(e, "\"%.40s\" is too much", at) : 0;
}

int debug_parse_number(const char *word, const char *what, int64_t lo, int64_t hi, int64_t *value,
                       struct err *e)
{
    if (text_parse_int(word, lo, hi, value) == 0)
        return 0;
    return err_set(e, "%s is \"%s\"; a whole number in %lld..%lld is needed", what, word,
                   (long long)lo, (long long)hi);
}

int debug_parse_only_number(const char *text, const char *what, int64_t lo, int64_t hi,
                            int64_t *value, struct err *e)
{
    char word[DEBUG_WORD_MAX];

    if (!debug_next_word(&text, word))
        return 0;
    if (debug_parse_number(word, what, lo, hi, value, e))
        return -1;
    return debug_expect_end(text, e);
}

static int fail_ambiguous(const char *word, const char *what, const char *const *names,
                          size_t count, struct err *e)
{
    char list[160];
    size_t used = 0;

    list[0] = '\0';
    for (size_t i = 0; i < count && used < sizeof(list) - 40; i++)
        if (strncmp(names[i], word, strlen(word)) == 0)
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
                                     used ? ", " : "", names[i]);
    return err_set(e, "%s \"%s\" may be %s", what, word, list);
}

int debug_find_name(const char *word, const char *what, const char *const *names, size_t count,
                    struct err *e)
{
    size_t length = strlen(word), found = count, matches = 0;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], word) == 0)
            return (int)i;
        if (length > 0 && strncmp(names[i], word, length) == 0) {
            found = i;
            matches++;
        }
    }
    if (matches == 1)
        return (int)found;
    if (matches > 1)
        return fail_ambiguous(word, what, names, count, e);
    return err_set(e, "no %s \"%s\"%s", what, word, text_did_you_mean(word, names, count).text);
}

int debug_expect_lanes(const struct machine *m, struct err *e)
{
    return machine_knows_lanes(m)
           ? 0 : err_set(e, "--mode timing does not work out what is in vector registers, masks, "
                         "VMEM and CMEM");
}

int debug_parse_core(const struct debugger *d, const char *word, int *core, struct err *e)
{
    int64_t value;

    if (debug_parse_number(word, "core", 0, d->core_count - 1, &value, e))
        return -1;
    *core = (int)value;
    return 0;
}

static int debug_parse_memory(const char *word, enum memory *memory, struct err *e)
{
    const char *names[MEMORY_COUNT];
    int found;

    for (int i = 0; i < MEMORY_COUNT; i++)
        names[i] = memory_name((enum memory)i);
    found = debug_find_name(word, "memory", names, MEMORY_COUNT, e);
    if (found < 0)
        return -1;
    *memory = (enum memory)found;
    return 0;
}

/* rows are numbered, words have byte addresses */
static int check_range(const struct debugger *d, const struct debug_range *r, int64_t address,
                       struct err *e)
{
    bool is_rows = r->unit_bytes == ROW_BYTES;
    int64_t units = machine_memory_bytes(d->m, r->memory) / r->unit_bytes;

    if (units == 0)
        return err_set(e, "the chip has no %s", memory_name(r->memory));
    if (!is_rows && address % r->unit_bytes != 0)
        return err_set(e, "%s address %lld is no multiple of %lld", memory_name(r->memory),
                       (long long)address, (long long)r->unit_bytes);
    if (r->first < units && r->count <= units - r->first)
        return 0;
    return err_set(e, "%s %s %lld..%lld out of 0..%lld", memory_name(r->memory),
                   is_rows ? "rows" : "words", (long long)r->first,
                   (long long)(r->first + (r->count > 0 ? r->count - 1 : 0)),
                   (long long)units - 1);
}

int debug_parse_range(const struct debugger *d, const char **at, int64_t default_count,
                      struct debug_range *r, struct err *e)
{
    char word[DEBUG_WORD_MAX];
    const char *rest;
    int64_t address;

    if (!debug_next_word(at, word))
        return err_set(e, "which memory? hbm, vmem, smem, cmem or host, then an address");
    if (debug_parse_memory(word, &r->memory, e))
        return -1;
    r->unit_bytes = r->memory == MEMORY_VMEM || r->memory == MEMORY_CMEM ? ROW_BYTES : 4;
    if (!debug_next_word(at, word))
        return err_set(e, "which %s of %s?", r->unit_bytes == 4 ? "byte address" : "row",
                       memory_name(r->memory));
    if (debug_parse_number(word, r->unit_bytes == 4 ? "the address" : "the row", 0, INT64_MAX / 2,
                           &address, e))
        return -1;
    r->first = r->unit_bytes == 4 ? address / 4 : address;
    r->count = default_count;
    rest = *at;
    if (debug_next_word(&rest, word) && word[0] >= '0' && word[0] <= '9') {
        if (debug_parse_number(word, "the count", 1, 1 << 20, &r->count, e))
            return -1;
        *at = rest;
    }
    return check_range(d, r, address, e);
}
