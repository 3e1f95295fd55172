/* CRC-32C by eight tables, eight bytes at a time (slicing-by-8). */
#include "data/crc32c.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u          /* bits reversed */
#define MASK_DELTA 0xa282ead8u
#define SLICES 8

static uint32_t table[SLICES][256];     /* [k][b]: byte b, then k bytes of zeros */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_table(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;

        for (int i = 0; i < 8; i++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        table[0][b] = crc;
    }
    for (int k = 1; k < SLICES; k++)
        for (int b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xff];
}

/* Eight bytes at a time: the first of them has seven behind it. */
uint32_t crc32c(const void *p, size_t bytes)
{
    const unsigned char *at = p;
    uint32_t crc = ~0u;

    pthread_once(&once, make_table);
    for (; bytes >= SLICES; bytes -= SLICES, at += SLICES) {
        uint32_t low;

        memcpy(&low, at, sizeof(low));
        low ^= crc;
        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
              table[4][low >> 24] ^ table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^
              table[0][at[7]];
    }
    for (; bytes > 0; bytes--)
        crc = crc >> 8 ^ table[0][(crc ^ *at++) & 0xff];
    return ~crc;
}

uint32_t crc32c_masked(const void *p, size_t bytes)
{
    uint32_t crc = crc32c(p, bytes);

    return (crc >> 15 | crc << 17) + MASK_DELTA;
}
