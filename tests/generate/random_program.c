#include "tests/generate/random_program.h"

#include "base/units.h"
#include "isa/disasm.h"
#include "tests/generate/random_maker.h"
#include "tests/rigs/chip_set.h"
#include "tests/rigs/host_memory.h"
#include "tests/test.h"

#include <unistd.h>

#define WINDOW_BYTES (ZONE_COUNT * 8192)
#define SMEM_WINDOW_BYTES (ZONE_COUNT * 256)

/* scalar, bounded, vector, misc, memory, word, EUP, XLU, matrix, copy, flag */
static const struct character characters[] = {
    {"even",    {6, 5, 8, 3, 8, 3, 3, 4, 8, 4, 2},  14, 4, 4, 12, 8},
    {"mxu",     {2, 3, 4, 1, 6, 1, 1, 2, 30, 1, 1}, 12, 4, 1, 4, 8},
    {"scalar",  {20, 8, 2, 3, 6, 6, 1, 1, 1, 1, 2}, 8, 5, 9, 20, 20},
    {"copies",  {3, 5, 3, 1, 6, 1, 1, 1, 1, 25, 3}, 4, 3, 3, 8, 8},
    {"loops",   {4, 6, 8, 1, 9, 2, 3, 3, 6, 1, 0},  5, 18, 4, 4, 300},
    {"flags",   {4, 4, 3, 5, 3, 1, 1, 1, 1, 8, 20}, 4, 4, 4, 10, 8},
    {"lanes",   {2, 2, 8, 2, 6, 1, 8, 20, 2, 1, 1}, 10, 4, 3, 10, 8},
    {"guards",  {6, 3, 8, 3, 6, 4, 4, 5, 8, 3, 2},  10, 4, 12, 60, 8},
    {"sparse",  {2, 2, 2, 2, 4, 2, 2, 2, 2, 2, 2},  2, 6, 4, 8, 30},
};

/*
 * Memories of a size that can be compared as a whole after every program; for every third seed
 * a staging memory that holds copies up, for every fifth an instruction memory that programs
 * have to be fetched into.
 */
static void shrink_memories(struct random_programs *r)
{
    static const char *const set[] = {"vmem.bytes=262144", "cmem.bytes=1048576",
                                      "dma.staging_bytes=8192", "core.imem_bundles=64"};
    struct err e = {.line = 0};

    if (chip_set(&r->chip, set[0], NULL, &r->arena, &e)
        || (r->chip.cmem_bytes > 0 && chip_set(&r->chip, set[1], NULL, &r->arena, &e))
        || (r->seed % 3 == 1 && chip_set(&r->chip, set[2], NULL, &r->arena, &e))
        || (r->seed % 5 == 3 && chip_set(&r->chip, set[3], NULL, &r->arena, &e)))
        fail_msg("%s", e.msg);
}

/* for every fourth seed chunks and messages may overtake each other */
static void pick_routing(struct random_programs *r)
{
    struct err e = {.line = 0};

    if (r->seed % 4 == 2 && chip_set(&r->chip, "ici.routing=adaptive", NULL, &r->arena, &e))
        fail_msg("%s", e.msg);
}

static void pick_slice(struct random_programs *r, struct rng *rng, const char *chip)
{
    struct slice fitting[16], s;
    struct err e = {.line = 0};
    int count = 0, i;

    for (i = 0; count < 16 && slice_of_chip(&s, chip, i); i++)
        if (s.core_count <= RANDOM_CORES_MAX)
            fitting[count++] = s;
    if (count == 0 || chip_load_builtin(&r->chip, chip, NULL, &r->arena, &e))
        fail_msg("no slice of %s: %s", chip, e.msg);
    shrink_memories(r);
    pick_routing(r);
    r->slice = fitting[rng_below(rng, (uint32_t)count)];
    r->core_count = r->slice.core_count;
    r->busy_count = 1 + (int)rng_below(rng, (uint32_t)r->core_count);
}

/* at the start of a memory or at its end */
static struct random_window pick_window(struct rng *rng, int64_t memory_bytes, int64_t bytes)
{
    if (memory_bytes < bytes)
        return (struct random_window){0, 0};
    return (struct random_window){rng_below(rng, 3) ? 0 : memory_bytes - bytes, bytes};
}

static void pick_windows(struct random_programs *r, struct rng *rng)
{
    int64_t cores = r->chip.chip_cores;
    int64_t hbm_bytes = (int64_t)(r->chip.hbm_gib * 1024 * 1024) * 1024 / cores;

    r->hbm = pick_window(rng, hbm_bytes / 4096 * 4096, WINDOW_BYTES);
    r->vmem = pick_window(rng, r->chip.vmem_bytes, WINDOW_BYTES);
    r->smem = pick_window(rng, r->chip.smem_bytes, SMEM_WINDOW_BYTES);
    r->cmem = pick_window(rng, r->chip.cmem_bytes / cores / 4096 * 4096, WINDOW_BYTES);
    r->host = pick_window(rng, r->chip.host_window_bytes, WINDOW_BYTES);
}

