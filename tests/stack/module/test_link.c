/* Do linked segments run one after the other, with their copies, gaps, loops and barriers? */
#include "tests/test.h"

#include "sim/machine/machine.h"
#include "stack/module/link.h"
#include "tests/rigs/chip_set.h"
#include "isa/op_make.h"

#define TILE_ELEMS 1024
#define FLAG 5
#define TILE_GRANULES (ARRAY_TILE_BYTES / ARRAY_GRANULE_BYTES)

struct bench {
    struct arena arena;
    struct chip chip;
    struct machine *m;
    struct err err;
};

static void must(int status, const struct err *e)
{
    if (status)
        fail_msg("%s", e->msg);
}

static void open_bench(struct bench *b, const char *setting)
{
    struct machine_options options = {.thread_count = 1, .simd = "auto", .cycle_limit = 1000000};
    struct slice slice;

    arena_init(&b->arena);
    must(slice_parse(&slice, "v3", &b->err), &b->err);
    must(chip_load_builtin(&b->chip, "v3", NULL, &b->arena, &b->err), &b->err);
    if (setting)
        must(chip_set(&b->chip, setting, NULL, &b->arena, &b->err), &b->err);
    b->m = machine_create(&slice, &b->chip, &options, &b->err);
    assert_non_null(b->m);
}

static void close_bench(struct bench *b)
{
    machine_destroy(b->m);
    arena_fini(&b->arena);
}

static void emit_load(struct vcode *c, int to, int64_t row)
{
    struct isa_operand o[] = {operand_reg(to), operand_none(), operand_imm((int32_t)row),
                              operand_imm(1), operand_imm(0xff)};

    vcode_emit(c, OP_VLD, 5, o)->region = 0;
}

static void emit_store(struct vcode *c, int64_t row, int from)
{
    struct isa_operand o[] = {operand_none(), operand_imm((int32_t)row), operand_imm(1),
                              operand_imm(0xff), operand_reg(from)};

    vcode_emit(c, OP_VST, 5, o)->region = 0;
}

/* the tile at `row` = itself * factor + addend, `rounds` times in a loop */
static void make_segment(struct bench *b, struct segment *s, int64_t row, float factor,
                         float addend, int64_t rounds)
{
    struct vcode c;
    int v, product, sum;
    int32_t bits[2];

    memcpy(&bits[0], &factor, 4);
    memcpy(&bits[1], &addend, 4);
    memset(s, 0, sizeof(*s));
    vcode_init(&c, &b->arena);
    c.note = "made by hand";
    vcode_begin_block(&c);
    vcode_loop_begin(&c, 3, rounds);
    v = vcode_vreg(&c), product = vcode_vreg(&c), sum = vcode_vreg(&c);
    emit_load(&c, v, row);
    vcode_emit(&c, OP_VMUL_F32, 3, (struct isa_operand[]){
        operand_reg(product), operand_reg(v), operand_imm(bits[0])});
    vcode_emit(&c, OP_VADD_F32, 3, (struct isa_operand[]){
        operand_reg(sum), operand_reg(product), operand_imm(bits[1])});
    emit_store(&c, row, sum);
    vcode_loop_end(&c, 3);
    must(vcode_compile_segment(&c, &b->chip, 1000, 10, &b->arena, &s->program, &s->stats,
                               &b->err), &b->err);
    vcode_fini(&c);
}

static struct array an_array(enum array_space space, int64_t address, int64_t elems)
{
    struct shape shape = shape_make(DTYPE_F32, 1, &elems);
    struct array a;

    array_init(&a, "x", &shape, NULL);
    a.space = space;
    a.address = address;
    return a;
}

static void link_items(struct bench *b, const struct link_item *item, int count,
                       struct link_result *out)
{
    must(link_program(item, count, &b->chip, "linked", &b->arena, out, &b->err), &b->err);
}

static void run(struct bench *b, const struct link_result *linked)
{
    must(machine_load(b->m, 0, &linked->program, &b->err), &b->err);
    must(machine_run(b->m, &b->err), &b->err);
}

