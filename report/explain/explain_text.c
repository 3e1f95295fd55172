/* Words why a step took its time, in sentences with the numbers of the run. */
#include "report/explain/explain_impl.h"

#include "base/text.h"



struct teller {
    const struct explain *x;
    const struct report_view *v;
    const struct chip *chip;
    struct core_counters sum;           /* operations, bytes, FLOPs, stalls of all active cores */
    struct explain_copies copies;
    struct arena *a;
};

typedef const char *tell_fn(const struct teller *t);

static const char *thousands(const struct teller *t, double value)
{
    return arena_strdup(t->a, text_thousands((int64_t)(value + 0.5)).text);
}

/* of one core, from a sum over all */
static const char *each(const struct teller *t, int64_t sum)
{
    return thousands(t, (double)sum / t->v->active_count);
}

static int64_t ops_of_slot_unit(const struct teller *t, enum isa_unit unit)
{
    int64_t count = 0;

    for (int code = 0; code < OP_COUNT; code++)
        if (isa_info((enum isa_opcode)code)->unit == unit)
            count += t->sum.op_count[code];
    return count;
}

static const char *tell_useful(const struct teller *t)
{
    if (t->sum.matmul_cycles == 0)
        return "no product was multiplied: the bundles that would be left if the fullest kind of "
               "slot were filled in each";
    if (t->v->model_flops == 0)
        return arena_printf(t->a, "%s FLOP multiplied by a core at the peak of its matrix units",
                            each(t, t->sum.matmul_flops));
    return arena_printf(t->a, "%s FLOP that the model asks of a core, at the peak of its matrix "
                        "units", thousands(t, (double)t->v->model_flops));
}

static const char *tell_passes(const struct teller *t)
{
    return arena_printf(t->a, "each product takes %d passes instead of 1",
                        t->x->input->passes);
}

static const char *tell_underfill(const struct teller *t)
{
    const struct explain_product *p = t->x->input->product, *least = p;

    for (size_t i = 1; i < t->x->input->product_count; i++)
        if (p[i].n * p[i].k < least->n * least->k)
            least = &p[i];
    if (!least)
        return arena_printf(t->a, "the %lld units of a core are busy unevenly",
                            (long long)t->chip->mxu_count);
    return arena_printf(t->a, "the arrays are %lldx%lld and %lld in number; the smallest product "
                        "has K = %lld and N = %lld for them", (long long)t->chip->mxu_size,
                        (long long)t->chip->mxu_size, (long long)t->chip->mxu_count,
                        (long long)least->k, (long long)least->n);
}

static const char *tell_padding(const struct teller *t)
{
    double issued = (double)t->sum.matmul_flops / t->v->active_count;

    return arena_printf(t->a, "%s FLOP issued per core for %s that the model asks for: %.1f %% "
                        "of the issued ones are of use", thousands(t, issued),
                        thousands(t, (double)t->v->model_flops),
                        view_percent((double)t->v->model_flops, issued));
}

static const char *tell_weights(const struct teller *t)
{
    int64_t pushes = t->sum.op_count[OP_VMATPUSH], rows = t->sum.op_count[OP_VMATMUL];

    return arena_printf(t->a, "%s pushes of weights for %s of rows: %.1f rows' tiles for each; "
                        "hidden from about 2 on", each(t, pushes), each(t, rows),
                        pushes ? (double)rows / (double)pushes : 0.0);
}

static const char *tell_result(const struct teller *t)
{
    return arena_printf(t->a, "a product's first rows come out %lld cycles after they went in",
                        (long long)t->chip->mxu_latency_cycles);
}

static const char *tell_spills(const struct teller *t)
{
    return arena_printf(t->a, "a core has %lld vector registers; values beyond go to VMEM and "
                        "back", (long long)t->chip->core_vregs);
}

static const char *tell_slots(const struct teller *t)
{
    const char *unit = "valu";
    double fill = 0.0;

    for (int i = 0; i < t->v->core_count && fill == 0.0; i++)
        if (view_is_active(t->v, i))
            fill = explain_fill(t->v->core[i], &unit);
    return arena_printf(t->a, "%s bundles issue; the fullest kind of slot (%s) is filled to "
                        "%.0f %%", each(t, t->sum.issue_cycles), unit, 100.0 * fill);
}

static const char *tell_operand(const struct teller *t)
{
    static const enum stall_reason reasons[] = {STALL_OPERAND, STALL_BANK, STALL_STORE_LOAD,
                                                STALL_TRANSFER, STALL_DIVIDE, STALL_FENCE};
    enum stall_reason most = STALL_OPERAND;

    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (t->sum.stall_cycles[reasons[i]] > t->sum.stall_cycles[most])
            most = reasons[i];
    return arena_printf(t->a, "most of it for %s: %s cycles", stall_name(most),
                        each(t, t->sum.stall_cycles[most]));
}

