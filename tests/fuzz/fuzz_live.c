/*
 * Any bytes from a run's socket are states and lines to the viewer, or end it with a message; any
 * bytes from a viewer's are lines to the run.
 */
#include "cli/debug/debug.h"
#include "cli/live/live_wire.h"
#include "tests/rigs/round_trip.h"
#include "viz/app/live.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int listen_at(struct sockaddr_un *place)
{
    static char folder[] = "/tmp/systole-fuzz-XXXXXX";
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    place->sun_family = AF_UNIX;
    if (fd < 0 || !mkdtemp(folder))
        fuzz_fail("no socket", "");
    snprintf(place->sun_path, sizeof(place->sun_path), "%s/socket", folder);
    if (bind(fd, (struct sockaddr *)place, sizeof(*place)) != 0 || listen(fd, 4) != 0)
        fuzz_fail("no socket", place->sun_path);
    return fd;
}

/* What the next one to connect gets, before the end of the stream. */
static struct {
    const uint8_t *data;
    size_t size;
    int listening;
    sem_t is_sent;
} server;

/* a thread, for who connects waits for a greeting */
static void *serve(void *nothing)
{
    for (;;) {
        int fd = accept(server.listening, NULL, NULL);
        size_t done = 0;
        ssize_t sent = 1;

        while (done < server.size && sent > 0) {
            sent = send(fd, server.data + done, server.size - done, MSG_NOSIGNAL);
            done += sent > 0 ? (size_t)sent : 0;
        }
        close(fd);
        sem_post(&server.is_sent);
    }
    return nothing;
}

/* to the viewer */
static void try_viewer(const char *path, const uint8_t *data, size_t size)
{
    struct err e = {.msg = ""};
    struct live *l;

    server.data = data;
    server.size = size;
    l = live_connect(path, &e);
    if (!l && !e.msg[0])
        fuzz_fail("a run is refused without a message", "");
    while (l && live_poll(l, &e) >= 0)
        ;
    if (l && !e.msg[0])
        fuzz_fail("a run goes without a message", "");
    for (size_t i = 0; l && i < live_line_count(l); i++) {
        enum live_line_kind kind;

        if (strlen(live_line(l, i, &kind)) > 4096)
            fuzz_fail("a line is longer than is shown", "");
    }
    live_disconnect(l);
    while (sem_wait(&server.is_sent) != 0)
        ;
}

/* to the run */
static void try_run(const uint8_t *data, size_t size)
{
    char line[LIVE_LINE_MAX];
    struct live_wire *w;
    int fd[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
        fuzz_fail("no sockets", "");
    w = live_wire_open(fd[0]);
    if (write(fd[1], data, size) != (ssize_t)size)
        fuzz_fail("no room for the input", "");
    close(fd[1]);
    while (live_wire_next(w, line))
        if (memchr(line, '\0', sizeof(line)) == NULL)
            fuzz_fail("a command has no end", "");
    live_wire_close(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sockaddr_un place;
    pthread_t thread;

    if (!place.sun_path[0]) {
        server.listening = listen_at(&place);
        sem_init(&server.is_sent, 0, 0);
        if (pthread_create(&thread, NULL, serve, NULL) != 0)
            fuzz_fail("no thread", "");
    }
    try_viewer(place.sun_path, data, size);
    try_run(data, size);
    return 0;
}
