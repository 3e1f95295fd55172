/*
 * A launch that a viewer drives: each cycle is told to the trace once, however
 * often it is gone through, and the server says what docs/viewer.md says.
 */
#include "base/rng.h"
#include "base/units.h"
#include "cli/live/live.h"
#include "cli/debug/trace_gate.h"
#include "report/native_trace/ntrace.h"
#include "tests/rigs/debug_rig.h"
#include "tests/test.h"

#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* two cores on two chips: copies, flags and links while the launch is gone through */
static const char exchange[] =
    "{ s0 = smov 1 ;; s1 = smov 2 }\n"
    "{ dma.hbm_to_vmem /*src=*/0, /*size_in_granules=*/64, /*dst=*/0x20, "
    "/*dst_syncflagno=*/[sflag:3] }\n"
    "loop:\n"
    "{ s2 = sadd.s32 s2, 1 }\n"
    "{ p0 = scmp.lt.s32.totalorder s2, 40 ;; v1 = vadd.s32 v1, v1 }\n"
    "{ sbr.rel (p0) target = loop }\n"
    "{ v2 = vadd.s32 v1, v1 }\n"
    "{ dma.done.wait [sflag:3], 64 }\n"
    "{ vsyncset [sflag:3], 0 }\n"
    "{ shalt }\n";

/* ---- the gate ---- */

struct gated {
    struct debug_rig r;
    struct trace_log log;
    struct trace_gate gate;
};

static void open_gated(struct gated *g, const char *text, int cores)
{
    struct debug_options o = {.title = "test.tasm", .gate = &g->gate};

    memset(g, 0, sizeof(*g));
    rig_open(&g->r.rig, "tiny", &debug_rig_options);
    for (int i = 0; i < cores; i++)
        rig_load(&g->r.rig, i, text);
    trace_log_open(&g->log, g->r.rig.m);
    trace_gate_init(&g->gate, &g->log.sink);
    machine_set_trace(g->r.rig.m, &g->gate.sink);
    g->r.out = open_memstream(&g->r.said, &g->r.said_bytes);
    assert_non_null(g->r.out);
    o.out = g->r.out;
    debug_open(&g->r.d, g->r.rig.m, &o);
}

static void close_gated(struct gated *g)
{
    trace_log_close(&g->log);
    debug_rig_close(&g->r);
}

static void assert_told_once(struct gated *g, const char *text, int cores, const char *what)
{
    struct rig_options o = debug_rig_options;
    struct rig plain;

    o.trace = true;
    o.no_memo = true;
    rig_open(&plain, "tiny", &o);
    for (int i = 0; i < cores; i++)
        rig_load(&plain, i, text);
    assert_int_equal(rig_run(&plain), 0);
    machine_finish(g->r.rig.m);
    trace_log_check(&g->log, g->r.rig.m);
    trace_log_assert_same(&plain.log, &g->log, plain.m, what);
    assert_int_equal(g->log.hbm_count, plain.log.hbm_count);
    assert_int_equal(g->log.link_count, plain.log.link_count);
    assert_int_equal(g->log.begun, 1);
    rig_close(&plain);
}

TEST(going_back_tells_nothing_twice)
{
    static const char *const word[] = {"step", "step 5", "cycle 9", "back", "back 7", "goto 20",
                                       "goto 60", "next vadd", "event", "wake", "until @90",
                                       "finish", "run", "break :4", "delete", "continue"};
    static struct gated g;
    struct rng random;
    char what[40];

    for (uint64_t seed = 1; seed <= 30; seed++) {
        rng_init(&random, seed);
        open_gated(&g, exchange, 2);
        for (int i = 0; i < 25; i++)
            debug_rig_try(&g.r, word[rng_below(&random, COUNT_OF(word))]);
        debug_rig_try(&g.r, "delete");
        if (!debug_has_ended(&g.r.d))
            debug_rig_say(&g.r, "finish");
        snprintf(what, sizeof(what), "seed %d", (int)seed);
        assert_told_once(&g, exchange, 2, what);
        close_gated(&g);
    }
}

/* an end that is gone away from and come to again */
TEST(a_launch_that_ended_and_was_left_again_is_told_once)
{
    static struct gated g;

    open_gated(&g, exchange, 1);
    debug_rig_say(&g.r, "finish");
    debug_rig_say(&g.r, "goto 10");
    debug_rig_say(&g.r, "step 3");
    debug_rig_say(&g.r, "finish");
    assert_told_once(&g, exchange, 1, "finished twice");
    close_gated(&g);
}