static const char *tell_xlu(const struct teller *t)
{
    return arena_printf(t->a, "%s operations of the cross-lane unit; a reduction takes %lld "
                        "cycles, a transpose %lld", each(t, ops_of_slot_unit(t, UNIT_XLU)),
                        (long long)t->chip->xlu_reduce_cycles,
                        (long long)t->chip->xlu_xpose_cycles);
}

static const char *tell_eup(const struct teller *t)
{
    int64_t count = ops_of_slot_unit(t, UNIT_EUP);

    return arena_printf(t->a, "%s operations of the transcendental unit, each back after %lld "
                        "cycles, one every %lld", each(t, count),
                        (long long)t->chip->eup_latency_cycles,
                        (long long)t->chip->eup_issue_cycles);
}

static const char *copies_text(const struct teller *t)
{
    int64_t copies = t->copies.hbm_reads + t->copies.hbm_writes;

    return arena_printf(t->a, "%s B in %s copies per core, %s B each",
                        each(t, t->copies.hbm_bytes), each(t, copies),
                        thousands(t, copies ? (double)t->copies.hbm_bytes / (double)copies : 0.0));
}

static const char *tell_hbm_bytes(const struct teller *t)
{
    double peak = chip_hbm_peak_bytes_per_second(t->chip) * 1e-9;

    return arena_printf(t->a, "%s; at most %.0f GB/s for a core, %.0f for its chip",
                        copies_text(t), t->chip->dma_core_gbps, peak);
}

static const char *tell_hbm_rows(const struct teller *t)
{
    int64_t runs = 0, hits = 0, refreshes = 0;

    for (int i = 0; i < t->v->chip_count; i++) {
        runs += t->v->hbm[i]->run_count;
        hits += t->v->hbm[i]->row_hits;
        refreshes += t->v->hbm[i]->refresh_waits;
    }
    return arena_printf(t->a, "%.1f %% of %s pieces met an open row, %s waited for a refresh",
                        view_percent((double)hits, (double)runs), thousands(t, (double)runs),
                        thousands(t, (double)refreshes));
}

static const char *tell_hbm_start(const struct teller *t)
{
    return arena_printf(t->a, "%s; each starts %.0f cycles late (%lld ns to read, %lld to write)",
                        copies_text(t), explain_copy_start_cycles(t->chip, &t->copies),
                        (long long)t->chip->dma_read_ns, (long long)t->chip->dma_write_ns);
}

/* mean of the links that carry more than flags, by the busiest: 1 when no detour loads one more */
static double evenness(const struct report_view *v)
{
    int busiest = view_busiest_link(v), count = 0;
    double sum = 0.0;

    for (int i = 0; i < v->link_count; i++)
        if ((double)v->link[i]->busy_ps > 0.01 * (double)v->link[busiest]->busy_ps) {
            sum += (double)v->link[i]->busy_ps;
            count++;
        }
    return count ? sum / count / (double)v->link[busiest]->busy_ps : 1.0;
}

static const char *axes_text(const struct report_view *v)
{
    bool is_long = false, is_mesh = false;

    for (int i = 0; i < 3; i++) {
        is_long |= v->slice->dim[i] > 2;
        is_mesh |= v->slice->dim[i] > 2 && !v->slice->is_ring[i]
                   && !v->slice->is_twisted;
    }
    if (!is_long)
        return "axes of two chips need no wraparound";
    if (!is_mesh)
        return "a torus: its axes wrap around";
    return evenness(v) > 0.9
               ? "a mesh, but all links in use carry the same: wraparound would change nothing"
               : "a mesh: what would wrap around an axis of a torus goes back all of it here";
}

static const char *tell_ici_bytes(const struct teller *t)
{
    int busiest = view_busiest_link(t->v);
    const struct net_link_stats *l = t->v->link[busiest];

    return arena_printf(t->a, "the busiest link, chip %d to %d, is busy %.1f %% of the step with "
                        "%s B; %s", l->from, l->to, 100.0 * view_link_use(t->v, busiest),
                        thousands(t, (double)l->wire_bytes), axes_text(t->v));
}

static const char *tell_ici_hops(const struct teller *t)
{
    return arena_printf(t->a, "%s messages per core; one hop takes %lld ns; %s",
                        each(t, t->copies.remote), (long long)t->chip->ici_hop_ns,
                        axes_text(t->v));
}

static const char *tell_ici_cores(const struct teller *t)
{
    return arena_printf(t->a, "%s messages per core", each(t, t->copies.remote));
}

