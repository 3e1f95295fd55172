/*
 * Inside the live server: lines that come from a client while a command runs,
 * and lines that go to it.
 */
#ifndef CLI_LIVE_WIRE_H
#define CLI_LIVE_WIRE_H
#include <stdbool.h>
#include <stddef.h>

#define LIVE_LINE_MAX 1100              /* a command of the debugger, and some */

struct live_wire;

/* a thread reads from `fd` from here on; the wire owns it */
struct live_wire *live_wire_open(int fd);
void live_wire_close(struct live_wire *w);
/* the next command, waited for; false when the client has gone */
bool live_wire_next(struct live_wire *w, char line[LIVE_LINE_MAX]);
/* `text` line by line, each behind `prefix`; what a client that has gone does not get is lost */
void live_wire_send(struct live_wire *w, const char *prefix, const char *text);
#endif
