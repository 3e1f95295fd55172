/*
 * The viewer's end of a live run's socket: polls without blocking, and turns lines into the state
 * that panels show.
 */
#include "viz/app/live.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FORMAT "systole-live"
#define VERSION 1
#define GREETING_MS 2000
#define LINE_BYTES 160                  /* of a line that is shown; longer ones are cut */
#define RECEIVED_MAX (4u << 20)         /* of one line; a state of thousands of cores is less */

struct line {
    enum live_line_kind kind;
    char text[LINE_BYTES];
};

struct live {
    int fd;
    struct arena arena;                 /* title and path */
    const char *title, *trace_path;
    char *received;                     /* the beginning of a line */
    size_t received_bytes, received_capacity;
    struct live_state state;
    struct live_core *core;
    size_t core_capacity;
    int answers_due;
    struct line line[LIVE_LINES];       /* a ring; the oldest is line_first */
    size_t line_first, line_count;
    bool has_changed, has_gone;
    struct err gone;
};

/* ---- lines that are shown ---- */

static void keep_line(struct live *l, enum live_line_kind kind, const char *text)
{
    struct line *to = &l->line[(l->line_first + l->line_count) % LIVE_LINES];

    if (l->line_count == LIVE_LINES)
        l->line_first = (l->line_first + 1) % LIVE_LINES;
    else
        l->line_count++;
    to->kind = kind;
    snprintf(to->text, sizeof(to->text), "%s", text);
    l->has_changed = true;
}

size_t live_line_count(const struct live *l)
{
    return l->line_count;
}

const char *live_line(const struct live *l, size_t index, enum live_line_kind *kind)
{
    const struct line *line = &l->line[(l->line_first + index) % LIVE_LINES];

    *kind = line->kind;
    return line->text;
}

/* ---- states ---- */

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    return text ? text : "";
}

static int64_t number_of(const json_t *o, const char *key, int64_t most)
{
    json_int_t value = json_integer_value(json_object_get(o, key));

    return value < 0 ? 0 : value > most ? most : value;
}

static void take_core(struct live_core *to, const json_t *o)
{
    to->bundle = (uint32_t)number_of(o, "bundle", UINT32_MAX);
    to->line = (uint32_t)number_of(o, "line", UINT32_MAX);
    to->issued = number_of(o, "issued", INT64_MAX);
    snprintf(to->activity, sizeof(to->activity), "%s", text_of(o, "activity"));
    snprintf(to->reason, sizeof(to->reason), "%s", text_of(o, "reason"));
}

static enum live_status status_of(const char *name)
{
    static const char *const names[] = {[LIVE_PAUSED] = "paused", [LIVE_RUNNING] = "running",
                                        [LIVE_ENDED] = "ended", [LIVE_FAULTED] = "faulted"};
    int i = 0;

    while (i < LIVE_FAULTED && strcmp(name, names[i]) != 0)
        i++;
    return (enum live_status)i;
}

static void take_state(struct live *l, const char *text)
{
    json_t *o = json_loads(text, 0, NULL), *cores = json_object_get(o, "cores");
    size_t count = json_array_size(cores);

    if (!json_is_object(o) || !json_is_array(cores) || count > INT16_MAX) {
        json_decref(o);
        return;
    }
    l->core = mem_grow(l->core, &l->core_capacity, count, sizeof(*l->core));
    for (size_t i = 0; i < count; i++)
        take_core(&l->core[i], json_array_get(cores, i));
    l->state = (struct live_state){.status = status_of(text_of(o, "state")),
                                   .cycle = number_of(o, "cycle", INT64_MAX),
                                   .core_count = (int)count, .core = l->core};
    l->has_changed = true;
    json_decref(o);
}

/* ---- the wire ---- */

static int goes(struct live *l, const char *why)
{
    if (!l->has_gone)
        err_set(&l->gone, "the run has gone: %s", why);
    l->has_gone = true;
    return -1;
}

static int take_greeting(struct live *l, const char *text)
{
    json_t *o = json_loads(text, 0, NULL);
    int64_t version = number_of(o, "version", INT32_MAX);

    if (strcmp(text_of(o, "format"), FORMAT) != 0) {
        json_decref(o);
        return goes(l, "it does not greet as systole run --view does");
    }
    if (version != VERSION) {
        json_decref(o);
        return goes(l, "it speaks another version of the protocol; use the viewer and the "
                       "systole of one build");
    }
    l->title = arena_printf(&l->arena, "%s", text_of(o, "title"));
    l->trace_path = arena_printf(&l->arena, "%s", text_of(o, "trace"));
    json_decref(o);
    return 0;
}

