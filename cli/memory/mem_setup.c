/*
 * Reads the configuration of `systole mem`: a chip's HBM, and keys of its own that a chip file
 * does not have.
 */
#include "cli/memory/mem.h"

#include "base/ini.h"
#include "base/text.h"
#include "isa/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHIP_KEYS_MAX = 512 };

static const char base_chip[] = "v4";   /* what a configuration leaves out, it does not use */

/* The keys of a configuration that no chip has. */
enum kind { INTEGER, INT, WORD, FLAG, MAP };
static const struct setting {
    const char *name;                   /* section.key */
    enum kind kind;
    int64_t lo, hi;
    size_t offset, room;                /* in struct mem_setup; of words */
} settings[] = {
    {"controller.map", MAP, 0, 0, offsetof(struct mem_setup, config.map), 0},
    {"controller.front_ps", INTEGER, 0, 1000000, offsetof(struct mem_setup, config.front_ps), 0},
    {"driver.cycle_ps", INTEGER, 1, 1000000, offsetof(struct mem_setup, injection.cycle_ps), 0},
    {"driver.per_cycle", INT, 1, 1024, offsetof(struct mem_setup, injection.per_cycle), 0},
    {"driver.in_flight", INT, 0, 1000000, offsetof(struct mem_setup, injection.in_flight), 0},
    {"driver.access_bytes", INTEGER, 1, 1 << 20, offsetof(struct mem_setup, access_bytes), 0},
    {"reference.simulator", WORD, 0, 0, offsetof(struct mem_setup, simulator),
     sizeof(((struct mem_setup *)0)->simulator)},
    {"reference.mapping", WORD, 0, 0, offsetof(struct mem_setup, mapping),
     sizeof(((struct mem_setup *)0)->mapping)},
    {"reference.judged", FLAG, 0, 1, offsetof(struct mem_setup, is_judged), 0},
};

static bool is_ours(const char *section, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        if (strncmp(settings[i].name, section, length) == 0 && settings[i].name[length] == '.')
            return true;
    return false;
}

struct loading {
    struct mem_setup *setup;
    const char *file, *text;            /* the rest, from the next line on */
    int line;
    int seen_line[COUNT_OF(settings)];
    bool has_map;
    bool has_failed;
    struct err *e;
};

static int set_number(struct loading *l, const struct setting *s, const char *value)
{
    char *field = (char *)l->setup + s->offset;
    int64_t number;

    if (text_parse_int(value, s->lo, s->hi, &number))
        return err_at(l->e, l->file, l->line, 0,
                      "%s: expected an integer in %" PRId64 "..%" PRId64 ", found \"%s\"",
                      s->name, s->lo, s->hi, value);
    switch (s->kind) {
    case INTEGER: memcpy(field, &number, sizeof(number)); break;
    case INT: memcpy(field, &(int){(int)number}, sizeof(int)); break;
    default: memcpy(field, &(bool){number != 0}, sizeof(bool)); break;
    }
    return 0;
}

static int set_word(struct loading *l, const struct setting *s, const char *value)
{
    if (*value == '\0' || strlen(value) >= s->room)
        return err_at(l->e, l->file, l->line, 0, "%s: expected 1..%zu characters, found \"%s\"",
                      s->name, s->room - 1, value);
    snprintf((char *)l->setup + s->offset, s->room, "%s", value);
    return 0;
}

static int set_map(struct loading *l, const struct setting *s, const char *value)
{
    struct err e;

    if (hbm_map_parse((struct hbm_map *)((char *)l->setup + s->offset), value, &e))
        return err_at(l->e, l->file, l->line, 0, "%s: %s", s->name, e.msg);
    l->has_map = true;
    return 0;
}

static int set(struct loading *l, size_t index, const char *value)
{
    const struct setting *s = &settings[index];

    if (l->seen_line[index])
        return err_at(l->e, l->file, l->line, 0, "\"%s\" stands twice; first in line %d", s->name,
                      l->seen_line[index]);
    l->seen_line[index] = l->line;
    switch (s->kind) {
    case WORD: return set_word(l, s, value);
    case MAP: return set_map(l, s, value);
    default: return set_number(l, s, value);
    }
}

static int unknown_key(struct loading *l, const char *name)
{
    const char *names[COUNT_OF(settings)];

    for (size_t i = 0; i < COUNT_OF(settings); i++)
        names[i] = settings[i].name;
    return err_at(l->e, l->file, l->line, 0, "unknown key \"%s\"%s", name,
                  text_did_you_mean(name, names, COUNT_OF(names)).text);
}

/* of the reader of settings: 1 = accepted */
static int take_value(void *user, const char *section, const char *key, const char *value)
{
    struct loading *l = user;
    char name[128];
    size_t i = 0;

    if (l->has_failed)
        return 0;
    if (!is_ours(section, strlen(section)))
        return 1;
    snprintf(name, sizeof(name), "%s.%s", section, key);
    while (i < COUNT_OF(settings) && strcmp(settings[i].name, name) != 0)
        i++;
    l->has_failed = i == COUNT_OF(settings) ? unknown_key(l, name) != 0 : set(l, i, value) != 0;
    return !l->has_failed;
}

/* Lines for the reader of settings, from memory; lines that are too long are the chip's reader's to refuse */
static char *read_line(char *buf, int bytes, void *stream)
{
    struct loading *l = stream;
    size_t length = strcspn(l->text, "\n"), indent = strspn(l->text, " \t");

    if (*l->text == '\0')
        return NULL;
    l->line++;
    if (length + 2 > (size_t)bytes)
        snprintf(buf, (size_t)bytes, "\n");
    else
        snprintf(buf, (size_t)bytes, "%.*s\n", (int)(length - indent), l->text + indent);
    l->text += length + (l->text[length] == '\n');
    return buf;
}

