#include "tests/rigs/explain_rig.h"

#include "tests/test.h"

void explain_rig_quiet(struct explain_rig *f)
{
    memset(f, 0, sizeof(*f));
    arena_init(&f->a);
    toy_init(&f->t);
    for (int i = 0; i < 2; i++) {
        struct core_counters *c = &f->t.counters[i];

        memset(c->stall_cycles, 0, sizeof(c->stall_cycles));
        memset(c->op_count, 0, sizeof(c->op_count));
        c->issue_cycles = 1000;
        c->idle_cycles = 0;
        c->matmul_flops = c->matmul_cycles = 0;
        for (int u = 0; u < c->unit_count; u++)
            c->unit[u].busy_cycles = c->unit[u].op_count = 0;
        c->unit[TRACK_LOAD].op_count = 1000;
        memset(&f->t.memory[i], 0, sizeof(f->t.memory[i]));
    }
    f->t.chip.dma_read_ns = f->t.chip.dma_write_ns = 500;
    f->t.chip.dma_core_gbps = 100;
    f->t.chip.dma_peer_gbps = 100;
    f->t.chip.dma_local_ns = 100;
    f->t.chip.sync_resume_cycles = 7;
    f->t.chip.ici_hop_ns = 400;
    f->t.chip.hbm_banks = 4;
    f->t.chip.hbm_trp_ps = f->t.chip.hbm_trcd_ps = 14000;
    f->t.chip.hbm_trfc_ps = 260000;
    f->t.view.model_flops = 0;
    f->t.view.input_bytes = 0;
    f->in = (struct explain_input){.view = &f->t.view, .passes = 1};
}

void explain_rig_stall(struct explain_rig *f, enum stall_reason r, cycle_t cycles)
{
    for (int i = 0; i < 2; i++)
        f->t.counters[i].stall_cycles[r] = cycles;
}

void explain_rig_ops(struct explain_rig *f, enum isa_opcode op, int64_t count)
{
    for (int i = 0; i < 2; i++)
        f->t.counters[i].op_count[op] = count;
}

void explain_rig_multiply(struct explain_rig *f, int useful)
{
    for (int i = 0; i < 2; i++) {
        struct core_counters *c = &f->t.counters[i];

        c->matmul_cycles = c->unit[TRACK_MXU].busy_cycles = 6000;
        c->matmul_flops = 6000LL * 2 * 128 * 128;
        c->unit[TRACK_LOAD].op_count = 100;
    }
    f->t.view.model_flops = 6000LL * 2 * 128 * 128 * useful / 100;
    explain_rig_stall(f, STALL_MXU, 9000);
}

void explain_rig_copy(struct explain_rig *f, int64_t copies, int64_t bytes_each)
{
    explain_rig_ops(f, OP_DMA_HBM_VMEM, copies);
    for (int i = 0; i < 2; i++)
        f->t.counters[i].hbm_read_bytes = f->t.memory[i].read_bytes = copies * bytes_each;
    explain_rig_stall(f, STALL_HBM, 8993);
    explain_rig_stall(f, STALL_SYNC, 7);
}

void explain_rig_exchange(struct explain_rig *f, int64_t messages, ps_t link_busy_ps)
{
    explain_rig_ops(f, OP_DMA_VMEM_REMOTE, messages);
    f->t.wire[0].busy_ps = f->t.wire[1].busy_ps = link_busy_ps;
    explain_rig_stall(f, STALL_ICI, 9000);
}

void explain_rig_explain(struct explain_rig *f)
{
    cycle_t cycles = 0, core_cycles = 0, host = 0;

    explain_make(&f->in, &f->a, &f->x);
    for (int c = 0; c < CAUSE_COUNT; c++) {
        assert_true(f->x.row[c].core_cycles >= 0);
        if (cause_is_host((enum cause)c)) {
            host += f->x.row[c].cycles;
            continue;
        }
        cycles += f->x.row[c].cycles;
        core_cycles += f->x.row[c].core_cycles;
        assert_true(f->x.row[c].gain_cycles <= (double)f->x.row[c].cycles);
    }
    assert_int_equal(cycles, 10000);
    assert_int_equal(core_cycles, 20000);
    assert_int_equal(host, f->x.host_cycles);
}
