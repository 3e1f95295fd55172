#include "tests/rigs/live_rig.h"

#include "tests/test.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void *greet(void *context)
{
    struct live_rig *s = context;

    s->fd = accept(s->listening, NULL, NULL);
    if (send(s->fd, s->greeting, strlen(s->greeting), MSG_NOSIGNAL) < 0)
        return "cannot send";
    return NULL;
}

void live_rig_open(struct live_rig *s, const char *greeting)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    *s = (struct live_rig){.greeting = greeting, .folder = "/tmp/systole-client-XXXXXX"};
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->path, sizeof(s->path), "%s/socket", s->folder);
    memcpy(at.sun_path, s->path, sizeof(s->path));
    s->listening = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(s->listening, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(s->listening, 1), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, greet, s), 0);
}

struct live *live_rig_connect(struct live_rig *s)
{
    struct live *l = live_connect(s->path, &s->e);
    void *problem;

    pthread_join(s->thread, &problem);
    assert_null(problem);
    return l;
}

void live_rig_say(struct live_rig *s, const char *text)
{
    assert_int_equal(send(s->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

const char *live_rig_hear(struct live_rig *s)
{
    static char line[LIVE_COMMAND_MAX];
    size_t length = 0;

    while (length + 1 < sizeof(line) && recv(s->fd, &line[length], 1, MSG_DONTWAIT) == 1
           && line[length] != '\n')
        length++;
    line[length] = '\0';
    return line;
}

int live_rig_poll(struct live *l, struct err *e)
{
    int status = 0;

    for (int i = 0; i < 500 && status == 0; i++) {
        status = live_poll(l, e);
        if (status == 0)
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return status;
}

void live_rig_close(struct live_rig *s)
{
    close(s->fd);
    close(s->listening);
    unlink(s->path);
    rmdir(s->folder);
}
