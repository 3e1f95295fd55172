/*
 * counters.csv: what XProf's utilization viewer shows of hardware counters, out
 * of ours. Left out are those that only sampling in time could tell: how many
 * matrix or cross-lane units were busy at once.
 */
#include "report/tables/tables.h"

#include "base/units.h"
#include "isa/matrix.h"
#include "sim/chip/limits.h"

#include <math.h>
#include <string.h>

/* sums over the cores that ran */
static int64_t sum_ops(const struct report_view *v, const char *unit)
{
    int64_t sum = 0;

    for (int i = 0; i < v->core_count; i++)
        for (int u = 0; u < v->core[i]->unit_count; u++)
            if (strcmp(v->core[i]->unit[u].name, unit) == 0)
                sum += v->core[i]->unit[u].op_count;
    return sum;
}

/* of units "mxu0", "mxu1"… with `prefix` "mxu" and `suffix` ""; index -1: of all of them */
static int64_t sum_busy(const struct report_view *v, const char *prefix, int index,
                        const char *suffix)
{
    int64_t sum = 0;
    char name[24];

    for (int i = 0; i < v->core_count; i++)
        for (int u = 0; u < v->core[i]->unit_count; u++)
            for (int n = index < 0 ? 0 : index; n <= (index < 0 ? ISA_UNIT_MAX : index); n++) {
                snprintf(name, sizeof(name), "%s%d%s", prefix, n, suffix);
                if (strcmp(v->core[i]->unit[u].name, name) == 0)
                    sum += v->core[i]->unit[u].busy_cycles;
            }
    return sum;
}

static void add(struct table *t, const char *name, int64_t achieved, double peak,
                const char *unit)
{
    table_add_row(t);
    table_put_text(t, COL_COUNTERS_NAME, name);
    table_put_int(t, COL_COUNTERS_ACHIEVED, achieved);
    table_put_int(t, COL_COUNTERS_PEAK, llround(peak));
    table_put_text(t, COL_COUNTERS_UNIT, unit);
    table_put_real(t, COL_COUNTERS_PERCENT, view_percent((double)achieved, peak));
}

/* cycles for which rows of some types hold the arrays of core v->ops_core, as counted there */
static int64_t type_cycles(const struct report_view *v, enum matrix_type first,
                           enum matrix_type last)
{
    const struct isa_program *p = v->ops_program;
    int64_t cycles = 0;

    for (uint32_t i = 0; i < p->op_count; i++) {
        struct matrix_op m;

        if (isa_info((enum isa_opcode)p->op[i].code)->unit != UNIT_MXU)
            continue;
        m = matrix_op_of_isa(&p->op[i]);
        if (m.kind == MATRIX_MULTIPLY && m.type >= first && m.type <= last)
            cycles += v->executed[i] * chip_matmul_cycles(v->chip, m.type);
    }
    return cycles;
}

static void add_slots(const struct report_view *v, struct table *t)
{
    const struct chip *c = v->chip;
    double cycles = (double)v->cycles * v->active_count;

    add(t, "Scalar Unit", sum_ops(v, "scalar"), cycles * (double)c->slots_scalar, "instructions");
    add(t, "Vector ALUs", sum_ops(v, "valu"), cycles * (double)c->slots_valu, "instructions");
    add(t, "EUP", sum_ops(v, "eup"), cycles * (double)c->slots_eup, "instructions");
    add(t, "Vmem Stores", sum_ops(v, "store"),
        cycles * (double)(c->slots_store + c->slots_misc_store), "instructions");
    add(t, "Vmem Loads", sum_ops(v, "load"),
        cycles * (double)(c->slots_load + c->slots_misc_load + c->slots_cmem_load),
        "instructions");
}

static void add_each(const struct report_view *v, const char *label, const char *prefix,
                     int64_t count, struct table *t)
{
    double cycles = (double)v->cycles * v->active_count;
    char name[24];

    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "%s%d", label, i);
        add(t, arena_strdup(t->arena, name), sum_busy(v, prefix, i, ""), cycles, "cycles");
    }
}

static void add_matrix(const struct report_view *v, struct table *t)
{
    static const struct {
        const char *name;
        enum matrix_type first, last;
    } types[] = {
        {"MXU F32", MATRIX_F32, MATRIX_F32}, {"MXU BF16", MATRIX_BF16, MATRIX_BF16},
        {"MXU I8", MATRIX_S8, MATRIX_U8}, {"MXU I4", MATRIX_S4, MATRIX_U4},
        {"MXU E5M2", MATRIX_F8E5M2, MATRIX_F8E5M2},
        {"MXU E4M3", MATRIX_F8E4M3B11FNUZ, MATRIX_F8E4M3FN},
    };
    double cycles = (double)v->cycles * v->active_count, units = (double)v->chip->mxu_count;
    int64_t busy = sum_busy(v, "mxu", -1, "");

    add(t, "Avg MXU Busy", llround((double)busy / units), cycles, "cycles");
    add_each(v, "MXU", "mxu", v->chip->mxu_count, t);
    for (size_t i = 0; v->ops_core >= 0 && i < COUNT_OF(types); i++)
        if (chip_matmul_cycles(v->chip, types[i].last) > 0)
            add(t, types[i].name, type_cycles(v, types[i].first, types[i].last),
                (double)v->cycles * units, "cycles of one core");
    add(t, "MXU matpush", sum_busy(v, "mxu", -1, ".push"), cycles * units, "cycles");
    add(t, "Avg XLU Busy",
        llround((double)sum_busy(v, "xlu", -1, "") / (double)v->chip->xlu_count), cycles, "cycles");
    add_each(v, "XLU", "xlu", v->chip->xlu_count, t);
}

static void add_traffic(const struct report_view *v, struct table *t)
{
    int64_t read = 0, write = 0, sent = 0, received = 0;
    double seconds = view_seconds(v), ici;

    for (int i = 0; i < v->chip_count; i++) {
        read += v->hbm[i]->read_bytes;
        write += v->hbm[i]->write_bytes;
    }
    for (int i = 0; i < v->core_count; i++) {
        sent += v->core[i]->ici_sent_bytes;
        received += v->core[i]->ici_received_bytes;
    }
    add(t, "HBM Rd+Wr", read + write,
        chip_hbm_peak_bytes_per_second(v->chip) * v->active_chip_count * seconds, "bytes");
    add(t, "HBM Read Ratio", read, (double)(read + write), "bytes");
    add(t, "HBM Write Ratio", write, (double)(read + write), "bytes");
    ici = v->chip->ici_link_gbps * 1e9 * seconds * v->link_count;
    add(t, "ICI (Read)", received, ici, "bytes");
    add(t, "ICI (Write)", sent, ici, "bytes");
}

void table_fill_counters(const struct report_view *v, struct table *t)
{
    add_slots(v, t);
    add_matrix(v, t);
    add_traffic(v, t);
}
