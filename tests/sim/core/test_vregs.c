/*
 * Registers that stand for a tile elsewhere (sim/core/vregs.h): does whoever reads
 * them find what plain copies would have left there? Random operations on a few
 * VMEM rows that overlap each other, straight and in loops, against the same on
 * plain arrays with the plain path's kernels.
 */
#include "base/arena.h"
#include "base/floats.h"
#include "base/rng.h"
#include "sim/observe/inspect.h"
#include "sim/lanes/simd.h"
#include "sim/snapshot/snapshot.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#define ROWS 40                         /* loads and stores anywhere in them */
#define WEIGHTS 48                      /* row of 16 tiles of weights */
#define REGISTERS 10
#define RESULTS 6                       /* at most in the FIFO, but for one of a sum that is drawn */
#define FIFO_DEPTH 8
#define TURNS 3                         /* of a loop */
#define BODY 40                         /* operations in it */

#define GUARDS 2                        /* p2, p3 */

enum kind { LOAD, STORE, ADD, UNPACK, MULTIPLY, POP, MOVE, CLEAR, WEIGHTS_IN, SWAP, TURN, POWER,
            DECIDE, KINDS };

struct step {
    enum kind kind;
    int a, b, d, row;                   /* b: of UNPACK, the half; of MULTIPLY, which weights */
    int guard;                          /* 0: none; else 1 + 2 x which + is negated */
};

struct plain {
    uint32_t vmem[(WEIGHTS + 128) * 128], reg[32][1024], fifo[FIFO_DEPTH][1024];
    uint32_t staging[64][128], gain[2][64][128];
    int pushed, popped, turn;
    bool predicate[GUARDS];
};

static const struct simd_path *path;
static struct plain model;

/* bit 0 of `how`: the gain register; bit 1: it is loaded before */
static void multiply(const uint32_t *tile, int how)
{
    uint32_t row[8][64];

    if (how & 2) {
        memcpy(model.gain[how & 1], model.staging, sizeof(model.staging));
        memset(model.staging, 0, sizeof(model.staging));
    }
    path->rows_of_f32(row, tile);
    path->matmul(model.fifo[model.pushed++ % FIFO_DEPTH], NULL, (const uint32_t (*)[64])row,
                 (const uint32_t (*)[128])model.gain[how & 1]);
}

static void push_weights(const uint32_t *tile)
{
    memmove(model.staging + 4, model.staging, 60 * sizeof(*model.staging));
    path->pack_rows(model.staging, tile);
}

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t held[1024];

    memcpy(held, a, sizeof(held));
    memmove(a, b, sizeof(held));
    memcpy(b, held, sizeof(held));
}

static void turn(uint32_t *d, const uint32_t *a, int up)
{
    uint32_t turned[1024];

    for (int i = 0; i < 1024; i++)
        turned[i / 128 * 128 + (i + up) % 128] = a[i];
    memcpy(d, turned, sizeof(turned));
}

static bool guard_holds(const struct step *s)
{
    int which = (s->guard - 1) / 2, is_negated = (s->guard - 1) & 1;

    return s->guard == 0 || model.predicate[which] != is_negated;
}

static void carry_out(const struct step *s)
{
    uint32_t *rows = model.vmem + 128 * s->row;

    if (!guard_holds(s))
        return;
    switch (s->kind) {
    case LOAD: memcpy(model.reg[s->d], rows, 4096); break;
    case STORE: memcpy(rows, model.reg[s->a], 4096); break;
    case ADD: path->binary[BIN_ADD_F32](model.reg[s->d], model.reg[s->a], model.reg[s->b]); break;
    case UNPACK:
        path->unary[s->b ? UN_UNPACK_C_H : UN_UNPACK_C_L](model.reg[s->d], model.reg[s->a]);
        break;
    case MULTIPLY: multiply(model.reg[s->a], s->b); break;
    case CLEAR: memset(model.reg[s->d], 0, 4096); break;
    case WEIGHTS_IN: push_weights(model.reg[s->a]); break;
    case SWAP: swap(model.reg[s->a], model.reg[s->d]); break;
    case TURN: turn(model.reg[s->d], model.reg[s->a], s->b); break;
    case POWER: path->unary[UN_POW2](model.reg[s->d], model.reg[s->a]); break;
    case DECIDE: model.predicate[s->a % GUARDS] = model.turn < s->b % (TURNS + 1); break;
    case POP: memcpy(model.reg[s->d], model.fifo[model.popped++ % FIFO_DEPTH], 4096); break;
    default: memmove(model.reg[s->d], model.reg[s->a], 4096); break;
    }
}

