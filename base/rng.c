/* xoshiro256** seeded by splitmix64; numbers below a bound are drawn without bias. */
#include "base/rng.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void rng_init(struct rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        r->state[i] = splitmix(&seed);
}

static uint64_t rotate_left(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

uint64_t rng_next(struct rng *r)
{
    uint64_t *s = r->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint32_t rng_below(struct rng *r, uint32_t end)
{
    uint32_t reject_below = (uint32_t)(-end) % end;     /* removes the modulo bias */
    uint32_t x;

    do
        x = (uint32_t)(rng_next(r) >> 32);
    while (x < reject_below);
    return x % end;
}

float rng_uniform(struct rng *r, float lo, float hi)
{
    float unit = (float)(rng_next(r) >> 40) * 0x1p-24f;

    return lo + (hi - lo) * unit;
}
