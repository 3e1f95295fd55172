/*
 * Two buffers in turn: while one is filled by copies, the other is worked on
 * and sent away. For the gathers of kernel_index.h.
 *
 * The caller starts copies into the buffer at hand between open and close;
 * close then waits for those of the buffer before, has it worked on and sends
 * its first granules to where they belong. All in granules of 32 bytes.
 */
#ifndef STACK_INDEX_DOUBLE_BUFFER_H
#define STACK_INDEX_DOUBLE_BUFFER_H
#include "stack/kernels/index/kernel_index.h"

struct index_double_buffer {
    struct index_work *w;
    int64_t granule, stride;            /* first buffer in VMEM, and to the second */
    int fetch_flag, out_flag;           /* and the next numbers: one per buffer */
    enum isa_opcode out_code;
    struct isa_operand parity;          /* buffer at hand, 0 or 1 */
    int64_t words;                      /* SMEM: what is known of the buffers, BUFFER_* */
    /* makes what goes out of what has come, in buffer number `parity`; NULL: nothing to do */
    void (*work)(struct index_work *w, struct isa_operand parity, void *user);
    void *user;
};

void index_double_buffer_begin(struct index_double_buffer *r, struct index_work *w,
                               int64_t buffer_granules);
void index_double_buffer_open(struct index_double_buffer *r);
/* out_to: granule in the result's memory, a register that may change afterwards */
void index_double_buffer_close(struct index_double_buffer *r, int64_t fetched,
                               struct isa_operand out_to, int64_t out_granules);
/* the same, out to the granule that SMEM word `out_smem` holds, which goes on */
void index_send(struct index_double_buffer *r, int64_t fetched, int64_t out_smem,
                int64_t out_granules);
void index_double_buffer_end(struct index_double_buffer *r); /* everything has arrived */
/* granule of the one at hand */
struct isa_operand index_double_buffer_at_hand(struct index_double_buffer *r);
#endif
