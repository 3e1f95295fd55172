/* Writes config.ini: the options of a run, and every parameter of its chip with its source. */
#include "report/folder/files.h"

#include <string.h>

#define LINE_CHARS 190                  /* inih reads lines of up to 198 characters */

static bool starts_section(const char *section, const char *previous)
{
    return !previous || strcmp(section, previous) != 0;
}

/* a value never spans lines, whatever the user passed */
static void print_value(const char *value, FILE *to)
{
    for (; *value; value++)
        fputc((unsigned char)*value < ' ' ? ' ' : *value, to);
}

static void print_options(const struct report_run *r, FILE *to)
{
    const char *section = NULL;

    for (size_t i = 0; i < r->option_count; i++) {
        const struct report_option *o = &r->option[i];

        if (starts_section(o->section, section))
            fprintf(to, "\n[%s]\n", o->section);
        section = o->section;
        fprintf(to, "%s = ", o->key);
        print_value(o->value, to);
        fprintf(to, " ; %s\n", o->origin);
    }
}

static void print_param(const struct chip *chip, const struct report_run *r, size_t index,
                        FILE *to)
{
    const struct chip_param *p = &chip_params[index];
    const struct chip_origin *o = &r->chip_origins[index];
    const char *origin = o->origin ? o->origin : "", *note = o->note ? o->note : "";
    const char *comma = *note ? ", " : "";
    char value[CHIP_TEXT_BYTES];

    chip_print_param(chip, index, value, sizeof(value));
    /* a long note stands on a line of its own, so that the file can be read back */
    if (strlen(p->key) + strlen(value) + strlen(origin) + strlen(note) + 8 > LINE_CHARS) {
        fprintf(to, "; %.*s\n", LINE_CHARS - 4, note);
        note = comma = "";
    }
    fprintf(to, "%s = %s ; %s%s%s\n", p->key, value, origin, comma, note);
}

static void print_chip(const struct report_run *r, const struct report_view *v, FILE *to)
{
    const char *section = NULL;

    fprintf(to, "\n; From here on a chip file of its own: key = value ; origin, provenance.\n");
    for (size_t i = 0; i < chip_param_count; i++) {
        if (starts_section(chip_params[i].section, section))
            fprintf(to, "\n[%s]\n", chip_params[i].section);
        section = chip_params[i].section;
        print_param(v->chip, r, i, to);
    }
}

void config_print(const struct report_run *r, const struct report_view *v, FILE *to)
{
    fprintf(to, "; The resolved configuration of a run: every parameter with its origin.\n");
    if (v)
        fprintf(to, "; %s\n", slice_print(v->slice).text);
    if (r->command.name)
        command_print(&r->command, to);
    print_options(r, to);
    if (v && r->chip_origins)
        print_chip(r, v, to);
    else
        fprintf(to, "\n; No chip: the run used the host reference interpreter.\n");
}