static float row_of_vmem(struct bench *b, int core, int64_t row)
{
    float x[128];

    must(machine_vmem_read(b->m, core, row * 512, x, sizeof(x), &b->err), &b->err);
    for (int i = 1; i < 128; i++)
        assert_true(x[i] == x[0]);
    return x[0];
}

static void set_rows(struct bench *b, int core, int64_t row, float value)
{
    float x[TILE_ELEMS];

    for (int i = 0; i < TILE_ELEMS; i++)
        x[i] = value;
    must(machine_vmem_write(b->m, core, row * 512, x, sizeof(x), &b->err), &b->err);
}

TEST(segments_run_in_order_and_their_loops_stay_inside)
{
    struct bench b;
    struct segment twice, add;
    struct link_result linked;

    open_bench(&b, NULL);
    make_segment(&b, &twice, 0, 2.0f, 0.0f, 3);         /* x 8 */
    make_segment(&b, &add, 0, 1.0f, 1.0f, 5);           /* + 5 */
    struct link_item item[] = {
        {.kind = LINK_SEGMENT, .segment = &twice, .note = "fusion.1"},
        {.kind = LINK_SEGMENT, .segment = &add},
        {.kind = LINK_SEGMENT, .segment = &twice, .note = "fusion.2"}};

    link_items(&b, item, 3, &linked);
    set_rows(&b, 0, 0, 3.0f);
    run(&b, &linked);
    assert_true(row_of_vmem(&b, 0, 0) == (3.0f * 8 + 5) * 8);
    assert_int_equal(linked.first_bundle[0], 0);
    assert_string_equal(linked.program.symbol[0].name, "k0");
    assert_string_equal(linked.program.symbol[2].name, "k2");
    close_bench(&b);
}

static const char *note_of(const struct isa_program *p, uint32_t bundle)
{
    return p->bundle[bundle].note ? p->note[p->bundle[bundle].note - 1] : "";
}

TEST(a_note_of_an_item_names_its_bundles)
{
    struct bench b;
    struct segment s;
    struct link_result linked;

    open_bench(&b, NULL);
    make_segment(&b, &s, 0, 2.0f, 0.0f, 3);
    struct link_item item[] = {
        {.kind = LINK_SEGMENT, .segment = &s, .note = "fusion.1"},
        {.kind = LINK_SEGMENT, .segment = &s},
        {.kind = LINK_SEGMENT, .segment = &s, .note = "fusion.1"}};

    link_items(&b, item, 3, &linked);
    for (int i = 0; i < 3; i++) {
        uint32_t first = linked.program.symbol[i].bundle;

        assert_string_equal(note_of(&linked.program, first - 1), "between kernels");
        for (uint32_t k = 0; k < s.program.bundle_count; k++)
            assert_string_equal(note_of(&linked.program, first + k),
                                i == 1 ? "made by hand" : "fusion.1");
    }
    assert_int_equal(linked.program.note_count, 3);
    close_bench(&b);
}

TEST(finished_bundles_stand_in_place_of_a_block)
{
    struct bench b;
    struct segment inner, outer = {0};
    struct link_result linked;
    struct vcode c;

    open_bench(&b, NULL);
    make_segment(&b, &inner, 0, 1.0f, 1.0f, 5);         /* a loop of its own, with s3 */
    inner.program.symbol = &(struct isa_symbol){"inside", 1};
    inner.program.symbol_count = 1;
    vcode_init(&c, &b.arena);
    vcode_loop_begin(&c, 4, 3);
    vcode_bundles(&c, &inner.program);
    vcode_loop_end(&c, 4);
    vcode_bundles(&c, &inner.program);
    must(vcode_compile_segment(&c, &b.chip, 1000, 10, &b.arena, &outer.program, &outer.stats,
                               &b.err), &b.err);
    vcode_fini(&c);
    link_items(&b, (struct link_item[]){{.kind = LINK_SEGMENT, .segment = &outer}}, 1, &linked);
    set_rows(&b, 0, 0, 0.0f);
    run(&b, &linked);
    assert_true(row_of_vmem(&b, 0, 0) == 4 * 5);
    assert_int_equal(linked.program.symbol_count, 3);
    assert_string_equal(linked.program.symbol[1].name, "k0_inside");
    assert_int_equal(strncmp(linked.program.symbol[2].name, "k0_inside_", 10), 0);
    close_bench(&b);
}