static int unknown_section(struct loading *l, const char *name, int line)
{
    const char *names[CHIP_KEYS_MAX + COUNT_OF(settings)];
    char sections[COUNT_OF(settings)][16];
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        snprintf(sections[i], sizeof(sections[i]), "%.*s", (int)strcspn(settings[i].name, "."),
                 settings[i].name);
        names[count++] = sections[i];
    }
    for (size_t i = 0; i < chip_param_count && i < CHIP_KEYS_MAX; i++)
        names[count++] = chip_params[i].section;
    return err_at(l->e, l->file, line, 0, "unknown section [%s]%s", name,
                  text_did_you_mean(name, names, count).text);
}

static bool is_of_chips(const char *section)
{
    for (size_t i = 0; i < chip_param_count; i++)
        if (strcmp(chip_params[i].section, section) == 0)
            return true;
    return false;
}

/* Blanks our sections, line by line, so that what is left is a chip's. */
static int blank_ours(struct loading *l, char *text)
{
    bool is_blank = false;

    for (int line = 1; *text; line++) {
        size_t length = strcspn(text, "\n");
        const char *start = text + strspn(text, " \t");
        char section[32];

        if (*start == '[') {
            snprintf(section, sizeof(section), "%.*s", (int)strcspn(start + 1, "]\n"), start + 1);
            is_blank = is_ours(section, strlen(section));
            if (!is_blank && !is_of_chips(section))
                return unknown_section(l, section, line);
        }
        if (is_blank)
            memset(text, ' ', length);
        text += length + (text[length] == '\n');
    }
    return 0;
}

static void fill_config(struct mem_setup *s, const struct chip *c)
{
    s->config = chip_hbm_config(c, (int64_t)(c->hbm_gib * (double)GIB));
    s->config.size_bytes -= s->config.size_bytes % s->config.row_bytes;
}

/* what the copy engine of a chip does: a request of a chunk per cycle */
static void fill_driver(struct mem_setup *s, const struct chip *c)
{
    s->injection = (struct hbm_injection){
        .cycle_ps = (1000000 + c->chip_clock_mhz / 2) / c->chip_clock_mhz, .per_cycle = 1,
        .in_flight = (int)c->dma_queue_depth};
    s->access_bytes = c->dma_chunk_bytes;
}

int mem_setup_chip(struct mem_setup *s, const struct cli_target *t, struct arena *a,
                   struct err *e)
{
    struct slice slice;
    struct chip chip;

    *s = (struct mem_setup){.is_judged = false};
    if (cli_load_slice(t, &slice, &chip, NULL, a, e))
        return -1;
    snprintf(s->name, sizeof(s->name), "%s", slice.chip_name);
    fill_config(s, &chip);
    fill_driver(s, &chip);
    return 0;
}

/* what the chip's own checks could not see */
static int check_map(struct loading *l, const struct mem_setup *s, int64_t interleave_bytes)
{
    const char *key, *fault = hbm_config_fault(&s->config, &key);
    int64_t piece = hbm_map_piece_bursts(&s->config.map) * s->config.burst_bytes;
    int line = l->seen_line[0];

    if (fault)
        return err_at(l->e, l->file, line, 0, "controller.map: hbm.%s %s", key, fault);
    if (piece != interleave_bytes)
        return err_at(l->e, l->file, line, 0, "controller.map keeps %" PRId64 " bytes on one "
                      "channel, hbm.interleave_bytes is %" PRId64, piece, interleave_bytes);
    return 0;
}

static int parse(struct loading *l, char *text, const struct cli_list *set_list, struct arena *a)
{
    struct mem_setup *s = l->setup;
    struct hbm_map map;
    ps_t front_ps;
    struct chip chip;
    char *rest = arena_strdup(a, text);
    int bad_line;

    if (chip_load_builtin(&chip, base_chip, NULL, NULL, l->e))
        return -1;
    if (blank_ours(l, rest) ||
        chip_load_section(&chip, rest, l->file, "hbm", l->e) ||
        cli_set_params(set_list, &chip, NULL, a, l->e))
        return -1;
    fill_driver(s, &chip);
    l->text = text;
    bad_line = ini_read(read_line, l, take_value, l);
    if (l->has_failed)
        return -1;
    if (bad_line > 0)
        return err_at(l->e, l->file, bad_line, 0, "expected [section], key = value or a comment");
    map = s->config.map;
    front_ps = s->config.front_ps;
    fill_config(s, &chip);
    s->config.front_ps = front_ps;
    if (!l->has_map)
        return 0;
    s->config.map = map;
    return check_map(l, s, chip.hbm_interleave_bytes);
}

int mem_setup_file(struct mem_setup *s, const char *path, const struct cli_list *set_list,
                   struct arena *a, struct err *e)
{
    struct loading l = {.setup = s, .file = path, .e = e};
    const char *name = strrchr(path, '/');
    uint8_t *bytes;
    size_t size;

    *s = (struct mem_setup){.is_judged = false};
    if (isa_file_read(path, a, &bytes, &size, e))
        return -1;
    if (strlen((char *)bytes) != size)
        return err_at(e, path, 0, 0, "no configuration: contains a zero byte");
    snprintf(s->name, sizeof(s->name), "%s", name ? name + 1 : path);
    return parse(&l, (char *)bytes, set_list, a);
}
