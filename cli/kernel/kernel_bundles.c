/* The bundles of a kernel beside the lines of its source. */
#include "cli/kernel/kernel.h"

#include <inttypes.h>
#include <string.h>

#include "isa/disasm.h"

struct printer {
    const struct kernel_timed *t;
    int last;                           /* operation of the bundle before */
};

static const struct isa_program *program_of(const struct kernel_timed *t)
{
    return t->view.ops_program;
}

/* the first operation of the kernel that a bundle works for; 0: none */
static int origin_of(const struct printer *p, uint32_t bundle)
{
    const struct isa_bundle *b = &program_of(p->t)->bundle[bundle];

    for (uint32_t i = 0; i < b->op_count; i++)
        if (program_of(p->t)->op[b->first_op + i].origin)
            return program_of(p->t)->op[b->first_op + i].origin;
    return 0;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* where another line begins: what it says */
static void print_source(struct printer *p, int number, FILE *to)
{
    const struct mosaic_op *op = mosaic_op_of(p->t->found->kernel, number);

    if (!op || number == p->last)
        return;
    p->last = number;
    if (!op->place.file)
        return;
    fprintf(to, "// %s:%d  %s", file_name(op->place.file), op->place.line, op->name);
    for (int i = 0; i < p->t->lines.count; i++) {
        const struct kernel_line *l = &p->t->lines.line[i];

        if (l->file && l->line == op->place.line && !strcmp(l->file, op->place.file) && *l->text)
            fprintf(to, "  | %s", l->text);
    }
    fputc('\n', to);
}

static void before_bundle(void *context, uint32_t bundle, bool is_at_line, FILE *to)
{
    struct printer *p = context;
    const double *waited = p->t->waits.waited[bundle];
    int most = 0, number = origin_of(p, bundle);
    struct mosaic_place place = kernel_place(p->t->found->kernel, number);
    char where[24] = "";

    if (!is_at_line) {
        print_source(p, number, to);
        return;
    }
    for (int r = 0; r < STALL_COUNT; r++)
        if (waited[r] > waited[most])
            most = r;
    if (place.file)
        snprintf(where, sizeof(where), ":%d", place.line);
    fprintf(to, "/* %9" PRId64 " %9" PRId64 " %-14s %6s */ ", p->t->view.bundle[bundle].count,
            (int64_t)p->t->view.bundle[bundle].stall_cycles,
            waited[most] > 0 ? stall_name((enum stall_reason)most) : "", where);
}

void kernel_print_beside(const struct kernel_timed *t, FILE *to)
{
    struct printer p = {.t = t};

    fprintf(to, "\n// of each bundle: times issued, cycles waited before it, most of them for what, "
            "line of the source\n");
    isa_print_program_with(program_of(t), before_bundle, &p, to);
}
