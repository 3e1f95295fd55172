/*
 * Engine against reference: everything that programs and reports can see.
 */
#include "tests/reference/ref_impl.h"

#include "base/arena.h"

#include <stdio.h>
#include <string.h>

/* Where the first difference goes; nothing is compared any more once there is one. */
struct finding {
    struct machine *engine;
    struct ref_machine *reference;
    int core;
    bool is_found;
    char *what;
    size_t what_bytes;
};

static void differ(struct finding *f, const char *what, long long index, long long engine,
                   long long reference)
{
    char number[32] = "";

    if (f->is_found)
        return;
    f->is_found = true;
    if (index >= 0)
        snprintf(number, sizeof(number), " %lld", index);
    snprintf(f->what, f->what_bytes, "core %d: %s%s is %lld (0x%llx), the reference has %lld "
             "(0x%llx)", f->core, what, number, engine, (unsigned long long)engine, reference,
             (unsigned long long)reference);
}

static void hold(struct finding *f, const char *what, long long index, long long engine,
                 long long reference)
{
    if (engine != reference)
        differ(f, what, index, engine, reference);
}

static const char *const fault_names[] = {
    [FAULT_NONE] = "no fault", [FAULT_ADDRESS] = "an address",
    [FAULT_FIFO_OVERFLOW] = "a fifo overflow", [FAULT_FIFO_EMPTY] = "an empty fifo",
    [FAULT_DEADLOCK] = "a deadlock", [FAULT_FLAG] = "an open flag",
    [FAULT_HALT_ERR] = "shalt.err", [FAULT_NO_HALT] = "no halt",
    [FAULT_OPERATION] = "an operation", [FAULT_UNDERFLOW] = "a flag underflow"};

static bool is_same_fault(const struct fault *a, const struct ref_fault *b)
{
    return a->kind == b->kind && (a->kind == FAULT_NONE
                                  || (a->core == b->core && a->cycle == b->cycle
                                      && a->bundle == b->bundle));
}

static void compare_faults(struct finding *f, const struct ref_fault *b)
{
    const struct fault *a = machine_fault(f->engine);
    const char *name = a->kind <= FAULT_UNDERFLOW ? fault_names[a->kind] : "an option's fault";

    if (is_same_fault(a, b))
        return;
    f->is_found = true;
    snprintf(f->what, f->what_bytes, "the engine faults with %s (%s), the reference with %s (%s)",
             name, a->msg, fault_names[b->kind], b->msg);
}

static void compare_counters(struct finding *f)
{
    const struct core_counters *a = machine_counters(f->engine, f->core);
    const struct core_counters *b = &f->reference->core[f->core].counters;

    hold(f, "the count of cycles", -1, a->cycles, b->cycles);
    for (int i = 0; i < OP_COUNT; i++)
        hold(f, isa_info((enum isa_opcode)i)->mnemonic, -1, a->op_count[i], b->op_count[i]);
    hold(f, "the count of issues", -1, a->issue_cycles, b->issue_cycles);
    for (int i = 0; i < STALL_COUNT; i++)
        hold(f, stall_name((enum stall_reason)i), -1, a->stall_cycles[i], b->stall_cycles[i]);
    hold(f, "the count of idle cycles", -1, a->idle_cycles, b->idle_cycles);
    hold(f, "matmul_cycles", -1, a->matmul_cycles, b->matmul_cycles);
    hold(f, "matmul_flops", -1, a->matmul_flops, b->matmul_flops);
    hold(f, "hbm_read_bytes", -1, a->hbm_read_bytes, b->hbm_read_bytes);
    hold(f, "hbm_write_bytes", -1, a->hbm_write_bytes, b->hbm_write_bytes);
    hold(f, "ici_sent_bytes", -1, a->ici_sent_bytes, b->ici_sent_bytes);
    hold(f, "ici_received_bytes", -1, a->ici_received_bytes, b->ici_received_bytes);
    hold(f, "cmem_read_bytes", -1, a->cmem_read_bytes, b->cmem_read_bytes);
    hold(f, "cmem_write_bytes", -1, a->cmem_write_bytes, b->cmem_write_bytes);
    hold(f, "dma_staging_cycles", -1, a->dma_staging_cycles, b->dma_staging_cycles);
    hold(f, "host_read_bytes", -1, a->host_read_bytes, b->host_read_bytes);
    hold(f, "host_write_bytes", -1, a->host_write_bytes, b->host_write_bytes);
    hold(f, "peer_sent_bytes", -1, a->peer_sent_bytes, b->peer_sent_bytes);
    hold(f, "peer_busy_cycles", -1, a->peer_busy_cycles, b->peer_busy_cycles);
    hold(f, "dma_count", -1, a->dma_count, b->dma_count);
    hold(f, "the count of units", -1, a->unit_count, b->unit_count);
}

