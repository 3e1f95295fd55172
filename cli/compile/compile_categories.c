/* Prints what the kernels of a step are together, by category, as XProf's statistics have them. */
#include "cli/compile/compile.h"

#include "base/table.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum {
    CATEGORIES_MAX = 32,
    KERNELS_MANY = 12                   /* fewer are seen at a glance */
};

struct category { const char *name; int64_t kernels, bytes, cycles; };

static struct category *category_of(struct category *list, int *count, const char *name)
{
    for (int i = 0; i < *count; i++)
        if (!strcmp(list[i].name, name))
            return &list[i];
    if (*count == CATEGORIES_MAX)
        return NULL;
    list[*count] = (struct category){.name = name};
    return &list[(*count)++];
}

static int by_cycles(const void *a, const void *b)
{
    const struct category *x = a, *y = b;

    if (x->cycles != y->cycles)
        return x->cycles < y->cycles ? 1 : -1;
    return strcmp(x->name, y->name);
}

void compile_print_categories(const struct module *m, const struct compile_times *times)
{
    const struct table_field fields[] = {
        {TABLE_SHOWN(TEXT, NULL, "category"), .width = 24},
        {TABLE_SHOWN(INT, NULL, "kernels"), .width = 8},
        {TABLE_SHOWN(INT, NULL, "bytes"), .width = 18},
        {.heading = times ? "simulated" : "predicted", .kind = CELL_INT, .is_shown = true,
         .width = 15}};
    struct category list[CATEGORIES_MAX], all = {.name = "all"};
    struct table t;
    int count = 0;

    if (m->kernel_count < KERNELS_MANY)
        return;
    for (int i = 0; i < m->kernel_count; i++) {
        const struct module_kernel *k = &m->kernel[i];
        struct category *c = category_of(list, &count, k->category);
        int64_t cycles = times ? times->kernel_cycles[0][i]
                               : k->segment->cost.total_cycles * k->times;

        for (struct category *to = c; to; to = to == &all ? NULL : &all) {
            to->kernels += k->times;
            to->bytes += k->payload_bytes * k->times;
            to->cycles += cycles;
        }
    }
    qsort(list, (size_t)count, sizeof(*list), by_cycles);
    table_begin_count(&t, fields, COUNT_OF(fields), NULL);
    t.indent = "";
    for (int i = 0; i <= count; i++) {
        const struct category *c = i < count ? &list[i] : &all;

        TABLE_ROW(&t, cell_text(c->name), cell_int(c->kernels), cell_int(c->bytes),
                  cell_int(c->cycles));
    }
    table_print_text(&t, stdout);
    table_end(&t);
    printf("\n");
}
