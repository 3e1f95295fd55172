/*
 * Adds up cycles, FLOP and bytes by source operation, and finds the category of each and what
 * bounds it.
 */
#include "report/tables/op_stats.h"

#include "base/units.h"
#include "isa/matrix.h"
#include "report/view/bound.h"
#include "sim/chip/limits.h"

#include <assert.h>
#include <string.h>

#define TILE_BYTES 4096                 /* of a vector load or store: 8 x 128 x 32 bits */

/* ---- gathering ---- */

static void count_matmul(const struct report_view *v, struct op_stat *s, const struct isa_op *op,
                         int64_t executed)
{
    struct matrix_op m = matrix_op_of_isa(op);

    if (m.kind != MATRIX_MULTIPLY)
        return;
    s->has_matmul = true;
    s->matmul_cycles += executed * chip_matmul_cycles(v->chip, m.type);
    s->issued_flops += executed * 2 * matrix_rows(m.type) * v->chip->mxu_size * v->chip->mxu_size;
}

static void count_copy(struct op_stat *s, enum isa_opcode code)
{
    const struct isa_info *info = isa_info(code);

    s->has_copy = true;
    s->has_remote_copy |= info->format == ISA_FMT_DMA_REM;
    s->reads_hbm |= info->reads & ISA_HBM && !(info->writes & (ISA_HBM | ISA_REMOTE));
}

static void count_op(const struct report_view *v, struct op_stat *s, const struct isa_op *op,
                     int64_t executed)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    if (executed == 0)
        return;
    if (info->unit == UNIT_MXU)
        count_matmul(v, s, op, executed);
    if (info->slot == SLOT_LOAD)
        s->vmem_read_bytes += executed * TILE_BYTES;
    if (info->slot == SLOT_STORE)
        s->vmem_write_bytes += executed * TILE_BYTES;
    if (info->slot == SLOT_DMA)
        count_copy(s, (enum isa_opcode)op->code);
    /* of dma.general the descriptor alone tells where it goes: its sender sends signals, too */
    s->has_remote_copy |= op->code == OP_VSYNCADD_R;
    s->has_vector |= info->slot == SLOT_VALU || info->slot == SLOT_EUP;
    s->has_transpose |= info->latency_class == CLASS_XPOSE;
    s->has_branch |= info->latency_class == CLASS_SBR;
}

static void count_bundle(const struct report_view *v, struct op_stat *s, uint32_t index)
{
    const struct isa_bundle *b = &v->ops_program->bundle[index];
    const struct view_bundle *done = &v->bundle[index];

    s->bundles++;
    s->issue_cycles += done->count;
    s->stall_cycles += done->stall_cycles;
    s->dma_stall_cycles += done->copies.stall_cycles;
    s->hbm_bytes += done->copies.hbm_bytes;
    s->ici_bytes += done->copies.ici_bytes;
    for (uint32_t i = 0; i < b->op_count; i++)
        count_op(v, s, &v->ops_program->op[b->first_op + i], v->executed[b->first_op + i]);
}

static const struct report_source *find_source(const struct report_view *v, const char *name)
{
    for (size_t i = 0; i < v->source_count; i++)
        if (strcmp(v->source[i].name, name) == 0)
            return &v->source[i];
    return NULL;
}

struct op_stat *op_stats_gather(const struct report_view *v, struct arena *a, size_t *count)
{
    const struct isa_program *p = v->ops_program;
    struct op_stat *stat = arena_array(a, p->note_count + 1, sizeof(*stat));
    uint32_t before = UINT32_MAX;

    *count = p->note_count + 1;
    for (uint32_t n = 0; n <= p->note_count; n++) {
        stat[n].note = n;
        stat[n].name = n ? p->note[n - 1] : "(none)";
        stat[n].source = find_source(v, stat[n].name);
    }
    for (uint32_t i = 0; i < p->bundle_count; i++) {
        struct op_stat *s = &stat[p->bundle[i].note];

        count_bundle(v, s, i);
        if (s->note != before)
            s->occurrences += v->bundle[i].count;
        before = s->note;
    }
    for (uint32_t n = 0; n <= p->note_count; n++)
        stat[n].cycles = stat[n].issue_cycles + stat[n].stall_cycles;
    return stat;
}

/* ---- what it is, what bounds it ---- */

/* as its name says */
static const char *collective_category(const char *name)
{
    static const char *const kinds[] = {"all-reduce", "reduce-scatter", "all-gather"};

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (strstr(name, kinds[i]))
            return kinds[i];
    return "collective-permute";
}

const char *op_stat_category(const struct op_stat *s)
{
    if (s->has_matmul)
        return s->has_vector ? "convolution fusion" : "convolution";
    if (s->has_remote_copy)
        return collective_category(s->name);
    if (s->has_vector)
        return "loop fusion";
    if (s->has_transpose)
        return "transpose";
    if (s->has_copy)
        return "copy";
    if (s->dma_stall_cycles > 0)
        return "copy-done";
    return s->has_branch ? "while" : "call";
}

static double share(double part, double whole)
{
    return whole <= 0.0 ? 0.0 : part > whole ? 1.0 : part / whole;
}

enum op_resource { OP_COMPUTE, OP_HBM, OP_VMEM_READ, OP_VMEM_WRITE, OP_RESOURCE_COUNT };

/* of what the core could have done in the cycles of the operation, at most 1 */
static double use_of(const struct report_view *v, const struct op_stat *s, enum op_resource r)
{
    double cycles = (double)s->cycles, seconds = cycles / ((double)v->chip->chip_clock_mhz * 1e6);

    switch (r) {
    case OP_COMPUTE:
        return share((double)s->matmul_cycles, cycles * (double)v->chip->mxu_count);
    case OP_HBM:
        return share((double)s->hbm_bytes, seconds * chip_hbm_peak_bytes_per_second(v->chip)
                                               / (double)v->chip->chip_cores);
    case OP_VMEM_READ:
        return share((double)s->vmem_read_bytes,
                     cycles * TILE_BYTES * (double)(v->chip->slots_load
                                                    + v->chip->slots_misc_load));
    case OP_VMEM_WRITE:
        return share((double)s->vmem_write_bytes,
                     cycles * TILE_BYTES * (double)(v->chip->slots_store
                                                    + v->chip->slots_misc_store));
    case OP_RESOURCE_COUNT:
        break;
    }
    return 0.0;
}

const char *op_stat_bound(const struct report_view *v, const struct op_stat *s, double *use)
{
    static const char *const names[OP_RESOURCE_COUNT] = {"Compute", "HBM", "VMEM Read",
                                                         "VMEM Write"};
    int most = 0;

    *use = 0.0;
    for (int r = 0; r < OP_RESOURCE_COUNT; r++) {
        double one = use_of(v, s, (enum op_resource)r);

        if (one > *use) {
            *use = one;
            most = r;
        }
    }
    return *use < BOUND_LATENCY_BELOW ? bound_name(BOUND_LATENCY) : names[most];
}

double op_peak_flops_per_cycle(const struct chip *chip, int64_t flops, cycle_t matmul_cycles)
{
    if (matmul_cycles > 0)
        return (double)flops / (double)matmul_cycles * (double)chip->mxu_count;
    return chip_core_flops_per_cycle(chip);
}
