/* Records a core's first fault with its cycle, bundle and source line. */
#include "sim/core/core.h"

#include <stdarg.h>
#include <stdio.h>

int core_print_site(int core, cycle_t at, uint32_t bundle, uint32_t line, char *buf,
                    size_t buf_bytes)
{
    if (line == 0)
        return snprintf(buf, buf_bytes, "core %d cycle %lld bundle %u", core, (long long)at,
                        (unsigned)bundle);
    return snprintf(buf, buf_bytes, "core %d cycle %lld bundle %u (line %u)", core, (long long)at,
                    (unsigned)bundle, (unsigned)line);
}

static uint32_t line_of(const struct core *c, uint32_t bundle)
{
    const struct isa_program *p = c->program->source;

    return bundle < p->bundle_count ? p->bundle[bundle].line : 0;
}

static int print_place(const struct core *c, cycle_t at, uint32_t bundle, char *buf,
                       size_t buf_bytes)
{
    int length = core_print_site(c->number, at, bundle, line_of(c, bundle), buf, buf_bytes);

    return length + snprintf(buf + length, buf_bytes - (size_t)length, ": ");
}

int core_print_place(const struct core *c, cycle_t at, char *buf, size_t buf_bytes)
{
    return print_place(c, at, c->pc, buf, buf_bytes);
}

static void __attribute__((format(printf, 6, 0)))
set_fault(struct fault *f, const struct core *c, enum fault_kind kind, cycle_t at,
          uint32_t bundle, const char *fmt, va_list ap)
{
    size_t length;

    *f = (struct fault){.kind = kind, .core = c->number, .cycle = at, .bundle = bundle,
                        .line = line_of(c, bundle)};
    length = (size_t)print_place(c, at, bundle, f->msg, sizeof(f->msg));
    vsnprintf(f->msg + length, sizeof(f->msg) - length, fmt, ap);
}

void core_fault(struct core *c, enum fault_kind kind, const char *fmt, ...)
{
    va_list ap;

    if (c->state == CORE_FAULTED)
        return;                         /* the first of a bundle counts */
    c->state = CORE_FAULTED;
    va_start(ap, fmt);
    set_fault(&c->fault, c, kind, c->issue_at, c->pc, fmt, ap);
    va_end(ap);
}

void core_late_fault(struct core *c, enum fault_kind kind, cycle_t at, uint32_t bundle,
                     const char *fmt, ...)
{
    va_list ap;

    if (c->late_fault.kind != FAULT_NONE && c->late_fault.cycle <= at)
        return;
    va_start(ap, fmt);
    set_fault(&c->late_fault, c, kind, at, bundle, fmt, ap);
    va_end(ap);
}
