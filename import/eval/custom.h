/* Custom calls by name: custom.def, declared. Private to import/eval. */
#ifndef IMPORT_EVAL_CUSTOM_H
#define IMPORT_EVAL_CUSTOM_H
#include "import/eval/linalg.h"

int custom_topk(struct call *c);
int custom_approx_topk(struct call *c);
/* a function on several devices in step; operands and results device by device */
int custom_run_parallel(struct call *c);
/* a kernel written in Pallas */
int custom_mosaic(struct call *c);
/* one that reaches other devices, on all of a frame; *was_run: it is such a one */
int eval_kernel_between(struct frame *f, int index, bool *was_run);
int custom_full_to_shard(struct call *c);
int custom_shard_to_full(struct call *c);
/* got and want; failures go into the report, not into the error */
int check_equal(struct call *c);
int check_close(struct call *c);
int check_almost(struct call *c);
#endif
