#include "tests/generate/random_loop.h"

#include "base/rng.h"
#include "base/units.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#define SCALARS 8                       /* s0..s7 take part; s20.. count */
#define PREDICATES 3                    /* p0..p2; p9.. end loops */
#define DEPTH_MAX 3

struct writer {
    struct rng rng;
    char *text;
    size_t used, bytes;
    int delay_bundles;
    int labels;
    int pushed;                         /* kind of the result that waits, 0: none */
};

static void __attribute__((format(printf, 2, 3))) say(struct writer *w, const char *fmt, ...)
{
    va_list args;
    int length;

    va_start(args, fmt);
    length = vsnprintf(w->text + w->used, w->bytes - w->used, fmt, args);
    va_end(args);
    if (length > 0 && (size_t)length < w->bytes - w->used)
        w->used += (size_t)length;
}

static int below(struct writer *w, int end)
{
    return (int)rng_below(&w->rng, (uint32_t)end);
}

static const char *one_of(struct writer *w, const char *const *list, int count)
{
    return list[below(w, count)];
}

static const char *guard(struct writer *w, bool is_loop_body)
{
    static const char *const guards[] = {"(p0) ", "(p1) ", "(p2) ", "(!p0) ", "(!p1) "};

    return is_loop_body && below(w, 4) == 0 ? one_of(w, guards, COUNT_OF(guards)) : "";
}

static int constant(struct writer *w)
{
    static const int values[] = {0, 1, 2, 3, 4, 7, 8, 16, 64, 100, 1000, -1, -8, 0x7fffff00};

    return below(w, 3) ? values[below(w, COUNT_OF(values))] : below(w, 300) - 40;
}

static void operand(struct writer *w)
{
    if (below(w, 2))
        say(w, "s%d", below(w, SCALARS));
    else
        say(w, "%d", constant(w));
}

/* most often a register that advances by a constant */
static void scalar(struct writer *w, bool is_guardable)
{
    static const char *const binary[] = {
        "sadd.s32", "ssub.s32", "smul.u32", "sand.u32", "sor.u32", "sxor.u32", "sshll.u32",
        "sshrl.u32", "scalar_lea.vmem", "smin.s32", "smax.u32"};
    static const char *const compare[] = {
        "scmp.eq.s32.totalorder", "scmp.ne.s32.totalorder", "scmp.lt.s32.totalorder",
        "scmp.le.s32.totalorder", "scmp.gt.s32.totalorder", "scmp.ge.s32.totalorder",
        "scmp.lt.u32.totalorder", "scmp.ge.u32.totalorder", "scmp.eq.u32.totalorder"};
    int to = below(w, SCALARS), kind = below(w, 16), from, with;
    const char *g = guard(w, is_guardable), *how;

    if (kind < 6) {
        say(w, "s%d = sadd.s32 %ss%d, %d", to, g, to, constant(w));
    } else if (kind < 9) {
        say(w, "s%d = %s %s", to, one_of(w, binary, COUNT_OF(binary)), g);
        operand(w);
        say(w, ", ");
        operand(w);
    } else if (kind < 12) {
        from = below(w, SCALARS);
        how = one_of(w, compare, COUNT_OF(compare));
        say(w, "p%d = %s %ss%d, ", below(w, PREDICATES), how, g, from);
        operand(w);
    } else if (kind == 12) {
        from = below(w, SCALARS);
        say(w, "s%d = scalar_select %sp%d, s%d, ", to, g, below(w, PREDICATES), from);
        operand(w);
    } else if (kind == 13) {
        from = below(w, PREDICATES);
        with = below(w, PREDICATES);
        how = below(w, 2) ? "and" : "xor";
        say(w, "p%d = p%s %sp%d, p%d", below(w, PREDICATES), how, g, with, from);
    } else if (kind == 14) {
        say(w, "s%d = sld %s[smem:%d]", to, g, 4 * below(w, 16));
    } else if (below(w, 3) == 0) {
        from = below(w, SCALARS);
        say(w, "sst %s[smem:%d], s%d", g, 64 + 4 * below(w, 16), from);
    } else {
        say(w, "s%d = smov %s%d", to, g, constant(w));
    }
}