static void emit_row_store(struct vcode *c, int base, int from)
{
    struct isa_operand o[] = {operand_reg(base), operand_imm(0), operand_imm(1),
                              operand_imm(0xff), operand_reg(from)};

    vcode_emit(c, OP_VST, 5, o)->region = 1;
}

/* tile i of 12 = i: the inner loop fills 4 tiles, the outer one goes on by 4 and by the value 4 */
TEST(steps_advance_registers_at_the_end_of_a_round)
{
    struct bench b;
    struct segment s = {0};
    struct link_result linked;
    struct vcode c;
    int v;

    open_bench(&b, NULL);
    vcode_init(&c, &b.arena);
    for (int i = 5; i <= 6; i++)
        vcode_emit(&c, OP_SMOV, 2, (struct isa_operand[]){operand_reg(i), operand_imm(0)});
    vcode_loop_begin(&c, 3, 3);
    vcode_loop_step(&c, 6, 1);
    vcode_loop_begin(&c, 4, 4);
    vcode_loop_step(&c, 5, 8);
    vcode_loop_step(&c, 6, 1);
    v = vcode_vreg(&c);
    vcode_emit(&c, OP_VSTV, 2, (struct isa_operand[]){operand_reg(v), operand_reg(6)});
    emit_row_store(&c, 5, v);
    vcode_loop_end(&c, 4);
    vcode_loop_end(&c, 3);
    must(vcode_compile_segment(&c, &b.chip, 1000, 10, &b.arena, &s.program, &s.stats, &b.err),
         &b.err);
    vcode_fini(&c);
    link_items(&b, (struct link_item[]){{.kind = LINK_SEGMENT, .segment = &s}}, 1, &linked);
    run(&b, &linked);
    for (int i = 0; i < 12; i++) {
        int32_t row[128];

        must(machine_vmem_read(b.m, 0, i * 4096, row, sizeof(row), &b.err), &b.err);
        assert_int_equal(row[0], i % 4 + i / 4 * 5);
    }
    close_bench(&b);
}

TEST(a_gap_stands_between_kernels_and_only_there)
{
    struct bench b;
    struct segment s;
    struct link_result linked;
    cycle_t cycles[4];

    open_bench(&b, "launch.kernel_ns=10000");
    make_segment(&b, &s, 0, 1.0f, 1.0f, 1);
    for (int count = 1; count <= 3; count++) {
        struct link_item item[3];

        for (int i = 0; i < count; i++)
            item[i] = (struct link_item){.kind = LINK_SEGMENT, .segment = &s};
        link_items(&b, item, count, &linked);
        set_rows(&b, 0, 0, 0.0f);
        run(&b, &linked);
        cycles[count] = machine_cycles(b.m);
    }
    assert_in_range(cycles[1], 1, 5000);
    assert_int_equal(cycles[3] - cycles[2], cycles[2] - cycles[1]);
    /* 10 us at 940 MHz, and what a kernel takes */
    assert_in_range(cycles[2] - cycles[1], 9400, 9400 + cycles[1]);
    close_bench(&b);
}

