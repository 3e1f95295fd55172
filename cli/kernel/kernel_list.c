/* What a kernel was made of, for the trace of its run: lines, operations before they were scheduled,
 * buffers. */
#include "cli/kernel/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_BYTES 512                   /* of VMEM */

/* the kernel's operation that a line of the dump is for; 0: none */
static int number_of(const char *line)
{
    static const char mark[] = "// operation ";
    const char *at = strstr(line, mark);

    return at ? (int)strtol(at + strlen(mark), NULL, 10) : 0;
}

static void take_llo(char *text, const struct kernel_source *s, struct arena *a,
                     struct ntrace_listing *to)
{
    struct ntrace_llo_line *llo;
    size_t count = 1;

    for (const char *c = text; *c; c++)
        count += *c == '\n';
    to->llo = llo = arena_array(a, count, sizeof(*llo));
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        int number;
        char *remark;

        *end = '\0';
        number = number_of(line);
        remark = number ? strstr(line, "  // operation ") : NULL;
        if (remark)
            *remark = '\0';
        llo[to->llo_count++] = (struct ntrace_llo_line){
            arena_strdup(a, line), number < s->number_count ? s->of_number[number] : 0};
    }
}

static int list_llo(const struct kernel_source *s, const struct module *m, struct arena *a,
                    struct ntrace_listing *to, struct err *e)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    int status;

    if (!f)
        return err_set(e, "no memory for a listing");
    status = module_dump_llo(m, f, e);
    fclose(f);
    if (!status)
        take_llo(text, s, a, to);
    free(text);
    return status;
}

static void list_buffers(const struct module *m, struct arena *a, struct ntrace_listing *to)
{
    static const char *const kinds[] = {
        [BUFFER_WINDOW] = "window", [BUFFER_SCRATCH] = "scratch", [BUFFER_VECTOR] = "vector",
        [BUFFER_SPILLS] = "spills"};
    const struct segment *s = NULL;
    struct ntrace_buffer *list;

    for (int i = 0; i < m->kernel_count && !s; i++)
        s = m->kernel[i].segment->buffer_count ? m->kernel[i].segment : NULL;
    if (!s)
        return;
    to->buffer = list = arena_array(a, (size_t)s->buffer_count, sizeof(*list));
    for (int i = 0; i < s->buffer_count; i++) {
        const struct kernel_buffer *b = &s->buffer[i];

        if (b->rows > 0)
            list[to->buffer_count++] = (struct ntrace_buffer){
                b->name, kinds[b->kind], b->copies > 0 ? b->copies : 1, b->row * ROW_BYTES,
                b->rows * ROW_BYTES};
    }
}

int kernel_list(const struct kernel_source *s, const struct module *m, struct arena *a,
                struct ntrace_listing *to, struct err *e)
{
    struct ntrace_source_line *line = arena_array(a, (size_t)s->count, sizeof(*line));

    for (int i = 0; i < s->count; i++) {
        const char *file = s->line[i].file ? s->line[i].file : "", *slash = strrchr(file, '/');

        line[i] = (struct ntrace_source_line){slash ? slash + 1 : file, s->line[i].line,
                                              s->line[i].text};
    }
    to->line = line;
    to->line_count = s->count;
    to->line_of_op = s->of_op;
    to->op_count = m->linked[0].program.op_count;
    list_buffers(m, a, to);
    return list_llo(s, m, a, to, e);
}
