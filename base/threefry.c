/*
 * The twenty rounds of Threefry-2x32: add, rotate, exclusive or, and a key injected after every
 * fourth.
 */
#include "base/threefry.h"

#define ROUND_COUNT 20
#define ROUNDS_PER_KEY 4                /* between two additions of the key */
#define PARITY 0x1bd11bdau              /* of the key schedule, as in Threefish */

static uint32_t rotate_left(uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

void threefry_2x32(const uint32_t key[2], const uint32_t counter[2], uint32_t out[2])
{
    static const int rotation[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const uint32_t schedule[3] = {key[0], key[1], PARITY ^ key[0] ^ key[1]};
    uint32_t a = counter[0] + key[0], b = counter[1] + key[1];

    for (uint32_t round = 0; round < ROUND_COUNT; round++) {
        a += b;
        b = rotate_left(b, rotation[round % 8]) ^ a;
        if (round % ROUNDS_PER_KEY == ROUNDS_PER_KEY - 1) {
            uint32_t step = round / ROUNDS_PER_KEY + 1;

            a += schedule[step % 3];
            b += schedule[(step + 1) % 3] + step;
        }
    }
    out[0] = a;
    out[1] = b;
}
