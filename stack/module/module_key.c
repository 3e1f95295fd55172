/* Writes graph, settings, chip and slice one behind the other. */
#include "stack/module/module_key.h"

#include "stack/hlo/graph_key.h"

#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static const struct field settings_fields[] = {
    APART(module_settings, chip), SAVED(module_settings, codegen),
    SAVED(module_settings, replica_count), APART(module_settings, slice),
    APART(module_settings, device_core), SAVED(module_settings, bucket_bytes),
    SAVED(module_settings, stage_bytes), SAVED_BOOL(module_settings, sums_wait),
    APART(module_settings, sums_as), SAVED(module_settings, message_flags),
    SAVED_BOOL(module_settings, megacore), SAVED(module_settings, hbm_bytes),
    APART(module_settings, place), SAVED(module_settings, assume_trips),
    SAVED(module_settings, assume_branch), APART(module_settings, kept),
    SAVED_BOOL(module_settings, keeps_roundings), APART(module_settings, is_plan),
    SAVED_BOOL(module_settings, notes_are_sources), SAVED_BOOL(module_settings, notes_are_lines),
    SAVED_BOOL(module_settings, is_entry_given), APART(module_settings, dump_after),
    APART(module_settings, dump_to), APART(module_settings, tuning),
    APART(module_settings, on_stage), APART(module_settings, user)};

static void add_fields(struct bytes *key, const struct module_settings *s)
{
    for (size_t i = 0; i < COUNT_OF(settings_fields); i++)
        if (settings_fields[i].kind != FIELD_APART)
            bytes_append(key, (const char *)s + settings_fields[i].offset, settings_fields[i].bytes);
}

/* a parameter's number, or its text with its end */
static void add_chip(struct bytes *key, const struct chip *chip)
{
    for (size_t i = 0; i < chip_param_count; i++) {
        const char *at = (const char *)chip + chip_params[i].offset;
        bool is_number = chip_params[i].kind == CHIP_INT || chip_params[i].kind == CHIP_REAL;

        bytes_append(key, at, is_number ? sizeof(int64_t) : strlen(at) + 1);
    }
}

/* its name says its grid, and which axes close */
static void add_slice(struct bytes *key, const struct slice *slice)
{
    const char *name = slice ? slice->name : "";

    bytes_append(key, name, strlen(name) + 1);
}

/* whether there is a list is told, too */
static void add_list(struct bytes *key, const void *list, size_t bytes)
{
    unsigned char there = list != NULL;

    bytes_append(key, &there, 1);
    if (list)
        bytes_append(key, list, bytes);
}

bool module_key(const struct graph *g, const struct module_settings *s, struct bytes *key)
{
    if (s->sums_as || s->kept || s->is_plan || s->dump_after || s->tuning)
        return false;
    add_fields(key, s);
    add_chip(key, s->chip);
    add_slice(key, s->slice);
    add_list(key, s->device_core, (size_t)s->replica_count * sizeof(*s->device_core));
    add_list(key, s->place, (size_t)g->parameter_count * sizeof(*s->place));
    return graph_key(g, key);
}
