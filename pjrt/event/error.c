/* Makes, copies, asks and frees errors of the interface. */
#include "pjrt/event/error.h"

#include "base/arena.h"
#include "pjrt/abi/functions.h"

#include <stdio.h>
#include <string.h>

struct error {
    struct PJRT_Error base;             /* first: who reads the table needs no library */
    enum PJRT_Error_Code code;
    size_t size;
    char message[];
};

static const struct error *error_of(const struct PJRT_Error *e)
{
    return (const struct error *)e;
}

static void destroy(struct PJRT_Error *error)
{
    mem_free(error);
}

static void read_message(const struct PJRT_Error *error, const char **message, size_t *size)
{
    *message = error_of(error)->message;
    *size = error_of(error)->size;
}

static enum PJRT_Error_Code read_code(const struct PJRT_Error *error)
{
    return error_of(error)->code;
}

static void visit_nothing(const struct PJRT_Error *error, PJRT_Error_PayloadVisitor visitor,
                          void *user_arg)
{
    (void)error, (void)visitor, (void)user_arg;         /* our errors have no payloads */
}

static const struct PJRT_Error_FunctionTable table = {
    .struct_size = sizeof(table), .instance_size = sizeof(struct error), .destroy = destroy,
    .message = read_message, .get_code = read_code, .for_each_payload = visit_nothing};

static struct PJRT_Error *make(enum PJRT_Error_Code code, const char *message)
{
    size_t size = strlen(message);
    struct error *e = mem_alloc(sizeof(*e) + size + 1);

    e->base.vtable = &table;
    e->code = code;
    e->size = size;
    memcpy(e->message, message, size + 1);
    return &e->base;
}

struct PJRT_Error *pjrt_error(enum PJRT_Error_Code code, const char *format, ...)
{
    char message[4096];
    va_list ap;

    va_start(ap, format);
    vsnprintf(message, sizeof(message), format, ap);
    va_end(ap);
    return make(code, message);
}

struct PJRT_Error *pjrt_error_of(enum PJRT_Error_Code code, const struct err *e)
{
    char message[sizeof(*e) + 64];

    return make(code, err_format(e, message, sizeof(message)));
}

struct PJRT_Error *pjrt_error_copy(const struct PJRT_Error *error)
{
    return error ? make(error_of(error)->code, error_of(error)->message) : NULL;
}

void pjrt_error_free(struct PJRT_Error *error)
{
    mem_free(error);
}

enum PJRT_Error_Code pjrt_error_code(const struct PJRT_Error *error)
{
    return error ? error_of(error)->code : PJRT_Error_Code_OK;
}

const char *pjrt_error_message(const struct PJRT_Error *error)
{
    return error_of(error)->message;
}

/* ----- the interface */

void pjrt_Error_Destroy(struct PJRT_Error_Destroy_Args *args)
{
    mem_free(args->error);
}

void pjrt_Error_Message(struct PJRT_Error_Message_Args *args)
{
    read_message(args->error, &args->message, &args->message_size);
}

struct PJRT_Error *pjrt_Error_GetCode(struct PJRT_Error_GetCode_Args *args)
{
    args->code = pjrt_error_code(args->error);
    return NULL;
}

struct PJRT_Error *pjrt_Error_ForEachPayload(struct PJRT_Error_ForEachPayload_Args *args)
{
    (void)args;                         /* our errors have no payloads */
    return NULL;
}
