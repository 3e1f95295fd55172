/* Compiles and links one product by itself, its arrays in HBM from 0 on. */
#include "stack/module/op_bench.h"

#include "base/units.h"
#include "stack/module/link.h"
#include "stack/hlo/rewrite.h"
#include "stack/kernels/pipeline/kernel.h"
#include "stack/kernels/registry.h"

#define FIRST_ROW 64                    /* VMEM rows below it are nobody's */
#define FLAGS 60
#define FIRST_FLAG 2

struct bench {
    const struct chip *chip;
    struct kernel_job job;
    struct array operand[2], result;
    const struct array *operands[2], *results[1];
    struct link_result linked;
};

static struct graph *product(int64_t m, int64_t k, int64_t n, struct arena *a)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {1}, .rhs_contract = {0}};
    struct graph *g = arena_alloc(a, sizeof(*g));
    int x, y;

    graph_init(g, a, "dot");
    x = graph_parameter(g, shape_make(DTYPE_BF16, 2, (int64_t[]){m, k}), "lhs");
    y = graph_parameter(g, shape_make(DTYPE_BF16, 2, (int64_t[]){k, n}), "rhs");
    graph_output(g, graph_dot_general(g, x, y, &dot, DTYPE_BF16, PRECISION_DEFAULT), "dot", -1);
    graph_freeze(g);
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

/* compiles and links, in `a` */
static int make(struct bench *b, int64_t m, int64_t k, int64_t n, struct arena *a, struct err *e)
{
    struct segment *segment = arena_alloc(a, sizeof(*segment));
    struct link_item item = {.kind = LINK_SEGMENT, .segment = segment, .note = "dot"};
    const struct chip *chip = b->chip;

    b->job = (struct kernel_job){
        .chip = chip, .codegen = CODEGEN_BEST, .name = "dot", .source = "dot", .operand_count = 2,
        .result_count = 1, .operand = b->operands, .result = b->results, .vmem_row = FIRST_ROW,
        .vmem_rows = chip->vmem_bytes / ARRAY_ROW_BYTES - FIRST_ROW, .first_flag = FIRST_FLAG,
        .flag_count = FLAGS, .smem = LINK_SMEM_END,
        .smem_bytes = chip->smem_bytes - LINK_SMEM_END, .core_count = 1};
    b->job.body = product(m, k, n, a);
    place_arrays(b);
    return kernel_compile(&b->job, a, segment, e) ||
                   link_program(&item, 1, chip, "dot", a, &b->linked, e) ? -1 : 0;
}

int op_bench_program(int64_t m, int64_t k, int64_t n, const struct chip *chip, struct arena *a,
                     struct isa_program *out, int64_t *operand_bytes, struct err *e)
{
    struct bench b = {.chip = chip};

    if (make(&b, m, k, n, a, e))
        return -1;
    *out = b.linked.program;
    if (operand_bytes)
        *operand_bytes = b.result.address;
    return 0;
}