static void hold_unit(struct finding *f, const char *name, const char *what, int64_t engine,
                      int64_t reference)
{
    char text[64];

    if (engine == reference)
        return;
    snprintf(text, sizeof(text), "%s of %s", what, name);
    differ(f, text, -1, engine, reference);
}

static void compare_units(struct finding *f)
{
    const struct core_counters *a = machine_counters(f->engine, f->core);
    const struct core_counters *b = &f->reference->core[f->core].counters;

    for (int i = 0; i < a->unit_count; i++) {
        const struct unit_counters *u = &a->unit[i], *v = &b->unit[i];

        hold_unit(f, u->name, "operations", u->op_count, v->op_count);
        hold_unit(f, u->name, "busy cycles", u->busy_cycles, v->busy_cycles);
        hold_unit(f, u->name, "waiting cycles", u->waiting_cycles, v->waiting_cycles);
        hold_unit(f, u->name, "idle cycles", u->idle_cycles, v->idle_cycles);
    }
}

static void compare_mask(struct finding *f, int number)
{
    static const struct ref_mask no_bits;
    static const struct mask_view no_view;
    const struct ref_mask *b = &f->reference->core[f->core].mask[number];
    struct mask_view a;
    char what[40];

    machine_mask(f->engine, f->core, number, &a);
    if (memcmp(&a, &no_view, sizeof(a)) == 0 && memcmp(b, &no_bits, sizeof(*b)) == 0)
        return;                         /* most of them, so quickly */
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < 8 * LANES; i++) {
            int bit = (half ? a.high : a.low)[i / 16] >> (i % 16) & 1;

            if (bit == b->half[half][i / LANES][i % LANES])
                continue;
            snprintf(what, sizeof(what), "vm%d, %s half of word", number, half ? "high" : "low");
            differ(f, what, i, bit, !bit);
        }
}

static void compare_registers(struct finding *f)
{
    const struct ref_core *c = &f->reference->core[f->core];
    char what[32];

    if (!c->program)
        return;
    for (int i = 0; i < ISA_SREG_COUNT; i++)
        hold(f, "scalar register", i, machine_scalar(f->engine, f->core, i), c->s[i]);
    for (int i = 0; i < ISA_PRED_COUNT; i++)
        hold(f, "predicate", i, machine_predicate(f->engine, f->core, i), c->p[i]);
    for (int i = 0; i < ISA_MASK_COUNT; i++)
        compare_mask(f, i);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 8; j++)
            hold(f, "index register row", 8 * i + j,
                 machine_index_rows(f->engine, f->core, i)[j], c->iar[i][j]);
    for (int i = 0; i < c->m->chip.core_vregs && !f->is_found; i++) {
        const uint32_t *a = machine_vector(f->engine, f->core, i);

        snprintf(what, sizeof(what), "v%d, word", i);
        if (memcmp(a, c->v[i], sizeof(ref_tile)) != 0)
            for (int j = 0; j < 8 * LANES; j++)
                hold(f, what, j, a[j], c->v[i][j / LANES][j % LANES]);
    }
}

