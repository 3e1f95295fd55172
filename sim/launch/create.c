/* Machines and their programs: what is made for them, and who is given a part in it. */
#include "sim/launch/launch.h"

#include "isa/check.h"
#include "sim/check/checks.h"
#include "sim/chip/limits.h"
#include "sim/fastpath/launch_memo.h"
#include "sim/fastpath/memo.h"
#include "sim/fastpath/replay.h"
#include "sim/machine/machine_impl.h"
#include "sim/observe/host_watch.h"
#include "sim/observe/tracing.h"

static void create_memories(struct machine *m)
{
    int64_t sharers = m->options.shared_hbm ? m->chip.chip_cores : 1;
    struct hbm_config config = chip_hbm_config(&m->chip,
                                               m->share_bytes * m->chip.chip_cores / sharers);

    m->hbm = arena_array(&m->arena, (size_t)m->chip_count, sizeof(*m->hbm));
    m->cmem = arena_array(&m->arena, (size_t)m->chip_count, sizeof(*m->cmem));
    m->host = arena_array(&m->arena, (size_t)m->chip_count, sizeof(*m->host));
    m->contents_count = m->core_count / (int)sharers;
    m->contents = arena_array(&m->arena, (size_t)m->contents_count, sizeof(*m->contents));
    for (int i = 0; i < m->contents_count; i++)
        m->contents[i].store = hbm_store_create(m->share_bytes);
    for (int i = 0; i < m->chip_count; i++)
        m->hbm[i] = hbm_create(&config);
    if (m->chip_count > 1) {
        struct net_config net = slice_net_config(&m->slice, &m->chip);

        net.is_folded = m->options.one_chip;
        m->net = net_create(&net);
    }
}

static bool uses_memo(const struct machine_options *o)
{
    return o->mode == MODE_TIMING && !o->no_memo && !o->check_races
           && !o->check_unwritten;
}

/* in mode both */
static bool repeats_launches(const struct machine_options *o)
{
    return o->mode == MODE_BOTH && !o->no_memo && !o->check_races && !o->check_unwritten
           && !o->shared_hbm;
}

static void give_hbm(struct machine *m, struct core *c)
{
    struct hbm_contents *h = &m->contents[m->options.shared_hbm ? machine_chip_of(m, c->number)
                                                                : c->number];

    c->hbm = h->store;
    c->unknown_hbm = &h->unknown;
    c->hbm_bytes = m->share_bytes;
    c->shares_hbm = m->options.shared_hbm;
}

static void create_cores(struct machine *m)
{
    struct arena *a = &m->arena;

    m->core = arena_array(a, (size_t)m->core_count, sizeof(*m->core));
    m->ports = arena_array(a, (size_t)m->core_count, sizeof(*m->ports));
    m->runnable = arena_array(a, (size_t)m->core_count, sizeof(*m->runnable));
    for (int i = 0; i < m->core_count; i++) {
        core_init(&m->core[i], i, &m->chip, m->core_count, m->options.mode, a);
        m->core[i].simd = m->simd;
        m->core[i].hooks = &launch_hooks;
        m->core[i].checks = checks_create(&m->options, &m->chip, &m->now_ps);
        give_hbm(m, &m->core[i]);
        m->core[i].host = hbm_store_create(m->chip.host_window_bytes);
        if (uses_memo(&m->options))
            m->core[i].memo = memo_create();
        for (int j = 0; j < PORT_COUNT; j++)
            m->ports[i].port[j].slot = arena_array(a, (size_t)m->chip.dma_queue_depth,
                                                   sizeof(int));
    }
}

static int check_one_chip(const struct slice *slice, const struct machine_options *o,
                          struct err *e)
{
    if (o->one_chip && slice->is_twisted)
        return err_set(e, "one chip cannot stand for all of %s, which is a twisted torus",
                       slice->name);
    if (o->one_chip && o->mode != MODE_TIMING)
        return err_set(e, "one chip stands for all in timing mode only");
    return 0;
}

