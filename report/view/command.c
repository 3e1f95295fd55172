/*
 * Writes the command of a run into config.ini, percent-encoded where INI would change it, and
 * reads it back.
 */
#include "report/view/command.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_CHARS 120                 /* of an argument on one line: inih reads up to 198 */
#define LINE_CHARS 1024
#define ARGUMENT_MAX 4096

struct command command_of_argv(int argc, char **argv, struct arena *a)
{
    const char *space = strchr(argv[0], ' ');
    const char **argument = arena_array(a, (size_t)argc, sizeof(*argument));
    char *directory = getcwd(NULL, 0);
    struct command c = {.name = space ? space + 1 : argv[0],
                        .directory = arena_strdup(a, directory ? directory : "."),
                        .argument_count = argc - 1, .argument = argument};

    if (!directory && errno == ENOMEM)
        mem_exhausted(0);
    for (int i = 1; i < argc; i++)
        argument[i - 1] = argv[i];
    free(directory);
    return c;
}

/* what an INI file would change: comments, blanks at the ends, what is no plain character */
static bool is_plain(char c, bool is_at_end)
{
    return c > ' ' ? c < 127 && c != ';' && c != '#' && c != '%' && c != '"'
                   : c == ' ' && !is_at_end;
}

/* "key = text", and "key+ = text" for the rest of what is too long for a line */
static void print_value(const char *key, const char *text, FILE *to)
{
    int room = PIECE_CHARS;

    fprintf(to, "%s = ", key);
    for (size_t i = 0; text[i]; i++) {
        bool is_at_end = i == 0 || !text[i + 1] || room <= 3 || room == PIECE_CHARS;

        if (is_plain(text[i], is_at_end))
            room -= fprintf(to, "%c", text[i]);
        else
            room -= fprintf(to, "%%%02x", (unsigned char)text[i]);
        if (room > 0 || !text[i + 1])
            continue;
        fprintf(to, "\n%s+ = ", key);
        room = PIECE_CHARS;
    }
    fputc('\n', to);
}

void command_print(const struct command *c, FILE *to)
{
    char key[32];

    fprintf(to, "\n[command]\n");
    print_value("name", c->name, to);
    print_value("directory", c->directory, to);
    fprintf(to, "argument_count = %d\n", c->argument_count);
    for (int i = 0; i < c->argument_count; i++) {
        snprintf(key, sizeof(key), "argument_%d", i + 1);
        print_value(key, c->argument[i], to);
    }
}

/* ---- reading ---- */

struct reader {
    struct arena *arena;
    struct command *command;
    const char **argument;
    const char **last;                  /* what a line "key+" goes on with */
    const char *last_key;               /* of *last */
    bool is_in_section;
};

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* in place; -1 at a % without two digits */
static int decode(char *text)
{
    char *to = text;

    for (; *text; text++) {
        if (*text != '%') {
            *to++ = *text;
            continue;
        }
        if (hex_digit(text[1]) < 0 || hex_digit(text[2]) < 0
            || hex_digit(text[1]) + hex_digit(text[2]) == 0)
            return -1;
        *to++ = (char)(hex_digit(text[1]) << 4 | hex_digit(text[2]));
        text += 2;
    }
    *to = '\0';
    return 0;
}

static int read_count(struct reader *r, const char *value)
{
    char *end;
    long count = strtol(value, &end, 10);

    if (*end || end == value || count < 0 || count > ARGUMENT_MAX || r->argument)
        return -1;
    r->command->argument_count = (int)count;
    r->argument = arena_array(r->arena, (size_t)count + 1, sizeof(*r->argument));
    r->command->argument = r->argument;
    return 0;
}

static const char **place_of(struct reader *r, const char *key)
{
    char *end;
    long number;

    if (strcmp(key, "name") == 0)
        return &r->command->name;
    if (strcmp(key, "directory") == 0)
        return &r->command->directory;
    if (strncmp(key, "argument_", 9) != 0 || !r->argument)
        return NULL;
    number = strtol(key + 9, &end, 10);
    return *end || number < 1 || number > r->command->argument_count ? NULL
                                                                     : &r->argument[number - 1];
}

