/* Keeps the table of breakpoints and watches, and has the commands that change it. */
#include "cli/debug/debug_stops.h"

#include "base/arena.h"
#include "base/units.h"

#include <string.h>

struct debug_stops *debug_stops_create(const struct debugger *d)
{
    struct debug_stops *s = mem_alloc(sizeof(*s));

    s->seen = mem_alloc((size_t)d->core_count * sizeof(*s->seen));
    return s;
}

static void release(struct debug_stop *stop)
{
    mem_free(stop->old_bytes);
    mem_free(stop->new_bytes);
    *stop = (struct debug_stop){.kind = STOP_FREE};
}

void debug_stops_destroy(struct debug_stops *s)
{
    for (int i = 0; i < DEBUG_STOPS_MAX; i++)
        release(&s->stop[i]);
    mem_free(s->seen);
    mem_free(s);
}

bool debug_stops_need_steps(const struct debugger *d)
{
    for (int i = 0; i < d->stops->end; i++)
        if (d->stops->stop[i].kind != STOP_FREE && d->stops->stop[i].kind != STOP_CYCLE)
            return true;
    return false;
}

cycle_t debug_stops_next_cycle(const struct debugger *d)
{
    cycle_t next = CYCLE_NEVER;

    for (int i = 0; i < d->stops->end; i++) {
        const struct debug_stop *stop = &d->stops->stop[i];

        if (stop->kind == STOP_CYCLE && stop->cycle > d->cycle && stop->cycle < next)
            next = stop->cycle;
    }
    return next;
}

static bool is_watch(const struct debug_stop *stop)
{
    return stop->kind == STOP_WATCH || stop->kind == STOP_WATCH_BYTES;
}

static void print_stop(const struct debugger *d, const struct debug_stop *stop, FILE *to)
{
    switch (stop->kind) {
    case STOP_BUNDLE: debug_print_place(d, d->core, stop->bundle, to); break;
    case STOP_OP: fprintf(to, "op %s", stop->what); break;
    case STOP_CYCLE: fprintf(to, "cycle %lld", (long long)stop->cycle); break;
    case STOP_FLAG: fprintf(to, "flag %d changes", stop->flag); break;
    case STOP_ACCESS:
        fprintf(to, "%s %s bytes 0x%llx..0x%llx", stop->is_write ? "write" : "read",
                memory_name(stop->memory), (unsigned long long)stop->first,
                (unsigned long long)(stop->first + stop->bytes - 1));
        break;
    case STOP_STALL:
        fprintf(to, "stall %s of %lld cycles or more", stall_name(stop->reason),
                (long long)stop->least_cycles);
        break;
    case STOP_WATCH: fprintf(to, "%s", stop->watched); break;
    default:
        fprintf(to, "%s", stop->what);
        if (!stop->is_register)
            fprintf(to, " bytes 0x%llx..0x%llx", (unsigned long long)stop->first,
                    (unsigned long long)(stop->first + stop->bytes - 1));
        break;
    }
    if (stop->core >= 0)
        fprintf(to, ", core %d", stop->core);
    if (stop->after > 1)
        fprintf(to, ", after %lld", (long long)stop->after);
    if (stop->condition[0])
        fprintf(to, ", if %s", stop->condition);
    if (stop->hits > 0)
        fprintf(to, stop->hits == 1 ? ", hit once" : ", hit %lld times", (long long)stop->hits);
    fputc('\n', to);
}

/* ---- commands ---- */

static int add(struct debugger *d, const struct debug_stop *new, struct err *e)
{
    for (int i = 0; i < DEBUG_STOPS_MAX; i++) {
        struct debug_stop *stop = &d->stops->stop[i];

        if (stop->kind != STOP_FREE)
            continue;
        *stop = *new;
        stop->number = ++d->stops->last_number;
        d->stops->end = i + 1 > d->stops->end ? i + 1 : d->stops->end;
        if (stop->kind == STOP_WATCH_BYTES) {
            stop->old_bytes = mem_alloc((size_t)stop->bytes);
            stop->new_bytes = mem_alloc((size_t)stop->bytes);
        }
        debug_stop_look(d, stop);
        fprintf(d->out, "%s %d: ", is_watch(stop) ? "watch" : "breakpoint", stop->number);
        print_stop(d, stop, d->out);
        return 0;
    }
    return err_set(e, "%d breakpoints and watches are all there is room for; delete frees some",
                   DEBUG_STOPS_MAX);
}

int debug_command_break(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_stop stop;

    return debug_parse_break(d, args->text, &stop, e) ? -1 : add(d, &stop, e);
}

int debug_command_watch(struct debugger *d, const struct debug_args *args, struct err *e)
{
    struct debug_stop stop;

    return debug_parse_watch(d, args->text, &stop, e) ? -1 : add(d, &stop, e);
}

int debug_command_delete(struct debugger *d, const struct debug_args *args, struct err *e)
{
    int64_t number = 0;
    bool is_found = false;

    if (debug_parse_only_number(args->text, "the breakpoint", 1, d->stops->last_number, &number,
                                e))
        return -1;
    for (int i = 0; i < DEBUG_STOPS_MAX; i++) {
        struct debug_stop *stop = &d->stops->stop[i];

        if (stop->kind == STOP_FREE || (number > 0 && stop->number != number))
            continue;
        release(stop);
        is_found = true;
    }
    while (d->stops->end > 0 && d->stops->stop[d->stops->end - 1].kind == STOP_FREE)
        d->stops->end--;
    return is_found || number == 0
           ? 0 : err_set(e, "breakpoint %lld is deleted already", (long long)number);
}

int debug_info_breaks(struct debugger *d, const char *text, struct err *e)
{
    int count = 0;

    if (debug_expect_end(text, e))
        return -1;
    for (int i = 0; i < d->stops->end; i++)
        if (d->stops->stop[i].kind != STOP_FREE) {
            fprintf(d->out, "%4d  %s", d->stops->stop[i].number,
                    is_watch(&d->stops->stop[i]) ? "watch " : "");
            print_stop(d, &d->stops->stop[i], d->out);
            count++;
        }
    if (count == 0)
        fputs("no breakpoints and no watches; help break, help watch\n", d->out);
    return 0;
}
