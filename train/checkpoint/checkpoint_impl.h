/*
 * Declares what the writing and the reading of checkpoints share: names of files and of metadata.
 */
#ifndef TRAIN_CHECKPOINT_IMPL_H
#define TRAIN_CHECKPOINT_IMPL_H
#include "train/checkpoint/checkpoint.h"

#define KEY_PREFIX "systole."
#define KEY_VERSION "systole.checkpoint"
/* 8 hexadecimal digits: of the file up to the data, these 8 digits being 0 */
#define KEY_HEADER_CRC "systole.header_crc32"
#define KEY_DATA_CRC "systole.data_crc32"       /* the same of every block, one behind the other */
#define KEY_STEP "systole.step"
#define KEY_EPOCH "systole.epoch"
#define KEY_SEED "systole.seed"
#define KEY_POSITION "systole.data_position"    /* bytes as hexadecimal digits */
#define CHECKPOINT_VERSION "1"
#define CRC_DIGITS 8
#define FILE_PREFIX "ckpt-"
#define FILE_SUFFIX ".safetensors"

static inline int64_t checkpoint_block_count(int64_t bytes)
{
    return (bytes + CHECKPOINT_BLOCK_BYTES - 1) / CHECKPOINT_BLOCK_BYTES;
}

int checkpoint_make_folder(const char *folder, struct err *e);

/* The step of a file's name; -1: it is no checkpoint's. */
int64_t checkpoint_step_of(const char *name);

/*
 * Steps in the folder, newest first, for the caller to mem_free; *count of them, -1 with a
 * message if the folder cannot be read.
 */
int64_t *checkpoint_list(const char *folder, int64_t *count, struct err *e);
#endif
