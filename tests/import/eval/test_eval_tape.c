/*
 * Tapes give the bits of frames (import/eval/tape.h). A program of loops, calls and branches over
 * small arrays is drawn and evaluated twice: as it is, and with a custom call in every computation,
 * which no tape has and which changes nothing.
 */
#include "import/eval/eval.h"

#include "base/rng.h"
#include "import/hlo_text/hlo_text.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

#include <stdlib.h>

enum { KINDS = 4, SHAPES = 4, PARTS = 2 * KINDS * SHAPES, VALUES_MAX = 400, DEPTH_MAX = 2 };
enum { F32, BF16, S32, PRED };          /* kinds */
enum { SCALAR, VECTOR, MATRIX, TURNED };        /* shapes: [], [ab], [a,b], [b,a] */

static const char *const kind_name[KINDS] = {"f32", "bf16", "s32", "pred"};

/* A program, computation behind computation. Each takes and gives the same tuple: a counter, then
 * two parts of every kind and shape. */
struct drawing {
    struct rng rng;
    int a, b, computations;
    bool is_plain;                      /* no tapes: a custom call in each computation */
    char shape[SHAPES][24], *tuple;
    FILE *done;                         /* computations that are whole */
};

/* the values of the computation that is being drawn */
struct body {
    struct drawing *d;
    FILE *to;
    int depth, count, other;            /* values v0 ..; other names used */
    int kind[VALUES_MAX], shape[VALUES_MAX];
};

static int kind_of(int part) { return part / 2 / SHAPES; }
static int shape_of(int part) { return part / 2 % SHAPES; }
static int pick(struct body *b, int below) { return (int)rng_below(&b->d->rng, (uint32_t)below); }

/* a value of that type, rather a late one */
static int value_of(struct body *b, int kind, int shape)
{
    int k = b->count - 1 - pick(b, pick(b, 2) ? b->count : (b->count + 3) / 4);

    while (b->kind[k] != kind || b->shape[k] != shape)
        k = (k + b->count - 1) % b->count;
    return k;
}

static int begin(struct body *b, int kind, int shape)
{
    fprintf(b->to, "  v%d = %s%s ", b->count, kind_name[kind], b->d->shape[shape]);
    b->kind[b->count] = kind;
    b->shape[b->count] = shape;
    return b->count++;
}

static void draw_binary(struct body *b)
{
    static const char *const of_floats[] = {"add", "multiply", "subtract", "maximum"};
    static const char *const of_integers[] = {"add", "multiply", "and", "xor"};
    static const char *const of_preds[] = {"and", "or", "xor", "and"};
    int kind = pick(b, KINDS), shape = pick(b, SHAPES);
    int x = value_of(b, kind, shape), y = value_of(b, kind, shape);
    const char *const *names = kind <= BF16 ? of_floats : kind == S32 ? of_integers : of_preds;

    begin(b, kind, shape);
    fprintf(b->to, "%s(v%d, v%d)\n", names[pick(b, 4)], x, y);
}

static void draw_choice(struct body *b)
{
    int kind = pick(b, KINDS), shape = pick(b, SHAPES);
    int x = value_of(b, kind, shape), y = value_of(b, kind, shape), p;

    if (pick(b, 2)) {
        begin(b, PRED, shape);
        fprintf(b->to, "compare(v%d, v%d), direction=LT\n", x, y);
        return;
    }
    p = value_of(b, PRED, pick(b, 3) ? shape : SCALAR);
    begin(b, kind, shape);
    fprintf(b->to, "select(v%d, v%d, v%d)\n", p, x, y);
}

static void draw_conversion(struct body *b)
{
    int from = pick(b, KINDS), shape = pick(b, SHAPES), x = value_of(b, from, shape);

    begin(b, pick(b, PRED), shape);
    fprintf(b->to, "convert(v%d)\n", x);
}

