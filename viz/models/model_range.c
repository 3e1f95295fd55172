/* Sums what cores and links did between two cycles, and words it as lines of a card. */
#include "viz/models/model_range.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "isa/matrix.h"
#include "viz/view/quantity.h"

/* FLOPs of a busy cycle of a matrix unit: of the core's products, which are mostly of one type */
static double flops_per_cycle(struct ntrace *t, int core)
{
    const struct isa_program *p = ntrace_program(t, core);
    const struct trace_op *op = ntrace_op_table(t, core);
    double size = (double)ntrace_info(t)->chip->mxu_size, rows = 0, cycles = 0;

    for (uint32_t i = 0; p && op && i < p->op_count; i++) {
        struct matrix_op m;

        if (isa_info((enum isa_opcode)p->op[i].code)->unit != UNIT_MXU || !op[i].busy_cycles)
            continue;
        m = matrix_op_of_isa(&p->op[i]);
        if (m.kind != MATRIX_MULTIPLY)
            continue;
        rows += matrix_rows(m.type);
        cycles += op[i].busy_cycles;
    }
    return cycles > 0 ? 2 * rows * size * size / cycles : 0;
}

static bool is_array(const char *unit)
{
    return strncmp(unit, "mxu", 3) == 0 && !strchr(unit, '.');
}

static void sum_core(struct ntrace *t, int core, struct range_sums *to)
{
    int64_t cell[NTRACE_CELL_COUNT] = {0};
    int64_t cycles = to->end - to->from, arrays = 0, busy = 0;

    ntrace_sum(t, NTRACE_CORE, core, to->from, to->end, cell);
    to->issue = cell[NTRACE_CELL_ISSUE];
    to->idle = cell[NTRACE_CELL_IDLE];
    memcpy(to->stall, cell + NTRACE_CELL_STALL, sizeof(to->stall));
    memcpy(to->busy, cell + NTRACE_CELL_UNIT, sizeof(to->busy));
    to->unit_count = ntrace_info(t)->unit_count;
    for (int i = 0; i < to->unit_count; i++)
        if (is_array(ntrace_unit_name(t, i))) {
            arrays++;
            busy += to->busy[i];
        }
    to->mxu_share = arrays && cycles ? (double)busy / (double)(arrays * cycles) : 0;
    to->flops = busy ? (double)busy * flops_per_cycle(t, core) : 0;
}

static void sum_links(struct ntrace *t, int chip, struct range_sums *to)
{
    int64_t cell[NTRACE_LINK_COUNT];
    int from, end;
    double share;

    for (int i = 0; i < ntrace_info(t)->link_count; i++) {
        ntrace_link_ends(t, i, &from, &end);
        if (from != chip)
            continue;
        memset(cell, 0, sizeof(cell));
        ntrace_sum(t, NTRACE_LINK, i, to->from, to->end, cell);
        to->link_bytes += cell[NTRACE_LINK_PAYLOAD_BYTES];
        share = (double)cell[NTRACE_LINK_BUSY_PS] * 1e-12 / to->seconds;
        to->link_share = share > to->link_share ? share : to->link_share;
    }
}

void model_range_sum(struct ntrace *t, int core, cycle_t from, cycle_t end, struct range_sums *to)
{
    const struct ntrace_info *i = ntrace_info(t);
    int64_t hbm[NTRACE_HBM_COUNT] = {0};
    int chip = i->core_count ? core / (i->core_count / i->chip_count) : 0;

    memset(to, 0, sizeof(*to));
    from = from < 0 ? 0 : from > i->cycles ? i->cycles : from;
    end = end < from ? from : end > i->cycles ? i->cycles : end;
    to->from = from;
    to->end = end;
    if (end == from)
        return;
    to->seconds = (double)(end - from) * chip_cycle_seconds(i->chip);
    sum_core(t, core, to);
    ntrace_sum(t, NTRACE_HBM, chip, from, end, hbm);
    to->hbm_read_bytes = hbm[NTRACE_HBM_READ_BYTES];
    to->hbm_write_bytes = hbm[NTRACE_HBM_WRITE_BYTES];
    to->hbm_share = (double)(to->hbm_read_bytes + to->hbm_write_bytes) / to->seconds
                    / chip_hbm_peak_bytes_per_second(i->chip);
    sum_links(t, chip, to);
}