static const char *guard_text(const struct step *s)
{
    static const char *const texts[] = {"", " (p2)", " (!p2)", " (p3)", " (!p3)"};

    return texts[s->guard];
}

static int write_step(const struct step *s, char *to, size_t room)
{
    const char *g = guard_text(s);

    switch (s->kind) {
    case LOAD: return snprintf(to, room, "{ v%d = vld%s [vmem:%d] }\n", s->d, g, s->row);
    case STORE: return snprintf(to, room, "{ vst%s [vmem:%d] v%d }\n", g, s->row, s->a);
    case ADD: return snprintf(to, room, "{ v%d = vadd.f32%s v%d, v%d }\n", s->d, g, s->a, s->b);
    case UNPACK:
        return snprintf(to, room, "{ v%d = vunpack.c.%s.bf16%s v%d }\n", s->d,
                        s->b ? "h" : "l", g, s->a);
    case MULTIPLY:
        return snprintf(to, room, "{ vmatmul.f32%s.gmr%c.mxu0 v%d }\n",
                        s->b & 2 ? ".vlgmr.msra" : "", "ab"[s->b & 1], s->a);
    case CLEAR: return snprintf(to, room, "{ v%d = vmov%s 0 }\n", s->d, g);
    case SWAP:
        return snprintf(to, room, s->a == s->d ? "{ v%d = vmov%s v%d }\n"
                                               : "{ v%d = vmov%s v%d ;; v%d = vmov%s v%d }\n",
                        s->a, g, s->d, s->d, g, s->a);
    case TURN:
        return snprintf(to, room, "{ vrot.lane.b32.xlu0 v%d, %d }\n{ v%d = vpop.permute.xlu0 }\n",
                        s->a, s->b, s->d);
    case POWER:
        return snprintf(to, room, "{ vpow2.f32 v%d }\n{ v%d = vpop.eup }\n", s->a, s->d);
    case WEIGHTS_IN: return snprintf(to, room, "{ vmatpush.msra.mxu0 v%d }\n", s->a);
    case DECIDE:
        return snprintf(to, room, "{ p%d = scmp.lt.s32.totalorder s2, %d }\n", 2 + s->a % GUARDS,
                        s->b % (TURNS + 1));
    case POP: return snprintf(to, room, "{ v%d = vpop.f32.mrf.mxu0 }\n", s->d);
    default: return snprintf(to, room, "{ v%d = vmov%s v%d }\n", s->d, g, s->a);
    }
}

static bool may_be_guarded(enum kind kind)
{
    return kind == LOAD || kind == STORE || kind == ADD || kind == UNPACK || kind == CLEAR
           || kind == SWAP || kind == MOVE;
}

/* as many pops as pushes, never one too early, never too many on the way */
static void draw_body(struct step *body, struct rng *r)
{
    int waiting = 0;

    for (int i = 0; i < BODY; i++) {
        struct step *s = &body[i];

        s->kind = (enum kind)rng_below(r, KINDS);
        if (BODY - i <= waiting || (s->kind == MULTIPLY && waiting == RESULTS))
            s->kind = POP;
        if (s->kind == POP && waiting == 0)
            s->kind = BODY - i > 2 ? MULTIPLY : LOAD;
        if (s->kind == MULTIPLY && BODY - i <= waiting + 1)
            s->kind = waiting ? POP : ADD;
        waiting += (s->kind == MULTIPLY) - (s->kind == POP);
        s->a = (int)rng_below(r, REGISTERS);
        s->b = (int)rng_below(r, s->kind == UNPACK ? 2 : s->kind == MULTIPLY ? 4 : REGISTERS);
        s->d = (int)rng_below(r, REGISTERS);
        s->row = (int)rng_below(r, 4) * 8 + (rng_below(r, 3) ? 0 : (int)rng_below(r, 8));
        s->guard = may_be_guarded(s->kind) && rng_below(r, 3) == 0
                       ? 1 + (int)rng_below(r, 2 * GUARDS) : 0;
    }
    assert_int_equal(waiting, 0);
}