static int take_line(struct live *l, const char *text)
{
    if (!l->trace_path)
        return take_greeting(l, text);
    if (strncmp(text, "| ", 2) == 0) {
        keep_line(l, LIVE_TEXT, text + 2);
    } else if (strncmp(text, "! ", 2) == 0) {
        keep_line(l, LIVE_MISTAKE, text + 2);
    } else if (strncmp(text, "~ ", 2) == 0) {
        take_state(l, text + 2);
    } else if (strncmp(text, "= ", 2) == 0) {
        take_state(l, text + 2);
        if (l->answers_due > 0)
            l->answers_due--;
    }
    return 0;
}

static int take_bytes(struct live *l, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (l->received_bytes >= RECEIVED_MAX)
            return goes(l, "it sends a line without an end");
        l->received = mem_grow(l->received, &l->received_capacity, l->received_bytes + 1, 1);
        l->received[l->received_bytes++] = bytes[i] == '\n' ? '\0' : bytes[i];
        if (bytes[i] != '\n')
            continue;
        l->received_bytes = 0;
        if (take_line(l, l->received))
            return -1;
    }
    return 0;
}

/* what is there, without waiting */
static int receive(struct live *l)
{
    char bytes[8192];
    ssize_t got;

    while (!l->has_gone) {
        got = recv(l->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (got < 0)
            return goes(l, strerror(errno));
        if (got == 0)
            return goes(l, "it has ended");
        take_bytes(l, bytes, (size_t)got);
    }
    return -1;
}

static int open_socket(struct live *l, const char *path, struct err *e)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(at.sun_path))
        return err_set(e, "the path of a socket has at most %zu characters, %s has %zu",
                       sizeof(at.sun_path) - 1, path, strlen(path));
    strcpy(at.sun_path, path);
    l->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (l->fd < 0 || connect(l->fd, (struct sockaddr *)&at, sizeof(at)) != 0)
        return err_set(e, "no run waits at %s: %s", path, strerror(errno));
    return 0;
}

static int wait_for_greeting(struct live *l, const char *path, struct err *e)
{
    struct pollfd p = {.fd = l->fd, .events = POLLIN};

    while (!l->trace_path && !l->has_gone) {
        if (poll(&p, 1, GREETING_MS) <= 0)
            return err_set(e, "nothing comes from %s", path);
        receive(l);
    }
    if (l->has_gone)
        *e = l->gone;
    return l->has_gone ? -1 : 0;
}

struct live *live_connect(const char *path, struct err *e)
{
    struct live *l = mem_alloc(sizeof(*l));

    arena_init(&l->arena);
    l->fd = -1;
    if (open_socket(l, path, e) == 0 && wait_for_greeting(l, path, e) == 0)
        return l;
    live_disconnect(l);
    return NULL;
}

void live_disconnect(struct live *l)
{
    if (!l)
        return;
    if (l->fd >= 0)
        close(l->fd);
    mem_free(l->received);
    mem_free(l->core);
    arena_fini(&l->arena);
    mem_free(l);
}

const char *live_title(const struct live *l)
{
    return l->title;
}

const char *live_trace_path(const struct live *l)
{
    return l->trace_path;
}

int live_send(struct live *l, const char *command, struct err *e)
{
    char line[LIVE_COMMAND_MAX];
    int length = snprintf(line, sizeof(line), "%s\n", command);

    if (length >= (int)sizeof(line) || strchr(command, '\n'))
        return err_set(e, "a command is one line of at most %zu characters", sizeof(line) - 2);
    if (!l->has_gone && send(l->fd, line, (size_t)length, MSG_NOSIGNAL) != length)
        goes(l, strerror(errno));
    if (l->has_gone) {
        *e = l->gone;
        return -1;
    }
    if (strcmp(command, "pause") != 0) {
        l->answers_due++;
        if (strcmp(command, "state") != 0)
            keep_line(l, LIVE_COMMAND, command);
    }
    return 0;
}

int live_poll(struct live *l, struct err *e)
{
    bool has_changed;

    receive(l);
    has_changed = l->has_changed;
    l->has_changed = false;
    if (has_changed || !l->has_gone)
        return has_changed;
    *e = l->gone;
    return -1;
}

const struct live_state *live_state(const struct live *l)
{
    return &l->state;
}

bool live_is_waiting(const struct live *l)
{
    return l->answers_due > 0;
}
