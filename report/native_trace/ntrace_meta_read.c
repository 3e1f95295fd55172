/* Parses the JSON in which a trace keeps its chip, links, launches and totals. */
#include "report/native_trace/ntrace_meta.h"

#include "sim/observe/inspect.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME_BYTES 160

static const char *text_of(const json_t *o, const char *key, struct arena *a)
{
    const char *text = json_string_value(json_object_get(o, key));

    return arena_strdup(a, text ? text : "");
}

static int64_t time_of(const json_t *value, int64_t otherwise)
{
    int64_t time = json_is_integer(value) ? json_integer_value(value) : otherwise;

    return time >= 0 && time <= NTRACE_TIME_MOST ? time : otherwise;
}

/* keys that this program does not know are a newer version's: the rest still makes a chip */
static int parse_chip(const json_t *chip, struct ntrace_meta *to, struct arena *a, struct err *e)
{
    const char **assignment = arena_array(a, chip_param_count, sizeof(*assignment));
    char key[NAME_BYTES];
    int count = 0;

    if (chip_load_builtin(&to->chip, to->slice.chip_name, NULL, a, e))
        return -1;
    for (size_t i = 0; i < chip_param_count; i++) {
        const char *value;

        snprintf(key, sizeof(key), "%s.%s", chip_params[i].section, chip_params[i].key);
        value = json_string_value(json_object_get(chip, key));
        if (value)
            assignment[count++] = arena_printf(a, "%s=%s", key, value);
        else
            to->unknown = arena_printf(a, "the trace does not tell %s of its chip", key);
    }
    return chip_set_all(&to->chip, assignment, count, NULL, a, e)
           || slice_fit(&to->slice, &to->chip, e) ? -1 : 0;
}

static void parse_units(const json_t *units, struct ntrace_meta *to, struct arena *a)
{
    size_t count = json_array_size(units), i;

    to->unit_count = (int)(count < MACHINE_UNIT_MAX ? count : MACHINE_UNIT_MAX);
    for (i = 0; i < MACHINE_UNIT_MAX; i++) {
        const char *name = json_string_value(json_array_get(units, i));

        to->unit_name[i] = arena_strdup(a, name ? name : "");
    }
}

static void parse_stalls(const json_t *stalls, struct ntrace_meta *to, struct arena *a)
{
    memset(to->stall, -1, sizeof(to->stall));
    for (size_t i = 0; i < json_array_size(stalls) && i < sizeof(to->stall); i++) {
        const char *name = json_string_value(json_array_get(stalls, i));
        int reason = 0;

        while (reason < STALL_COUNT && name
               && strcmp(name, stall_name((enum stall_reason)reason)) != 0)
            reason++;
        if (name && reason < STALL_COUNT)
            to->stall[i] = (int8_t)reason;
        else
            to->unknown = arena_printf(a, "stalls of reason \"%.40s\", which this program does not"
                                       " know, are left out", name ? name : "");
    }
}

static void parse_links(const json_t *links, struct ntrace_meta *to, struct arena *a)
{
    size_t count = json_array_size(links);

    to->link_count = (int)count;
    to->link_ends = arena_array(a, count * 2 + 1, sizeof(*to->link_ends));
    for (size_t i = 0; i < count * 2; i++) {
        json_int_t chip = json_integer_value(json_array_get(json_array_get(links, i / 2), i % 2));

        to->link_ends[i] = chip >= 0 && chip < to->chip_count ? (int)chip : 0;
    }
}

static int parse_run(const json_t *o, struct ntrace_meta *to, struct arena *a, struct err *e)
{
    const char *slice = json_string_value(json_object_get(o, "slice"));
    const json_t *window = json_object_get(o, "window");

    if (!slice || slice_parse(&to->slice, slice, e))
        return slice ? -1 : err_set(e, "the trace does not say which slice it is of");
    if (parse_chip(json_object_get(o, "chip"), to, a, e))
        return -1;
    if (trace_level_parse(text_of(o, "level", a), &to->level, e)) {
        to->level = TRACE_OP;           /* of a newer version: whatever there is will be shown */
        to->unknown = arena_printf(a, "the trace has a level that this program does not know");
    }
    to->title = text_of(o, "title", a);
    to->command = text_of(o, "command", a);
    to->window_first = time_of(json_array_get(window, 0), 0);
    to->window_end = time_of(json_array_get(window, 1), 0);
    to->record_limit = time_of(json_object_get(o, "record_limit"), 0);
    to->chip_count = to->slice.chip_count;
    to->core_count = to->chip_count * (int)to->chip.chip_cores;
    to->channel_count = (int)to->chip.hbm_channels;
    to->bank_count = (int)to->chip.hbm_banks;
    parse_units(json_object_get(o, "units"), to, a);
    parse_stalls(json_object_get(o, "stalls"), to, a);
    parse_links(json_object_get(o, "links"), to, a);
    to->has_other_opcodes = json_integer_value(json_object_get(o, "opcodes")) != ntrace_opcode_crc();
    return 0;
}

int ntrace_meta_parse(const char *text, size_t size, struct arena *a, struct ntrace_meta *to,
                      struct err *e)
{
    json_error_t error;
    json_t *o = json_loadb(text, size, JSON_ALLOW_NUL, &error);
    int status;

    if (!o)
        return err_set(e, "what it says of the run is no JSON: %s", error.text);
    memset(to, 0, sizeof(*to));
    to->unknown = "";
    status = parse_run(o, to, a, e);
    json_decref(o);
    return status;
}

int ntrace_launch_parse(const char *text, size_t size, struct arena *a,
                        struct ntrace_launch_meta *to)
{
    json_error_t error;
    json_t *o = json_loadb(text, size, JSON_ALLOW_NUL, &error);

    if (!o)
        return -1;
    to->number = time_of(json_object_get(o, "launch"), -1);
    to->start = time_of(json_object_get(o, "start"), -1);
    to->cycles = time_of(json_object_get(o, "cycles"), -1);
    to->name = text_of(o, "name", a);
    to->fault = json_object_get(o, "fault") ? text_of(o, "fault", a) : NULL;
    json_decref(o);
    return to->number >= 0 && to->start >= 0 ? 0 : -1;
}

int ntrace_totals_parse(const char *text, size_t size, struct ntrace_totals_meta *to)
{
    json_error_t error;
    json_t *o = json_loadb(text, size, JSON_ALLOW_NUL, &error);

    if (!o)
        return -1;
    to->kept = time_of(json_object_get(o, "records"), 0);
    to->core = time_of(json_object_get(o, "left_out_core"), 0);
    to->dma = time_of(json_object_get(o, "left_out_dma"), 0);
    to->hbm = time_of(json_object_get(o, "left_out_hbm"), 0);
    to->link = time_of(json_object_get(o, "left_out_link"), 0);
    json_decref(o);
    return 0;
}