/* ---- the server ---- */

struct served {
    char folder[40], socket[64], trace[64];
    struct rig rig;
    struct ntrace_writer *writer;
    struct trace_gate gate;
    struct debugger d;
    struct live_server *server;
    pthread_t thread;
    int status;
    struct err e;
    FILE *to, *from;                    /* of the client */
    char line[100000];
};

static bool forever(void *context)
{
    (void)context;
    return true;
}

static void *serve(void *context)
{
    struct served *s = context;
    const struct live_session session = {.d = &s->d, .trace = s->writer, .title = "test.tasm",
                                         .trace_path = s->trace};

    s->status = live_serve(s->server, &session, forever, NULL, &s->e);
    return NULL;
}

static void connect_client(struct served *s)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    memcpy(at.sun_path, s->socket, sizeof(s->socket));
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    s->from = fdopen(fd, "r");
    s->to = fdopen(dup(fd), "w");
}

static void open_served(struct served *s, const char *text)
{
    const struct ntrace_options o = {.level = TRACE_BUNDLE, .title = "test.tasm"};
    struct rig_options options = debug_rig_options;
    struct debug_options debug = {.out = stdout, .title = "test.tasm", .gate = &s->gate,
                                  .progress = live_progress};

    memset(s, 0, sizeof(*s));
    options.cycle_limit = 1000000000000;
    options.no_memo = true;
    strcpy(s->folder, "/tmp/systole-live-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->socket, sizeof(s->socket), "%s/socket", s->folder);
    snprintf(s->trace, sizeof(s->trace), "%s/t.strace", s->folder);
    rig_open(&s->rig, "tiny", &options);
    rig_load(&s->rig, 0, text);
    s->writer = ntrace_writer_open(s->trace, &o, &s->e);
    assert_non_null(s->writer);
    trace_gate_init(&s->gate, ntrace_writer_sink(s->writer));
    machine_set_trace(s->rig.m, &s->gate.sink);
    s->server = live_open(s->socket, &s->e);
    assert_non_null(s->server);
    debug.progress_context = s->server;
    debug_open(&s->d, s->rig.m, &debug);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
    connect_client(s);
}

static json_t *receive(struct served *s, char kind)
{
    json_t *o;

    do {
        if (!fgets(s->line, sizeof(s->line), s->from))
            fail_msg("the server has gone");
    } while (s->line[0] != kind);
    o = json_loads(kind == '{' ? s->line : s->line + 2, 0, NULL);
    assert_non_null(o);
    return o;
}

static void say(struct served *s, const char *command)
{
    fprintf(s->to, "%s\n", command);
    fflush(s->to);
}

static void assert_state(struct served *s, const char *state, cycle_t cycle)
{
    json_t *o = receive(s, '=');

    assert_string_equal(json_string_value(json_object_get(o, "state")), state);
    if (cycle >= 0)
        assert_int_equal(json_integer_value(json_object_get(o, "cycle")), cycle);
    json_decref(o);
}

static void close_served(struct served *s)
{
    fclose(s->to);
    fclose(s->from);
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    assert_int_equal(s->status, 0);
    debug_close(&s->d);
    live_close(s->server);
    assert_int_not_equal(access(s->socket, F_OK), 0);
    rig_close(&s->rig);
    assert_int_equal(ntrace_writer_close(s->writer, &s->e), 0);
    unlink(s->trace);
    rmdir(s->folder);
}

TEST(a_client_drives_a_launch)
{
    static struct served s;
    json_t *o, *core;

    open_served(&s, exchange);
    o = receive(&s, '{');
    assert_string_equal(json_string_value(json_object_get(o, "format")), "systole-live");
    assert_int_equal(json_integer_value(json_object_get(o, "version")), 1);
    assert_string_equal(json_string_value(json_object_get(o, "trace")), s.trace);
    json_decref(o);
    say(&s, "state");
    assert_state(&s, "paused", 0);
    say(&s, "step 3");
    o = receive(&s, '=');
    core = json_array_get(json_object_get(o, "cores"), 0);
    assert_int_equal(json_integer_value(json_object_get(core, "issued")), 3);
    assert_int_equal(json_integer_value(json_object_get(core, "bundle")), 3);
    assert_string_equal(json_string_value(json_object_get(core, "activity")), "ready");
    json_decref(o);
    say(&s, "goto 1");
    assert_state(&s, "paused", 1);
    say(&s, "nonsense");
    assert_non_null(fgets(s.line, sizeof(s.line), s.from));
    assert_memory_equal(s.line, "! ", 2);
    assert_state(&s, "paused", 1);
    say(&s, "print s0");
    assert_non_null(fgets(s.line, sizeof(s.line), s.from));
    assert_memory_equal(s.line, "| ", 2);
    assert_state(&s, "paused", 1);
    say(&s, "save /tmp/x");
    assert_non_null(fgets(s.line, sizeof(s.line), s.from));
    assert_non_null(strstr(s.line, "files are not used here"));
    assert_state(&s, "paused", 1);
    say(&s, "finish");
    assert_state(&s, "ended", -1);
    close_served(&s);
}

static void assert_trace_has_all(struct served *s, struct ntrace *t, cycle_t until)
{
    int64_t cell[NTRACE_CELL_COUNT], issued;
    json_t *o = receive(s, '='), *core = json_array_get(json_object_get(o, "cores"), 0);

    assert_int_equal(json_integer_value(json_object_get(o, "cycle")), until);
    issued = json_integer_value(json_object_get(core, "issued"));
    assert_true(issued > 0);
    assert_true(ntrace_refresh(t, &s->e) >= 0);
    ntrace_sum(t, NTRACE_CORE, 0, 0, until, cell);
    assert_int_equal(cell[NTRACE_CELL_ISSUE], issued);
    json_decref(o);
}

/* whoever has the answer can read the trace up to there */
TEST(the_trace_is_there_when_the_answer_is)
{
    static struct served s;
    struct ntrace *t;

    open_served(&s, exchange);
    say(&s, "cycle");
    assert_state(&s, "paused", 1);
    t = ntrace_open(s.trace, &s.e);
    assert_non_null(t);
    assert_false(ntrace_info(t)->is_complete);
    say(&s, "until @60");
    assert_trace_has_all(&s, t, 60);
    say(&s, "goto 10");
    assert_state(&s, "paused", 10);
    say(&s, "until @100");
    assert_trace_has_all(&s, t, 100);
    ntrace_close(t);
    close_served(&s);
}

TEST(pause_stops_a_launch_that_runs_and_says_how_far_it_is)
{
    static struct served s;
    json_t *o;

    open_served(&s, "loop:\n{ s0 = sadd.s32 s0, 1 }\n{ sbr.rel target = loop }\n"
                    "{ s1 = sadd.s32 s1, 1 }\n{ shalt }\n");
    say(&s, "continue");
    o = receive(&s, '~');               /* so it runs */
    assert_string_equal(json_string_value(json_object_get(o, "state")), "running");
    json_decref(o);
    say(&s, "pause");
    assert_state(&s, "paused", -1);
    say(&s, "step");
    assert_state(&s, "paused", -1);
    say(&s, "continue");                /* and leaves while it runs */
    json_decref(receive(&s, '~'));
    close_served(&s);
}

TEST(a_client_that_never_reads_is_left_alone)
{
    static struct served s;
    struct pollfd left = {.events = 0};

    signal(SIGPIPE, SIG_IGN);           /* the client still writes when it is left */
    open_served(&s, "{ shalt }\n");
    for (int i = 0; i < 5000; i++)      /* more answers than a socket holds */
        say(&s, "state");
    left.fd = fileno(s.from);
    assert_int_equal(poll(&left, 1, 60000), 1);
    assert_true(left.revents & POLLHUP);
    close_served(&s);
}

TEST(a_socket_that_cannot_be_is_refused)
{
    struct err e;
    char path[200];

    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_null(live_open(path, &e));
    assert_non_null(strstr(e.msg, "characters"));
    assert_null(live_open("/nowhere/socket", &e));
    assert_string_equal(e.msg, "cannot listen on /nowhere/socket: No such file or directory");
    assert_null(live_open("/tmp", &e));
    assert_non_null(strstr(e.msg, "in use"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(going_back_tells_nothing_twice),
        cmocka_unit_test(a_launch_that_ended_and_was_left_again_is_told_once),
        cmocka_unit_test(a_client_drives_a_launch),
        cmocka_unit_test(the_trace_is_there_when_the_answer_is),
        cmocka_unit_test(pause_stops_a_launch_that_runs_and_says_how_far_it_is),
        cmocka_unit_test(a_client_that_never_reads_is_left_alone),
        cmocka_unit_test(a_socket_that_cannot_be_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
