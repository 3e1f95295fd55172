/*
 * Reads a client's lines on a thread of its own, so that a command under way can be interrupted,
 * and sends lines back.
 */
#include "cli/live/live_wire.h"

#include "base/arena.h"
#include "cli/debug/debug.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define SEND_MAX_S 5                    /* a client that has not read for so long is left */
#define QUEUE_MAX 64                    /* commands that wait; more of them wait in the socket */

struct live_wire {
    int fd;
    pthread_t reader;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char queue[QUEUE_MAX][LIVE_LINE_MAX];
    size_t first, count;
    bool has_ended, is_closing;
};

/* a line that is too long is cut, and refused as a command that is too long */
static void put(struct live_wire *w, const char *line)
{
    if (strcmp(line, "pause") == 0) {
        debug_interrupt();
        return;
    }
    pthread_mutex_lock(&w->lock);
    while (w->count == QUEUE_MAX && !w->is_closing)
        pthread_cond_wait(&w->changed, &w->lock);
    if (!w->is_closing)
        snprintf(w->queue[(w->first + w->count++) % QUEUE_MAX], LIVE_LINE_MAX, "%s", line);
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static void end(struct live_wire *w)
{
    pthread_mutex_lock(&w->lock);
    w->has_ended = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    debug_interrupt();                  /* nobody waits for what runs */
}

static void *read_lines(void *context)
{
    struct live_wire *w = context;
    char bytes[4096], line[LIVE_LINE_MAX];
    size_t length = 0;
    ssize_t got;

    while ((got = read(w->fd, bytes, sizeof(bytes))) > 0 || (got < 0 && errno == EINTR)) {
        for (ssize_t i = 0; i < got; i++) {
            if (bytes[i] == '\n') {
                line[length] = '\0';
                put(w, line);
                length = 0;
            } else if (bytes[i] != '\r' && bytes[i] != '\0' && length + 1 < sizeof(line)) {
                line[length++] = bytes[i];
            }
        }
    }
    end(w);
    return NULL;
}

struct live_wire *live_wire_open(int fd)
{
    struct live_wire *w = mem_alloc(sizeof(*w));

    w->fd = fd;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){.tv_sec = SEND_MAX_S},
               sizeof(struct timeval));
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    if (pthread_create(&w->reader, NULL, read_lines, w) != 0)
        mem_exhausted(0);               /* or of threads */
    return w;
}

void live_wire_close(struct live_wire *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_closing = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    shutdown(w->fd, SHUT_RDWR);
    pthread_join(w->reader, NULL);
    close(w->fd);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    mem_free(w);
}

bool live_wire_next(struct live_wire *w, char line[LIVE_LINE_MAX])
{
    bool has_line;

    pthread_mutex_lock(&w->lock);
    while (w->count == 0 && !w->has_ended)
        pthread_cond_wait(&w->changed, &w->lock);
    has_line = w->count > 0 && !w->has_ended;
    if (has_line) {
        memcpy(line, w->queue[w->first], LIVE_LINE_MAX);
        w->first = (w->first + 1) % QUEUE_MAX;
        w->count--;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return has_line;
}

static void send_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0) {                /* gone, or it does not read: the run goes on alone */
            shutdown(fd, SHUT_RDWR);
            return;
        }
        bytes += sent;
        count -= (size_t)sent;
    }
}

void live_wire_send(struct live_wire *w, const char *prefix, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");

        send_all(w->fd, prefix, strlen(prefix));
        send_all(w->fd, text, length);
        send_all(w->fd, "\n", 1);
        text += length + (text[length] == '\n');
    }
}
