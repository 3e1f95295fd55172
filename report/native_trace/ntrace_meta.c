/* Prints the JSON in which a trace keeps its chip, links, launches and totals. */
#include "report/native_trace/ntrace_meta.h"

#include "sim/observe/inspect.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define NAME_BYTES 160

static char *print(json_t *o, size_t *size)
{
    char *made = json_dumps(o, JSON_COMPACT), *text;

    json_decref(o);
    *size = made ? strlen(made) : 0;
    text = mem_alloc(*size + 1);
    if (made)
        memcpy(text, made, *size);
    free(made);
    return text;
}

static void put_text(json_t *o, const char *key, const char *text)
{
    json_t *value = json_string(text ? text : "");

    json_object_set_new(o, key, value ? value : json_string(""));       /* not UTF-8 */
}

/* with 17 digits, so that the number read is the number written */
static json_t *print_chip(const struct chip *c)
{
    json_t *o = json_object();
    char key[NAME_BYTES], value[CHIP_TEXT_BYTES];

    for (size_t i = 0; i < chip_param_count; i++) {
        const struct chip_param *p = &chip_params[i];
        double real;

        snprintf(key, sizeof(key), "%s.%s", p->section, p->key);
        if (p->kind == CHIP_REAL) {
            memcpy(&real, (const char *)c + p->offset, sizeof(real));
            snprintf(value, sizeof(value), "%.17g", real);
        } else {
            chip_print_param(c, i, value, sizeof(value));
        }
        json_object_set_new(o, key, json_string(value));
    }
    return o;
}

static json_t *print_links(const struct machine *m)
{
    const struct net *net = machine_net(m);
    json_t *list = json_array();

    for (int i = 0; net && i < net_link_count(net); i++)
        json_array_append_new(list, json_pack("[i,i]", net_link(net, i)->from,
                                              net_link(net, i)->to));
    return list;
}

int64_t ntrace_opcode_crc(void)
{
    uint32_t crc = 0;

    for (int i = 0; i < OP_COUNT; i++) {
        const char *name = isa_info((enum isa_opcode)i)->mnemonic;

        crc = ntrace_crc_more(crc, name, strlen(name) + 1);
    }
    return crc;
}

char *ntrace_meta_print(const struct machine *m, const struct ntrace_options *options, size_t *size)
{
    json_t *o = json_object(), *units = json_array(), *stalls = json_array();
    struct unit_view unit;

    put_text(o, "level", trace_level_name(options->level));
    put_text(o, "title", options->title);
    put_text(o, "command", options->command);
    json_object_set_new(o, "window", json_pack("[I,I]", (json_int_t)options->window_first,
                                               (json_int_t)options->window_end));
    json_object_set_new(o, "record_limit", json_integer(options->record_limit));
    put_text(o, "slice", machine_slice(m)->name);
    json_object_set_new(o, "chip", print_chip(machine_chip(m)));
    for (int i = 0; i < machine_unit_count(m); i++) {
        machine_unit(m, 0, i, &unit);
        json_array_append_new(units, json_string(unit.name));
    }
    json_object_set_new(o, "units", units);
    for (int i = 0; i < STALL_COUNT; i++)
        json_array_append_new(stalls, json_string(stall_name((enum stall_reason)i)));
    json_object_set_new(o, "stalls", stalls);
    json_object_set_new(o, "links", print_links(m));
    json_object_set_new(o, "opcodes", json_integer(ntrace_opcode_crc()));
    return print(o, size);
}

char *ntrace_launch_print(const struct ntrace_launch_meta *l, size_t *size)
{
    json_t *o = json_object();

    json_object_set_new(o, "launch", json_integer(l->number));
    json_object_set_new(o, "start", json_integer(l->start));
    if (l->cycles >= 0)
        json_object_set_new(o, "cycles", json_integer(l->cycles));
    put_text(o, "name", l->name);
    if (l->fault)
        put_text(o, "fault", l->fault);
    return print(o, size);
}

char *ntrace_totals_print(const struct ntrace_totals_meta *t, size_t *size)
{
    return print(json_pack("{s:I,s:I,s:I,s:I,s:I}", "records", (json_int_t)t->kept,
                           "left_out_core", (json_int_t)t->core, "left_out_dma",
                           (json_int_t)t->dma, "left_out_hbm", (json_int_t)t->hbm,
                           "left_out_link", (json_int_t)t->link), size);
}