/* with its weights a little changed */
static struct character pick_character(struct rng *rng)
{
    struct character c = characters[rng_below(rng, COUNT_OF(characters))];

    for (int i = 0; i < CATEGORY_COUNT; i++)
        c.weight[i] = (uint8_t)(c.weight[i] * (2 + rng_below(rng, 3)) / 3);
    return c;
}

static void make_prologue(struct maker *m)
{
    fill_cmem(m);
    for (int i = 0; i < 12; i++)
        make_memory(m);
    end_bundle(m);
}

/* what is left in FIFOs and accumulators at the end is nobody's */
static void make_epilogue(struct maker *m)
{
    struct isa_op op;

    if (chance(m, 50))
        settle(m);
    else
        settle_flags(m);
    end_bundle(m);
    emit_surely(m, fresh_op(m, &op, OP_SHALT));
    end_bundle(m);
}

static void make_parts(struct maker *m)
{
    int parts = 2 * m->plan->count + 1, i;

    make_prologue(m);
    for (i = 0; i < parts; i++) {
        make_block(m, 1 + m->r->options.bundles / (2 * parts));
        while (m->executed < (double)m->r->options.bundles * (i + 1) / parts)
            make_bundle(m);
        if (i < parts - 1 && i % 2 == 0)
            make_send(m, i / 2);
        else if (i < parts - 1)
            make_receive(m, i / 2);
    }
    make_epilogue(m);
}

static void keep_program(struct maker *m, struct isa_program *p)
{
    struct arena *a = &m->r->arena;

    *p = (struct isa_program){.name = arena_printf(a, "core %d", m->core),
                              .op_count = m->op_count, .bundle_count = m->bundle_count};
    p->op = arena_array(a, m->op_count, sizeof(*p->op));
    p->bundle = arena_array(a, m->bundle_count, sizeof(*p->bundle));
    memcpy(p->op, m->op, m->op_count * sizeof(*p->op));
    memcpy(p->bundle, m->bundle, m->bundle_count * sizeof(*p->bundle));
    mem_free(m->op);
    mem_free(m->bundle);
}

static void check_legal(const struct random_programs *r, const struct maker *m,
                        const struct isa_program *p)
{
    char name[120];
    struct err e = {.line = 0};

    if (isa_check(p, &m->limits, &e))
        fail_msg("%s, core %d: %s", random_programs_name(r, name, sizeof(name)), m->core, e.msg);
}

static void make_core(struct random_programs *r, const struct random_plan *plan,
                      const struct character *character, int core)
{
    struct maker *m = mem_alloc(sizeof(*m));

    *m = (struct maker){.r = r, .chip = &r->chip, .plan = plan, .character = *character,
                        .core = core, .times = 1};
    chip_isa_limits(&r->chip, &m->limits);
    rng_init(&m->rng, r->seed * 64 + 1 + (uint64_t)core);
    for (int i = 0; i < ISA_SREG_COUNT; i++)
        r->entry_s[core][i] = random_word(&m->rng);
    fifo_setup(m);
    matrix_setup(m);
    zones_setup(m);
    keep_inboxes(m);
    make_parts(m);
    keep_program(m, &r->program[core]);
    check_legal(r, m, &r->program[core]);
    memcpy(r->descriptor[core], m->descriptor, sizeof(m->descriptor));
    mem_free(m);
}

static void make_idle_core(struct random_programs *r, int core)
{
    static struct isa_op halt[] = {{.code = OP_SHALT, .pred = ISA_PRED_ALWAYS}};
    static struct isa_bundle bundle[] = {{.op_count = 1, .line = 1}};

    r->program[core] = (struct isa_program){.name = "idle", .op = halt, .bundle = bundle,
                                            .op_count = 1, .bundle_count = 1};
}

void random_programs_make(struct random_programs *r, const char *chip, uint64_t seed,
                          const struct random_options *options)
{
    struct character character;
    struct random_plan plan = {.count = 0};
    struct rng rng;

    memset(r, 0, sizeof(*r));
    arena_init(&r->arena);
    r->seed = seed;
    if (options)
        r->options = *options;
    if (r->options.bundles == 0)
        r->options.bundles = 400;
    rng_init(&rng, seed);
    pick_slice(r, &rng, chip);
    pick_windows(r, &rng);
    character = pick_character(&rng);
    r->character = character.name;
    plan_phases(&plan, &rng, r);
    for (int i = 0; i < r->core_count; i++)
        if (i < r->busy_count)
            make_core(r, &plan, &character, i);
        else
            make_idle_core(r, i);
}