/* what rounds do: pop, load, add, store over what was loaded */
static void draw_sum(struct step *body, struct rng *r)
{
    int at = (int)rng_below(r, BODY - 6), pop = (int)rng_below(r, REGISTERS);
    int load = (pop + 1) % REGISTERS, row = (int)rng_below(r, 4) * 8;
    int slip = rng_below(r, 4) == 0 ? 3 : 0;

    for (int i = 0; i < 5; i++)
        if (body[at + i].kind == MULTIPLY || body[at + i].kind == POP)
            return;
    body[at] = (struct step){.kind = MULTIPLY, .a = load};
    body[at + 1] = (struct step){.kind = LOAD, .d = load, .row = row};
    if (rng_below(r, 3) == 0)
        body[at + 1] = (struct step){.kind = CLEAR, .d = load};
    if (rng_below(r, 2) == 0)
        body[at + 1].guard = 1 + (int)rng_below(r, 2 * GUARDS);
    body[at + 2] = (struct step){.kind = POP, .d = pop};
    body[at + 3] = (struct step){.kind = ADD, .a = pop, .b = load, .d = pop};
    body[at + 4] = (struct step){.kind = STORE, .a = pop, .row = row + slip};
}

/* rows that a register stands for are overwritten; a guard decides whether it is read or not */
static void draw_kept(struct step *body, struct rng *r)
{
    int at = (int)rng_below(r, BODY - 7), kept = (int)rng_below(r, REGISTERS);
    int row = (int)rng_below(r, 4) * 8, guard = 1 + (int)rng_below(r, 2 * GUARDS);
    int other = rng_below(r, 2) ? 1 + ((guard - 1) ^ 1) : 1 + (int)rng_below(r, 2 * GUARDS);

    for (int i = 0; i < 6; i++)
        if (body[at + i].kind == MULTIPLY || body[at + i].kind == POP)
            return;
    body[at] = (struct step){.kind = LOAD, .d = kept, .row = row};
    body[at + 1] = (struct step){.kind = STORE, .a = (kept + 1) % REGISTERS, .row = row};
    if (rng_below(r, 2))
        body[at + 2] = (struct step){.kind = DECIDE, .a = (guard - 1) / 2,
                                     .b = (int)rng_below(r, TURNS + 1)};
    body[at + 3] = (struct step){.kind = CLEAR, .d = kept, .guard = guard};
    if (rng_below(r, 2))
        body[at + 4] = (struct step){.kind = LOAD, .d = kept, .row = row, .guard = other};
    body[at + 5] = (struct step){.kind = MOVE, .a = kept, .d = (kept + 2) % REGISTERS};
}

static const char *write_program(const struct step *body, char *text, size_t room)
{
    size_t n = 0;

    for (int gain = 'a'; gain <= 'b'; gain++) {
        for (int i = 15; i >= 0; i--)
            n += (size_t)snprintf(text + n, room - n,
                                  "{ v31 = vld [vmem:%d] }\n{ vmatpush.msra.mxu0 v31 }\n",
                                  WEIGHTS + 8 * i);
        n += (size_t)snprintf(text + n, room - n, "{ vmatmul.f32.vlgmr.msra.gmr%c.mxu0 v31 }\n"
                              "{ v31 = vpop.f32.mrf.mxu0 }\n", gain);
    }
    n += (size_t)snprintf(text + n, room - n, "{ s2 = smov 0 }\n"
                          "{ p2 = scmp.lt.s32.totalorder s2, 0 ;; "
                          "p3 = scmp.lt.s32.totalorder s2, 0 }\nloop:\n");
    for (int i = 0; i < BODY; i++)
        n += (size_t)write_step(&body[i], text + n, room - n);
    n += (size_t)snprintf(text + n, room - n, "{ s2 = sadd.s32 s2, 1 }\n"
                          "{ p1 = scmp.lt.s32.totalorder s2, %d }\n"
                          "{ sbr.rel (p1) target = loop }\n{ }\n{ shalt }\n", TURNS);
    assert_true(n < room);
    return text;
}

