/* Tables of options, read by argp. */
#include "cli/common/options.h"

#include "base/text.h"
#include "base/units.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_FIRST 256                   /* below are letters */
#define ROWS_MAX 96
#define WORDS_MAX 16
#define NAME_BYTES 48

/* ----- values */

/* "--seed", "-k" */
static const char *spell(const struct cli_option *o, char name[NAME_BYTES])
{
    if (o->name)
        snprintf(name, NAME_BYTES, "--%s", o->name);
    else
        snprintf(name, NAME_BYTES, "-%c", o->letter);
    return name;
}

static void store(const struct cli_option *o, char *to, int64_t value)
{
    int32_t narrow = (int32_t)value;
    bool is_set = value != 0;

    if (o->bytes == sizeof(value))
        memcpy(to, &value, sizeof(value));
    else if (o->bytes == sizeof(narrow))
        memcpy(to, &narrow, sizeof(narrow));
    else
        memcpy(to, &is_set, sizeof(is_set));
}

static int64_t load(const struct cli_option *o, const char *from)
{
    int64_t value;
    int32_t narrow;

    if (o->bytes == sizeof(narrow)) {
        memcpy(&narrow, from, sizeof(narrow));
        return narrow;
    }
    if (o->bytes != sizeof(value))
        return *from;
    memcpy(&value, from, sizeof(value));
    return value;
}

static int read_whole(const struct cli_option *o, const char *text, char *to, struct err *e)
{
    char name[NAME_BYTES];
    int64_t value;

    if (text_parse_int(text, o->lo, o->hi, &value) == 0) {
        store(o, to, value);
        return 0;
    }
    if (o->hi == INT64_MAX)
        return err_set(e, "%s is \"%s\", allowed are whole numbers from %lld on", spell(o, name),
                       text, (long long)o->lo);
    return err_set(e, "%s is \"%s\", allowed are whole numbers in %lld..%lld", spell(o, name), text,
                   (long long)o->lo, (long long)o->hi);
}

static int read_bytes(const struct cli_option *o, const char *text, char *to, struct err *e)
{
    char name[NAME_BYTES];
    int64_t value;

    if (text_parse_bytes(text, o->lo, o->hi, &value) == 0) {
        store(o, to, value);
        return 0;
    }
    return err_set(e, "%s is \"%s\", allowed are sizes from %lld byte%s to %s, with K, M or G for "
                   "1024, 1024^2 or 1024^3 (256M)", spell(o, name), text, (long long)o->lo,
                   o->lo == 1 ? "" : "s", text_bytes(o->hi).text);
}

/* "xla|best" as a list of words in `copy` */
static size_t split_words(const char *words, char *copy, size_t copy_bytes,
                          const char *word[WORDS_MAX])
{
    size_t count = 0;
    char *rest = copy;

    snprintf(copy, copy_bytes, "%s", words);
    while (count < WORDS_MAX && (word[count] = strtok_r(rest, "|", &rest)) != NULL)
        count++;
    return count;
}

static int read_choice(const struct cli_option *o, const char *text, char *to, struct err *e)
{
    char copy[200], all[240] = "", name[NAME_BYTES];
    const char *word[WORDS_MAX];
    size_t count = split_words(o->words, copy, sizeof(copy), word);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, word[i]) == 0) {
            store(o, to, (int64_t)i);
            return 0;
        }
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "", word[i]);
    }
    return err_set(e, "%s is \"%s\", allowed are %s%s", spell(o, name), text, all,
                   text_did_you_mean(text, word, count).text);
}

static int read_text(const struct cli_option *o, const char *text, char *to, struct err *e)
{
    char name[NAME_BYTES];

    if (!*text)
        return err_set(e, "%s is empty", spell(o, name));
    memcpy(to, &text, sizeof(text));
    return 0;
}

static int add_item(const struct cli_option *o, const char *text, struct cli_list *l,
                    struct err *e)
{
    char name[NAME_BYTES];

    if (l->count == CLI_LIST_MAX)
        return err_set(e, "%s may be given at most %d times", spell(o, name), CLI_LIST_MAX);
    l->item[l->count++] = text;
    return 0;
}

int cli_read_value(const struct cli_option *o, const char *text, void *values, struct err *e)
{
    char *to = (char *)values + o->at;

    switch (o->kind) {
    case CLI_FLAG: *(bool *)to = true; return 0;
    case CLI_TEXT: return read_text(o, text, to, e);
    case CLI_LIST: return add_item(o, text, (struct cli_list *)(void *)to, e);
    case CLI_WHOLE: return read_whole(o, text, to, e);
    case CLI_BYTES: return read_bytes(o, text, to, e);
    case CLI_CHOICE: return read_choice(o, text, to, e);
    case CLI_OTHER: return o->parse(o, text, values, e);
    default: return 0;
    }
}

