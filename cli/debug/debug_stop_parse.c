/* Parses breakpoints and watches. */
#include "cli/debug/debug_stops.h"

#include "base/arena.h"
#include "base/units.h"

#include <ctype.h>
#include <string.h>

#define COUNT_MAX (1LL << 40)

/* "core N", "after N", "if EXPRESSION", in any order, the condition last */
static int parse_tail(const struct debugger *d, const char *at, struct debug_stop *stop,
                      struct err *e)
{
    char word[DEBUG_WORD_MAX], number[DEBUG_WORD_MAX];
    struct debug_value value;
    int core;

    while (debug_next_word(&at, word)) {
        bool is_core = strcmp(word, "core") == 0, is_after = strcmp(word, "after") == 0;

        if (strcmp(word, "if") == 0) {
            at = debug_skip_space(at);
            core = stop->core < 0 ? d->core : stop->core;
            snprintf(stop->condition, sizeof(stop->condition), "%s", at);
            return debug_evaluate(d->m, core, d->cycle, at, &value, e);
        }
        if (!is_core && !is_after)
            return err_set(e, "\"%s\" is not known here; core N, after N or if EXPRESSION may "
                           "follow", word);
        if (!debug_next_word(&at, number))
            return err_set(e, "%s needs a number", word);
        if (is_core && debug_parse_core(d, number, &stop->core, e))
            return -1;
        if (is_after && debug_parse_number(number, "after", 1, COUNT_MAX, &stop->after, e))
            return -1;
    }
    return 0;
}

static int parse_flag(const struct debugger *d, const char **at, struct debug_stop *stop,
                      struct err *e)
{
    char word[DEBUG_WORD_MAX];
    int64_t flag;

    if (!debug_next_word(at, word))
        return err_set(e, "which flag? for example: break flag 3");
    if (debug_parse_number(word, "the flag", 0, machine_chip(d->m)->sync_flags - 1, &flag, e))
        return -1;
    stop->kind = STOP_FLAG;
    stop->flag = (int)flag;
    stop->core = d->core;
    return 0;
}

static int parse_access(const struct debugger *d, const char **at, struct debug_stop *stop,
                        struct err *e)
{
    struct debug_range range;

    if (debug_parse_range(d, at, 1, &range, e))
        return -1;
    stop->kind = STOP_ACCESS;
    stop->memory = range.memory;
    stop->first = range.first * range.unit_bytes;
    stop->bytes = range.count * range.unit_bytes;
    stop->core = d->core;
    return 0;
}

static int parse_stall(const struct debugger *d, const char **at, struct debug_stop *stop,
                       struct err *e)
{
    const char *names[STALL_COUNT], *rest;
    char word[DEBUG_WORD_MAX];
    int reason;

    for (int i = 0; i < STALL_COUNT; i++)
        names[i] = stall_name((enum stall_reason)i);
    if (!debug_next_word(at, word))
        return err_set(e, "which reason? for example: break stall mxu_busy; info stalls has all");
    reason = debug_find_name(word, "stall reason", names, STALL_COUNT, e);
    if (reason < 0)
        return -1;
    stop->kind = STOP_STALL;
    stop->reason = (enum stall_reason)reason;
    stop->least_cycles = 1;
    stop->core = d->core;
    rest = *at;
    if (debug_next_word(&rest, word) && isdigit((unsigned char)word[0])) {
        *at = rest;
        return debug_parse_number(word, "the cycles of the wait", 1, COUNT_MAX,
                                  &stop->least_cycles, e);
    }
    return 0;
}

static int parse_op(const char **at, struct debug_stop *stop, struct err *e)
{
    if (!debug_next_word(at, stop->what))
        return err_set(e, "which operation? for example: break op vmatmul");
    stop->kind = STOP_OP;
    return debug_is_op_name(stop->what, e) ? 0 : -1;
}

static int parse_place(const struct debugger *d, const char *word, struct debug_stop *stop,
                       struct err *e)
{
    if (word[0] == '@') {
        stop->kind = STOP_CYCLE;
        return debug_parse_number(word + 1, "the cycle", 0, INT64_MAX / 4, &stop->cycle, e);
    }
    stop->kind = STOP_BUNDLE;
    return debug_find_bundle(d, d->core, word, &stop->bundle, e);
}

int debug_parse_break(const struct debugger *d, const char *text, struct debug_stop *stop,
                      struct err *e)
{
    const char *at = text;
    char word[DEBUG_WORD_MAX];
    int status;