static enum stall_reason worst_stall(const struct range_sums *r)
{
    int worst = 0;

    for (int i = 1; i < STALL_COUNT; i++)
        if (r->stall[i] > r->stall[worst])
            worst = i;
    return (enum stall_reason)worst;
}

/* "the matrix units", …: the largest share, which binds from 70 % on as in XProf, or the largest
 * stall */
static const char *bound_by(const struct range_sums *r)
{
    int64_t cycles = r->end - r->from;

    if (!cycles)
        return "nothing: no cycles";
    if (r->mxu_share >= 0.7 && r->mxu_share >= r->hbm_share)
        return "matrix units";
    if (r->hbm_share >= 0.7)
        return "HBM bandwidth";
    if (r->link_share >= 0.7)
        return "links between chips";
    if (r->idle * 2 > cycles)
        return "idle: the core had halted";
    if (r->issue * 10 >= cycles * 7)
        return "bundles to issue";
    if (r->stall[worst_stall(r)] * 4 >= cycles)
        return stall_name(worst_stall(r));
    return "latency: no unit is busy for 70 %";
}

static char *add_line(struct arena *a, const char *text, const char *name, const char *value)
{
    return arena_printf(a, "%s%-18s %s\n", text, name, value);
}

static char *cycles_of(struct arena *a, int64_t cycles, int64_t all)
{
    return arena_printf(a, "%12s  %5s", text_thousands(cycles).text,
                        quantity_percent((double)cycles / (double)all).text);
}

/* stalls by reason, the longest first */
static char *stall_lines(struct arena *a, char *text, const struct range_sums *r, int64_t cycles)
{
    struct range_sums left = *r;

    for (int shown = 0; shown < 6; shown++) {
        enum stall_reason worst = worst_stall(&left);

        if (left.stall[worst] <= 0)
            break;
        text = add_line(a, text, stall_name(worst), cycles_of(a, left.stall[worst], cycles));
        left.stall[worst] = 0;
    }
    return text;
}

const char *model_range_text(struct ntrace *t, const struct range_sums *r, int core,
                             struct arena *a)
{
    int64_t cycles = r->end - r->from;
    char *text;

    if (!cycles)
        return "";
    text = arena_printf(a, "Selected: core %d\n%s = %s\nbound by: %s\n \n", core,
                        quantity_cycles((double)cycles).text, quantity_seconds(r->seconds).text,
                        bound_by(r));
    text = add_line(a, text, "issue", cycles_of(a, r->issue, cycles));
    text = stall_lines(a, text, r, cycles);
    if (r->idle)
        text = add_line(a, text, "idle", cycles_of(a, r->idle, cycles));
    text = arena_printf(a, "%s \nunits, busy of these cycles:\n", text);
    for (int i = 0; i < r->unit_count; i++)
        if (r->busy[i])
            text = add_line(a, text, ntrace_unit_name(t, i), cycles_of(a, r->busy[i], cycles));
    text = arena_printf(a, "%s \n", text);
    if (r->flops > 0)
        text = add_line(a, text, "matrix units", arena_printf(
            a, "about %s, %s", quantity_flops(r->flops).text,
            quantity_flop_rate(r->flops / r->seconds).text));
    text = add_line(a, text, "HBM read", arena_printf(
        a, "%s, %s", quantity_bytes((double)r->hbm_read_bytes).text,
        quantity_rate((double)r->hbm_read_bytes / r->seconds).text));
    text = add_line(a, text, "HBM written", arena_printf(
        a, "%s, %s", quantity_bytes((double)r->hbm_write_bytes).text,
        quantity_rate((double)r->hbm_write_bytes / r->seconds).text));
    text = add_line(a, text, "HBM of its peak", quantity_percent(r->hbm_share).text);
    if (ntrace_info(t)->link_count)
        text = add_line(a, text, "sent on links", arena_printf(
            a, "%s, %s", quantity_bytes((double)r->link_bytes).text,
            quantity_rate((double)r->link_bytes / r->seconds).text));
    return text;
}
