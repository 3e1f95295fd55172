/*
 * What a program was made of, kept in a trace beside it: lines of its source, which of them each
 * operation is for, the code before it was scheduled, and buffers in VMEM. Of programs that are one
 * kernel (systole kernel).
 */
#ifndef REPORT_NTRACE_LISTING_H
#define REPORT_NTRACE_LISTING_H
#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

/* Line 0 is what no line of the source stands for; others in the order of the source. */
struct ntrace_source_line {
    const char *file;                   /* without folders; "": line 0 */
    int number;
    const char *text;                   /* "" where the file was not at hand */
};
struct ntrace_llo_line { const char *text; int line; };
struct ntrace_buffer {
    const char *name, *kind;            /* window, scratch, … */
    int copies;                         /* each bytes / copies long, one behind the other */
    int64_t address, bytes;             /* of VMEM, all copies */
};

struct ntrace_listing {
    const struct ntrace_source_line *line;
    int line_count;
    const int *line_of_op;              /* by operation of the program */
    size_t op_count;
    const struct ntrace_llo_line *llo;
    size_t llo_count;
    const struct ntrace_buffer *buffer;
    int buffer_count;
};

/* JSON, to be freed by mem_free; NULL: a text is no UTF-8 */
char *ntrace_listing_print(const struct ntrace_listing *l);
/* What is out of range, or of another kind, is as if it were line 0, or not there. -1: no listing. */
int ntrace_listing_parse(const char *text, size_t bytes, struct arena *a, struct ntrace_listing *to);
#endif
