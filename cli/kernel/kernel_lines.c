/*
 * Cycles by line of the Python source.
 *
 * Each operation in the bundles has the number of the kernel's operation that it is for. A bundle's
 * issue cycles are shared by the lines of its operations, its waits by those whose operations can
 * wait for such a thing, where there are any; a bundle without operations counts for the next. What
 * has no number is the machinery of grid and loops.
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

struct sharing {
    const struct report_view *v;
    const struct mosaic_kernel *k;
    struct arena *arena;
    struct kernel_lines *to;
    size_t capacity;
    int *line_of;                       /* by number of operation: the line, -1: not looked up */
};

static int find_line(struct sharing *s, const char *file, int line)
{
    for (int i = 0; i < s->to->count; i++) {
        const struct kernel_line *l = &s->to->line[i];

        if (l->line == line && (file == l->file || (file && l->file && !strcmp(file, l->file))))
            return i;
    }
    MEM_ADD(s->to->line, s->to->count, s->capacity) = (struct kernel_line){
        .file = file, .line = line,
        .text = file ? "" : "steps of the grid, blocks, ends of loops"};
    return s->to->count - 1;
}

static int line_of(struct sharing *s, int number)
{
    if (number > s->k->operation_count)
        number = 0;
    if (s->line_of[number] < 0) {
        struct mosaic_place p = kernel_place(s->k, number);

        s->line_of[number] = find_line(s, p.file, p.file ? p.line : 0);
    }
    return s->line_of[number];
}

/* may an operation make its bundle wait for this */
static bool may_wait(const struct isa_op *op, enum stall_reason r)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    switch (r) {
    case STALL_MXU: case STALL_STAGING: case STALL_RESULT: return info->unit == UNIT_MXU;
    case STALL_XLU: return info->unit == UNIT_XLU;
    case STALL_EUP: return info->unit == UNIT_EUP;
    case STALL_BANK: return info->slot == SLOT_LOAD || info->slot == SLOT_STORE;
    case STALL_STORE_LOAD: return info->slot == SLOT_LOAD;
    case STALL_HBM: case STALL_ICI: case STALL_SYNC: return info->slot == SLOT_MISC;
    case STALL_DMA_QUEUE: return info->slot == SLOT_DMA;
    default: return true;
    }
}

#define LINES_MAX ISA_BUNDLE_OP_MAX

/* different lines of a bundle's operations, those that may wait for `r`; STALL_COUNT: all. Those of
 * no line count only where there are no others. */
static int lines_in(struct sharing *s, const struct isa_bundle *b, enum stall_reason r,
                    int list[LINES_MAX])
{
    int count = 0;

    for (int pass = 0; pass < 2 && !count; pass++)
        for (int i = 0; i < b->op_count; i++) {
            const struct isa_op *op = &s->v->ops_program->op[b->first_op + (uint32_t)i];
            int line, k;

            if ((!op->origin && !pass) || (r != STALL_COUNT && !may_wait(op, r)))
                continue;
            line = line_of(s, op->origin);
            for (k = 0; k < count && list[k] != line; k++)
                continue;
            if (k == count && count < LINES_MAX)
                list[count++] = line;
        }
    return count;
}

/* the bundle that an empty one lets time pass for: the next with operations */
static const struct isa_bundle *worked_for(const struct isa_program *p, uint32_t number)
{
    while (p->bundle[number].op_count == 0 && number + 1 < p->bundle_count)
        number++;
    return &p->bundle[number];
}

static void share_bundle(struct sharing *s, uint32_t number, const double *waited)
{
    const struct isa_bundle *b = worked_for(s->v->ops_program, number);
    int all[LINES_MAX], some[LINES_MAX], count = lines_in(s, b, STALL_COUNT, all);

    if (!count)
        all[count++] = line_of(s, 0);
    for (int i = 0; i < count; i++) {
        s->to->line[all[i]].issued += (double)s->v->bundle[number].count / count;
        s->to->line[all[i]].bytes += (double)s->v->bundle[number].copies.hbm_bytes / count;
    }
    for (int r = 0; r < STALL_COUNT; r++) {
        const int *list = some;
        int n = waited[r] > 0 ? lines_in(s, b, (enum stall_reason)r, some) : 0;

        if (!n) {
            list = all;
            n = count;
        }
        for (int i = 0; i < n; i++) {
            s->to->line[list[i]].stall[r] += waited[r] / n;
            s->to->line[list[i]].waited += waited[r] / n;
        }
    }
}

static int by_cycles(const void *a, const void *b)
{
    const struct kernel_line *x = a, *y = b;
    double left = x->issued + x->waited, right = y->issued + y->waited;

    return left != right ? (left < right) - (left > right) : x->line - y->line;
}

#define SOURCE_CHARS 72                 /* of a line behind its number in a note */

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

void kernel_lines(const struct report_view *v, const struct kernel_waits *w,
                  const struct mosaic_kernel *k, struct arena *a, struct kernel_lines *to)
{
    struct sharing s = {.v = v, .k = k, .arena = a, .to = to};
    struct kernel_line *kept;

    *to = (struct kernel_lines){NULL, 0};
    s.line_of = arena_array(a, (size_t)k->operation_count + 1, sizeof(*s.line_of));
    for (int i = 0; i <= k->operation_count; i++)
        s.line_of[i] = -1;
    for (uint32_t b = 0; b < v->ops_program->bundle_count; b++)
        share_bundle(&s, b, w->waited[b]);
    kept = arena_copy(a, to->line, (size_t)to->count, sizeof(*kept));
    mem_free(to->line);
    to->line = kept;
    qsort(to->line, (size_t)to->count, sizeof(*to->line), by_cycles);
    for (int i = 0; i < to->count; i++)
        if (to->line[i].file)
            to->line[i].text = text_of(to->line[i].file, to->line[i].line, a);
}

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
