/* Copies between memories, and to other devices (lower_copy.c). */
#ifndef STACK_KERNELS_MOSAIC_COPY_H
#define STACK_KERNELS_MOSAIC_COPY_H
#include "stack/kernels/mosaic/lower.h"

/* a copy's way: its flags, and of a remote one the core that it goes to */
struct copy_way {
    enum isa_opcode code;
    struct scalar flag;
    bool is_remote;
    struct scalar core, sent;           /* flag here, that tells when the source has been read */
};

enum isa_opcode copy_remote_code(enum mosaic_space from, enum mosaic_space to);
int copy_put(struct lower *l, const struct mosaic_op *op, const struct place *from,
             const struct place *to, const struct copy_way *w, int64_t *granules);
/* granules that a copy to `p` raises its flag by: those of whole tiles; of a computed size */
int64_t copy_granules(const struct place *p);
/* whether its size is known as the kernel runs, and granules it then has */
bool copy_has_size(const struct place *p);
struct scalar copy_sized_granules(struct lower *l, const struct place *p);
#endif
