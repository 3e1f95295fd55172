/* A kernel as text, an operation a line, for readers. */
#include "stack/mosaic/mosaic.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

static void print_block(const struct mosaic_block *b, int indent, FILE *to);

static void print_values(struct mosaic_value *const *v, int count, FILE *to)
{
    for (int i = 0; i < count; i++)
        text_print_file(to, "%s%%%d", i ? ", " : "", v[i]->id);
}

static void print_types(struct mosaic_value *const *v, int count, FILE *to)
{
    char buf[128];

    for (int i = 0; i < count; i++)
        text_print_file(to, "%s%s", i ? ", " : "", mosaic_type_print(&v[i]->type, buf,
                                                                    sizeof(buf)));
}

static void print_element(const struct mosaic_attr *a, int i, FILE *to)
{
    float f;

    memcpy(&f, &a->element[i], sizeof(f));
    if (mosaic_is_float(&a->type))
        text_print_file(to, "%g", (double)f);
    else
        text_print_file(to, "%d", (int)a->element[i]);
}

static void print_attr(const struct mosaic_attr *a, FILE *to)
{
    char buf[128];

    text_print_file(to, "%s = ", a->name);
    switch (a->kind) {
    case MOSAIC_ATTR_INT: text_print_file(to, "%" PRId64, a->integer); return;
    case MOSAIC_ATTR_FLOAT: text_print_file(to, "%g", a->number); return;
    case MOSAIC_ATTR_TEXT: text_print_file(to, "<%s>", a->text); return;
    case MOSAIC_ATTR_TYPE: fputs(mosaic_type_print(&a->type, buf, sizeof(buf)), to); return;
    case MOSAIC_ATTR_INTS:
        for (int i = 0; i < a->count; i++)
            text_print_file(to, "%s%" PRId64, i ? ", " : "[", a->ints[i]);
        fputs(a->count ? "]" : "[]", to);
        return;
    case MOSAIC_ATTR_ELEMENTS:
        fputs("dense<", to);
        for (int i = 0; i < a->count && i < 8; i++) {
            fputs(i ? ", " : "", to);
            print_element(a, i, to);
        }
        fputs(a->count > 8 ? ", ...>" : ">", to);
        return;
    }
}

static void print_op(const struct mosaic_op *op, int indent, FILE *to)
{
    text_print_file(to, "%*s", indent, "");
    print_values(op->result, op->result_count, to);
    text_print_file(to, "%s%s ", op->result_count ? " = " : "", op->name);
    print_values(op->operand, op->operand_count, to);
    for (int i = 0; i < op->attr_count; i++) {
        fputs(i ? ", " : " {", to);
        print_attr(&op->attr[i], to);
    }
    fputs(op->attr_count ? "} : " : " : ", to);
    print_types(op->operand, op->operand_count, to);
    fputs(op->result_count ? " -> " : "", to);
    print_types(op->result, op->result_count, to);
    if (op->place.file)
        text_print_file(to, "  // %s:%d", op->place.file, op->place.line);
    fputc('\n', to);
    for (int i = 0; i < op->region_count; i++) {
        text_print_file(to, "%*sregion %d(", indent + 2, "", i);
        print_values(op->region[i]->argument, op->region[i]->argument_count, to);
        fputs(")\n", to);
        print_block(op->region[i], indent + 4, to);
    }
}

static void print_block(const struct mosaic_block *b, int indent, FILE *to)
{
    for (int i = 0; i < b->op_count; i++)
        print_op(b->op[i], indent, to);
}

static void print_window(const struct mosaic_window *w, const struct mosaic_type *t, FILE *to)
{
    if (!w->is_windowed) {
        fputs(" whole array", to);
        return;
    }
    for (int d = 0; t && d < t->rank; d++)
        text_print_file(to, "%s%" PRId64, d ? ", " : " block [", w->bound[d]);
    text_print_file(to, "] @%s, %d buffer%s", w->transform->name, w->buffers,
                    w->buffers > 1 ? "s" : "");
}

void mosaic_print(const struct mosaic_kernel *k, FILE *to)
{
    char buf[128];

    text_print_file(to, "kernel %s, serialization %d, grid [", k->name, k->version);
    for (int i = 0; i < k->grid_rank; i++) {
        if (k->grid[i] == MOSAIC_DYNAMIC)
            text_print_file(to, "%s?", i ? ", " : "");
        else
            text_print_file(to, "%s%" PRId64, i ? ", " : "", k->grid[i]);
    }
    text_print_file(to, "], %d prefetched, %d scratch\n", k->prefetch_count, k->scratch_count);
    for (int i = 0; i < k->operand_count; i++) {
        const struct mosaic_type *t = k->array ? &k->array[k->prefetch_count + i] : NULL;

        text_print_file(to, "  operand %d%s%s:", i, t ? " " : "",
                        t ? mosaic_type_print(t, buf, sizeof(buf)) : "");
        print_window(&k->window[i], t, to);
        fputc('\n', to);
    }
    for (int i = 0; i < k->function_count; i++) {
        const struct mosaic_block *b = k->function[i]->body;

        text_print_file(to, "function %s(", k->function[i]->name);
        for (int j = 0; j < b->argument_count; j++)
            text_print_file(to, "%s%%%d: %s%s%s", j ? ", " : "", b->argument[j]->id,
                            b->argument[j]->name ? b->argument[j]->name : "",
                            b->argument[j]->name ? " " : "",
                            mosaic_type_print(&b->argument[j]->type, buf, sizeof(buf)));
        fputs(")\n", to);
        print_block(b, 2, to);
    }
}
