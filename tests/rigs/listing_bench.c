#include "tests/rigs/listing_bench.h"

#include "sim/chip/limits.h"
#include "tests/test.h"

void bench_open(struct listing_bench *b, const char *chip)
{
    memset(b, 0, sizeof(*b));
    arena_init(&b->arena);
    assert_int_equal(chip_load_builtin(&b->chip, chip, NULL, &b->arena, &b->err), 0);
}

void bench_close(struct listing_bench *b)
{
    arena_fini(&b->arena);
}

int bench_scan(struct listing_bench *b, const char *text)
{
    return listing_scan(text, strlen(text), "x.txt", &b->arena, &b->listing, &b->errors);
}

int bench_place(struct listing_bench *b)
{
    struct listing_memory memory = {1 << 30, b->chip.vmem_bytes, b->chip.smem_bytes,
                                    (int)b->chip.sync_flags};

    return listing_place(&b->listing, &memory, &b->err);
}

void bench_assemble(struct listing_bench *b)
{
    struct isa_limits limits;

    chip_isa_limits(&b->chip, &limits);
    listing_assemble(&b->listing, &limits);
}

void bench_read(struct listing_bench *b, const char *text)
{
    bench_open(b, "v6e");
    if (bench_scan(b, text) != 0)
        fail_msg("%d:%d: %s", b->errors.err[0].line, b->errors.err[0].col, b->errors.err[0].msg);
    if (bench_place(b) != 0)
        fail_msg("%s", b->err.msg);
    bench_assemble(b);
}

const struct listing_op *bench_op(const struct listing_bench *b, const char *mnemonic)
{
    for (uint32_t i = 0; i < b->listing.op_count; i++)
        if (strcmp(b->listing.op[i].mnemonic, mnemonic) == 0)
            return &b->listing.op[i];
    fail_msg("no %s", mnemonic);
    return NULL;
}

const struct listing_allocation *bench_allocation(const struct listing_bench *b, const char *name)
{
    for (uint32_t i = 0; i < b->listing.allocation_count; i++)
        if (strcmp(b->listing.allocation[i].name, name) == 0)
            return &b->listing.allocation[i];
    fail_msg("no %s", name);
    return NULL;
}

struct machine *bench_machine(struct listing_bench *b, const char *tpu, cycle_t limit)
{
    struct machine_options options = {.thread_count = 1, .cycle_limit = limit};
    struct slice slice;
    struct machine *m;

    assert_int_equal(slice_parse(&slice, tpu, &b->err), 0);
    m = machine_create(&slice, &b->chip, &options, &b->err);
    if (!m)
        fail_msg("%s", b->err.msg);
    for (uint32_t i = 0; i < b->listing.operand_count; i++)
        assert_int_equal(machine_set_scalar(m, 0, b->listing.operand[i].reg,
                                            b->listing.operand[i].value, &b->err), 0);
    if (machine_load_listing(m, 0, &b->listing.program, b->listing.branch_delay_most, &b->err) != 0)
        fail_msg("%s", b->err.msg);
    return m;
}
