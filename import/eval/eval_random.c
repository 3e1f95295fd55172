/*
 * Random bits of rng-bit-generator, which programs count on bit for bit, and numbers of rng, which
 * they do not.
 *
 * The state's first word is the key, the others the counter. Threefry gives two words a block: one
 * half of the numbers, taken along the first even dimension (or the longest), stands beside the
 * other element by element. Philox gives four in a row. Numbers narrower than 32 bits take the low
 * bits of a word each.
 */
#include "base/threefry.h"
#include "import/eval/handlers.h"
#include "import/lanes/random_bits.h"

#include <math.h>
#include <string.h>

struct bits {
    struct call *c;
    struct value *to;
    size_t bytes;
    uint64_t key, counter[2];
};

static void put_word(const struct bits *b, int64_t at, uint64_t word)
{
    char *to = (char *)b->to->data + (size_t)at * b->bytes;
    uint8_t narrow = (uint8_t)word;

    if (b->bytes == 1)
        lane_narrow(b->to->element, to, &narrow,
                    hlo_element_is_integer(b->to->element) ? 1 : 0);
    else
        memcpy(to, &word, b->bytes);            /* the host's low bytes come first */
}

/* the dimension that is halved: the first even one, else the longest */
static int split_dim(const struct value *v)
{
    int longest = 0;

    for (int d = 0; d < v->rank; d++) {
        if (v->dim[d] % 2 == 0)
            return d;
        if (v->dim[d] > v->dim[longest])
            longest = d;
    }
    return longest;
}

static void threefry_words(const struct bits *b, uint64_t counter, uint32_t out[2])
{
    uint32_t key[2] = { (uint32_t)b->key, (uint32_t)(b->key >> 32) };
    uint32_t count[2] = { (uint32_t)counter, (uint32_t)(counter >> 32) };

    threefry_2x32(key, count, out);
}

/* element (.., 2 j + w, ..) of the split dimension is word w of the block at (.., j, ..) */
static void threefry_pairs(struct bits *b)
{
    int split = split_dim(b->to);
    int64_t n = b->to->rank ? b->to->dim[split] : 1, half = (n + 1) / 2;
    int64_t inner = b->to->rank ? value_product(b->to->dim, split + 1, b->to->rank) : 1;
    int64_t outer = b->to->rank ? value_product(b->to->dim, 0, split) : 1, block = 0;
    uint32_t word[2];

    for (int64_t o = 0; o < outer; o++)
        for (int64_t j = 0; j < half; j++)
            for (int64_t i = 0; i < inner; i++) {
                threefry_words(b, b->counter[0] + (uint64_t)block++, word);
                for (int w = 0; w < 2 && 2 * j + w < n; w++)
                    put_word(b, (o * n + 2 * j + w) * inner + i, word[w]);
            }
    b->counter[0] += (uint64_t)block;
}

static void threefry_bits(struct bits *b)
{
    int64_t count = value_count(b->to);
    uint32_t word[2];

    if (b->bytes < 8) {
        threefry_pairs(b);
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        threefry_words(b, b->counter[0] + (uint64_t)k, word);
        put_word(b, k, word[0] | (uint64_t)word[1] << 32);
    }
    b->counter[0] += (uint64_t)count;
}

static void philox_bits(struct bits *b)
{
    int64_t count = value_count(b->to), each = b->bytes == 8 ? 2 : 4;
    uint32_t word[4];

    for (int64_t k = 0; k < count; k += each) {
        random_philox(b->key, b->counter, word);
        random_advance(b->counter, 1);
        for (int64_t w = 0; w < each && k + w < count; w++)
            put_word(b, k + w, each == 4 ? word[w]
                                         : word[2 * w] | (uint64_t)word[2 * w + 1] << 32);
    }
}

int eval_rng_bit_generator(struct call *c)
{
    struct value *state = c->operand[0], *after;
    uint64_t word[3] = { 0 };
    size_t bytes = (size_t)value_count(state) * value_element_bytes(state);
    bool is_threefry = hlo_detail(c->i)->random == HLO_RNG_THREE_FRY;
    struct bits b = { .c = c };

    if (bytes < 16 || bytes > sizeof(word))
        return call_fail(c, "a state of %zu bytes; 16 and 24 are known", bytes);
    memcpy(word, state->data, bytes);
    call_result_tuple(c);
    after = call_part(c, 0);
    b.to = call_part(c, 1);
    if (!after || !b.to)
        return -1;
    b.bytes = value_element_bytes(b.to);
    b.key = word[0];
    b.counter[0] = word[1];
    b.counter[1] = bytes == 24 ? word[2] : word[0];     /* of two words the key is used again */
    if (is_threefry)
        threefry_bits(&b);
    else
        philox_bits(&b);
    word[1] = b.counter[0];
    word[2] = is_threefry ? word[2] : b.counter[1];
    memcpy(after->data, word, bytes);
    return 0;
}

/* a state of 128 bits that is kept from one call to the next */
int eval_rng_get_and_update_state(struct call *c)
{
    uint64_t *state = c->ev->rng_state[c->device];

    if (call_result(c))
        return -1;
    memset(c->result->data, 0, (size_t)value_count(c->result) * value_element_bytes(c->result));
    if (value_count(c->result) * (int64_t)value_element_bytes(c->result) >= 16)
        memcpy(c->result->data, state, 16);
    random_advance(state, (uint64_t)c->i->index);
    return 0;
}

/* in [0, 1) with 53 bits, never 0 where `above` */
static double uniform(struct call *c, bool above)
{
    uint64_t counter[2] = { c->ev->rng_drawn[c->device]++, (uint64_t)c->device };
    uint32_t word[4];
    uint64_t bits;

    random_philox(c->ev->s.seed, counter, word);
    bits = (word[0] | (uint64_t)word[1] << 32) >> 11;
    return ((double)bits + (above ? 1 : 0)) * 0x1p-53;
}

static double normal(struct call *c)
{
    double size = sqrt(-2 * log(uniform(c, true)));

    return size * cos(6.28318530717958648 * uniform(c, false));
}

/* uniform: from a to below b; normal: mean a, deviation b */
int eval_rng(struct call *c)
{
    enum hlo_element e = c->i->type->element;
    bool is_float = hlo_element_is_float(e);
    double a, b;

    if (call_result(c))
        return -1;
    a = is_float ? hlo_element_load(e, c->operand[0]->data) : (double)value_int(c->operand[0], 0);
    b = is_float ? hlo_element_load(e, c->operand[1]->data) : (double)value_int(c->operand[1], 0);
    for (int64_t k = 0; k < value_count(c->result); k++) {
        char *to = (char *)c->result->data + (size_t)k * value_element_bytes(c->result);
        double x = hlo_detail(c->i)->random == HLO_RNG_NORMAL ? a + b * normal(c)
                                                  : a + (b - a) * uniform(c, false);

        if (is_float)
            hlo_element_store(e, x, to);
        else
            hlo_element_store_int(e, (int64_t)floor(x), to);
    }
    return 0;
}
