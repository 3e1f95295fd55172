/*
 * Notes of a kernel's bundles: the line of the source that they are for, so that traces, reports and
 * the viewer speak of lines. A bundle of several lines has that of its first operation; one without
 * operations has that of the next.
 */
#include "stack/kernels/mosaic/lower.h"

#include <string.h>

struct notes {
    const struct lower *l;
    const char **text;                  /* by operation's number; NULL: not made yet */
    const char *own;                    /* of the machinery of grid and loops */
};

static const char *text_of(struct notes *n, int number)
{
    const struct mosaic_op *op;
    const char *slash;

    if (number > n->l->k->operation_count)
        return n->own;
    if (n->text[number])
        return n->text[number];
    op = mosaic_op_of(n->l->k, number);
    n->text[number] = n->own;
    if (op && op->place.file) {
        slash = strrchr(op->place.file, '/');
        n->text[number] = arena_printf(n->l->a, "%s:%d", slash ? slash + 1 : op->place.file,
                                       op->place.line);
    }
    return n->text[number];
}

static uint32_t line_of(const struct notes *n, int number)
{
    const struct mosaic_op *op = mosaic_op_of(n->l->k, number);

    return op && op->place.file && op->place.line > 0 ? (uint32_t)op->place.line : 0;
}

static int origin_of(const struct isa_program *p, uint32_t bundle)
{
    const struct isa_bundle *b;

    while (p->bundle[bundle].op_count == 0 && bundle + 1 < p->bundle_count)
        bundle++;
    b = &p->bundle[bundle];
    for (uint32_t i = 0; i < b->op_count; i++)
        if (p->op[b->first_op + i].origin)
            return p->op[b->first_op + i].origin;
    return 0;
}

/* bundles that only spill keep their notes */
static bool is_kept(const struct isa_program *p, uint32_t bundle)
{
    const char *note = p->bundle[bundle].note ? p->note[p->bundle[bundle].note - 1] : "";

    return strstr(note, VCODE_SPILL_SUFFIX) != NULL;
}

static uint32_t number_of(struct isa_program *p, const char **list, const char *text)
{
    for (uint32_t i = 0; i < p->note_count; i++)
        if (!strcmp(list[i], text))
            return i + 1;
    list[p->note_count++] = text;
    return p->note_count;
}

void pallas_note_lines(const struct lower *l, struct isa_program *p)
{
    struct notes n = {.l = l, .own = arena_printf(l->a, "%s, grid and loops", l->k->name)};
    size_t most = (size_t)p->note_count + (size_t)l->k->operation_count + 1;
    const char **list = arena_array(l->a, most, sizeof(*list));

    n.text = arena_array(l->a, (size_t)l->k->operation_count + 1, sizeof(*n.text));
    if (p->note_count)
        memcpy(list, p->note, p->note_count * sizeof(*list));
    for (uint32_t b = 0; b < p->bundle_count; b++) {
        int number = origin_of(p, b);

        p->bundle[b].line = line_of(&n, number);
        if (!is_kept(p, b))
            p->bundle[b].note = number_of(p, list, text_of(&n, number));
    }
    p->note = list;
}