static void fill_model(struct rng *r)
{
    memset(&model, 0, sizeof(model));
    for (int i = 0; i < WEIGHTS * 128; i++)
        model.vmem[i] = rng_below(r, 50) ? f32_bits(rng_uniform(r, -2, 2)) : (uint32_t)rng_next(r);
    for (int i = 0; i < 128 * 128; i++)
        model.vmem[WEIGHTS * 128 + i] = i % 129 ? 0 : 0x3f800000u;
}

static void run_model(const struct step *body)
{
    for (int i = 0; i < 2; i++) {
        memcpy(model.reg[31], model.vmem + WEIGHTS * 128, 4096);
        for (int k = 15; k >= 0; k--)
            push_weights(model.vmem + (WEIGHTS + 8 * k) * 128);
        multiply(model.reg[31], 2 + i);
        carry_out(&(struct step){.kind = POP, .d = 31});
    }
    for (model.turn = 0; model.turn < TURNS; model.turn++)
        for (int i = 0; i < BODY; i++)
            carry_out(&body[i]);
}

static void assert_same(const struct rig *r, const char *text)
{
    static uint32_t vmem[WEIGHTS * 128];
    struct err e;

    assert_int_equal(machine_vmem_read(r->m, 0, 0, vmem, sizeof(vmem), &e), 0);
    if (memcmp(vmem, model.vmem, sizeof(vmem)) != 0)
        fail_msg("vmem differs after\n%s", text);
    for (int i = 0; i < REGISTERS; i++)
        if (memcmp(machine_vector(r->m, 0, i), model.reg[i], 4096) != 0)
            fail_msg("v%d differs after\n%s", i, text);
}

/* what goes on from a snapshot of the machine finds every register under its number */
static void assert_same_elsewhere(const struct rig *r, const struct rig_options *options,
                                  const char *text)
{
    struct bytes saved = {0};
    struct rig other;

    machine_save(r->m, &saved);
    rig_open(&other, "v3-8", options);
    rig_load(&other, 0, text);
    assert_int_equal(machine_restore(other.m, saved.data, saved.size, &other.err), 0);
    assert_same(&other, text);
    rig_close(&other);
    mem_free(saved.data);
}

static void run_random(uint64_t seed, enum run_mode mode)
{
    struct rig_options options = {.set = {"mxu.fifo_depth=8"}, .mode = mode};
    static char text[8192];
    struct step body[BODY];
    struct rng rng;
    struct rig r;

    rng_init(&rng, seed);
    fill_model(&rng);
    draw_body(body, &rng);
    for (int i = 0; i < 3; i++)
        draw_sum(body, &rng);
    for (int i = 0; i < 6; i++)
        draw_kept(body, &rng);
    rig_open(&r, "v3-8", &options);
    rig_load(&r, 0, write_program(body, text, sizeof(text)));
    assert_int_equal(machine_vmem_write(r.m, 0, 0, model.vmem, sizeof(model.vmem), &r.err), 0);
    run_model(body);
    assert_int_equal(rig_run(&r), 0);
    assert_same(&r, text);
    if (seed % 8 == 0)
        assert_same_elsewhere(&r, &options, text);
    rig_close(&r);
}

TEST(registers_hold_what_copies_would_have_left)
{
    uint64_t seed, count = test_is_long() ? 20000 : 600;

    path = simd_select("c", NULL);
    for (seed = 0; seed < count; seed++)
        run_random(seed, seed % 2 ? MODE_BOTH : MODE_FUNCTIONAL);
}

