/*
 * Operations on elements that are carried out together give the bits that each gives by itself. A
 * computation is drawn and called three times on the same arguments: the first time goes operation
 * by operation, from the second on they go together (import/eval/fused.h).
 */
#include "import/eval/eval.h"

#include "base/rng.h"
#include "import/hlo_text/hlo_text.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

#include <stdlib.h>

enum { KINDS = 6, VALUES_MAX = 80, CALLS = 3, RESULTS_MAX = 12 };

static const char *const kind_name[KINDS] = {"f32", "bf16", "f64", "s32", "u8", "pred"};

enum { PRED = KINDS - 1, FLOATS = 3 };

struct drawing {
    struct rng rng;
    FILE *to;
    bool is_tape;                       /* without what tapes have not (tape.h) */
    int n;                              /* elements of an array */
    int count, kind[VALUES_MAX];        /* values v0, v1, ..; of elements */
};

static int pick(struct drawing *d, int below)
{
    return (int)rng_below(&d->rng, (uint32_t)below);
}

/* a value of that kind; the first ones have every kind */
static int value_of(struct drawing *d, int kind)
{
    int k = pick(d, d->count);

    while (d->kind[k] != kind)
        k = (k + 1) % d->count;
    return k;
}

static void begin(struct drawing *d, int kind)
{
    fprintf(d->to, "  v%d = %s[%d] ", d->count, kind_name[kind], d->n);
    d->kind[d->count++] = kind;
}

static void draw_binary(struct drawing *d)
{
    static const char *const of_floats[] = {"add", "multiply", "subtract", "maximum", "divide"};
    static const char *const of_integers[] = {"add", "multiply", "and", "xor", "shift-left"};
    static const char *const of_preds[] = {"and", "or", "xor", "and", "or"};
    int kind = pick(d, KINDS), x = value_of(d, kind), y = value_of(d, kind);
    const char *const *names = kind < FLOATS ? of_floats : kind == PRED ? of_preds : of_integers;

    begin(d, kind);
    fprintf(d->to, "%s(v%d, v%d)\n", names[pick(d, 5)], x, y);
}

static void draw_comparison(struct drawing *d)
{
    int kind = pick(d, KINDS), x = value_of(d, kind), y = value_of(d, kind);

    begin(d, PRED);
    fprintf(d->to, "compare(v%d, v%d), direction=%s\n", x, y, pick(d, 2) ? "LT" : "NE");
}

static void draw_select(struct drawing *d)
{
    int kind = pick(d, KINDS), p = value_of(d, PRED), x = value_of(d, kind), y = value_of(d, kind);
    bool is_scalar = pick(d, 3) == 0;

    begin(d, kind);
    if (is_scalar)
        fprintf(d->to, "select(q, v%d, v%d)\n", x, y);
    else
        fprintf(d->to, "select(v%d, v%d, v%d)\n", p, x, y);
}

static void draw_conversion(struct drawing *d)
{
    int to = pick(d, PRED), from = pick(d, KINDS), x = value_of(d, from);

    begin(d, to);
    fprintf(d->to, "convert(v%d)\n", x);
}

/* of a number: a constant between the operations, or the scalar argument */
static void draw_number(struct drawing *d)
{
    bool is_constant = pick(d, 2);
    int name = d->count;

    if (is_constant)
        fprintf(d->to, "  c%d = f32[] constant(%d.25)\n", name, pick(d, 9) - 4);
    begin(d, 0);
    if (is_constant)
        fprintf(d->to, "broadcast(c%d), dimensions={}\n", name);
    else
        fputs("broadcast(s), dimensions={}\n", d->to);
}

/* what does not go with the others, or stands among them without a part in it */
static void draw_other(struct drawing *d)
{
    int kind = pick(d, KINDS), x = value_of(d, kind);

    switch (pick(d, 3)) {
    case 0:
        begin(d, kind);
        fprintf(d->to, "reverse(v%d), dimensions={0}\n", x);
        break;
    case 1:
        begin(d, 3);
        fputs("iota(), iota_dimension=0\n", d->to);
        break;
    default:
        fprintf(d->to, "  r%d = %s[1,%d,1] reshape(v%d)\n", d->count, kind_name[kind], d->n, x);
        fprintf(d->to, "  t%d = %s[1,%d,1] copy(r%d)\n", d->count, kind_name[kind], d->n,
                d->count);
        begin(d, kind);
        fprintf(d->to, "reshape(t%d)\n", d->count - 1);
    }
}

