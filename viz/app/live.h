/*
 * A run that the viewer drives: the client's side of docs/viewer.md. Never
 * blocks but in live_connect; call live_poll once a frame.
 */
#ifndef VIZ_LIVE_H
#define VIZ_LIVE_H
#include "base/err.h"
#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIVE_COMMAND_MAX 1000           /* characters, as systole debug takes them */

struct live;

enum live_status { LIVE_PAUSED, LIVE_RUNNING, LIVE_ENDED, LIVE_FAULTED };

struct live_core {
    uint32_t bundle, line;              /* next bundle, or that of the end */
    int64_t issued;
    char activity[12];                  /* "none", "ready", "waits", "halted", "faulted" */
    char reason[24];                    /* stall reason of a wait, or "" */
};

struct live_state {
    enum live_status status;
    int64_t cycle;                      /* everything before it has happened */
    int core_count;
    const struct live_core *core;
};

/* Waits up to two seconds for the greeting; NULL with *e set. */
struct live *live_connect(const char *socket_path, struct err *e);
void live_disconnect(struct live *l);
const char *live_title(const struct live *l);
const char *live_trace_path(const struct live *l);

/* A command of the debugger, "pause" or "state", answered later; -1 when the run has gone. */
int live_send(struct live *l, const char *command, struct err *e);
/*
 * What has come since: true when state, text or trace may have changed. -1 when
 * the run has gone, with *e set, from then on.
 */
int live_poll(struct live *l, struct err *e);
/* of the last line that told one */
const struct live_state *live_state(const struct live *l);
bool live_is_waiting(const struct live *l);     /* for the end of an answer */

/* the last lines that commands, answers and mistakes came to, the oldest first */
#define LIVE_LINES 200
enum live_line_kind { LIVE_COMMAND, LIVE_TEXT, LIVE_MISTAKE };
size_t live_line_count(const struct live *l);
const char *live_line(const struct live *l, size_t index, enum live_line_kind *kind);
#endif