static int check_options(const struct slice *slice, const struct chip *chip,
                         const struct machine_options *options, struct err *e)
{
    if (options->thread_count < 1 || options->thread_count > 256)
        return err_set(e, "%d host threads; 1..256 are possible", options->thread_count);
    if (options->cycle_limit < 0)
        return err_set(e, "cycle limit %lld is negative", (long long)options->cycle_limit);
    if (slice->chip_count > 1 && chip->ici_links == 0)
        return err_set(e, "%s has %d chips, but ici.links is 0", slice->name, slice->chip_count);
    if (chip->vmem_bytes % ROW_BYTES != 0)
        return err_set(e, "vmem.bytes is %lld; a multiple of %d is needed",
                       (long long)chip->vmem_bytes, ROW_BYTES);
    if (slice->chip_count * chip->chip_cores > UINT16_MAX)
        return err_set(e, "%lld cores; at most %d can be simulated",
                       (long long)(slice->chip_count * chip->chip_cores), UINT16_MAX);
    return check_one_chip(slice, options, e);
}

struct machine *machine_create(const struct slice *slice, const struct chip *chip,
                               const struct machine_options *options, struct err *e)
{
    const struct simd_path *simd;
    struct machine *m;
    int64_t hbm_bytes = (int64_t)(chip->hbm_gib * (double)GIB);

    if (check_options(slice, chip, options, e) != 0)
        return NULL;
    simd = simd_select(options->simd ? options->simd : "auto", e);
    if (!simd)
        return NULL;
    m = mem_alloc(sizeof(*m));
    arena_init(&m->arena);
    m->slice = *slice;
    m->chip = *chip;
    m->options = *options;
    m->simd = simd;
    m->chip_count = slice->chip_count;
    m->core_count = slice->chip_count * (int)chip->chip_cores;
    m->share_bytes = hbm_bytes / chip->chip_cores / chip->hbm_row_bytes * chip->hbm_row_bytes;
    m->share_bytes *= options->shared_hbm ? chip->chip_cores : 1;
    create_memories(m);
    create_cores(m);
    tracing_create(m);
    if (uses_memo(options) && !options->shared_hbm)
        m->launch_memo = launch_memo_create(m);
    if (repeats_launches(options))
        m->replay = replay_create(m);
    m->rounds = rounds_create(options->thread_count);
    return m;
}

void machine_destroy(struct machine *m)
{
    if (!m)
        return;
    rounds_destroy(m->rounds);
    launch_memo_destroy(m->launch_memo);
    host_watch_destroy(m->watch, m);
    replay_destroy(m->replay);
    for (int i = 0; i < m->core_count; i++) {
        hbm_store_destroy(m->core[i].host);
        memo_destroy(m->core[i].memo);
        mem_free(m->core[i].recorder);
        checks_destroy(m->core[i].checks);
        core_fini(&m->core[i]);
        for (int port = 0; port < PORT_COUNT; port++)
            staging_fini(&m->ports[i].port[port].staging);
        staging_fini(&m->ports[i].remote_staging);
    }
    for (int i = 0; i < m->contents_count; i++) {
        hbm_store_destroy(m->contents[i].store);
        ranges_fini(&m->contents[i].unknown);
    }
    for (int i = 0; i < m->chip_count; i++)
        hbm_destroy(m->hbm[i]);
    if (m->net)
        net_destroy(m->net);
    for (size_t j = 0; j < m->program_count; j++)
        program_destroy(m->program[j]);
    mem_free(m->program);
    mem_free(m->queue.item);
    arena_fini(&m->arena);
    mem_free(m);
}

static void release_program(struct machine *m, const struct decoded_program *p)
{
    for (size_t i = 0; i < m->program_count; i++) {
        if (m->program[i] != p || --m->program[i]->user_count > 0)
            continue;
        program_destroy(m->program[i]);
        m->program[i] = m->program[--m->program_count];
        return;
    }
}