/* a copy lands on rows that a register stands for, and on those of an unfinished sum */
TEST(copies_that_arrive_leave_registers_as_they_were)
{
    static uint32_t ones[1024], twos[1024], sevens[1024], word[1024];
    struct rig r;

    for (int i = 0; i < 1024; i++) {
        ones[i] = f32_bits(1);
        twos[i] = f32_bits(2);
        sevens[i] = f32_bits(7);
    }
    rig_open(&r, "v3-8", NULL);
    rig_load(&r, 0, "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n"
                    "{ v1 = vld [vmem:0] }\n{ v2 = vld [vmem:8] }\n{ v3 = vpop.f32.mrf.mxu0 }\n"
                    "{ v4 = vadd.f32 v3, v2 }\n"
                    "{ dma.hbm_to_vmem 0, 256, 0, [sflag:3] }\n"
                    "{ dma.done.wait [sflag:3], 256 }\n{ vsyncadd [sflag:3], -256 }\n"
                    "{ vst [vmem:16] v1 }\n{ vst [vmem:24] v4 }\n{ shalt }\n");
    assert_int_equal(machine_hbm_write(r.m, 0, 0, sevens, 4096, &r.err), 0);
    assert_int_equal(machine_hbm_write(r.m, 0, 4096, sevens, 4096, &r.err), 0);
    assert_int_equal(machine_vmem_write(r.m, 0, 0, ones, 4096, &r.err), 0);
    assert_int_equal(machine_vmem_write(r.m, 0, 4096, twos, 4096, &r.err), 0);
    assert_int_equal(rig_run(&r), 0);
    assert_int_equal(machine_vmem_read(r.m, 0, 0, word, 4096, &r.err), 0);
    assert_memory_equal(word, sevens, 4096);
    assert_int_equal(machine_vmem_read(r.m, 0, 8192, word, 4096, &r.err), 0);
    assert_memory_equal(word, ones, 4096);
    assert_int_equal(machine_vmem_read(r.m, 0, 12288, word, 4096, &r.err), 0);
    assert_memory_equal(word, twos, 4096);
    rig_close(&r);
}

/* the first and the last run of a copy that goes backwards through VMEM reach registers' rows */
TEST(copies_in_runs_leave_registers_as_they_were)
{
    static uint32_t before[24 * 128], hbm[3 * 128], after[1024];
    struct rig r;

    for (int i = 0; i < (int)COUNT_OF(before); i++)
        before[i] = (uint32_t)i;
    memset(hbm, 0xff, sizeof(hbm));
    rig_open(&r, "v3-8", NULL);
    rig_load(&r, 0, "{ s1 = smov -176 }\n{ v1 = vld [vmem:0] }\n{ v2 = vld [vmem:16] }\n"
                    "{ dma.hbm_to_vmem 0, 48, 368, [sflag:3], 16, s1, 16 }\n"
                    "{ dma.done.wait [sflag:3], 48 }\n{ vsyncadd [sflag:3], -48 }\n"
                    "{ vst [vmem:32] v1 }\n{ vst [vmem:40] v2 }\n{ shalt }\n");
    assert_int_equal(machine_hbm_write(r.m, 0, 0, hbm, sizeof(hbm), &r.err), 0);
    assert_int_equal(machine_vmem_write(r.m, 0, 0, before, sizeof(before), &r.err), 0);
    assert_int_equal(rig_run(&r), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(machine_vmem_read(r.m, 0, (32 + 8 * i) * 512, after, 4096, &r.err), 0);
        assert_memory_equal(after, before + 16 * 128 * i, 4096);
    }
    assert_int_equal(machine_vmem_read(r.m, 0, 23 * 512, after, 512, &r.err), 0);
    assert_memory_equal(after, hbm, 512);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_hold_what_copies_would_have_left),
        cmocka_unit_test(copies_that_arrive_leave_registers_as_they_were),
        cmocka_unit_test(copies_in_runs_leave_registers_as_they_were),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
