/*
 * A profile of what devices do between two moments, as JAX's profiler asks for it: an XSpace with a
 * plane for each device, which XProf shows. Its lines are launches ("XLA Modules") and copies between
 * host and device; operations within a launch are in the trace that SYSTOLE_OUT leaves.
 *
 * Times are the devices' (pjrt/account/account.h), counted from the host's clock at the beginning.
 */
#ifndef PJRT_PROFILE_H
#define PJRT_PROFILE_H
#include <stddef.h>
#include <stdint.h>

struct profile;

/* of the client that was made last; one at a time, another begins anew */
struct profile *profile_begin(void);
void profile_stop(struct profile *p);   /* nothing more is taken down */
/* the XSpace's bytes, the profile's until profile_end */
const uint8_t *profile_bytes(struct profile *p, size_t *size);
void profile_end(struct profile *p);
#endif