static struct decoded_program *hold_program(struct machine *m, const struct isa_program *source)
{
    uint64_t hash = program_hash(source);
    struct decoded_program *p;

    for (size_t i = 0; i < m->program_count; i++)
        if (m->program[i]->source == source && m->program[i]->hash == hash) {
            m->program[i]->user_count++;
            return m->program[i];
        }
    p = program_decode(source, &m->chip, m->options.mode);
    p->user_count = 1;
    MEM_ADD(m->program, m->program_count, m->program_capacity) = p;
    return p;
}

static void set_program(struct machine *m, int core, const struct decoded_program *p)
{
    const struct decoded_program *old = m->core[core].program;

    launch_memo_forget(m);
    replay_forget_program(m, core);
    if (m->core[core].watch)
        host_core_forget(&m->core[core]);
    core_set_program(&m->core[core], p);
    release_program(m, old);
}

static int load(struct machine *m, int core, const struct isa_program *program,
                bool is_lenient, struct err *e)
{
    struct isa_limits limits;

    if (machine_check_core(m, core, e) != 0)
        return -1;
    chip_isa_limits(&m->chip, &limits);
    limits.is_lenient = is_lenient;
    if (isa_check(program, &limits, e) != 0)
        return -1;
    set_program(m, core, hold_program(m, program));
    m->core[core].is_listing = is_lenient;
    m->core[core].branch_delay_bundles = limits.branch_delay_bundles;
    return 0;
}

int machine_load(struct machine *m, int core, const struct isa_program *program, struct err *e)
{
    return load(m, core, program, false, e);
}

int machine_set_kernels(struct machine *m, int core, const struct machine_kernel *kernel, int count,
                        struct err *e)
{
    struct decoded_kernel *list;
    size_t i;
    int status;

    if (machine_check_core(m, core, e) != 0)
        return -1;
    for (i = 0; i < m->program_count; i++)
        if (m->program[i] == m->core[core].program)
            break;
    if (i == m->program_count)
        return err_set(e, "core %d has no program that could have kernels", core);
    replay_forget(m);
    list = mem_alloc(((size_t)count + 1) * sizeof(*list));
    for (int k = 0; k < count; k++)
        list[k] = (struct decoded_kernel){kernel[k].first_bundle, kernel[k].end_bundle,
                                          kernel[k].is_alone};
    status = program_set_kernels(m->program[i], list, count, e);
    mem_free(list);
    return status;
}

void machine_unload(struct machine *m, int core)
{
    if (m->core[core].program)
        set_program(m, core, NULL);
}

int machine_load_listing(struct machine *m, int core, const struct isa_program *program,
                         int branch_delay_most, struct err *e)
{
    if (load(m, core, program, true, e) != 0)
        return -1;
    if (branch_delay_most >= 0 && branch_delay_most < m->core[core].branch_delay_bundles)
        m->core[core].branch_delay_bundles = branch_delay_most;
    return 0;
}

int machine_set_scalar(struct machine *m, int core, int number, int32_t value, struct err *e)
{
    if (machine_check_core(m, core, e) != 0)
        return -1;
    if (number < 0 || number >= ISA_SREG_COUNT)
        return err_set(e, "scalar register %d out of 0..%d", number, ISA_SREG_COUNT - 1);
    m->core[core].entry_s[number] = value;
    return 0;
}

struct machine_memo_stats machine_memo_stats(const struct machine *m)
{
    struct machine_memo_stats sum = {.launches = launch_memo_repeats(m) + replay_count(m),
                                     .kernels = replay_kernel_count(m)};

    for (int i = 0; i < m->core_count; i++) {
        const struct machine_memo_stats *one;

        if (!m->core[i].memo)
            continue;
        one = memo_stats(m->core[i].memo);
        sum.looks += one->looks;
        sum.skips += one->skips;
        sum.iterations += one->iterations;
        sum.bundles += one->bundles;
    }
    return sum;
}