static int read_pair(struct reader *r, char *key, char *value)
{
    size_t length = strlen(key);
    const char **place;

    if (strcmp(key, "argument_count") == 0)
        return read_count(r, value);
    if (decode(value) != 0)
        return -1;
    if (length > 0 && key[length - 1] == '+') {
        key[length - 1] = '\0';
        if (!r->last || strcmp(key, r->last_key) != 0)
            return -1;
        *r->last = arena_printf(r->arena, "%s%s", *r->last, value);
        return 0;
    }
    place = place_of(r, key);
    if (!place || *place)
        return -1;
    *place = arena_strdup(r->arena, value);
    r->last = place;
    r->last_key = arena_strdup(r->arena, key);
    return 0;
}

/* a line without its end; other sections pass */
static int read_line(struct reader *r, char *line)
{
    char *equals;

    if (line[0] == '[') {
        r->is_in_section = strcmp(line, "[command]") == 0;
        return 0;
    }
    if (!r->is_in_section || line[0] == '\0' || line[0] == ';')
        return 0;
    equals = strstr(line, " =");
    if (!equals)
        return -1;
    *equals = '\0';
    return read_pair(r, line, equals + 2 + (equals[2] == ' '));
}

static int check_whole(const struct reader *r, const char *path, struct err *e)
{
    const struct command *c = r->command;
    bool is_whole = c->name && c->directory && r->argument;

    for (int i = 0; is_whole && i < c->argument_count; i++)
        is_whole = c->argument[i] != NULL;
    if (!is_whole)
        return err_at(e, path, 0, 0, "no command line in it, or not all of it: a section [command]"
                      " with name, directory, argument_count and the arguments");
    return 0;
}

int command_read(const char *folder, struct arena *a, struct command *c, struct err *e)
{
    const char *path = arena_printf(a, "%s/config.ini", folder);
    struct reader r = {.arena = a, .command = c};
    FILE *f = fopen(path, "r");
    char line[LINE_CHARS];
    int number = 0, status = 0;

    memset(c, 0, sizeof(*c));
    if (!f)
        return err_set(e, "cannot read %s: %s", path, strerror(errno));
    while (status == 0 && fgets(line, sizeof(line), f)) {
        number++;
        line[strcspn(line, "\n")] = '\0';
        if (read_line(&r, line) != 0)
            status = err_at(e, path, number, 0, "not a line of a section [command]");
    }
    if (ferror(f))
        status = err_set(e, "cannot read %s: %s", path, strerror(errno));
    fclose(f);
    return status ? status : check_whole(&r, path, e);
}

/* ---- as text ---- */

static const char *quoted(const char *text, struct arena *a)
{
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
    const char *rest, *out = "'";

    if (*text && strspn(text, plain) == strlen(text))
        return text;
    for (rest = text; *rest;) {
        size_t length = strcspn(rest, "'");

        out = arena_printf(a, "%s%.*s%s", out, (int)length, rest, rest[length] ? "'\\''" : "");
        rest += length + (rest[length] != '\0');
    }
    return arena_printf(a, "%s'", out);
}

const char *command_text(const struct command *c, struct arena *a)
{
    const char *text = arena_printf(a, "systole %s", quoted(c->name, a));

    for (int i = 0; i < c->argument_count; i++)
        text = arena_printf(a, "%s %s", text, quoted(c->argument[i], a));
    return text;
}

/* the next word of *text without its quotes, in `word`; false at an end within quotes */
static bool read_word(const char **text, char *word)
{
    const char *from = *text;
    bool is_quoted = false;

    for (; *from && (is_quoted || *from != ' '); from++) {
        if (*from == '\'') {
            is_quoted = !is_quoted;
            continue;
        }
        if (*from == '\\' && !is_quoted && from[1])
            from++;
        *word++ = *from;
    }
    *word = '\0';
    *text = from;
    return !is_quoted;
}

bool command_parse(const char *text, struct arena *a, struct command *c)
{
    size_t bytes = strlen(text) + 1;
    char *word = arena_alloc(a, bytes);
    const char **words = arena_array(a, bytes, sizeof(*words));
    int count = 0;

    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        if (!read_word(&text, word))
            return false;
        words[count++] = arena_strdup(a, word);
    }
    if (count < 2 || strcmp(words[0], "systole") != 0)
        return false;
    *c = (struct command){.name = words[1], .directory = ".", .argument_count = count - 2,
                          .argument = words + 2};
    return true;
}