static void rows(struct writer *w)
{
    static const char *const shape[] = {"", "", "", " ss:$8", " ss:$2 sm:$0xf", " sm:$0x3"};

    const char *pattern = one_of(w, shape, COUNT_OF(shape));
    int offset = 8 * below(w, 40);

    say(w, "[vmem:s%d + %d]%s", below(w, SCALARS), offset, pattern);
}

static void load(struct writer *w, bool is_guardable)
{
    const char *g = guard(w, is_guardable);

    say(w, " ;; v%d = vld %s", 1 + below(w, 4), g);
    rows(w);
}

static void store(struct writer *w, bool is_guardable)
{
    say(w, " ;; vst %s", guard(w, is_guardable));
    rows(w);
    say(w, " v%d", 1 + below(w, 4));
}

/* a result goes into a FIFO in one bundle and comes out in a later one */
static void push_or_pop(struct writer *w)
{
    static const char *const push[] = {"vadd.xlane.f32.xlu0 v1", "vtanh.f32 v2",
                                       "vmatmul.f32.gmra.mxu0 v3"};
    static const char *const pop[] = {"v5 = vpop.xlane.xlu0", "v5 = vpop.eup",
                                      "v5 = vpop.f32.mrf.mxu0"};

    if (w->pushed == 0) {
        w->pushed = 1 + below(w, (int)COUNT_OF(push));
        say(w, " ;; %s", push[w->pushed - 1]);
    } else {
        say(w, " ;; %s", pop[w->pushed - 1]);
        w->pushed = 0;
    }
}

static void bundle(struct writer *w, bool is_body)
{
    say(w, "{ ");
    if (below(w, 12) == 0)
        say(w, "vdelay %d", below(w, 9));
    else
        scalar(w, is_body);
    if (below(w, 4) == 0)
        load(w, is_body);
    if (below(w, 5) == 0)
        store(w, is_body);
    if (below(w, 3) == 0) {
        int b = 1 + below(w, 8), a = 1 + below(w, 8);

        say(w, " ;; v%d = vadd.f32 v%d, v%d", 6 + below(w, 3), a, b);
    }
    if (below(w, 4) == 0)
        push_or_pop(w);
    say(w, " }\n");
}

static void bundles(struct writer *w, int most)
{
    int count = below(w, most + 1), i;

    for (i = 0; i < count; i++)
        bundle(w, true);
}

static void loop(struct writer *w, int depth)
{
    static const int trips[] = {1, 2, 3, 5, 8, 20, 60, 200, 1000};
    int label = w->labels++, step = 1 + below(w, 3), i;
    int trip = trips[below(w, depth == 0 ? 9 : 6)];

    say(w, "{ s%d = smov 0 }\nloop%d:\n", 20 + depth, label);
    bundles(w, 5);
    if (depth + 1 < DEPTH_MAX && below(w, 3) == 0) {
        loop(w, depth + 1);
        bundles(w, 3);
    }
    if (w->pushed)
        bundle(w, true);
    say(w, "{ s%d = sadd.s32 s%d, %d }\n", 20 + depth, 20 + depth, step);
    say(w, "{ p%d = scmp.lt.s32.totalorder s%d, %d }\n", 9 + depth, 20 + depth, trip * step);
    say(w, "{ sbr.rel (p%d) target = loop%d }\n", 9 + depth, label);
    for (i = 0; i < w->delay_bundles; i++)
        bundle(w, true);
}

char *random_loop(uint64_t seed, int branch_delay_bundles, char *text, size_t text_bytes)
{
    struct writer w = {.text = text, .bytes = text_bytes, .delay_bundles = branch_delay_bundles};
    int i;

    rng_init(&w.rng, seed);
    text[0] = '\0';
    for (i = 0; i < SCALARS; i++)
        say(&w, "{ s%d = smov %d }\n", i, below(&w, 4) ? 8 * below(&w, 200) : constant(&w));
    say(&w, "{ vmatpush.msra.mxu0 v0 }\n{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n"
            "{ v0 = vpop.f32.mrf.mxu0 }\n");
    for (i = 1 + below(&w, 2); i > 0; i--)
        loop(&w, 0);
    say(&w, "{ shalt }\n");
    return text;
}
