/*
 * Checkpoints: a training's state as one safetensors file per step in a folder.
 *
 * Whoever is killed at any instant, the files that have a checkpoint's name are whole: each is
 * written under another name, synced to the disk, then renamed. Every block of every tensor has a
 * CRC-32, so that damage is found, and named by tensor and byte, before a value is used.
 * docs/checkpoints.md describes the file.
 *
 * Values come and go through callbacks, in the file's byte order and row-major: nothing here
 * knows where they live.
 */
#ifndef TRAIN_CHECKPOINT_H
#define TRAIN_CHECKPOINT_H
#include "base/outfile.h"
#include "train/checkpoint/safetensors.h"

#define CHECKPOINT_BLOCK_BYTES (1 << 20)        /* of a tensor: what one checksum is of */

/* what is saved of a tensor, and how its bytes are had */
struct checkpoint_tensor {
    const char *name;
    enum safetensors_dtype dtype;
    int rank;
    int64_t dim[SAFETENSORS_RANK_MAX];
    /* saving: bytes first .. first + bytes - 1; in order from 0, at most a block at once */
    int (*read)(void *context, int64_t first, void *to, int64_t bytes, struct err *e);
    /* restoring: the same the other way round */
    int (*write)(void *context, int64_t first, const void *from, int64_t bytes, struct err *e);
    void *context;
};

/* a tensor that lies in memory; reads and writes `data`, which must outlive it */
struct checkpoint_tensor checkpoint_memory(const char *name, enum safetensors_dtype dtype,
                                           int rank, const int64_t *dim, void *data);

/* where the training stands */
struct checkpoint_state {
    int64_t step, epoch;                /* done */
    uint64_t seed;
    const void *data_position;          /* of data_iterator_save or distributed_save; may be NULL */
    size_t data_position_bytes;
    const struct safetensors_pair *extra;       /* the user's own; keys not beginning "systole." */
    int extra_count;
};

/*
 * Writes FOLDER/ckpt-STEP.safetensors (made if it is not there; its parent must be), then removes
 * what is older than the `keep` newest checkpoints (0: keeps all) and what a killed writer left.
 * A folder that checkpoint_check_own refuses is another training's. -1: nothing has changed but
 * perhaps the folder.
 */
int checkpoint_save(const char *folder, const struct checkpoint_tensor *tensor, int count,
                    const struct checkpoint_state *state, int keep, struct err *e);

/*
 * Whether a training that stands at `step` may save here. -1: the folder has a whole checkpoint of
 * a later step, which is another training's: that one would be gone on from, and be kept instead of
 * the new ones. A folder that is not there yet is nobody's.
 */
int checkpoint_check_own(const char *folder, int64_t step, struct err *e);
/* The folder, made if it is not there, is this process's (base/outfile.h), maybe already. */
int checkpoint_lock(struct outfile_lock *l, const char *folder, struct err *e);
/* Removes all checkpoints of the folder; other files stay. */
int checkpoint_clear(const char *folder, struct err *e);

/* The path of the checkpoint of a step: FOLDER/ckpt-00000042.safetensors, into buf; buf. */
char *checkpoint_path(const char *folder, int64_t step, char *buf, size_t buf_bytes);

/*
 * The newest checkpoint whose every byte checks, into `path`. 1; 0: there is none, or no folder;
 * -1: it cannot be read. What newer ones were passed over is told in *damaged ("" if none).
 */
int checkpoint_latest(const char *folder, char *path, size_t path_bytes, struct err *damaged,
                      struct err *e);

struct checkpoint {
    struct safetensors file;
    struct checkpoint_state state;      /* points into the file's arena */
    uint32_t *crc;                      /* of all blocks of all tensors, in the file's order */
    int64_t *first_crc;                 /* by tensor */
};

/* Reads and checks all but the elements. -1: no such file, damaged, no checkpoint. */
int checkpoint_open(struct checkpoint *c, const char *path, struct err *e);
/* of an open file, which it closes, also on failure */
int checkpoint_of(struct checkpoint *c, FILE *from, const char *path, struct err *e);
void checkpoint_close(struct checkpoint *c);

/* Reads all elements: -1 names the tensor and the first damaged byte or block. */
int checkpoint_verify(const struct checkpoint *c, struct err *e);

/*
 * Gives every tensor of the list its saved value: those of the file must be of the same dtype and
 * shape; others in the file are left alone. All of it is checked before the first value is
 * written. -1 names the tensor.
 */
int checkpoint_restore(const struct checkpoint *c, const struct checkpoint_tensor *tensor,
                       int count, struct err *e);
#endif
