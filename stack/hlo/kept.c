/* Notes what of a kept program is not as it was. */
#include "stack/hlo/kept.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void kept_note(struct kept_program *k, int unit, const char *format, ...)
{
    char text[300];
    va_list args;
    struct kept_unit *u;

    if (!k || unit < 1 || unit > k->unit_count)
        return;
    u = &k->unit[unit];
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (u->note && strstr(u->note, text))
        return;
    u->note = u->note ? arena_printf(k->arena, "%s; %s", u->note, text)
                      : arena_strdup(k->arena, text);
}
