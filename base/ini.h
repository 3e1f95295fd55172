/*
 * Files of settings: [section], key = value, comments behind ; or # at the beginning of a line, and
 * behind " ;" anywhere. A key belongs to the section above it.
 */
#ifndef BASE_INI_H
#define BASE_INI_H

#define INI_LINE_BYTES 200              /* with its end */

/* the next line into `buf`, as fgets does; NULL: no more */
typedef char *ini_line_fn(char *buf, int buf_bytes, void *stream);
/* 0: this setting is wrong */
typedef int ini_setting_fn(void *user, const char *section, const char *key, const char *value);

/* All settings in order; 0, or the number of the first line that is none or was said to be wrong. */
int ini_read(ini_line_fn *next_line, void *stream, ini_setting_fn *take, void *user);
#endif
