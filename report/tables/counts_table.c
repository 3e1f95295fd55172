/* Fills the table of a launch in functional mode, which knows what was done but not when. */
#include "report/tables/step_table.h"

#include "base/text.h"

#include <inttypes.h>

struct totals {
    int64_t bundles, flops;
    int64_t hbm_read, hbm_write, ici_sent;
};

static struct totals totals_of(const struct report_view *v)
{
    struct totals t = {0};

    for (int i = 0; i < v->core_count; i++) {
        t.bundles += v->core[i]->issue_cycles;
        t.flops += v->core[i]->matmul_flops;
        t.hbm_read += v->core[i]->hbm_read_bytes;
        t.hbm_write += v->core[i]->hbm_write_bytes;
        t.ici_sent += v->core[i]->ici_sent_bytes;
    }
    return t;
}

static void print_count(const char *name, int64_t count, const char *unit, FILE *to)
{
    fprintf(to, "  %-24s%20s%s%s\n", name, text_thousands(count).text, *unit ? " " : "", unit);
}

static int64_t unit_ops(const struct report_view *v, int unit)
{
    int64_t ops = 0;

    for (int i = 0; i < v->core_count; i++)
        ops += v->core[i]->unit[unit].op_count;
    return ops;
}

void counts_table_print(const struct report_view *v, FILE *to)
{
    struct totals t = totals_of(v);

    fprintf(to, "%s on %s; %s\n", v->title, slice_print(v->slice).text, v->chip->chip_name);
    fprintf(to, "  functional mode: cycles were not simulated\n\n");
    fprintf(to, "what %d core%s did\n", v->active_count, v->active_count == 1 ? "" : "s");
    print_count("bundles", t.bundles, "", to);
    for (int i = 0; i < v->core[0]->unit_count; i++)
        print_count(v->core[0]->unit[i].name, unit_ops(v, i), "operations", to);
    print_count("issued", t.flops, "FLOP", to);
    print_count("HBM read", t.hbm_read, "B", to);
    print_count("HBM written", t.hbm_write, "B", to);
    print_count("sent between chips", t.ici_sent, "B", to);
}
