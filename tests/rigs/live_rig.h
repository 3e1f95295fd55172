/*
 * A server that says what a test wants, on a socket of its own: the other end of viz/app/live.h.
 */
#ifndef TESTS_LIVE_RIG_H
#define TESTS_LIVE_RIG_H
#include "viz/app/live.h"

#include <pthread.h>

#define LIVE_RIG_GREETING \
    "{\"format\": \"systole-live\", \"version\": 1, \"title\": \"t\", \"trace\": \"/x\"}\n"

struct live_rig {
    char path[64], folder[40];
    int listening, fd;                  /* fd: of the client that came */
    const char *greeting;
    pthread_t thread;
    struct err e;                       /* of what the client does */
};

void live_rig_open(struct live_rig *s, const char *greeting);
struct live *live_rig_connect(struct live_rig *s);      /* as live_connect */
void live_rig_say(struct live_rig *s, const char *text);
/* the next line that the client has sent, without its end; "" where there is none */
const char *live_rig_hear(struct live_rig *s);
/* until something has changed, or the run has gone, as live_poll; 0 after a second */
int live_rig_poll(struct live *l, struct err *e);
void live_rig_close(struct live_rig *s);
#endif
