/* Philox-4x32-10, written from its definition. */
#include "import/lanes/random_bits.h"

void random_philox(uint64_t key, const uint64_t counter[2], uint32_t out[4])
{
    enum { ROUNDS = 10 };
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t x[4] = { (uint32_t)counter[0], (uint32_t)(counter[0] >> 32), (uint32_t)counter[1],
                      (uint32_t)(counter[1] >> 32) };

    for (int r = 0; r < ROUNDS; r++) {
        uint64_t a = (uint64_t)x[0] * 0xd2511f53u, b = (uint64_t)x[2] * 0xcd9e8d57u;

        x[0] = (uint32_t)(b >> 32) ^ x[1] ^ k0;
        x[1] = (uint32_t)b;
        x[2] = (uint32_t)(a >> 32) ^ x[3] ^ k1;
        x[3] = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    for (int k = 0; k < 4; k++)
        out[k] = x[k];
}

void random_advance(uint64_t counter[2], uint64_t n)
{
    counter[0] += n;
    counter[1] += counter[0] < n;
}
