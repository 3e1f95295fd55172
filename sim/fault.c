#include "sim/core.h"

#include <stdarg.h>
#include <stdio.h>

int core_print_place(const struct core *c, cycle_t at, char *buf, size_t buf_bytes)
{
    const struct isa_program *p = c->program->source;
    uint32_t line = c->pc < p->bundle_count ? p->bundle[c->pc].line : 0;

    if (line == 0)
        return snprintf(buf, buf_bytes, "core %d cycle %lld bundle %u: ", c->number,
                        (long long)at, (unsigned)c->pc);
    return snprintf(buf, buf_bytes, "core %d cycle %lld bundle %u (line %u): ", c->number,
                    (long long)at, (unsigned)c->pc, (unsigned)line);
}

void core_fault(struct core *c, enum fault_kind kind, const char *fmt, ...)
{
    struct fault *f = &c->fault;
    size_t length;
    va_list ap;

    if (c->state == CORE_FAULTED)
        return;                         /* the first of a bundle counts */
    c->state = CORE_FAULTED;
    f->kind = kind;
    f->core = c->number;
    f->cycle = c->issue_at;
    f->bundle = c->pc;
    f->line = c->pc < c->program->bundle_count ? c->program->source->bundle[c->pc].line : 0;
    length = (size_t)core_print_place(c, c->issue_at, f->msg, sizeof(f->msg));
    va_start(ap, fmt);
    vsnprintf(f->msg + length, sizeof(f->msg) - length, fmt, ap);
    va_end(ap);
}
