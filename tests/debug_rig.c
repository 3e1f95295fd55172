#include "tests/debug_rig.h"

#include "cli/debug_expr.h"
#include "tests/test.h"

const struct rig_options debug_rig_options = {
    .set = {"core.branch_delay_bundles=1", "dma.read_ns=4000"}};

void debug_rig_open(struct debug_rig *r, const char *slice, const char *text, int cores)
{
    debug_rig_open_with(r, slice, text, cores, NULL);
}

void debug_rig_open_with(struct debug_rig *r, const char *slice, const char *text, int cores,
                         const struct rig_options *options)
{
    struct debug_options debug = {.title = "test.tasm"};

    memset(r, 0, sizeof(*r));
    rig_open(&r->rig, slice, options ? options : &debug_rig_options);
    for (int i = 0; i < cores; i++)
        rig_load(&r->rig, i, text);
    r->out = open_memstream(&r->said, &r->said_bytes);
    assert_non_null(r->out);
    debug.out = r->out;
    debug_open(&r->d, r->rig.m, &debug);
}

void debug_rig_close(struct debug_rig *r)
{
    debug_close(&r->d);
    fclose(r->out);
    free(r->said);
    rig_close(&r->rig);
}

int debug_rig_try(struct debug_rig *r, const char *command)
{
    rewind(r->out);                     /* the next command writes over the last */
    r->e.msg[0] = '\0';
    int status = debug_execute(&r->d, command, &r->e);
    fputc('\0', r->out);
    fflush(r->out);
    return status;
}

const char *debug_rig_say(struct debug_rig *r, const char *command)
{
    if (debug_rig_try(r, command))
        fail_msg("%s: %s", command, r->e.msg);
    return r->said;
}

void assert_says(struct debug_rig *r, const char *command, const char *const *parts)
{
    const char *at = debug_rig_say(r, command);

    for (; *parts; parts++) {
        at = strstr(at, *parts);
        if (!at)
            fail_msg("%s does not say (there) \"%s\" but\n%s", command, *parts, r->said);
        at += strlen(*parts);
    }
}

void assert_wrong(struct debug_rig *r, const char *command, const char *part)
{
    if (debug_rig_try(r, command) == 0)
        fail_msg("%s is taken and says\n%s", command, r->said);
    if (!strstr(r->e.msg, part))
        fail_msg("%s is refused with \"%s\", not \"%s\"", command, r->e.msg, part);
}

int64_t debug_rig_value(struct debug_rig *r, const char *expression)
{
    struct debug_value v;
    struct err e;

    if (debug_evaluate(r->d.m, r->d.core, r->d.cycle, expression, &v, &e))
        fail_msg("%s: %s", expression, e.msg);
    assert_false(v.is_float);
    return v.i;
}
