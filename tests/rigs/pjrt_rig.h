/*
 * A caller of the device library, as frameworks are: it loads libsystole_pjrt.so (SYSTOLE_PJRT names
 * another) and goes through its table. Errors that a test does not expect fail it with their message.
 */
#ifndef PJRT_RIG_H
#define PJRT_RIG_H
#include "pjrt/abi/abi.h"
#include "tests/test.h"

extern const struct PJRT_Api *guest_api;      /* loaded by guest_load */
extern struct PJRT_Client *guest_client;

int guest_load(void **state);             /* of a group: loads the library and makes a client */
int guest_unload(void **state);

/* an argument of the interface with its size, and the call that must succeed */
#define ARGS(name, ...) ARGS_MADE(name, __VA_ARGS__, .extension_start = NULL)
#define ARGS_MADE(name, args, ...) \
    struct PJRT_##name##_Args args = {.struct_size = sizeof(args), __VA_ARGS__}
#define CALL(name, args) guest_succeed(guest_api->PJRT_##name(args), #name)
void guest_succeed(struct PJRT_Error *error, const char *name);
/* the error is one, of this code, with this text in it; it is destroyed */
void guest_expect(struct PJRT_Error *error, enum PJRT_Error_Code code, const char *text);

struct PJRT_Device *guest_device(int id);
/* f32, dense */
struct PJRT_Buffer *guest_buffer(int device, const float *data, size_t rank, const int64_t *dims);
void guest_read(struct PJRT_Buffer *b, void *to, size_t bytes);   /* waits */
void guest_destroy(struct PJRT_Buffer *b);
bool guest_is_deleted(struct PJRT_Buffer *b);
struct PJRT_LoadedExecutable *guest_compile(const char *hlo);     /* for one device */
void guest_destroy_executable(struct PJRT_LoadedExecutable *l);
/* on one device; one result */
struct PJRT_Buffer *guest_execute(struct PJRT_LoadedExecutable *l, struct PJRT_Buffer *const *argument,
                                size_t count);
#endif
