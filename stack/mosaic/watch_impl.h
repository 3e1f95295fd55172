/* Between the interpreter of kernels and who watches it: what memory holds, and copies under way. */
#ifndef STACK_MOSAIC_WATCH_IMPL_H
#define STACK_MOSAIC_WATCH_IMPL_H
#include "stack/mosaic/run_impl.h"

/* marks of a new buffer: of words that hold something, or nothing yet */
void watch_buffer(struct mosaic_run *r, struct mosaic_buffer *b, bool is_written);
void watch_set_written(struct mosaic_buffer *b, bool is_written);
void watch_free(struct mosaic_buffer *b);

/* an access of the program to a word; `what` of a message */
void watch_load(struct mosaic_run *r, const struct mosaic_op *op, const struct mosaic_buffer *b,
                int64_t word, bool is_used);
void watch_store(struct mosaic_run *r, const struct mosaic_op *op, struct mosaic_buffer *b,
                 int64_t word);
/* does anything but selections use what an operation gives */
bool watch_is_used(const struct mosaic_run *r, const struct mosaic_op *op);

/* A copy starts; a wait takes `amount` off a semaphore. */
/* `there`: the member of the team that the target is of; NULL: this one */
void watch_copy(struct mosaic_run *r, const struct mosaic_op *op, const struct mosaic_view *from,
                const struct mosaic_view *to, const struct mosaic_run *there,
                const uint32_t *done, const uint32_t *sent, int64_t bytes);
void watch_wait(struct mosaic_run *r, const uint32_t *semaphore, int64_t amount);
/* the first copy under way that raises this semaphore; NULL: none */
const struct mosaic_copy *watch_copy_of(const struct mosaic_run *r, const uint32_t *semaphore);

/* ----- several devices: what one has used, and who knows that it has (watch_team.c) */
void watch_use(const struct mosaic_run *r, const struct mosaic_buffer *b, int64_t word);
void watch_use_all(const struct mosaic_run *r, const struct mosaic_view *v);
/* this member writes memory of another one, which may be using it */
void watch_reach(struct mosaic_run *r, const struct mosaic_op *op, const struct mosaic_view *to,
                 const struct mosaic_run *there);
/* A semaphore is raised: who waits for it knows what this member knows now. */
void watch_tell(struct mosaic_run *r, const struct mosaic_buffer *semaphore, int64_t word);
void watch_learn(struct mosaic_run *r, const struct mosaic_buffer *semaphore, int64_t word);

/* a finding at an operation */
void watch_found(struct mosaic_run *r, enum mosaic_finding_kind kind, const struct mosaic_op *op,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* a block comes or goes while a copy of the kernel's own touches its buffer */
void watch_block(struct mosaic_run *r, const struct mosaic_buffer *b, int operand, bool is_in);
/* step `r->step` writes the block that begins there */
void watch_owner(struct mosaic_run *r, int operand, const int64_t *first, int rank);
/* Counts uses of values; frees what is left behind a run. */
void watch_begin(struct mosaic_run *r);
void watch_end(struct mosaic_run *r);
#endif
