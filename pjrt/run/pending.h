/*
 * Launches that wait for their turn, found by the number that their caller has given them: one may
 * be told to fail before it begins.
 */
#ifndef PJRT_PENDING_H
#define PJRT_PENDING_H
#include "pjrt/device/client.h"
#include "pjrt/event/error.h"

struct pending {                        /* of a launch, which holds it until pending_end */
    struct pending *next, **link;
    const struct PJRT_Client *client;
    const int *device;                  /* ids, so many */
    int devices, number;                /* 0: it has none */
    struct PJRT_Error *error;
};

void pending_begin(struct pending *p);
/* it begins, or never will: nobody finds it any more. The error that it was given, or NULL */
struct PJRT_Error *pending_end(struct pending *p);
/* gives it to the first that waits for this device and has this number; false: none does */
bool pending_fail(const struct PJRT_Device *device, int number, enum PJRT_Error_Code code,
                  const char *message, size_t message_bytes);
#endif
