/*
 * Inside report/native_trace/ntrace_*.c: how cells stand in a chunk.
 *
 *   varint  zigzag(cell - the one before) * 2, + 1 for a filling
 *   of a filling: varint cells, zigzag first cycle - at, varint period
 *   masks   64 members each: which have a value, XOR those of the entry before
 *   varint  each value
 */
#ifndef REPORT_NTRACE_CELL_H
#define REPORT_NTRACE_CELL_H
#include "report/native_trace/ntrace.h"
#include "report/native_trace/ntrace_format.h"

#define CELL_MEMBERS_MOST 65536         /* a reader believes no more */

/* of a core's copies: its cells apart, for they do not go with its stream */
enum { DMA_CELL_IN_FLIGHT, DMA_CELL_BYTES, DMA_CELL_BUSY, DMA_CELL_COUNT };
#define NOTE_LEVEL 2                    /* the finest level with cycles by source operation */

static inline int ntrace_mask_words(int member_count) { return (member_count + 63) / 64; }
static inline cycle_t ntrace_cell_width(int level)
{
    return (cycle_t)NTRACE_CELL_CYCLES << 3 * level;
}
#endif
