/* What the parts of window reductions share. Private to import/eval. */
#ifndef IMPORT_EVAL_WINDOW_H
#define IMPORT_EVAL_WINDOW_H
#include "import/lanes/fold.h"
#include "import/eval/handlers.h"
#include "import/eval/region.h"

/* outputs first, first + step, .. of one dimension meet elements from, from + from_step, .. */
struct window_range {
    int64_t first, count, step, from, from_step;
};

/* The one dimension that a long window without gaps slides over by single steps; -1: none. */
int window_slides_along(const struct call *c);
/* its results, from running ones of blocks as long as the window */
int window_slide(struct call *c, struct region *r, int along, int count,
                 struct value *const *result);
#endif
