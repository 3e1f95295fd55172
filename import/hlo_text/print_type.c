/* Prints types with their layouts. */
#include "import/hlo_text/printer.h"

#include <inttypes.h>
#include <string.h>

/* When a field that is only kept stands among those that a layout knows: D, T, L # *, E, S, others */
enum { BEFORE_TILES, BEHIND_TILES, LAST };

static int place_of(const char *field)
{
    return *field == 'D' ? BEFORE_TILES : strchr("L#*", *field) ? BEHIND_TILES : LAST;
}

static const char *end_of_field(const char *p)
{
    int depth = 0;

    while (*p && *p != '(')
        p++;
    do {
        depth += *p == '(';
        depth -= *p == ')';
        p += *p != 0;
    } while (*p && (depth > 0 || *p == '('));
    return p;
}

static void print_rest(struct hlo_printer *p, const struct hlo_layout *l, int place)
{
    for (const char *field = l->rest, *end; field && *field; field = end) {
        end = end_of_field(field);
        if (place_of(field) == place)
            fprintf(p->to, "%.*s", (int)(end - field), field);
    }
}

static void print_tiles(struct hlo_printer *p, const struct hlo_layout *l)
{
    if (l->tile_count)
        fputc('T', p->to);
    for (int n = 0; n < l->tile_count; n++) {
        for (int d = 0; d < l->tile[n].count; d++) {
            fputc(d ? ',' : '(', p->to);
            if (l->tile[n].item[d] < 0)
                fputc('*', p->to);
            else
                fprintf(p->to, "%" PRId64, l->tile[n].item[d]);
        }
        fputc(')', p->to);
    }
}

static void print_layout(struct hlo_printer *p, const struct hlo_layout *l)
{
    bool has_fields = l->tile_count || l->element_bits || l->memory_space || l->rest;

    if (l->minor_to_major.count == 0 && !has_fields)
        return;
    fputc('{', p->to);
    hlo_print_ints(p, l->minor_to_major);
    if (has_fields) {
        fputc(':', p->to);
        print_rest(p, l, BEFORE_TILES);
        print_tiles(p, l);
        print_rest(p, l, BEHIND_TILES);
        if (l->element_bits)
            fprintf(p->to, "E(%d)", l->element_bits);
        if (l->memory_space)
            fprintf(p->to, "S(%d)", l->memory_space);
        print_rest(p, l, LAST);
    }
    fputc('}', p->to);
}

static void print_parts(struct hlo_printer *p, const struct hlo_type *t)
{
    fputc('(', p->to);
    for (int n = 0; n < t->part_count; n++) {
        if (n)
            fputs(", ", p->to);
        hlo_print_type(p, &t->part[n]);
    }
    fputc(')', p->to);
}

static void print_array(struct hlo_printer *p, const struct hlo_type *t)
{
    fprintf(p->to, "%s[", hlo_element_name(t->element));
    for (int d = 0; d < t->rank; d++) {
        if (d)
            fputc(',', p->to);
        if (t->dim[d] == HLO_UNBOUNDED)
            fputc('?', p->to);
        else
            fprintf(p->to, "%s%" PRId64, t->is_bounded && t->is_bounded[d] ? "<=" : "", t->dim[d]);
    }
    fputc(']', p->to);
    if (t->layout && !p->no_layouts)
        print_layout(p, t->layout);
}

void hlo_print_type(struct hlo_printer *p, const struct hlo_type *t)
{
    fputs(t->is_buffer ? "b(" : "", p->to);
    if (t->element == ELEMENT_TUPLE)
        print_parts(p, t);
    else
        print_array(p, t);
    fputs(t->is_buffer ? ")" : "", p->to);
}
