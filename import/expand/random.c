/*
 * rng-bit-generator as XLA computes it: Threefry-2x32 with 20 rounds and Philox-4x32 with 10, by
 * counters, in arithmetic of u32.
 *
 * The state is words of 64 bits: the key, then the counter (Philox: two words, low one first, or
 * only one, which is its high half, the key itself being the low one). A state of u32 has the low
 * word of each first. RNG_DEFAULT is Philox, as on XLA's CPUs and GPUs.
 */
#include "import/expand/site.h"

#define WORDS_MAX 3

struct state {
    int words;                          /* of 64 bits */
    int low[WORDS_MAX], high[WORDS_MAX];
};

struct random_bits {
    int value, low, high;               /* high -1: of 32 bits */
};

static int rotate(struct hlo_builder *b, int x, int distance)
{
    return ar_or(b, ar_shli(b, x, distance), ar_shri(b, x, 32 - distance));
}

/* x[2] with the scalars key[2] */
static void threefry(struct hlo_builder *b, const int key[2], int x[2])
{
    static const int distance[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    int scalar[3], k[3];

    scalar[0] = key[0];
    scalar[1] = key[1];
    scalar[2] = ar_xor(b, ar_xor(b, key[0], key[1]), ar_int(b, key[0], 0x1bd11bda));
    for (int i = 0; i < 3; i++)
        k[i] = ar_spread(b, scalar[i], x[0]);
    x[0] = ar_add(b, x[0], k[0]);
    x[1] = ar_add(b, x[1], k[1]);
    for (int group = 0; group < 5; group++) {
        for (int i = 0; i < 4; i++) {
            x[0] = ar_add(b, x[0], x[1]);
            x[1] = ar_xor(b, x[0], rotate(b, x[1], distance[group % 2][i]));
        }
        x[0] = ar_add(b, x[0], k[(group + 1) % 3]);
        x[1] = ar_addi(b, ar_add(b, x[1], k[(group + 2) % 3]), group + 1);
    }
}

static void philox(struct hlo_builder *b, const int key[2], int x[4])
{
    int k0 = key[0], k1 = key[1];

    for (int round = 0; round < 10; round++) {
        int low0, low1;
        int high0 = ar_mul_wide(b, x[0], ar_int(b, x[0], 0xd2511f53), &low0);
        int high1 = ar_mul_wide(b, x[2], ar_int(b, x[2], 0xcd9e8d57), &low1);

        x[0] = ar_xor(b, ar_xor(b, high1, x[1]), ar_spread(b, k0, low1));
        x[1] = low1;
        x[2] = ar_xor(b, ar_xor(b, high0, x[3]), ar_spread(b, k1, low1));
        x[3] = low0;
        k0 = ar_addi(b, k0, 0x9e3779b9);
        k1 = ar_addi(b, k1, 0xbb67ae85);
    }
}

static int scalar_at(struct hlo_builder *b, int x, int index)
{
    return hlo_reshape(b, hlo_slice_dim(b, x, 0, index, index + 1), 0, NULL);
}

/* 0, or -1: not a state */
static int read_state(struct expand_site *s, struct state *state)
{
    const struct hlo_type *t = expand_operand_type(s, 0);
    bool is_wide = t->element == ELEMENT_U64 || t->element == ELEMENT_S64;
    int64_t words = t->rank == 1 ? t->dim[0] / (is_wide ? 1 : 2) : 0;

    if (words < 2 || words > WORDS_MAX || (!is_wide && (t->element != ELEMENT_U32 || t->dim[0] % 2)))
        return -1;
    state->words = (int)words;
    for (int i = 0; i < words; i++) {
        if (is_wide) {
            int word = scalar_at(s->b, s->operand[0], i);

            state->low[i] = hlo_convert(s->b, word, ELEMENT_U32);
            state->high[i] = hlo_convert(s->b, ar_shri(s->b, word, 32), ELEMENT_U32);
        } else {
            state->low[i] = scalar_at(s->b, s->operand[0], 2 * i);
            state->high[i] = scalar_at(s->b, s->operand[0], 2 * i + 1);
        }
    }
    return 0;
}

static int join_words(struct hlo_builder *b, int low, int high, enum hlo_element e)
{
    int wide = hlo_convert(b, high, e);

    return ar_or(b, hlo_convert(b, low, e), ar_shl(b, wide, ar_int(b, wide, 32)));
}

static int write_state(struct expand_site *s, const struct state *state)
{
    enum hlo_element e = expand_operand_type(s, 0)->element;
    int64_t one = 1;
    int part[2 * WORDS_MAX], count = 0;

    for (int i = 0; i < state->words; i++) {
        if (e == ELEMENT_U32) {
            part[count++] = hlo_reshape(s->b, state->low[i], 1, &one);
            part[count++] = hlo_reshape(s->b, state->high[i], 1, &one);
        } else {
            part[count++] = hlo_reshape(s->b, join_words(s->b, state->low[i], state->high[i], e),
                                        1, &one);
        }
    }
    return hlo_concatenate(s->b, count, part, 0);
}

/* low + high 2^32 plus a word of the same dimensions; the carry out as a u32 */
static int add_word(struct hlo_builder *b, int *low, int *high, int word)
{
    int sum = ar_add(b, *low, word);
    int carry = hlo_convert(b, ar_lt(b, sum, *low), ELEMENT_U32), high_sum;

    high_sum = ar_add(b, *high, carry);
    carry = hlo_convert(b, ar_lt(b, high_sum, *high), ELEMENT_U32);
    *low = sum;
    *high = high_sum;
    return carry;
}

static void threefry_counters(struct hlo_builder *b, struct state *state, int rank,
                              const int64_t *dim, int x[2])
{
    int count = ar_count(b, rank, dim);
    struct hlo_type t = hlo_array_type(b->module->arena, ELEMENT_U32, rank, dim);
    int key[2] = {state->low[0], state->high[0]};

    x[0] = hlo_splat(b, state->low[1], &t);
    x[1] = hlo_splat(b, state->high[1], &t);
    add_word(b, &x[0], &x[1], count);
    threefry(b, key, x);
    add_word(b, &state->low[1], &state->high[1],
             ar_scalar(b, ELEMENT_U32, hlo_type_elements(&t)));
}

/* the first even dimension, else the first of the largest */
static int halved_dim(const struct hlo_type *t)
{
    int best = 0;

    for (int d = 0; d < t->rank; d++)
        if (t->dim[d] % 2 == 0)
            return d;
    for (int d = 1; d < t->rank; d++)
        if (t->dim[d] > t->dim[best])
            best = d;
    return best;
}

/* both words of each block stand next to each other along one dimension */
static int threefry_narrow(struct hlo_builder *b, struct state *state, const struct hlo_type *t)
{
    int64_t *half = arena_array(b->module->arena, (size_t)t->rank + 1, sizeof(*half));
    int64_t *even = arena_array(b->module->arena, (size_t)t->rank + 1, sizeof(*even));
    int split = halved_dim(t), x[2], joined;

    if (t->rank == 0) {
        half[0] = 1;
        threefry_counters(b, state, 1, half, x);
        return hlo_reshape(b, x[0], 0, NULL);
    }
    for (int d = 0, to = 0; d < t->rank; d++) {
        half[to++] = d == split ? (t->dim[d] + 1) / 2 : t->dim[d];
        if (d == split)
            half[to++] = 1;
        even[d] = d == split ? (t->dim[d] + 1) / 2 * 2 : t->dim[d];
    }
    threefry_counters(b, state, t->rank + 1, half, x);
    joined = hlo_concatenate(b, 2, x, split + 1);
    joined = hlo_reshape(b, joined, t->rank, even);
    return even[split] == t->dim[split] ? joined
                                        : hlo_slice_dim(b, joined, split, 0, t->dim[split]);
}

static struct random_bits draw_threefry(struct hlo_builder *b, struct state *state,
                                        const struct hlo_type *t)
{
    int x[2];

    if (hlo_element_bits(t->element) != 64)
        return (struct random_bits){.value = threefry_narrow(b, state, t), .high = -1};
    threefry_counters(b, state, t->rank, t->dim, x);
    return (struct random_bits){.low = x[0], .high = x[1]};
}

/* x[]: arrays [n], to one of `count` n elements in turns, of which the first are taken as `t` */
static int take_turns(struct hlo_builder *b, const int *x, int count, const struct hlo_type *t)
{
    int64_t n = hlo_type_of(b, x[0])->dim[0], column[2] = {n, 1}, all = n * count;
    int64_t wanted = hlo_type_elements(t);
    int part[4], joined;

    for (int i = 0; i < count; i++)
        part[i] = hlo_reshape(b, x[i], 2, column);
    joined = hlo_reshape(b, hlo_concatenate(b, count, part, 1), 1, &all);
    if (wanted != all)
        joined = hlo_slice_dim(b, joined, 0, 0, wanted);
    return hlo_reshape(b, joined, t->rank, t->dim);
}

static struct random_bits draw_philox(struct hlo_builder *b, struct state *state,
                                      const struct hlo_type *t)
{
    bool is_wide = hlo_element_bits(t->element) == 64, has_short = state->words == 2;
    int64_t blocks = (hlo_type_elements(t) * (is_wide ? 2 : 1) + 3) / 4;
    struct hlo_type line = hlo_array_type(b->module->arena, ELEMENT_U32, 1, &blocks);
    int first = 1, second = has_short ? 0 : 2;
    int key[2] = {state->low[0], state->high[0]}, word[4], x[4], carry;

    word[0] = state->low[first];
    word[1] = state->high[first];
    word[2] = state->low[second];
    word[3] = state->high[second];
    for (int i = 0; i < 4; i++)
        x[i] = hlo_splat(b, word[i], &line);
    carry = add_word(b, &x[0], &x[1], ar_count(b, 1, &blocks));
    add_word(b, &x[2], &x[3], carry);
    philox(b, key, x);
    carry = add_word(b, &word[0], &word[1], ar_scalar(b, ELEMENT_U32, blocks));
    state->low[1] = word[0];
    state->high[1] = word[1];
    if (!has_short) {
        add_word(b, &word[2], &word[3], carry);
        state->low[2] = word[2];
        state->high[2] = word[3];
    }
    if (is_wide)
        return (struct random_bits){
            .low = take_turns(b, (int[]){x[0], x[2]}, 2, t),
            .high = take_turns(b, (int[]){x[1], x[3]}, 2, t)};
    return (struct random_bits){.value = take_turns(b, x, 4, t), .high = -1};
}

/* words of bits as the wanted type, whose bits they are */
static int bits_as(struct hlo_builder *b, struct random_bits bits, enum hlo_element e)
{
    static const enum hlo_element narrow[] = {[8] = ELEMENT_U8, [16] = ELEMENT_U16,
                                              [4] = ELEMENT_U4, [2] = ELEMENT_U2};
    int wide = hlo_element_bits(e), value;

    if (wide == 64)
        value = join_words(b, bits.low, bits.high, ELEMENT_U64);
    else
        value = wide == 32 ? bits.value : hlo_convert(b, bits.value, narrow[wide]);
    return ar_element(b, value) == e ? value : hlo_bitcast_convert(b, value, e);
}

int expand_random_bits(struct expand_site *s)
{
    const struct hlo_type *t = hlo_type_is_tuple(s->from->type) ? &s->from->type->part[1]
                                                                 : s->from->type;
    struct state state;
    struct random_bits bits;
    int result[2];

    if (hlo_type_elements(t) == 0)
        return expand_refuse(s, "draws no numbers");
    if (read_state(s, &state))
        return expand_refuse(s, "its state must be u64[2], u64[3], u32[4] or u32[6]");
    bits = hlo_detail(s->from)->random == HLO_RNG_THREE_FRY ? draw_threefry(s->b, &state, t)
                                                : draw_philox(s->b, &state, t);
    result[1] = bits_as(s->b, bits, t->element);
    if (!hlo_type_is_tuple(s->from->type))
        return result[1];
    result[0] = write_state(s, &state);
    return hlo_tuple(s->b, 2, result);
}

/* the bits of a generator that no program seeds: its key is the instruction's number */
static int unseeded_words(struct expand_site *s, const struct hlo_type *t, int stream)
{
    struct state state = {.words = 2};
    struct hlo_type words = hlo_array_type(s->b->module->arena, ELEMENT_U32, t->rank, t->dim);
    const struct hlo_computation *c = &s->b->module->computation[s->b->computation];

    state.low[0] = ar_scalar(s->b, ELEMENT_U32, s->b->computation);
    state.high[0] = ar_scalar(s->b, ELEMENT_U32, c->count);
    state.low[1] = ar_scalar(s->b, ELEMENT_U32, 0);
    state.high[1] = ar_scalar(s->b, ELEMENT_U32, stream);
    return threefry_narrow(s->b, &state, &words);
}

/* [0, 1) in steps of 2^-23 */
static int unit_floats(struct hlo_builder *b, int words)
{
    int value = hlo_convert(b, hlo_bitcast_convert(b, ar_shri(b, words, 9), ELEMENT_S32),
                            ELEMENT_F32);

    return ar_muln(b, value, 0x1p-23);
}

static int uniform_integers(struct expand_site *s, int words)
{
    struct hlo_builder *b = s->b;
    int low = hlo_convert(b, s->operand[0], ELEMENT_S32);
    int span = ar_sub(b, hlo_convert(b, s->operand[1], ELEMENT_S32), low);
    int width = ar_spread(b, hlo_bitcast_convert(b, span, ELEMENT_U32), words);
    int scaled = ar_mul_wide(b, words, width, NULL);
    int value = hlo_bitcast_convert(b, scaled, ELEMENT_S32);

    value = ar_add(b, value, ar_spread(b, low, value));
    return hlo_convert(b, value, s->from->type->element);
}

int expand_random_numbers(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    const struct hlo_type *t = s->from->type;
    int words, value, first, second;

    if (t->element == ELEMENT_F32 || t->element == ELEMENT_BF16 || t->element == ELEMENT_S32
        || t->element == ELEMENT_U32 || t->element == ELEMENT_PRED)
        return EXPAND_KEEP;             /* the compiler draws these by itself */
    words = unseeded_words(s, t, 0);
    if (!hlo_element_is_float(t->element))
        return uniform_integers(s, words);
    value = unit_floats(b, words);
    first = ar_spread(b, expand_to_f32(s, 0), value);
    second = ar_spread(b, expand_to_f32(s, 1), value);
    if (hlo_detail(s->from)->random ==
        HLO_RNG_NORMAL) { /* Box and Muller: mean, standard deviation */
        int angle = ar_muln(b, unit_floats(b, unseeded_words(s, t, 1)), 6.283185307179586);
        int size = ar_sqrt(b, ar_muln(b, ar_log(b, ar_addn(b, ar_neg(b, value), 1)), -2));

        value = ar_add(b, ar_mul(b, ar_mul(b, size, ar_cos(b, angle)), second), first);
    } else {
        value = ar_add(b, ar_mul(b, value, ar_sub(b, second, first)), first);
    }
    return expand_from_f32(s, value);
}

/* the state that nobody else reads: a constant, as every launch begins anew */
int expand_random_state(struct expand_site *s)
{
    return hlo_constant_int(s->b, s->from->type, 0x7012395b);
}