/* the page from there on */
static void compare_page(struct finding *f, enum memory memory, int64_t address)
{
    static unsigned char a[REF_PAGE_BYTES], b[REF_PAGE_BYTES];
    int64_t left = ref_memory_bytes(&f->reference->core[f->core], memory) - address;
    int64_t bytes = left < REF_PAGE_BYTES ? left : REF_PAGE_BYTES;
    char what[40];
    struct err e;

    machine_memory_read(f->engine, f->core, memory, address, a, bytes, &e);
    ref_read(f->reference, f->core, memory, address, b, bytes);
    if (memcmp(a, b, (size_t)bytes) == 0)
        return;
    snprintf(what, sizeof(what), "%s byte", memory_name(memory));
    for (int64_t i = 0; i < bytes; i++)
        hold(f, what, address + i, a[i], b[i]);
}

static void compare_memories(struct finding *f)
{
    const struct ref_core *c = &f->reference->core[f->core];

    for (size_t i = 0; i < c->hbm.page_count; i++)
        compare_page(f, MEMORY_HBM, c->hbm.page[i] * REF_PAGE_BYTES);
    for (size_t i = 0; i < c->host.page_count; i++)
        compare_page(f, MEMORY_HOST, c->host.page[i] * REF_PAGE_BYTES);
    for (int memory = MEMORY_VMEM; memory <= MEMORY_CMEM; memory++)
        for (int64_t at = 0; at < ref_memory_bytes(c, (enum memory)memory); at += REF_PAGE_BYTES)
            compare_page(f, (enum memory)memory, at);
    for (int i = 0; i < c->m->chip.sync_flags && c->program; i++)
        hold(f, "sync flag", i, machine_flag(f->engine, f->core, i), c->flag[i]);
}

static void compare_hbm(struct finding *f, int chip)
{
    const struct hbm_stats *a = machine_hbm_stats(f->engine, chip);
    const struct hbm_stats *b = hbm_get_stats(f->reference->hbm[chip]);

    f->core = chip * (int)f->reference->chip.chip_cores;
    hold(f, "runs in the HBM of the chip", -1, a->run_count, b->run_count);
    hold(f, "row hits in the HBM of the chip", -1, a->row_hits, b->row_hits);
    hold(f, "closed rows in the HBM of the chip", -1, a->row_closed, b->row_closed);
    hold(f, "refresh waits in the HBM of the chip", -1, a->refresh_waits, b->refresh_waits);
    hold(f, "busy ps of the HBM of the chip", -1, a->busy_ps, b->busy_ps);
}

static void compare_links(struct finding *f)
{
    const struct net *a = machine_net(f->engine), *b = f->reference->net;

    f->core = 0;
    for (int i = 0; b && i < net_link_count(b); i++) {
        hold(f, "payload of link", i, net_link(a, i)->payload_bytes, net_link(b, i)->payload_bytes);
        hold(f, "busy ps of link", i, net_link(a, i)->busy_ps, net_link(b, i)->busy_ps);
    }
}

bool reference_compare(struct machine *engine, struct ref_machine *reference, char *what,
                       size_t what_bytes)
{
    struct finding f = {.engine = engine, .reference = reference, .what = what,
                        .what_bytes = what_bytes};

    compare_faults(&f, &reference->fault);
    if (reference->fault.kind != FAULT_NONE)
        return !f.is_found;
    for (f.core = 0; f.core < reference->core_count && !f.is_found; f.core++) {
        compare_registers(&f);
        compare_counters(&f);
        compare_units(&f);
        compare_memories(&f);
    }
    for (int i = 0; i < reference->chip_count && !f.is_found; i++)
        compare_hbm(&f, i);
    if (!f.is_found)
        compare_links(&f);
    return !f.is_found;
}
