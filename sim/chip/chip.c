/*
 * Reads a chip file by the table params.def, applies --set, and checks that the values fit
 * together.
 */
#include "sim/chip/chip.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ini.h"
#include "base/text.h"
#include "base/units.h"
#include "hbm/hbm.h"
#include "sim/chip/chips.h"
#include "sim/chip/slice_impl.h"

#define FILE_BYTES_MAX (256 * 1024)
#define NAMES_MAX 32
#define CHOICES_MAX 8

const struct chip_param chip_params[] = {
#define PARAM(section, key, lo, hi, meaning) \
    {#section, #key, meaning, CHIP_INT, lo, hi, NULL, offsetof(struct chip, section##_##key)},
#define PARAM_D(section, key, lo, hi, meaning) \
    {#section, #key, meaning, CHIP_REAL, lo, hi, NULL, offsetof(struct chip, section##_##key)},
#define PARAM_L(section, key, choices, meaning) \
    {#section, #key, meaning, CHIP_INT, 0, 0, choices, offsetof(struct chip, section##_##key)},
#define PARAM_S(section, key, meaning) \
    {#section, #key, meaning, CHIP_WORD, 0, 0, NULL, offsetof(struct chip, section##_##key)},
#define PARAM_W(section, key, choices, meaning) \
    {#section, #key, meaning, CHIP_WORD, 0, 0, choices, offsetof(struct chip, section##_##key)},
#define PARAM_T(section, key, meaning) \
    {#section, #key, meaning, CHIP_TEXT, 0, 0, NULL, offsetof(struct chip, section##_##key)},
#define PARAM_G(section, key, meaning) \
    {#section, #key, meaning, CHIP_GRIDS, 0, 0, NULL, offsetof(struct chip, section##_##key)},
#include "sim/chip/params.def"
};

/* "section.key", in the same order */
static const char *const full_names[] = {
#define PARAM(section, key, lo, hi, meaning) #section "." #key,
#define PARAM_D(section, key, lo, hi, meaning) #section "." #key,
#define PARAM_L(section, key, choices, meaning) #section "." #key,
#define PARAM_S(section, key, meaning) #section "." #key,
#define PARAM_W(section, key, choices, meaning) #section "." #key,
#define PARAM_T(section, key, meaning) #section "." #key,
#define PARAM_G(section, key, meaning) #section "." #key,
#include "sim/chip/params.def"
};

const size_t chip_param_count = COUNT_OF(chip_params);

/* A chip file on its way in; nothing reaches the caller before all of it is right. */
struct loading {
    const char *file;
    const char *text;                   /* the rest, from the next line on */
    int line;                           /* the last one read */
    char note[200];                     /* its comment */
    struct chip chip;
    int key_line[COUNT_OF(full_names)];         /* 0 = not seen yet */
    int section_line[COUNT_OF(full_names)];     /* of the section a key belongs to */
    struct chip_origin origins[COUNT_OF(full_names)];
    const char *origin;
    struct arena *arena;                /* NULL: no origins wanted */
    const char *section;                /* that must be complete; NULL: all of them */
    bool failed;
    struct err *e;
};

static size_t find_param(const char *full_name)
{
    size_t i = 0;

    while (i < COUNT_OF(full_names) && strcmp(full_names[i], full_name) != 0)
        i++;
    return i;
}

static int unknown_key(struct err *e, const char *file, int line, const char *full_name)
{
    struct near_text hint = text_did_you_mean(full_name, full_names, COUNT_OF(full_names));

    return err_at(e, file, line, 0, "unknown key \"%s\"%s", full_name,
                  *hint.text ? hint.text : "; systole chips NAME lists them");
}

static int set_text(char *text, size_t room, const char *name, const char *value,
                    const char *file, int line, struct err *e)
{
    for (const char *c = value; *c; c++)
        if (*c < ' ' || *c > '~' || *c == ';')      /* it goes into reports and chip files */
            return err_at(e, file, line, 0, "%s: expected printable ASCII without \";\"",
                          name);
    if (*value == '\0' || strlen(value) >= room)
        return err_at(e, file, line, 0, "%s: expected 1..%zu characters, found \"%s\"", name,
                      room - 1, value);
    memset(text, 0, room);
    snprintf(text, room, "%s", value);
    return 0;
}

static int set_grids(char *text, const char *name, const char *value, const char *file, int line,
                     struct err *e)
{
    struct slice_shape shapes[SLICE_MAX];
    const char *word, *reason = slice_read_grids(value, shapes, &word);

    if (reason)
        return err_at(e, file, line, 0, "%s: %s, found \"%.*s\"", name, reason,
                      (int)strcspn(word, " "), word);
    return set_text(text, CHIP_TEXT_BYTES, name, value, file, line, e);
}

/* "a|b|c" -> its words, which stay in `a`; returns how many */
static size_t split_choices(const char *choices, char *room, size_t room_bytes,
                            const char *word[CHOICES_MAX])
{
    size_t count = 0;

    assert(strlen(choices) < room_bytes);
    snprintf(room, room_bytes, "%s", choices);
    for (char *at = room; at; count++) {
        char *bar = strchr(at, '|');

        assert(count < CHOICES_MAX);
        word[count] = at;
        if (bar)
            *bar++ = '\0';
        at = bar;
    }
    return count;
}

/* " (nearest: 256)" when both are numbers, else the nearest spelling */
static struct near_text nearest_of(const char *value, const char *const *word, size_t count)
{
    int64_t number, candidate, least = INT64_MAX;
    struct near_text near = {""};

    if (text_parse_int(value, INT32_MIN, INT32_MAX, &number))
        return text_did_you_mean(value, word, count);
    for (size_t i = 0; i < count; i++) {
        if (text_parse_int(word[i], INT32_MIN, INT32_MAX, &candidate) ||
            llabs(candidate - number) >= least)
            continue;
        least = llabs(candidate - number);
        snprintf(near.text, sizeof(near.text), " (nearest: %" PRId64 ")", candidate);
    }
    return near;
}

/* Whether `value` is one of the parameter's choices. */
static int check_choice(size_t index, const char *value, const char *file, int line,
                        struct err *e)
{
    const char *word[CHOICES_MAX];
    char room[96], list[128] = "";
    size_t count = split_choices(chip_params[index].choices, room, sizeof(room), word);

    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(list);

        if (strcmp(word[i], value) == 0)
            return 0;
        snprintf(list + length, sizeof(list) - length, "%s%s",
                 i == 0 ? "" : i + 1 < count ? ", " : " or ", word[i]);
    }
    return err_at(e, file, line, 0, "%s: expected %s, found \"%s\"%s", full_names[index], list,
                  value, nearest_of(value, word, count).text);
}

static int set_param(struct chip *c, size_t index, const char *value, const char *file, int line,
                     struct err *e)
{
    const struct chip_param *p = &chip_params[index];
    char *field = (char *)c + p->offset;
    int64_t integer;
    double real;

    if (p->choices && check_choice(index, value, file, line, e))
        return -1;
    switch (p->kind) {
    case CHIP_INT:
        if (text_parse_int(value, p->choices ? INT32_MIN : (int64_t)p->lo,
                           p->choices ? INT32_MAX : (int64_t)p->hi, &integer) == 0)
            memcpy(field, &integer, sizeof(integer));
        else if (p->lo == p->hi)
            return err_at(e, file, line, 0, "%s: only %.0f is modelled yet, found \"%s\"",
                          full_names[index], p->lo, value);
        else
            return err_at(e, file, line, 0, "%s: expected an integer in %.0f..%.0f, found \"%s\"",
                          full_names[index], p->lo, p->hi, value);
        return 0;
    case CHIP_REAL:
        if (text_parse_double(value, p->lo, p->hi, &real))
            return err_at(e, file, line, 0, "%s: expected a number in %g..%g, found \"%s\"",
                          full_names[index], p->lo, p->hi, value);
        memcpy(field, &real, sizeof(real));
        return 0;
    case CHIP_WORD:
        return set_text(field, sizeof(c->chip_name), full_names[index], value, file, line, e);
    case CHIP_TEXT:
        return set_text(field, CHIP_TEXT_BYTES, full_names[index], value, file, line, e);
    case CHIP_GRIDS:
        return set_grids(field, full_names[index], value, file, line, e);
    }
    assert(false && "a kind of parameter that is not in enum chip_param_kind");
    return -1;
}

static bool is_power_of_two(int64_t x)
{
    return x > 0 && (x & (x - 1)) == 0;
}

/* The MXU takes a type with both of its operands or not at all. */
#define BOTH_OR_NONE(c, type) \
    {((c)->mxu_push_##type##_cycles == 0) == ((c)->mxu_matmul_##type##_cycles == 0), \
     "mxu.push_" #type "_cycles", \
     "must be 0 where mxu.matmul_" #type "_cycles is, and only there"}

/* The same of the memory, which knows its own rules: hbm_config_fault. */
static const char *find_hbm_contradiction(const struct chip *c, const char **reason)
{
    const struct hbm_config config = chip_hbm_config(c, 0);
    const char *key;

    *reason = hbm_config_fault(&config, &key);
    if (!*reason)
        return NULL;
    for (size_t i = 0; i < chip_param_count; i++)
        if (strcmp(chip_params[i].section, "hbm") == 0 && strcmp(chip_params[i].key, key) == 0)
            return full_names[i];
    return "hbm";
}

/* What the ranges of single keys cannot say: the key to blame and why, or NULL. */
static const char *find_contradiction(const struct chip *c, const char **reason)
{
    const struct {
        bool ok;
        const char *key, *reason;
    } rules[] = {
        {c->slots_eup <= c->slots_valu, "slots.eup", "must not exceed slots.valu"},
        {c->slots_dma_scalar <= c->slots_scalar, "slots.dma_scalar",
         "must not exceed slots.scalar"},
        {c->slots_dma_misc <= c->slots_misc, "slots.dma_misc", "must not exceed slots.misc"},
        {c->vmem_bytes % 4096 == 0, "vmem.bytes", "must be a multiple of 4096, a vector tile"},
        {c->smem_bytes % 4 == 0, "smem.bytes", "must be a multiple of 4"},
        {c->cmem_bytes == 0 || c->cmem_read_gbps > 0, "cmem.read_gbps",
         "must not be 0 with cmem.bytes above 0"},
        {c->cmem_bytes == 0 || c->cmem_write_gbps > 0, "cmem.write_gbps",
         "must not be 0 with cmem.bytes above 0"},
        {c->slots_cmem_load == 0 || c->cmem_bytes > 0, "slots.cmem_load",
         "must be 0 with cmem.bytes 0"},
        {c->slots_cmem_load == 0 || c->cmem_fifo_depth > 0, "cmem.fifo_depth",
         "must not be 0 with slots.cmem_load above 0"},
        {c->dma_chunk_bytes % c->dma_granule_bytes == 0, "dma.chunk_bytes",
         "must be a multiple of dma.granule_bytes"},
        {c->dma_vector_bytes % c->dma_granule_bytes == 0, "dma.vector_bytes",
         "must be a multiple of dma.granule_bytes"},
        {c->dma_chunk_bytes % c->dma_vector_bytes == 0, "dma.chunk_bytes",
         "must be a multiple of dma.vector_bytes"},
        {c->chip_cores == 1 || c->dma_peer_gbps > 0, "dma.peer_gbps",
         "must not be 0 with chip.cores 2"},
        {c->dma_chunk_bytes <= c->dma_staging_bytes, "dma.staging_bytes",
         "must hold a chunk, dma.chunk_bytes"},
        {c->dma_chunk_bytes <= c->host_staging_bytes, "host.staging_bytes",
         "must hold a chunk, dma.chunk_bytes"},
        {c->host_window_bytes % c->dma_granule_bytes == 0, "host.window_bytes",
         "must be a multiple of dma.granule_bytes"},
        {is_power_of_two(c->hbm_row_bytes), "hbm.row_bytes", "must be a power of two"},
        {is_power_of_two(c->hbm_interleave_bytes), "hbm.interleave_bytes",
         "must be a power of two"},
        {is_power_of_two(c->hbm_burst_bytes), "hbm.burst_bytes", "must be a power of two"},
        {c->hbm_burst_bytes <= c->hbm_interleave_bytes, "hbm.burst_bytes",
         "must not exceed hbm.interleave_bytes"},
        {c->hbm_interleave_bytes <= c->hbm_row_bytes, "hbm.interleave_bytes",
         "must not exceed hbm.row_bytes"},
        BOTH_OR_NONE(c, bf16), BOTH_OR_NONE(c, int8), BOTH_OR_NONE(c, int4), BOTH_OR_NONE(c, fp8),
        {(strcmp(c->mxu_fp8_e4m3, "-") == 0) == (c->mxu_matmul_fp8_cycles == 0), "mxu.fp8_e4m3",
         "must be - where mxu.matmul_fp8_cycles is 0, and only there"},
        {c->ici_packet_bytes % c->ici_flit_bytes == 0, "ici.packet_bytes",
         "must be a multiple of ici.flit_bytes"},
        {c->ici_links % 2 == 0 && c->ici_links <= 2 * c->ici_dims, "ici.links",
         "must be even and at most two per axis of ici.dims"},
    };

    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        if (!rules[i].ok) {
            *reason = rules[i].reason;
            return rules[i].key;
        }
    }
    return find_hbm_contradiction(c, reason);
}

/* The comment behind a value: from the first ";" that follows white space, as the reader of settings sees it. */
static void keep_note(struct loading *l, const char *line)
{
    const char *semicolon = strchr(line, ';');
    size_t length;

    while (semicolon && semicolon > line && !strchr(" \t", semicolon[-1]))
        semicolon = strchr(semicolon + 1, ';');
    if (!semicolon) {
        l->note[0] = '\0';
        return;
    }
    snprintf(l->note, sizeof(l->note), "%s", semicolon + 1 + strspn(semicolon + 1, " \t"));
    length = strlen(l->note);
    while (length && strchr(" \t\r\n", l->note[length - 1]))
        l->note[--length] = '\0';
}

static void keep_section_line(struct loading *l, const char *line)
{
    size_t length = strcspn(line + 1, "]");

    for (size_t i = 0; i < chip_param_count; i++) {
        const char *section = chip_params[i].section;

        if (strlen(section) == length && strncmp(section, line + 1, length) == 0 &&
            l->section_line[i] == 0)
            l->section_line[i] = l->line;
    }
}

/* Lines for the reader of settings, from memory: counts lines, drops indentation, refuses what does not fit. */
static char *read_line(char *buf, int bytes, void *stream)
{
    struct loading *l = stream;
    size_t length = strcspn(l->text, "\n"), indent = strspn(l->text, " \t");

    if (*l->text == '\0')
        return NULL;
    l->line++;
    if (length + 2 > (size_t)bytes) {
        if (!l->failed)
            err_at(l->e, l->file, l->line, 0, "line of %zu bytes; at most %d are allowed", length,
                   bytes - 2);
        l->failed = true;
        buf[0] = '\0';
    } else {
        snprintf(buf, (size_t)bytes, "%.*s\n", (int)(length - indent), l->text + indent);
        keep_note(l, buf);
        if (buf[0] == '[')
            keep_section_line(l, buf);
    }
    l->text += length + (l->text[length] == '\n');
    return buf;
}

/* inih's handler: 1 = accepted */
static int take_value(void *user, const char *section, const char *key, const char *value)
{
    struct loading *l = user;
    char full_name[128];
    size_t index;

    if (l->failed)
        return 0;
    snprintf(full_name, sizeof(full_name), "%s%s%s", section, *section ? "." : "", key);
    index = find_param(full_name);
    if (index == chip_param_count) {
        unknown_key(l->e, l->file, l->line, full_name);
        l->failed = true;
    } else if (l->key_line[index]) {
        err_at(l->e, l->file, l->line, 0, "\"%s\" stands twice; first in line %d", full_name,
               l->key_line[index]);
        l->failed = true;
    } else if (set_param(&l->chip, index, value, l->file, l->line, l->e)) {
        l->failed = true;
    }
    if (l->failed)
        return 0;
    l->key_line[index] = l->line;
    if (l->arena) {
        l->origins[index].origin = l->origin;
        l->origins[index].note = arena_strdup(l->arena, l->note);
    }
    return 1;
}

static int check_complete(const struct loading *l)
{
    const char *reason = NULL, *contradiction;
    char word[48];

    for (size_t i = 0; i < chip_param_count; i++) {
        if (l->key_line[i] || (l->section && strcmp(chip_params[i].section, l->section) != 0))
            continue;
        if (l->section_line[i] == 0)
            return err_at(l->e, l->file, l->line, 0, "missing section [%s]",
                          chip_params[i].section);
        return err_at(l->e, l->file, l->section_line[i], 0, "missing key \"%s\" (%s)",
                      full_names[i], chip_params[i].meaning);
    }
    contradiction = find_contradiction(&l->chip, &reason);
    if (contradiction)
        return err_at(l->e, l->file, l->key_line[find_param(contradiction)], 0, "%s %s",
                      contradiction, reason);
    if (!l->section && slice_find_misfit(&l->chip, word, sizeof(word), &reason))
        return err_at(l->e, l->file, l->key_line[find_param("slice.grids")], 0,
                      "slice.grids: %s %s", word, reason);
    return 0;
}

/* all of l->text into l->chip */
static int parse(struct loading *l)
{
    int bad_line = ini_read(read_line, l, take_value, l);

    if (bad_line > 0 && (!l->failed || bad_line < l->e->line))
        return err_at(l->e, l->file, bad_line, 0, "expected [section], key = value or a comment");
    return l->failed || check_complete(l) ? -1 : 0;
}

static int load_text(struct chip *c, const char *text, const char *file, const char *origin,
                     struct chip_origin *origins, struct arena *a, struct err *e)
{
    struct loading l = {.file = file, .text = text, .origin = origin, .e = e,
                        .arena = origins ? a : NULL};

    if (parse(&l))
        return -1;
    *c = l.chip;
    if (origins)
        memcpy(origins, l.origins, sizeof(l.origins));
    return 0;
}

int chip_load_section(struct chip *c, const char *text, const char *file, const char *section,
                      struct err *e)
{
    struct loading l = {.file = file, .text = text, .origin = "", .e = e, .section = section,
                        .chip = *c};

    if (parse(&l))
        return -1;
    *c = l.chip;
    return 0;
}

const char *const *chip_names(size_t *count)
{
    static const char *names[NAMES_MAX];

    *count = 0;
    for (const struct chip_file *f = chip_files; f->name; f++) {
        assert(*count < NAMES_MAX);
        names[(*count)++] = f->name;
    }
    return names;
}

int chip_load_builtin(struct chip *c, const char *name, struct chip_origin *origins,
                      struct arena *a, struct err *e)
{
    char file[64], origin[64], list[128] = "";
    const char *const *names;
    size_t count;

    for (const struct chip_file *f = chip_files; f->name; f++) {
        if (strcmp(f->name, name) != 0)
            continue;
        snprintf(file, sizeof(file), "sim/chips/%s.ini", name);
        snprintf(origin, sizeof(origin), "chip file %s", name);
        return load_text(c, f->text, file, origins ? arena_strdup(a, origin) : "", origins, a, e);
    }
    names = chip_names(&count);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(list);

        snprintf(list + length, sizeof(list) - length, "%s%s", i ? ", " : "", names[i]);
    }
    return err_set(e, "unknown chip \"%s\"%s; there are %s", name,
                   text_did_you_mean(name, names, count).text, list);
}

static int read_text(char *text, FILE *f, const char *path, struct err *e)
{
    size_t length = fread(text, 1, FILE_BYTES_MAX, f);

    if (ferror(f))
        return err_at(e, path, 0, 0, "cannot read: %s", strerror(errno));
    if (length == FILE_BYTES_MAX)
        return err_at(e, path, 0, 0, "no chip file: %d bytes or more", FILE_BYTES_MAX);
    if (strlen(text) != length)
        return err_at(e, path, 0, 0, "no chip file: contains a zero byte");
    return 0;
}

int chip_load_file(struct chip *c, const char *path, struct chip_origin *origins,
                   struct arena *a, struct err *e)
{
    FILE *f = fopen(path, "rb");
    char *text;
    int status;

    if (!f)
        return err_at(e, path, 0, 0, "cannot read: %s", strerror(errno));
    text = mem_alloc(FILE_BYTES_MAX + 1);
    status = read_text(text, f, path, e);
    fclose(f);
    if (status == 0)
        status = load_text(c, text, path, origins ? arena_printf(a, "chip file %s", path) : "",
                           origins, a, e);
    mem_free(text);
    return status;
}

/* One assignment; *index is the parameter it changes. */
static int assign(struct chip *c, const char *assignment, size_t *index, struct err *e)
{
    const char *equals = strchr(assignment, '=');
    char name[128];

    if (!equals || equals == assignment || equals - assignment >= (ptrdiff_t)sizeof(name))
        return err_set(e, "--set \"%s\": expected section.key=value", assignment);
    snprintf(name, sizeof(name), "%.*s", (int)(equals - assignment), assignment);
    *index = find_param(name);
    if (*index == chip_param_count)
        return unknown_key(e, "--set", 0, name);
    return set_param(c, *index, equals + 1, "--set", 0, e);
}

int chip_set_all(struct chip *c, const char *const *assignments, int count,
                 struct chip_origin *origins, struct arena *a, struct err *e)
{
    bool is_set[COUNT_OF(full_names)] = {false};
    const char *reason = NULL, *contradiction;
    struct chip changed = *c;
    size_t index = 0;

    for (int i = 0; i < count; i++) {
        if (assign(&changed, assignments[i], &index, e))
            return -1;
        is_set[index] = true;
    }
    contradiction = count ? find_contradiction(&changed, &reason) : NULL;
    if (contradiction)
        return err_at(e, "--set", 0, 0, "%s: %s %s", assignments[count - 1], contradiction,
                      reason);
    *c = changed;
    for (size_t i = 0; origins && i < chip_param_count; i++)
        if (is_set[i])
            origins[i] = (struct chip_origin){.origin = "--set", .note = arena_strdup(a, "")};
    return 0;
}

char *chip_print_param(const struct chip *c, size_t index, char *buf, size_t buf_bytes)
{
    const struct chip_param *p = &chip_params[index];
    const char *field = (const char *)c + p->offset;
    int64_t integer;
    double real;

    switch (p->kind) {
    case CHIP_INT:
        memcpy(&integer, field, sizeof(integer));
        snprintf(buf, buf_bytes, "%" PRId64, integer);
        break;
    case CHIP_REAL:
        memcpy(&real, field, sizeof(real));
        text_print(buf, buf_bytes, "%.10g", real);
        break;
    case CHIP_WORD:
    case CHIP_TEXT:
    case CHIP_GRIDS:
        snprintf(buf, buf_bytes, "%s", field);
        break;
    }
    return buf;
}
