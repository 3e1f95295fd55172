/*
 * Pipelines on the bench: everything an iterator gives, as text, and positions tried everywhere.
 */
#ifndef TESTS_PIPELINE_RIG_H
#define TESTS_PIPELINE_RIG_H
#include "data/dataset.h"

/* "[0 1 2] [3 4]": tensors of one element apart by commas, sizes of inner dimensions unseen */
char *pipeline_text(struct dataset *d, int64_t pass, int64_t most);
/* fails the test unless pass 0 of *d gives just that; releases d */
void assert_gives(struct dataset *d, const char *text);
/* what is left of an iterator, as above; the caller frees */
char *rest_text(struct data_iterator *it, int64_t most);
/*
 * Saves before each of the first `most` elements of the pass, resumes there, and expects the
 * rest as it would have been; the same by passing over. Releases d.
 */
void assert_resumes(struct dataset *d, int64_t pass, int64_t most);
/* the message of a maker that must have refused */
void assert_refused(struct dataset *d, const struct err *e, const char *message);
struct dataset *numbers(int64_t count);                 /* 0, 1, ... */
#endif