/* the same elements, or one number, in another shape */
static void draw_shape(struct body *b)
{
    int kind = pick(b, KINDS), shape = 1 + pick(b, SHAPES - 1), x;

    switch (pick(b, 3)) {
    case 0:
        x = value_of(b, kind, shape);
        begin(b, kind, 1 + pick(b, SHAPES - 1));
        fprintf(b->to, "reshape(v%d)\n", x);
        break;
    case 1:
        x = value_of(b, kind, SCALAR);
        begin(b, kind, shape);
        fprintf(b->to, "broadcast(v%d), dimensions={}\n", x);
        break;
    default:
        x = value_of(b, kind, MATRIX);
        begin(b, kind, TURNED);
        fprintf(b->to, "transpose(v%d), dimensions={1,0}\n", x);
    }
}

static void draw_move(struct body *b)
{
    int kind = pick(b, KINDS), n = b->d->a * b->d->b, x = value_of(b, kind, VECTOR), cut, s;
    const char *name = kind_name[kind];

    switch (pick(b, 3)) {
    case 0:
        begin(b, kind, VECTOR);
        fprintf(b->to, "reverse(v%d), dimensions={0}\n", x);
        break;
    case 1:
        s = value_of(b, kind, SCALAR);
        begin(b, kind, VECTOR);
        fprintf(b->to, "pad(v%d, v%d), padding=1_-1\n", x, s);
        break;
    default:
        cut = 1 + pick(b, n - 1);
        b->other++;
        fprintf(b->to, "  l%d = %s[%d] slice(v%d), slice={[%d:%d]}\n", b->other, name, n - cut, x,
                cut, n);
        fprintf(b->to, "  r%d = %s[%d] slice(v%d), slice={[0:%d]}\n", b->other, name, cut,
                value_of(b, kind, VECTOR), cut);
        begin(b, kind, VECTOR);
        fprintf(b->to, "concatenate(l%d, r%d), dimensions={0}\n", b->other, b->other);
    }
}

/* an element at a computed place: read, written, added to */
static void draw_element(struct body *b)
{
    int kind = pick(b, 3), x = value_of(b, kind, VECTOR), at = value_of(b, S32, SCALAR);
    int s = value_of(b, kind, SCALAR), k = ++b->other;
    const char *name = kind_name[kind];

    switch (pick(b, 3)) {
    case 0:
        fprintf(b->to, "  o%d = %s[1] dynamic-slice(v%d, v%d), dynamic_slice_sizes={1}\n", k, name,
                x, at);
        begin(b, kind, SCALAR);
        fprintf(b->to, "reshape(o%d)\n", k);
        break;
    case 1:
        fprintf(b->to, "  o%d = %s[1] reshape(v%d)\n", k, name, s);
        begin(b, kind, VECTOR);
        fprintf(b->to, "dynamic-update-slice(v%d, o%d, v%d)\n", x, k, at);
        break;
    default:
        fprintf(b->to, "  o%d = s32[1] reshape(v%d)\n", k, at);
        begin(b, kind, VECTOR);
        fprintf(b->to, "scatter(v%d, o%d, v%d), update_window_dims={}, inserted_window_dims={0}, "
                "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=add_%s\n", x, k, s,
                name);
    }
}

static void draw_sum(struct body *b)
{
    int kind = pick(b, 3), x = value_of(b, kind, VECTOR), s = value_of(b, kind, SCALAR);

    begin(b, kind, SCALAR);
    fprintf(b->to, "reduce(v%d, v%d), dimensions={0}, to_apply=add_%s\n", x, s, kind_name[kind]);
}

static void draw_constant(struct body *b)
{
    int kind = pick(b, 3);

    begin(b, kind, SCALAR);
    fprintf(b->to, "constant(%d)\n", pick(b, 9) - 4);
}

/* the tuple of values of this computation; its number */
static int draw_tuple(struct body *b)
{
    int k = ++b->other;

    fprintf(b->to, "  k%d = s32[] constant(0)\n  t%d = %s tuple(k%d", k, k, b->d->tuple, k);
    for (int p = 0; p < PARTS; p++)
        fprintf(b->to, ", v%d", value_of(b, kind_of(p), shape_of(p)));
    fputs(")\n", b->to);
    return k;
}

static void draw_parts(struct body *b, const char *tuple)
{
    for (int p = 0; p < PARTS; p++) {
        begin(b, kind_of(p), shape_of(p));
        fprintf(b->to, "get-tuple-element(%s), index=%d\n", tuple, p + 1);
    }
}

static int draw_computation(struct drawing *d, int depth, bool is_body);
static int draw_condition(struct drawing *d, int trips);

