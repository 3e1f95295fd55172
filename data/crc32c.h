/*
 * CRC-32C (Castagnoli, polynomial 0x1edc6f41 reflected), and the masked form in which TFRecord
 * files keep it.
 */
#ifndef DATA_CRC32C_H
#define DATA_CRC32C_H
#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *p, size_t bytes);
uint32_t crc32c_masked(const void *p, size_t bytes);
#endif