    *stop = (struct debug_stop){.core = -1, .after = 1};
    if (!debug_next_word(&at, word))
        return err_set(e, "break where? a label, :LINE, a bundle, @CYCLE, flag, write, read, "
                       "stall or op; see help break");
    stop->is_write = strcmp(word, "write") == 0;
    if (strcmp(word, "flag") == 0)
        status = parse_flag(d, &at, stop, e);
    else if (stop->is_write || strcmp(word, "read") == 0)
        status = parse_access(d, &at, stop, e);
    else if (strcmp(word, "stall") == 0)
        status = parse_stall(d, &at, stop, e);
    else if (strcmp(word, "op") == 0)
        status = parse_op(&at, stop, e);
    else
        status = parse_place(d, word, stop, e);
    return status ? -1 : parse_tail(d, at, stop, e);
}

/* ---- watches ---- */

static bool is_memory(const char *word)
{
    for (int i = 0; i < MEMORY_COUNT; i++)
        if (strcmp(word, memory_name((enum memory)i)) == 0)
            return true;
    return false;
}

/* "v3", "vm3": all of it */
static int find_register(const struct debugger *d, const char *word, struct debug_stop *stop,
                         struct err *e)
{
    bool is_mask = word[0] == 'v' && word[1] == 'm';
    const char *digits = word + (is_mask ? 2 : 1);
    int64_t number, end = is_mask ? ISA_MASK_COUNT : ISA_VREG_MAX;

    if (word[0] != 'v' || !isdigit((unsigned char)*digits) || strchr(word, '['))
        return 0;
    if (debug_parse_number(digits, "the register", 0, end - 1, &number, e)
        || debug_expect_lanes(d->m, e))
        return -1;
    stop->is_register = true;
    stop->reg = is_mask ? REGISTER_MASK : REGISTER_VECTOR;
    stop->first = number;
    stop->bytes = is_mask ? (int64_t)sizeof(struct mask_view) : 4096;
    return 1;
}

static int parse_watched_range(const struct debugger *d, const char *text, struct debug_stop *stop,
                               struct err *e)
{
    struct debug_range range;
    const char *at = text;

    if (debug_parse_range(d, &at, 1, &range, e) || parse_tail(d, at, stop, e))
        return -1;
    if (range.unit_bytes > 4 && debug_expect_lanes(d->m, e))
        return -1;
    stop->kind = STOP_WATCH_BYTES;
    stop->memory = range.memory;
    stop->first = range.first * range.unit_bytes;
    stop->bytes = range.count * range.unit_bytes;
    if (stop->bytes > DEBUG_WATCH_BYTES_MAX)
        return err_set(e, "%lld bytes; at most %d can be watched", (long long)stop->bytes,
                       DEBUG_WATCH_BYTES_MAX);
    snprintf(stop->what, sizeof(stop->what), "%s", memory_name(range.memory));
    return 0;
}

/* what stands in front of the first "if", "after" or "core" */
static const char *end_of_watched(const char *text)
{
    static const char *const words[] = {" if ", " after ", " core "};
    const char *end = text + strlen(text);

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const char *at = strstr(text, words[i]);

        end = at && at < end ? at : end;
    }
    return end;
}

int debug_parse_watch(const struct debugger *d, const char *text, struct debug_stop *stop,
                      struct err *e)
{
    const char *end = end_of_watched(text), *at = text;
    char word[DEBUG_WORD_MAX];
    int found;

    *stop = (struct debug_stop){.core = d->core, .after = 1};
    if (!debug_next_word(&at, word))
        return err_set(e, "watch what? for example: watch s3, watch v2, watch vmem 0x40 8");
    if (is_memory(word))
        return parse_watched_range(d, text, stop, e);
    snprintf(stop->watched, sizeof(stop->watched), "%.*s", (int)(end - text), text);
    if (parse_tail(d, end, stop, e))
        return -1;
    found = strspn(stop->watched, " ") + strlen(word) == strlen(stop->watched)
            ? find_register(d, word, stop, e) : 0;
    if (found != 0) {
        stop->kind = STOP_WATCH_BYTES;
        snprintf(stop->what, sizeof(stop->what), "%s", word);
        return found < 0 ? -1 : 0;
    }
    stop->kind = STOP_WATCH;
    return debug_evaluate(d->m, stop->core, d->cycle, stop->watched, &stop->old_value, e);
}