/* ----- tables */

/* a row, and the struct that its table is of */
struct entry {
    const struct cli_option *row;
    char *values;
};

struct table {
    struct entry entry[ROWS_MAX];
    int count;
};

static void gather(struct table *t, const struct cli_options *o, char *values)
{
    for (const struct cli_option *row = o->row; row && row->kind != CLI_END; row++)
        if (t->count < ROWS_MAX)
            t->entry[t->count++] = (struct entry){row, values};
    for (const struct cli_part *p = o->part; p && p->options; p++)
        gather(t, p->options, values + p->at);
}

void cli_walk_options(const struct cli_options *o,
                      void (*fn)(void *context, const char *name, const char *arg), void *context)
{
    for (const struct cli_option *row = o->row; row && row->kind != CLI_END; row++)
        if (row->name)
            fn(context, row->name, row->arg);
    for (const struct cli_part *p = o->part; p && p->options; p++)
        cli_walk_options(p->options, fn, context);
}

int cli_set_option(const struct cli_options *o, const char *name, const char *text, void *values,
                   struct err *e)
{
    const char *names[ROWS_MAX];
    char all[240] = "";
    struct table t = {.count = 0};

    gather(&t, o, values);
    for (int i = 0; i < t.count; i++) {
        names[i] = t.entry[i].row->name;
        if (strcmp(names[i], name) == 0)
            return cli_read_value(t.entry[i].row, text, t.entry[i].values, e);
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "", names[i]);
    }
    return err_set(e, "no option \"%s\"%s; there are %s", name,
                   text_did_you_mean(name, names, (size_t)t.count).text, all);
}

/* "--name", or "-c" of a row that has a letter alone */
static bool is_called(const struct cli_option *row, const char *word)
{
    return row->name ? strncmp(word, "--", 2) == 0 && strcmp(row->name, word + 2) == 0
                     : row->letter && word[1] == row->letter && !word[2];
}

int cli_read_words(const struct cli_syntax *s, char *text, void *values, struct err *e)
{
    struct table t = {.count = 0};
    char *rest = text, *word;

    gather(&t, &s->own, values);
    while ((word = strtok_r(rest, " ", &rest))) {
        const struct cli_option *row = NULL;
        const char *value = "";
        int i = 0;

        if (word[0] != '-') {
            if (s->argument(values, word, e))
                return -1;
            continue;
        }
        for (; i < t.count && (!row || !is_called(row, word)); i++)
            row = t.entry[i].row;
        if (!row || !is_called(row, word))
            return err_set(e, "unknown option \"%s\"", word);
        if (row->arg && !(value = strtok_r(rest, " ", &rest)))
            return err_set(e, "%s needs %s", word, row->arg);
        if (cli_read_value(row, value, t.entry[i - 1].values, e))
            return -1;
    }
    return 0;
}

static int check(const struct cli_options *o, char *values, struct err *e)
{
    for (const struct cli_part *p = o->part; p && p->options; p++)
        if (check(p->options, values + p->at, e))
            return -1;
    return o->check ? o->check(values, e) : 0;
}

/* ----- a command line */

struct reading {
    const struct cli_syntax *syntax;
    char *values;
    struct table table;
    struct arena arena;                 /* of help texts */
};

static const struct entry *find_entry(const struct reading *r, int key)
{
    if (key >= KEY_FIRST && key < KEY_FIRST + r->table.count)
        return &r->table.entry[key - KEY_FIRST];
    for (int i = 0; i < r->table.count && key > 0; i++)
        if (r->table.entry[i].row->letter == key)
            return &r->table.entry[i];
    return NULL;
}

static int take_argument(struct reading *r, const char *text, struct argp_state *state,
                         struct err *e)
{
    const struct cli_syntax *s = r->syntax;
    const char **to = (const char **)(void *)(r->values + s->noun_at);

    if (s->rest) {
        s->rest(r->values, state->argv + state->next - 1, state->argc - state->next + 1);
        state->next = state->argc;
        return 0;
    }
    if (s->argument)
        return s->argument(r->values, text, e);
    if (!s->noun)
        return err_set(e, "no argument expected: %s", text);
    if (*to)
        return err_set(e, "only one %s may be given, not %s and %s", s->noun, *to, text);
    *to = text;
    return 0;
}

