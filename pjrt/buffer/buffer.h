/*
 * Buffers: arrays of callers on a device, and what they share, the elements themselves.
 *
 * Elements are a value (exec/value.h): as the host has them (pjrt/buffer/array.h), or as a launch
 * left them in the simulated memory, from where the next one takes them. The bytes that they take
 * there are counted as in use until nobody holds them. A storage is filled once, by a copy or by a
 * launch; `ready` tells when, or why not.
 */
#ifndef PJRT_BUFFER_H
#define PJRT_BUFFER_H
#include "exec/value.h"
#include "pjrt/buffer/array.h"
#include "pjrt/device/client.h"
#include "pjrt/event/event.h"

struct storage {
    atomic_int holders;
    struct promise *ready;
    struct value value;
    int64_t bytes, device_bytes;
    struct PJRT_Device *device;         /* whose memory it takes; NULL: a host's */
};

struct PJRT_Buffer {
    struct PJRT_Client *client;
    struct memory *memory;
    struct array_type type;             /* dim is this buffer's own */
    int64_t *minor_to_major;            /* of its layout on the device: what it was asked for */
    struct storage *storage;            /* NULL: deleted */
    struct storage *external;           /* held for users outside, external_count times */
    int external_count;
    uint64_t given_up_at;               /* the launch that it was given up to, by number */
};

struct storage *storage_hold(struct storage *s);
void storage_drop(struct storage *s);   /* NULL is nothing */
void *storage_room(struct storage *s);  /* bytes of elements, for who fills it */
/* of one that is ready; NULL with the error: the host has no memory for them */
const void *storage_data(struct storage *s, struct PJRT_Error **error);
/* `to` becomes the same as `from`, which is ready */
struct PJRT_Error *storage_copy(struct storage *to, struct storage *from);
/* so many bytes of it have come from or gone to the host: its device's time goes on */
void buffer_account(const struct storage *s, int64_t bytes, bool is_to_device);

/*
 * A buffer whose elements are still to come: its storage is to be filled, storage->ready kept.
 * NULL with the error: the memory is full.
 */
struct PJRT_Buffer *buffer_make(struct memory *memory, enum hlo_element element, int rank,
                                const int64_t *dim, struct PJRT_Error **error);
/* another one of the same bytes, which are as many in that type */
struct PJRT_Buffer *buffer_as(const struct PJRT_Buffer *b, const struct array_type *type);
void buffer_free(struct PJRT_Buffer *b);
void buffer_delete(struct PJRT_Buffer *b);      /* its elements go when nobody else holds them */
/* "f32[2,3]" in an error */
struct PJRT_Error *buffer_is_deleted(const struct PJRT_Buffer *b);
/* checks what a caller says of an array: NULL, or what is wrong */
struct PJRT_Error *buffer_check_type(enum PJRT_Buffer_Type type, const int64_t *dims,
                                     size_t rank);
#endif