TEST(copies_run_beside_kernels_and_are_waited_for)
{
    struct bench b;
    struct segment s;
    struct link_result linked;
    struct array hbm = an_array(SPACE_HBM, 1 << 20, 5 * TILE_ELEMS);
    struct array vmem = an_array(SPACE_VMEM, 64 * 512, 5 * TILE_ELEMS);
    struct array back = an_array(SPACE_HBM, 2 << 20, 5 * TILE_ELEMS);
    static float in[5 * TILE_ELEMS], out[5 * TILE_ELEMS];

    open_bench(&b, NULL);
    make_segment(&b, &s, 64 + 4 * 8, 3.0f, 1.0f, 1);    /* the fifth tile */
    struct link_item item[] = {
        {.kind = LINK_COPY_START, .from = &hbm, .to = &vmem, .flag = FLAG},
        {.kind = LINK_COPY_DONE, .from = &hbm, .to = &vmem, .flag = FLAG},
        {.kind = LINK_SEGMENT, .segment = &s},
        {.kind = LINK_COPY_START, .from = &vmem, .to = &back, .flag = FLAG},
        {.kind = LINK_COPY_DONE, .from = &vmem, .to = &back, .flag = FLAG}};

    link_items(&b, item, 5, &linked);
    for (int i = 0; i < 5 * TILE_ELEMS; i++)
        in[i] = (float)i;
    must(machine_hbm_write(b.m, 0, hbm.address, in, sizeof(in), &b.err), &b.err);
    run(&b, &linked);
    must(machine_hbm_read(b.m, 0, back.address, out, sizeof(out), &b.err), &b.err);
    for (int i = 0; i < 5 * TILE_ELEMS; i++)
        assert_true(out[i] == (i < 4 * TILE_ELEMS ? in[i] : 3.0f * in[i] + 1.0f));
    close_bench(&b);
}

/* a copy of 64 tiles into VMEM, `row` on, its wait, a loop behind it */
static void make_copying_segment(struct bench *b, struct segment *s, struct segment *loop)
{
    struct isa_program *p = &s->program, *from = &loop->program;
    const struct isa_op ask = isa_make_dma(OP_DMA_HBM_VMEM, I(0), I(64 * TILE_GRANULES), I(0), I(FLAG + 1));
    const struct isa_op wait = isa_dma_done(I(FLAG + 1), I(64 * TILE_GRANULES));
    const struct isa_op reset = isa_vsyncadd(I(FLAG + 1), I(-64 * TILE_GRANULES));
    const struct isa_op first[] = {ask, wait, reset};

    *s = *loop;
    p->op = arena_array(&b->arena, from->op_count + 3, sizeof(*p->op));
    p->bundle = arena_array(&b->arena, from->bundle_count + 3, sizeof(*p->bundle));
    for (uint32_t i = 0; i < 3; i++) {
        p->op[i] = first[i];
        p->bundle[i] = (struct isa_bundle){.first_op = i, .op_count = 1};
    }
    for (uint32_t i = 0; i < from->op_count; i++) {
        p->op[i + 3] = from->op[i];
        if (p->op[i + 3].code == OP_SBR)
            p->op[i + 3].operand[0].value += 3;
    }
    for (uint32_t i = 0; i < from->bundle_count; i++) {
        p->bundle[i + 3] = from->bundle[i];
        p->bundle[i + 3].first_op += 3;
    }
    p->op_count += 3;
    p->bundle_count += 3;
    p->symbol_count = 0;
}

/* the same where the loop waits in each of its rounds for what was asked for before it */
static void make_waiting_loop(struct bench *b, struct segment *s, struct segment *loop)
{
    struct isa_program *p = &s->program, *from = &loop->program;
    uint32_t begin = 0, at = 0;

    *s = *loop;
    p->op = arena_array(&b->arena, from->op_count + 3, sizeof(*p->op));
    p->bundle = arena_array(&b->arena, from->bundle_count + 3, sizeof(*p->bundle));
    p->op_count = p->bundle_count = p->symbol_count = 0;
    for (uint32_t i = 0; i < from->op_count; i++)
        if (from->op[i].code == OP_SBR)
            begin = (uint32_t)from->op[i].operand[0].value;
    for (uint32_t i = 0; i < from->bundle_count + 3; i++) {
        p->bundle[i] = (struct isa_bundle){.first_op = p->op_count, .op_count = 1};
        p->bundle_count++;
        if (i == 0) {
            p->op[p->op_count++] = isa_make_dma(OP_DMA_HBM_VMEM, I(0), I(64 * TILE_GRANULES), I(0),
                                                I(FLAG + 1));
        } else if (i == begin + 1) {
            p->op[p->op_count++] = isa_dma_done(I(FLAG + 1), I(64 * TILE_GRANULES));
        } else if (at == from->bundle_count) {
            p->op[p->op_count++] = isa_vsyncadd(I(FLAG + 1), I(-64 * TILE_GRANULES));
        } else {
            p->bundle[i].op_count = from->bundle[at].op_count;
            for (uint32_t k = 0; k < from->bundle[at].op_count; k++) {
                struct isa_op op = from->op[from->bundle[at].first_op + k];

                if (op.code == OP_SBR)
                    op.operand[0].value += 1;
                p->op[p->op_count++] = op;
            }
            at++;
        }
    }
}

