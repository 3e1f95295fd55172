#include "stack/op_bench.h"

#include <string.h>

#include "base/units.h"
#include "sim/machine.h"
#include "stack/dot_residency.h"
#include "stack/link.h"

#define FIRST_ROW 64                    /* VMEM rows below it are nobody's */
#define FLAGS 60
#define COPY_FLAG 1

struct bench {
    const struct chip *chip;
    struct arena a;
    struct kernel_job job;
    struct array operand[2], result, resident;
    const struct array *operands[2], *results[1];
    struct link_item item[3];
    int items;
    struct segment segment;
    struct link_result linked;
};

static struct graph *product(int64_t m, int64_t k, int64_t n, enum graph_dtype dtype,
                             struct arena *a)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {1}, .rhs_contract = {0}};
    struct graph *g = arena_alloc(a, sizeof(*g));
    int x, y;

    graph_init(g, a, "dot");
    x = graph_parameter(g, shape_make(dtype, 2, (int64_t[]){m, k}), "lhs");
    y = graph_parameter(g, shape_make(dtype, 2, (int64_t[]){k, n}), "rhs");
    graph_output(g, graph_dot_general(g, x, y, &dot, dtype, PRECISION_DEFAULT), "dot", -1);
    return g;
}

static void place_arrays(struct bench *b)
{
    int64_t next = 0;

    for (int i = 0; i < 2; i++) {
        array_init(&b->operand[i], i ? "rhs" : "lhs", &b->job.body->node[i].shape, NULL);
        b->operand[i].address = next;
        b->operands[i] = &b->operand[i];
        next += b->operand[i].bytes;
    }
    array_init(&b->result, "result", &b->job.body->node[2].shape, NULL);
    b->result.address = next;
    b->results[0] = &b->result;
}

/* the copy of an operand into VMEM, before the kernel */
static void make_resident(struct bench *b, int operand)
{
    if (operand < 0)
        return;
    b->resident = b->operand[operand];
    b->resident.space = SPACE_VMEM;
    b->resident.address = b->chip->vmem_bytes - b->resident.bytes;
    b->operands[operand] = &b->resident;
    b->job.vmem_rows -= b->resident.bytes / ARRAY_ROW_BYTES;
    b->item[b->items++] = (struct link_item){.kind = LINK_COPY_START, .flag = COPY_FLAG,
                                             .from = &b->operand[operand], .to = &b->resident,
                                             .note = "copy-start"};
    b->item[b->items++] = (struct link_item){.kind = LINK_COPY_DONE, .flag = COPY_FLAG,
                                             .from = &b->operand[operand], .to = &b->resident,
                                             .note = "copy-done"};
}

static int run(const struct bench *b, int64_t *cycles, struct err *e)
{
    struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1};
    struct slice slice = {.name = "one chip", .dims = 2, .dim = {1, 1, 1}, .chip_count = 1,
                          .core_count = (int)b->chip->chip_cores};
    struct machine *m;
    int status;

    m = machine_create(&slice, b->chip, &options, e);
    if (!m)
        return -1;
    status = machine_load(m, 0, &b->linked.program, e) || machine_run(m, e) ? -1 : 0;
    *cycles = (int64_t)machine_cycles(m);
    machine_destroy(m);
    return status;
}

static int bench(struct bench *b, struct op_bench *out, struct err *e)
{
    *out = (struct op_bench){.resident = -1};
    place_arrays(b);
    if (b->job.codegen == CODEGEN_XLA)
        out->resident = dot_residency(&b->job, dot_residency_bytes(b->chip));
    make_resident(b, out->resident);
    out->resident_bytes = out->resident < 0 ? 0 : b->resident.bytes;
    if (kernel_compile(&b->job, &b->a, &b->segment, e))
        return -1;
    b->item[b->items++] = (struct link_item){.kind = LINK_SEGMENT, .segment = &b->segment,
                                             .note = "dot"};
    if (link_program(b->item, b->items, b->chip, "dot", &b->a, &b->linked, e)
        || run(b, &out->cycles, e))
        return -1;
    out->ns = (double)((b->items > 1 ? 3 : 2) * b->chip->launch_kernel_ns)
              + (double)out->cycles * 1e3 / (double)b->chip->chip_clock_mhz;
    out->tiling = b->segment.tiling;
    out->cost = b->segment.cost;
    out->bundles = b->linked.program.bundle_count;
    return 0;
}

int op_bench_dot(int64_t m, int64_t k, int64_t n, enum graph_dtype dtype,
                 const struct chip *chip, enum codegen codegen, const struct tiling *tiling,
                 struct op_bench *out, struct err *e)
{
    struct bench b = {.chip = chip};
    int status;

    arena_init(&b.a);
    b.job = (struct kernel_job){
        .chip = chip, .codegen = codegen, .name = "dot", .source = "dot", .operand_count = 2,
        .result_count = 1, .operand = b.operands, .result = b.results, .vmem_row = FIRST_ROW,
        .vmem_rows = chip->vmem_bytes / ARRAY_ROW_BYTES - FIRST_ROW, .first_flag = COPY_FLAG + 1,
        .flag_count = FLAGS, .smem = LINK_SMEM_END,
        .smem_bytes = chip->smem_bytes - LINK_SMEM_END, .core_count = 1, .tiling = tiling};
    b.job.body = product(m, k, n, dtype, &b.a);
    status = bench(&b, out, e);
    arena_fini(&b.a);
    return status;
}