/* a loop, a call or a branch over all parts */
static void draw_nested(struct body *b)
{
    struct drawing *d = b->d;
    int what = pick(b, 3), first, second, p, t, u, r;
    char name[16];

    if (b->depth == DEPTH_MAX || b->count + PARTS + 20 > VALUES_MAX)
        return;
    first = draw_computation(d, b->depth + 1, what == 0);
    second = what == 0 ? draw_condition(d, pick(b, 4)) : draw_computation(d, b->depth + 1, false);
    p = value_of(b, PRED, SCALAR);
    t = draw_tuple(b);
    u = draw_tuple(b);
    r = ++b->other;
    fprintf(b->to, "  n%d = %s ", r, d->tuple);
    if (what == 0)
        fprintf(b->to, "while(t%d), body=c%d, condition=c%d\n", t, first, second);
    else if (what == 1)
        fprintf(b->to, "call(t%d), to_apply=c%d\n", t, first);
    else
        fprintf(b->to, "conditional(v%d, t%d, t%d), true_computation=c%d, false_computation=c%d\n",
                p, t, u, first, second);
    snprintf(name, sizeof(name), "n%d", r);
    draw_parts(b, name);
}

static void draw_operations(struct body *b)
{
    static void (*const draws[])(struct body *b) = {
        draw_binary, draw_binary, draw_choice, draw_conversion, draw_shape, draw_move,
        draw_element, draw_element, draw_sum, draw_constant, draw_nested};
    int wanted = 12 + pick(b, 40);

    for (int k = 0; k < wanted && b->count + 2 < VALUES_MAX; k++)
        draws[pick(b, sizeof(draws) / sizeof(*draws))](b);
}

/* Some parts go on as they are, some change places; a loop's counter goes up. */
static void draw_root(struct body *b, bool is_body)
{
    fprintf(b->to, "  step = s32[] constant(%d)\n  i = s32[] get-tuple-element(p), index=0\n"
            "  next = s32[] add(i, step)\n  ROOT z = %s tuple(next", is_body, b->d->tuple);
    for (int p = 0; p < PARTS; p++) {
        int choice = pick(b, 4);

        fprintf(b->to, ", v%d", choice == 0   ? p
                                : choice == 1 ? p ^ 1
                                              : value_of(b, kind_of(p), shape_of(p)));
    }
    fputs(")\n}\n", b->to);
}

static int draw_computation(struct drawing *d, int depth, bool is_body)
{
    struct body b = {.d = d, .depth = depth};
    char *text;
    size_t bytes;
    int number;

    b.to = open_memstream(&text, &bytes);
    fprintf(b.to, "  p = %s parameter(0)\n", d->tuple);
    draw_parts(&b, "p");
    if (d->is_plain)
        fputs("  cc = f32[] custom-call(v0), custom_call_target=\"Sharding\"\n", b.to);
    draw_operations(&b);
    draw_root(&b, is_body);
    fclose(b.to);
    number = d->computations++;
    fprintf(d->done, "c%d {\n%s", number, text);
    free(text);
    return number;
}

static int draw_condition(struct drawing *d, int trips)
{
    fprintf(d->done, "c%d {\n  p = %s parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
            "  n = s32[] constant(%d)\n  ROOT r = pred[] compare(i, n), direction=LT\n}\n",
            d->computations, d->tuple, trips);
    return d->computations++;
}