/* what the kernel waits for first comes first, and its loop finds its way */
TEST(a_copy_for_later_starts_behind_the_first_ones_of_a_kernel)
{
    struct array hbm = an_array(SPACE_HBM, 1 << 20, 512 * TILE_ELEMS);
    struct array vmem = an_array(SPACE_VMEM, 2048 * 512, 512 * TILE_ELEMS);
    cycle_t cycles[4];

    for (int at = 0; at < 4; at++) {
        bool is_beside = at & 1;
        struct bench b;
        struct segment s, loop;
        struct link_result linked;

        open_bench(&b, "dma.turn_copies=1");
        make_segment(&b, &loop, 1024, 1.0f, 1.0f, 500);
        (at < 2 ? make_copying_segment : make_waiting_loop)(&b, &s, &loop);
        struct link_item item[] = {
            {.kind = LINK_COPY_START, .from = &hbm, .to = &vmem, .flag = FLAG,
             .is_beside = is_beside},
            {.kind = LINK_SEGMENT, .segment = &s},
            {.kind = LINK_COPY_DONE, .from = &hbm, .to = &vmem, .flag = FLAG}};

        link_items(&b, item, 3, &linked);
        set_rows(&b, 0, 1024, 0.0f);
        run(&b, &linked);
        cycles[at] = machine_cycles(b.m);
        assert_true(row_of_vmem(&b, 0, 1024) == 500.0f);
        close_bench(&b);
    }
    assert_true(cycles[1] + 1000 < cycles[0]);
    assert_true(cycles[3] + 1000 < cycles[2]);
}

TEST(loops_of_items_nest)
{
    struct bench b;
    struct segment one, two;
    struct link_result linked;

    open_bench(&b, NULL);
    make_segment(&b, &one, 0, 1.0f, 1.0f, 7);
    make_segment(&b, &two, 8, 1.0f, 1.0f, 1);
    struct link_item item[] = {
        {.kind = LINK_LOOP_BEGIN, .count = 4},
        {.kind = LINK_SEGMENT, .segment = &one},
        {.kind = LINK_LOOP_BEGIN, .count = 6},
        {.kind = LINK_SEGMENT, .segment = &two},
        {.kind = LINK_LOOP_END},
        {.kind = LINK_LOOP_END}};

    link_items(&b, item, 6, &linked);
    set_rows(&b, 0, 0, 0.0f);
    set_rows(&b, 0, 8, 0.0f);
    run(&b, &linked);
    assert_true(row_of_vmem(&b, 0, 0) == 4 * 7);
    assert_true(row_of_vmem(&b, 0, 8) == 4 * 6);
    close_bench(&b);
}

/* core 1 works long; core 0 may only begin its copy of core 1's result after the barrier */
TEST(a_barrier_holds_both_cores_of_a_chip)
{
    struct bench b;
    struct segment longer, shorter;
    struct link_result linked[2];
    cycle_t alone;

    open_bench(&b, NULL);
    make_segment(&b, &longer, 0, 1.0f, 1.0f, 5000);
    make_segment(&b, &shorter, 0, 1.0f, 1.0f, 1);
    for (int core = 0; core < 2; core++) {
        uint32_t peer = 1 - (uint32_t)core;
        struct link_item item[] = {
            {.kind = LINK_SEGMENT, .segment = core ? &longer : &shorter},
            {.kind = LINK_BARRIER, .flag = FLAG},
            {.kind = LINK_SEGMENT, .segment = core ? &shorter : &longer},
            {.kind = LINK_BARRIER, .flag = FLAG},
            {.kind = LINK_SEGMENT, .segment = core ? &longer : &shorter}};

        link_items(&b, item, 5, &linked[core]);
        must(machine_load(b.m, core, &linked[core].program, &b.err), &b.err);
        must(machine_smem_write(b.m, core, SMEM_PEER, &peer, 4, &b.err), &b.err);
        set_rows(&b, core, 0, 0.0f);
    }
    must(machine_run(b.m, &b.err), &b.err);
    alone = machine_cycles(b.m);
    assert_true(row_of_vmem(&b, 0, 0) == 5002);
    assert_true(row_of_vmem(&b, 1, 0) == 10001);
    /* long, long, long: one after the other; a core alone has at most two of them */
    assert_in_range(alone, 3 * 5000 * 4, 1000000);
    close_bench(&b);
}