static const char *tell_resume(const struct teller *t)
{
    return arena_printf(t->a, "%lld cycles each time", (long long)t->chip->sync_resume_cycles);
}

static const char *tell_branch(const struct teller *t)
{
    return arena_printf(t->a, "a branch is followed by %lld bundles that execute in any case",
                        (long long)t->chip->core_branch_delay_bundles);
}

static const char *tell_kernels(const struct teller *t)
{
    return arena_printf(t->a, "%s waits of this kind; of a compiled program %lld ns each",
                        each(t, t->sum.op_count[OP_VDELAY]), (long long)t->chip->launch_kernel_ns);
}

static const char *tell_idle(const struct teller *t)
{
    cycle_t most = 0;

    for (int i = 0; i < t->v->core_count; i++)
        if (view_is_active(t->v, i) && t->v->core[i]->idle_cycles > most)
            most = t->v->core[i]->idle_cycles;
    return arena_printf(t->a, "the first core to halt waits %s cycles for the last",
                        thousands(t, (double)most));
}

static const char *tell_input(const struct teller *t)
{
    return arena_printf(t->a, "%s B over PCIe at %g GB/s per chip: %.1f us",
                        thousands(t, (double)t->v->input_bytes), t->chip->host_pcie_gbps,
                        view_input_us(t->v));
}

static const char *tell_dispatch(const struct teller *t)
{
    return arena_printf(t->a, "%lld us for each call of the host",
                        (long long)t->chip->host_dispatch_us);
}

static const char *tell_launch(const struct teller *t)
{
    return arena_printf(t->a, "%lld ns for each program", (long long)t->chip->launch_program_ns);
}

static const char *tell_cmem(const struct teller *t)
{
    return arena_printf(t->a, "%s B read and %s B written by a core",
                        each(t, t->sum.cmem_read_bytes), each(t, t->sum.cmem_write_bytes));
}

static tell_fn *const tellers[CAUSE_COUNT] = {
    [CAUSE_USEFUL] = tell_useful, [CAUSE_PASSES] = tell_passes,
    [CAUSE_UNDERFILL] = tell_underfill, [CAUSE_PADDING] = tell_padding,
    [CAUSE_WEIGHTS] = tell_weights, [CAUSE_RESULT] = tell_result, [CAUSE_SPILLS] = tell_spills,
    [CAUSE_VECTOR] = tell_slots, [CAUSE_ISSUE] = tell_slots, [CAUSE_OPERAND] = tell_operand,
    [CAUSE_XLU] = tell_xlu, [CAUSE_EUP] = tell_eup, [CAUSE_HBM_BYTES] = tell_hbm_bytes,
    [CAUSE_HBM_ROWS] = tell_hbm_rows, [CAUSE_SMALL_DMAS] = tell_hbm_start,
    [CAUSE_HBM_START] = tell_hbm_start, [CAUSE_CMEM] = tell_cmem,
    [CAUSE_ICI_BYTES] = tell_ici_bytes, [CAUSE_ICI_HOPS] = tell_ici_hops,
    [CAUSE_ICI_CORES] = tell_ici_cores, [CAUSE_RESUME] = tell_resume,
    [CAUSE_BRANCH] = tell_branch, [CAUSE_KERNELS] = tell_kernels, [CAUSE_IDLE] = tell_idle,
    [CAUSE_INPUT] = tell_input, [CAUSE_DISPATCH] = tell_dispatch, [CAUSE_LAUNCH] = tell_launch,
};

static void add_core(struct teller *t, const struct core_counters *c)
{
    t->sum.issue_cycles += c->issue_cycles;
    t->sum.matmul_cycles += c->matmul_cycles;
    t->sum.matmul_flops += c->matmul_flops;
    t->sum.cmem_read_bytes += c->cmem_read_bytes;
    t->sum.cmem_write_bytes += c->cmem_write_bytes;
    for (int r = 0; r < STALL_COUNT; r++)
        t->sum.stall_cycles[r] += c->stall_cycles[r];
    for (int code = 0; code < OP_COUNT; code++)
        t->sum.op_count[code] += c->op_count[code];
    explain_count_copies(c, &t->copies);
}

void explain_tell(struct explain *x, struct arena *a)
{
    const struct report_view *v = x->input->view;
    struct teller t = {.x = x, .v = v, .chip = v->chip, .a = a};

    for (int i = 0; i < v->core_count; i++)
        if (view_is_active(v, i))
            add_core(&t, v->core[i]);
    for (int c = 0; c < CAUSE_COUNT; c++)
        x->row[c].why = x->row[c].cycles > 0 ? tellers[c](&t) : "";
}
