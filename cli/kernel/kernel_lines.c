/*
 * Cycles by line of the Python source (report/view/line_share.h): each operation in the bundles has
 * the number of the kernel's operation that it is for. What has no number is the machinery of grid
 * and loops.
 */
#include "cli/kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

struct mosaic_place kernel_place(const struct mosaic_kernel *k, int number)
{
    const struct mosaic_op *op = mosaic_op_of(k, number);

    return op ? op->place : (struct mosaic_place){NULL, NULL, 0, 0};
}

/* the text of a line of a file, without what is around it; "": it is not here */
static const char *text_of(const char *file, int line, struct arena *a)
{
    FILE *f = fopen(file, "r");
    char buf[512] = "";

    if (!f)
        return "";
    for (int i = 0; i < line; i++)
        if (!fgets(buf, sizeof(buf), f))
            buf[0] = '\0';
    fclose(f);
    buf[strcspn(buf, "\r\n")] = '\0';
    return arena_strdup(a, buf + strspn(buf, " \t"));
}

static int find_line(struct kernel_source *s, size_t *capacity, const struct mosaic_place *p)
{
    for (int i = 1; i < s->count; i++)
        if (s->line[i].line == p->line &&
            (s->line[i].file == p->file || !strcmp(s->line[i].file, p->file)))
            return i;
    MEM_ADD(s->line, s->count, *capacity) = (struct kernel_line){.file = p->file, .line = p->line};
    return s->count - 1;
}

void kernel_source_of(const struct isa_program *p, const struct mosaic_kernel *k, struct arena *a,
                      struct kernel_source *to)
{
    struct kernel_line *list;
    size_t capacity = 0;

    *to = (struct kernel_source){.number_count = k->operation_count + 1};
    to->of_number = arena_array(a, (size_t)to->number_count, sizeof(*to->of_number));
    to->of_op = arena_array(a, (size_t)p->op_count + 1, sizeof(*to->of_op));
    MEM_ADD(to->line, to->count, capacity) =
        (struct kernel_line){.text = "steps of the grid, blocks, ends of loops"};
    for (uint32_t i = 0; i < p->op_count; i++) {
        int number = p->op[i].origin < to->number_count ? p->op[i].origin : 0;
        struct mosaic_place place = kernel_place(k, number);

        if (number && !to->of_number[number] && place.file)
            to->of_number[number] = find_line(to, &capacity, &place);
        to->of_op[i] = to->of_number[number];
    }
    list = arena_copy(a, to->line, (size_t)to->count, sizeof(*list));
    mem_free(to->line);
    to->line = list;
    for (int i = 1; i < to->count; i++)
        list[i].text = text_of(list[i].file, list[i].line, a);
}

static int by_cycles(const void *a, const void *b)
{
    const struct kernel_line *x = a, *y = b;
    double left = x->sums.issued + x->sums.waited, right = y->sums.issued + y->sums.waited;

    return left != right ? (left < right) - (left > right) : x->line - y->line;
}

void kernel_lines(const struct report_view *v, const struct kernel_waits *w,
                  const struct kernel_source *s, struct arena *a, struct kernel_lines *to)
{
    const struct isa_program *p = v->ops_program;
    struct line_sums *sums = arena_array(a, (size_t)s->count, sizeof(*sums));
    struct kernel_line *line = arena_copy(a, s->line, (size_t)s->count, sizeof(*line));

    for (uint32_t b = 0; b < p->bundle_count; b++) {
        struct bundle_sums of = {.issued = (double)v->bundle[b].count,
                                 .bytes = (double)v->bundle[b].copies.hbm_bytes};

        memcpy(of.waited, w->waited[b], sizeof(of.waited));
        line_share(p, s->of_op, b, &of, sums);
    }
    for (int i = 0; i < s->count; i++)
        line[i].sums = sums[i];
    *to = (struct kernel_lines){line, s->count};
    if (sums[0].issued + sums[0].waited == 0)   /* nothing is for no line */
        *to = (struct kernel_lines){line + 1, s->count - 1};
    qsort(to->line, (size_t)to->count, sizeof(*to->line), by_cycles);
}

#define SOURCE_CHARS 72                 /* of a line behind its number in a note */

/* ----- notes of bundles: "kernels.py:33  s = jnp.dot(q, k)" */

static bool is_note_of(const char *note, const struct mosaic_place *p)
{
    const char *slash = p->file ? strrchr(p->file, '/') : NULL, *name = slash ? slash + 1 : p->file;
    size_t length = p->file ? strlen(name) : 0;

    return p->file && !strncmp(note, name, length) && note[length] == ':' &&
           strtol(note + length + 1, NULL, 10) == p->line;
}

void kernel_tell_source(const struct mosaic_kernel *k, struct isa_program *p, struct arena *a)
{
    const char **list = arena_array(a, (size_t)p->note_count + 1, sizeof(*list));

    for (uint32_t n = 0; n < p->note_count; n++) {
        list[n] = p->note[n];
        for (int i = 1; i <= k->operation_count; i++) {
            struct mosaic_place place = kernel_place(k, i);
            const char *text;

            if (!is_note_of(p->note[n], &place))
                continue;
            text = text_of(place.file, place.line, a);
            if (*text)
                list[n] = arena_printf(a, "%s  %.*s", p->note[n], SOURCE_CHARS, text);
            break;
        }
    }
    p->note = list;
}
