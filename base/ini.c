/* Reads files of settings, line by line. */
#include "base/ini.h"

#include <stdio.h>
#include <string.h>

static const char spaces[] = " \t\r\n";

/* without spaces on both sides */
static char *strip(char *text)
{
    size_t length;

    text += strspn(text, spaces);
    length = strlen(text);
    while (length && strchr(spaces, text[length - 1]))
        text[--length] = '\0';
    return text;
}

static void cut_comment(char *text)
{
    for (char *c = text; (c = strchr(c, ';')); c++)
        if (c == text || strchr(spaces, c[-1])) {
            *c = '\0';
            return;
        }
}

/* "key = value"; false: no sign between them */
static int take_setting(char *line, const char *section, ini_setting_fn *take, void *user)
{
    char *sign = line + strcspn(line, "=:");

    if (!*sign)
        return 0;
    *sign = '\0';
    return take(user, section, strip(line), strip(sign + 1));
}

int ini_read(ini_line_fn *next_line, void *stream, ini_setting_fn *take, void *user)
{
    char buf[INI_LINE_BYTES], section[INI_LINE_BYTES] = "";
    int bad = 0;

    for (int number = 1; next_line(buf, sizeof(buf), stream); number++) {
        char *line = strip(buf);
        int is_right = 1;

        if (*line == '#' || *line == ';')
            continue;
        cut_comment(line);
        line = strip(line);
        if (*line == '[') {
            char *end = strchr(line, ']');

            is_right = end != NULL;
            if (end) {
                *end = '\0';
                snprintf(section, sizeof(section), "%s", line + 1);
            }
        } else if (*line) {
            is_right = take_setting(line, section, take, user);
        }
        if (!is_right && !bad)
            bad = number;
    }
    return bad;
}