static char *draw(uint64_t seed, bool is_plain)
{
    static const int sides[][2] = {{1, 2}, {2, 3}, {4, 4}, {3, 40}, {30, 20}};
    struct drawing d = {.a = sides[seed % 5][0], .b = sides[seed % 5][1], .is_plain = is_plain};
    char *text;
    size_t bytes, at = 0;
    int body, condition;

    rng_init(&d.rng, seed);
    snprintf(d.shape[SCALAR], sizeof(d.shape[0]), "[]");
    snprintf(d.shape[VECTOR], sizeof(d.shape[0]), "[%d]", d.a * d.b);
    snprintf(d.shape[MATRIX], sizeof(d.shape[0]), "[%d,%d]", d.a, d.b);
    snprintf(d.shape[TURNED], sizeof(d.shape[0]), "[%d,%d]", d.b, d.a);
    d.tuple = calloc(PARTS + 1, 40);
    at += (size_t)sprintf(d.tuple, "(s32[]");
    for (int p = 0; p < PARTS; p++)
        at += (size_t)sprintf(d.tuple + at, ", %s%s", kind_name[kind_of(p)], d.shape[shape_of(p)]);
    sprintf(d.tuple + at, ")");
    d.done = open_memstream(&text, &bytes);
    fputs("HloModule drawn\n", d.done);
    for (int k = 0; k < PRED; k++)
        fprintf(d.done, "add_%s {\n  x = %s[] parameter(0)\n  y = %s[] parameter(1)\n"
                "  ROOT z = %s[] add(x, y)\n}\n", kind_name[k], kind_name[k], kind_name[k],
                kind_name[k]);
    body = draw_computation(&d, 0, true);
    condition = draw_condition(&d, 4);
    fprintf(d.done, "ENTRY e {\n  p = %s parameter(0)\n  ROOT w = %s while(p), body=c%d, "
            "condition=c%d\n}\n", d.tuple, d.tuple, body, condition);
    fclose(d.done);
    free(d.tuple);
    return text;
}

/* numbers of both signs, none of them large: what is no number is not told apart here */
static void draw_input(struct eval_array *x, int leaf, struct rng *r, struct arena *a)
{
    int64_t n = hlo_type_elements(&x->type);
    char *to = x->data = arena_alloc(a, hlo_type_bytes(&x->type) + 1);
    size_t bytes = hlo_element_bytes(x->type.element);

    for (int64_t i = 0; i < n; i++, to += bytes) {
        int number = (int)rng_below(r, 2001) - 1000;

        if (hlo_element_is_float(x->type.element))
            hlo_element_store(x->type.element, number / 64.0, to);
        else
            hlo_element_store_int(x->type.element, leaf ? number & (bytes == 1 ? 1 : 7) : 0, to);
    }
}

struct result {
    struct hlo_module *m;               /* whose the leaves' types are */
    int count;
    struct eval_array *leaf;
};

static struct result evaluate(const char *text, uint64_t seed, struct arena *a)
{
    struct eval_settings s = {.threads = 1};
    struct err e = {.msg = ""};
    struct hlo_module *m = hlo_text_read(text, strlen(text), "drawn", a, &e);
    struct eval_array *input;
    struct result r;
    struct rng rng;

    if (!m)
        fail_msg("%s\n%s", e.msg, text);
    rng_init(&rng, seed + 1);
    input = arena_array(a, PARTS + 1, sizeof(*input));
    for (int k = 0; k < PARTS + 1; k++) {
        input[k].type = *eval_input_type(m, k);
        draw_input(&input[k], k, &rng, a);
    }
    r.m = m;
    r.count = eval_output_count(m);
    r.leaf = arena_array(a, (size_t)r.count, sizeof(*r.leaf));
    if (eval_run(m, &s, (const struct eval_array *const[]){input},
                 (struct eval_array *const[]){r.leaf}, a, NULL, &e))
        fail_msg("%s\n%s", e.msg, text);
    return r;
}

static void check(uint64_t seed)
{
    char *text = draw(seed, false), *plain = draw(seed, true);
    struct result by_tape, by_frame;
    struct arena a;

    arena_init(&a);
    by_tape = evaluate(text, seed, &a);
    by_frame = evaluate(plain, seed, &a);
    assert_int_equal(by_tape.count, by_frame.count);
    for (int k = 0; k < by_tape.count; k++)
        if (memcmp(by_tape.leaf[k].data, by_frame.leaf[k].data,
                   hlo_type_bytes(&by_tape.leaf[k].type)))
            fail_msg("seed %llu: result %d is another one\n%s", (unsigned long long)seed, k, text);
    hlo_module_fini(by_tape.m);
    hlo_module_fini(by_frame.m);
    arena_fini(&a);
    free(text);
    free(plain);
}

TEST(loops_calls_and_branches_give_the_bits_of_frames)
{
    int count = seeds_count(150);

    seeds_print(count);
    for (int k = 0; k < count; k++)
        check(seeds_at(k));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_calls_and_branches_give_the_bits_of_frames),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