static void draw_body(struct drawing *d)
{
    static void (*const draws[])(struct drawing *d) = {
        draw_binary, draw_binary, draw_binary, draw_comparison, draw_select, draw_conversion,
        draw_number, draw_other};
    int wanted = 10 + pick(d, VALUES_MAX - 10);

    fputs("body {\n  s = f32[] parameter(0)\n  q = pred[] parameter(1)\n", d->to);
    if (!d->is_tape)
        fputs("  o = f32[] custom-call(s), custom_call_target=\"Sharding\"\n", d->to);
    for (int k = 0; k < KINDS; k++) {
        begin(d, k);
        fprintf(d->to, "parameter(%d)\n", 2 + k);
    }
    while (d->count < wanted)
        draws[pick(d, sizeof(draws) / sizeof(*draws))](d);
}

/* the last values and some others, as a tuple; writes its type into `type` */
static void draw_results(struct drawing *d, char *type, size_t type_bytes)
{
    char *names = calloc(1, 1000);
    size_t at = 0, used = 0;

    for (int k = 0; k < RESULTS_MAX; k++) {
        int v = k < 4 ? d->count - 1 - k : pick(d, d->count);

        at += (size_t)snprintf(names + at, 1000 - at, "%sv%d", k ? ", " : "", v);
        used += (size_t)snprintf(type + used, type_bytes - used, "%s%s[%d]", k ? ", " : "",
                                 kind_name[d->kind[v]], d->n);
    }
    fprintf(d->to, "  ROOT r = (%s) tuple(%s)\n}\n", type, names);
    free(names);
}

static char *draw(uint64_t seed, int n)
{
    struct drawing d = {.n = n, .is_tape = seed % 4 == 0};
    char type[1000], *text;
    size_t bytes;

    rng_init(&d.rng, seed);
    d.to = open_memstream(&text, &bytes);
    fputs("HloModule drawn\n", d.to);
    draw_body(&d);
    draw_results(&d, type, sizeof(type));
    fputs("ENTRY e {\n  s = f32[] parameter(0)\n  q = pred[] parameter(1)\n", d.to);
    for (int k = 0; k < KINDS; k++)
        fprintf(d.to, "  p%d = %s[%d] parameter(%d)\n", k, kind_name[k], n, 2 + k);
    for (int c = 0; c < CALLS; c++)
        fprintf(d.to, "  r%d = (%s) call(s, q, p0, p1, p2, p3, p4, p5), to_apply=body\n", c, type);
    fprintf(d.to, "  ROOT t = ((%s), (%s), (%s)) tuple(r0, r1, r2)\n}\n", type, type, type);
    fclose(d.to);
    return text;
}

static struct eval_array *draw_inputs(const struct hlo_module *m, struct rng *r, struct arena *a)
{
    int count = eval_input_count(m);
    struct eval_array *input = arena_array(a, (size_t)count, sizeof(*input));

    for (int k = 0; k < count; k++) {
        size_t bytes;
        unsigned char *data;

        input[k].type = *eval_input_type(m, k);
        bytes = hlo_type_bytes(&input[k].type);
        input[k].data = data = arena_alloc(a, bytes + 1);
        for (size_t b = 0; b < bytes; b++)
            data[b] = (unsigned char)rng_below(r, input[k].type.element == ELEMENT_PRED ? 2 : 256);
    }
    return input;
}

static void check(uint64_t seed, int n)
{
    char *text = draw(seed, n);
    struct eval_settings s = {.threads = 1};
    struct err e = {.msg = ""};
    struct arena a;
    struct hlo_module *m;
    struct eval_array *input, *output;
    struct rng r;

    arena_init(&a);
    m = hlo_text_read(text, strlen(text), "drawn", &a, &e);
    if (!m)
        fail_msg("%s\n%s", e.msg, text);
    rng_init(&r, seed + 1);
    input = draw_inputs(m, &r, &a);
    output = arena_array(&a, (size_t)eval_output_count(m), sizeof(*output));
    if (eval_run(m, &s, (const struct eval_array *const[]){input},
                 (struct eval_array *const[]){output}, &a, NULL, &e))
        fail_msg("%s\n%s", e.msg, text);
    assert_int_equal(eval_output_count(m), CALLS * RESULTS_MAX);
    for (int k = 0; k < CALLS * RESULTS_MAX; k++)
        if (memcmp(output[k].data, output[k % RESULTS_MAX].data, hlo_type_bytes(&output[k].type)))
            fail_msg("seed %llu: result %d of call %d is another one\n%s",
                     (unsigned long long)seed, k % RESULTS_MAX, k / RESULTS_MAX, text);
    hlo_module_fini(m);
    arena_fini(&a);
    free(text);
}

TEST(operations_carried_out_together_give_the_bits_of_each_by_itself)
{
    static const int sizes[] = {1, 2, 7, 16, 511, 512, 513, 1300};
    int count = seeds_count(400);

    seeds_print(count);
    for (int k = 0; k < count; k++)
        check(seeds_at(k), sizes[seeds_at(k) % 8]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_carried_out_together_give_the_bits_of_each_by_itself),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
