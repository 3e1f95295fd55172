/* Groups source operations by category, sorts both by time, and prints them as a tree. */
#include "report/tables/op_tree.h"

#include "base/text.h"

#include <string.h>

#define NAME_CHARS 40

struct category {
    const char *name;
    int64_t cycles, wasted, dma_stall;
    double us, self_pct;
};

static struct category *find(struct category *list, size_t *count, const char *name)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    list[*count] = (struct category){.name = name};
    return &list[(*count)++];
}

static size_t gather(const struct table *ops, struct category *list)
{
    size_t count = 0;

    for (size_t i = 0; i < ops->row_count; i++) {
        struct category *c = find(list, &count, table_text(ops, i, COL_OPS_CATEGORY));

        c->cycles += table_int(ops, i, COL_OPS_CYCLES);
        c->wasted += table_int(ops, i, COL_OPS_WASTED);
        c->dma_stall += table_int(ops, i, COL_OPS_DMA_STALL);
        c->us += table_real(ops, i, COL_OPS_TOTAL_US);
        c->self_pct += table_real(ops, i, COL_OPS_SELF_PCT);
    }
    return count;
}

/* few enough to be put in order one by one */
static void sort(struct category *list, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && list[j].cycles > list[j - 1].cycles; j--) {
            struct category c = list[j];

            list[j] = list[j - 1];
            list[j - 1] = c;
        }
}

static void print_line(const char *indent, const char *name, int64_t cycles, double pct,
                       double us, int64_t dma_stall, FILE *to)
{
    double stalls = cycles ? 100.0 * (double)dma_stall / (double)cycles : 0.0;

    fprintf(to, "  %s%-*.*s %12s %6.1f %% %12.3f us %6.1f %%", indent,
            NAME_CHARS - (int)strlen(indent), NAME_CHARS - (int)strlen(indent), name,
            text_thousands(cycles).text, pct, us, stalls);
}

static void print_op(const struct table *ops, size_t row, FILE *to)
{
    print_line("  ", table_text(ops, row, COL_OPS_FRAMEWORK),
               table_int(ops, row, COL_OPS_CYCLES), table_real(ops, row, COL_OPS_SELF_PCT),
               table_real(ops, row, COL_OPS_TOTAL_US), table_int(ops, row, COL_OPS_DMA_STALL), to);
    if (*table_text(ops, row, COL_OPS_BOUND))
        fprintf(to, " %12.1f %10.1f  %s", table_real(ops, row, COL_OPS_FLOP_RATE),
                table_real(ops, row, COL_OPS_HBM_BW), table_text(ops, row, COL_OPS_BOUND));
    fputc('\n', to);
}

void op_tree_print(const struct table *ops, size_t top, FILE *to)
{
    struct category *list = arena_array(ops->arena, ops->row_count + 1, sizeof(*list));
    size_t count = gather(ops, list);

    fprintf(to, "%s, by category\n", table_info(TABLE_OPS)->title);
    if (count == 0) {
        fprintf(to, "  (none)\n");
        return;
    }
    sort(list, count);
    fprintf(to, "  %-*s %12s %8s %15s %8s %12s %10s  %s\n", NAME_CHARS, "category, operation",
            "cycles", "of core", "time", "DMA wait", "GFLOP/s", "HBM GiB/s", "bound by");
    for (size_t i = 0; i < count; i++) {
        print_line("", *list[i].name ? list[i].name : "(all)", list[i].cycles, list[i].self_pct,
                   list[i].us, list[i].dma_stall, to);
        fputc('\n', to);
        for (size_t row = 0; row < ops->row_count && (!top || row < top); row++)
            if (strcmp(table_text(ops, row, COL_OPS_CATEGORY), list[i].name) == 0)
                print_op(ops, row, to);
    }
}