void random_programs_free(struct random_programs *r)
{
    arena_fini(&r->arena);
}

/* a page of one kind: anything, ordinary floats, packed bf16, small integers */
static void fill_page(struct rng *rng, uint32_t *page, size_t words)
{
    uint32_t kind = rng_below(rng, 4);

    for (size_t i = 0; i < words; i++) {
        union { float f; uint32_t bits; } x = {.f = rng_uniform(rng, -2, 2)};
        uint32_t low = x.bits >> 16;

        switch (kind) {
        case 0: page[i] = (uint32_t)random_word(rng); break;
        case 1: page[i] = x.bits; break;
        case 2: page[i] = (x.bits & 0xffff0000u) | (low ^ 0x80u); break;
        default: page[i] = rng_below(rng, 64); break;
        }
    }
}

static const struct random_window *window_of_memory(const struct random_programs *r,
                                                    enum random_memory memory)
{
    const struct random_window *const windows[RANDOM_MEMORY_COUNT] = {
        &r->hbm, &r->vmem, &r->smem, &r->host};

    return windows[memory];
}

void random_contents(const struct random_programs *r, int core, enum random_memory memory,
                     unsigned char *to)
{
    int64_t bytes = window_of_memory(r, memory)->bytes, at;
    uint32_t page[256];
    struct rng rng;

    rng_init(&rng, r->seed * 64 + 16 + (uint64_t)(RANDOM_MEMORY_COUNT * core) + memory);
    for (at = 0; at < bytes; at += (int64_t)sizeof(page)) {
        fill_page(&rng, page, COUNT_OF(page));
        memcpy(to + at, page, sizeof(page));
    }
    if (memory == RANDOM_SMEM)
        memcpy(to + bytes - RANDOM_DESCRIPTOR_BYTES, r->descriptor[core], RANDOM_DESCRIPTOR_BYTES);
}

static void must(const struct random_programs *r, int status, const struct err *e)
{
    char name[120];

    if (status)
        fail_msg("%s: %s", random_programs_name(r, name, sizeof(name)), e->msg);
}

void random_programs_load(const struct random_programs *r, struct machine *m)
{
    unsigned char *buf = mem_alloc(WINDOW_BYTES);
    struct err e = {.line = 0};

    for (int core = 0; core < r->core_count; core++) {
        must(r, machine_load(m, core, &r->program[core], &e), &e);
        for (int i = 0; i < ISA_SREG_COUNT; i++)
            must(r, machine_set_scalar(m, core, i, r->entry_s[core][i], &e), &e);
        random_contents(r, core, RANDOM_HBM, buf);
        must(r, machine_hbm_write(m, core, r->hbm.first, buf, r->hbm.bytes, &e), &e);
        random_contents(r, core, RANDOM_VMEM, buf);
        must(r, machine_vmem_write(m, core, r->vmem.first, buf, r->vmem.bytes, &e), &e);
        random_contents(r, core, RANDOM_SMEM, buf);
        must(r, machine_smem_write(m, core, r->smem.first, buf, r->smem.bytes, &e), &e);
        random_contents(r, core, RANDOM_HOST, buf);
        host_memory_write(m, core, r->host.first, buf, r->host.bytes);
    }
    mem_free(buf);
}

char *random_programs_name(const struct random_programs *r, char *buf, size_t buf_bytes)
{
    snprintf(buf, buf_bytes, "SYSTOLE_SEED=%llu (%s, %s, %d of %d cores%s%s)",
             (unsigned long long)r->seed, r->slice.name, r->character, r->busy_count,
             r->core_count, r->options.races ? ", races" : "",
             r->options.for_timing ? ", for timing" : "");
    return buf;
}

void random_programs_print(const struct random_programs *r, FILE *to)
{
    char name[120];

    fprintf(to, "// %s\n", random_programs_name(r, name, sizeof(name)));
    for (int core = 0; core < r->busy_count; core++) {
        fprintf(to, "// core %d\n", core);
        isa_print_program(&r->program[core], to);
    }
}

uint64_t random_seed_count(uint64_t usual, uint64_t in_long_test)
{
    const char *text = getenv("SYSTOLE_PROGRAMS");

    if (getenv("SYSTOLE_SEED"))
        return 1;
    if (text)
        return strtoull(text, NULL, 10);
    return test_is_long() ? in_long_test : usual;
}

uint64_t random_seed(uint64_t index)
{
    const char *text = getenv("SYSTOLE_SEED");

    return text ? strtoull(text, NULL, 10) : index;
}

void random_progress(uint64_t done, uint64_t total)
{
    if (total > 100 && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%llu of %llu%s", (unsigned long long)done, (unsigned long long)total,
                done == total ? "\n" : "");
}