static int finish(struct reading *r, struct err *e)
{
    const struct cli_syntax *s = r->syntax;
    const char **noun = (const char **)(void *)(r->values + s->noun_at);

    if (s->noun && s->noun_hint && !*noun)
        return err_set(e, "which %s?%s%s", s->noun, *s->noun_hint ? " " : "", s->noun_hint);
    return check(&s->own, r->values, e);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct reading *r = state->input;
    const struct entry *entry = find_entry(r, key);
    int status;
    struct err e;

    if (entry)
        status = cli_read_value(entry->row, arg ? arg : "", entry->values, &e);
    else if (key == ARGP_KEY_ARG)
        status = take_argument(r, arg, state, &e);
    else if (key == ARGP_KEY_END)
        status = finish(r, &e);
    else
        return ARGP_ERR_UNKNOWN;
    if (status)
        argp_error(state, "%s", e.msg);
    return 0;
}

/* the value that stands in the struct before anything is read, as it would be written */
static const char *default_of(const struct entry *x, struct arena *a)
{
    const char *at = x->values + x->row->at, *text;
    const char *word[WORDS_MAX];
    char buf[200];

    switch (x->row->kind) {
    case CLI_TEXT:
        memcpy(&text, at, sizeof(text));
        return text ? text : "none";
    case CLI_BYTES:
        return arena_strdup(a, text_bytes(load(x->row, at)).text);
    case CLI_CHOICE:
        split_words(x->row->words, buf, sizeof(buf), word);
        return arena_strdup(a, word[load(x->row, at)]);
    default:
        return arena_printf(a, "%lld", (long long)load(x->row, at));
    }
}

static const char *help_of(const struct entry *x, struct arena *a)
{
    const char *doc = x->row->doc, *place = strstr(doc, "%s");

    return place ? arena_printf(a, "%.*s%s%s", (int)(place - doc), doc, default_of(x, a), place + 2)
                 : doc;
}

static void list_options(struct reading *r, struct argp_option *list)
{
    for (int i = 0; i < r->table.count; i++) {
        const struct cli_option *row = r->table.entry[i].row;

        list[i] = (struct argp_option){.name = row->name, .arg = row->arg, .group = row->group,
                                       .flags = row->is_arg_optional ? OPTION_ARG_OPTIONAL : 0,
                                       .doc = help_of(&r->table.entry[i], &r->arena)};
        if (row->kind != CLI_HEADING)
            list[i].key = row->letter ? row->letter : KEY_FIRST + i;
    }
}

void cli_parse(const struct cli_syntax *s, int argc, char **argv, void *values)
{
    struct reading r = {.syntax = s, .values = values};
    struct argp_option list[ROWS_MAX + 1] = {{0}};
    struct argp argp = {.options = list, .parser = parse_option, .args_doc = s->args_doc,
                        .doc = s->doc, .help_filter = s->filter};

    arena_init(&r.arena);
    gather(&r.table, &s->own, values);
    list_options(&r, list);
    if (argp_parse(&argp, argc, argv, s->rest ? ARGP_IN_ORDER : 0, NULL, &r) != 0)
        mem_exhausted(0);               /* a wrong word has ended the process */
    arena_fini(&r.arena);
}

/* ----- the chip that a command is about */

static const struct cli_option target_rows[] = {
    CLI_ROW_TPU(struct cli_target, tpu, 1), CLI_ROW_SET(struct cli_target, set, 1), {0}};
const struct cli_options cli_target_options = {.row = target_rows};

int cli_set_params(const struct cli_list *set, struct chip *chip, struct chip_origin *origins,
                   struct arena *a, struct err *e)
{
    return chip_set_all(chip, set->item, set->count, origins, a, e);
}

int cli_load_slice(const struct cli_target *t, struct slice *slice, struct chip *chip,
                   struct chip_origin *origins, struct arena *a, struct err *e)
{
    if (slice_parse(slice, t->tpu, e) ||
        chip_load_builtin(chip, slice->chip_name, origins, a, e) ||
        cli_set_params(&t->set, chip, origins, a, e))
        return -1;
    return slice_fit(slice, chip, e);
}

int cli_refuse_devices(const struct cli_target *t, int devices, int most, int cores_each,
                       struct err *e)
{
    struct slice target, s;

    if (slice_parse(&target, t->tpu, e))
        return -1;
    for (int i = 0; slice_of_chip(&s, target.chip_name, i); i++)
        if (s.core_count > target.core_count && s.core_count / cores_each >= devices)
            return err_set(e, "the program is for %d devices, %s has %d; name a slice that has "
                           "them, e.g. --tpu %s", devices, t->tpu, most, s.name);
    return err_set(e, "the program is for %d devices, %s has %d, and no slice of %s has as many",
                   devices, t->tpu, most, target.chip_name);
}

int cli_add_chip(const struct cli_target *t, struct err *e)
{
    size_t length = strlen(e->msg);

    snprintf(e->msg + length, sizeof(e->msg) - length, "; the chip is %s (--tpu)", t->tpu);
    return -1;
}
