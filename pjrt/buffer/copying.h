/* Copies that wait for the elements of a buffer: bytes of them to the host, all of them to another. */
#ifndef PJRT_COPYING_H
#define PJRT_COPYING_H
#include "pjrt/buffer/buffer.h"

/*
 * Bytes as they lie in the host's form, to where copying_begin says; `event` comes when they are
 * there. NULL with the error: the buffer is deleted, or has no such bytes.
 */
struct copying;
struct copying *copying_bytes(struct PJRT_Buffer *b, int64_t offset, int64_t bytes,
                              struct PJRT_Event **event, struct PJRT_Error **error);
void copying_begin(struct copying *c, void *to);
void copying_fail(struct copying *c, struct PJRT_Error *error);         /* instead */

/* `to`, which nobody fills but this, becomes the same as `from` when that is there */
void storage_fill(struct storage *to, struct storage *from);
#endif
