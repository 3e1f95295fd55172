/* Pipelines for readers: the grid, and what each window holds, as remarks of the code. */
#include "stack/kernels/pipeline/pipeline_impl.h"

#include <inttypes.h>
#include <stdarg.h>

struct line { char text[400]; size_t length; };

static void add(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct line *l, const char *fmt, ...)
{
    va_list ap;
    int count;

    va_start(ap, fmt);
    count = vsnprintf(l->text + l->length, sizeof(l->text) - l->length, fmt, ap);
    va_end(ap);
    l->length += (size_t)count;
    if (l->length >= sizeof(l->text))
        l->length = sizeof(l->text) - 1;
}

static void add_counts(struct line *l, const int64_t *count, int dims)
{
    for (int i = 0; i < dims; i++)
        add(l, "%s%" PRId64, i ? " x " : "", count[i]);
}

static void add_place(struct line *l, const struct pipeline *f, int window)
{
    int64_t row = pipeline_row(f, window);

    if (pipeline_is_in_place(f, window))
        add(l, "in place from row 0x%" PRIx64, (uint64_t)row);
    else if (pipeline_class(f, window) == PIPELINE_CLASS_NONE)
        add(l, "from row 0x%" PRIx64 ", copied once", (uint64_t)row);
    else
        add(l, "from rows 0x%" PRIx64 " and 0x%" PRIx64 " by turns", (uint64_t)row,
            (uint64_t)(row + f->state->delta));
    if (pipeline_base(f, window) >= 0)
        add(l, " (now: s%d + 0x%" PRIx64 ")", pipeline_base(f, window), (uint64_t)row);
}

static void tell_window(const struct pipeline *f, int window, struct vcode *c)
{
    const struct pipeline_window *w = &f->window[window];
    struct line l = {.length = 0};
    char array[200];

    add(&l, "window %d: %s \"%s\" %s, box of ", window, w->is_result ? "result" : "operand",
        w->array->name ? w->array->name : "", array_print(w->array, array, sizeof(array)));
    add_counts(&l, w->box_count, w->box_dims);
    add(&l, " tiles, ");
    add_place(&l, f, window);
    for (int d = 0; d < f->dims; d++)
        if (pipeline_moves(f, window, d))
            add(&l, "; %+" PRId64 " tiles per step of g%d", w->step[d], d);
    vcode_remark(c, "%s", l.text);
}

void pipeline_tell(const struct pipeline *f, struct vcode *c)
{
    struct line l = {.length = 0};

    add(&l, f->state->total == 1 ? "one step" : "grid of ");
    if (f->state->total > 1) {
        add_counts(&l, f->count, f->dims);
        add(&l, " steps");
    }
    for (int d = 0; d < f->dims; d++)
        if (pipeline_index(f, d) >= 0)
            add(&l, ", g%d in s%d", d, pipeline_index(f, d));
    vcode_remark(c, "%s", l.text);
    for (int w = 0; w < f->window_count; w++)
        tell_window(f, w, c);
    if (f->scratch_rows)
        vcode_remark(c, "scratch: %" PRId64 " rows from row 0x%" PRIx64, f->scratch_rows,
                     (uint64_t)pipeline_scratch_row(f));
}