static void assert_refused(struct bench *b, const struct link_item *item, int count,
                           const char *message)
{
    struct link_result linked;

    assert_int_equal(link_program(item, count, &b->chip, "x", &b->arena, &linked, &b->err), -1);
    if (!strstr(b->err.msg, message))
        fail_msg("\"%s\" instead of \"%s\"", b->err.msg, message);
}

TEST(what_cannot_be_linked_is_refused_by_name)
{
    struct bench b;
    struct array f32 = an_array(SPACE_HBM, 0, 2048), other = an_array(SPACE_VMEM, 0, 1024);
    struct link_item deep[LINK_LOOPS_MAX + 1];

    open_bench(&b, "chip.cores=1");
    assert_refused(&b, &(struct link_item){.kind = LINK_COPY_START, .from = &f32, .to = &other}, 1,
                   "a copy cannot make f32[1024]{0:T(1024)S(1)} of f32[2048]{0:T(1024)}");
    assert_refused(&b, &(struct link_item){.kind = LINK_COPY_DONE, .from = &f32, .flag = -1,
                                           .note = "copy-done.3"}, 1,
                   "copy-done.3: sync flag -1 out of 0..");
    assert_refused(&b, &(struct link_item){.kind = LINK_LOOP_END}, 1,
                   "a loop ends that has not begun");
    assert_refused(&b, &(struct link_item){.kind = LINK_LOOP_BEGIN, .count = 2}, 1,
                   "1 loops or conditionals have not ended");
    assert_refused(&b, &(struct link_item){.kind = LINK_LOOP_BEGIN, .count = -1}, 1,
                   "a loop of -1 rounds");
    assert_refused(&b, &(struct link_item){.kind = LINK_LOOP_EXIT}, 1,
                   "a loop is left that has not begun");
    assert_refused(&b, &(struct link_item){.kind = LINK_ELSE, .note = "conditional.7"}, 1,
                   "conditional.7: the other branch of a conditional that has not begun");
    assert_refused(&b, &(struct link_item){.kind = LINK_JOIN}, 1,
                   "a conditional ends that has not begun");
    assert_refused(&b, &(struct link_item){.kind = LINK_BRANCH, .from = &f32}, 1,
                   "branch: x is no scalar predicate");
    assert_refused(&b, &(struct link_item){.kind = LINK_BARRIER}, 1, "v3 has 1, two are needed");
    for (int i = 0; i <= LINK_LOOPS_MAX; i++)
        deep[i] = (struct link_item){.kind = LINK_LOOP_BEGIN, .count = 2};
    assert_refused(&b, deep, LINK_LOOPS_MAX + 1, "loops that count nested deeper than 8");
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_run_in_order_and_their_loops_stay_inside),
        cmocka_unit_test(a_note_of_an_item_names_its_bundles),
        cmocka_unit_test(finished_bundles_stand_in_place_of_a_block),
        cmocka_unit_test(steps_advance_registers_at_the_end_of_a_round),
        cmocka_unit_test(a_gap_stands_between_kernels_and_only_there),
        cmocka_unit_test(copies_run_beside_kernels_and_are_waited_for),
        cmocka_unit_test(a_copy_for_later_starts_behind_the_first_ones_of_a_kernel),
        cmocka_unit_test(loops_of_items_nest),
        cmocka_unit_test(a_barrier_holds_both_cores_of_a_chip),
        cmocka_unit_test(what_cannot_be_linked_is_refused_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
