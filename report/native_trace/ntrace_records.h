/*
 * Inside report/native_trace/ntrace_*.c: records to bytes and back. Each chunk starts anew:
 * times are told against what the record before leads to expect.
 */
#ifndef REPORT_NTRACE_RECORDS_H
#define REPORT_NTRACE_RECORDS_H
#include "report/native_trace/ntrace_format.h"

/* records of a file beside those of enum trace_kind, with the same fields */
enum { RECORD_NOTE = 16,                /* level op: what ran at at.. at + value - 1 belongs to the
                                         * source operation of `bundle` */
       RECORD_REPEAT };
_Static_assert((int)TRACE_KIND_COUNT <= (int)RECORD_NOTE, "kinds of the file stand apart");

/* where the stream of a core is expected to go on */
struct ntrace_core_coder {
    cycle_t at;
    uint32_t bundle;
};
#define CORE_RECORD_MAX 64              /* bytes, without those of a repeat's sums */
void ntrace_put_core_record_long(struct ntrace_buf *b, struct ntrace_core_coder *c,
                                 const struct trace_record *r, uint32_t bundle);

/*
 * The first byte of a core's record: 0..31 a stall with that reason, 64..127 a
 * run of 1..64 bundles, both just where they are expected; 32 + kind anything,
 * with its time and bundle told as differences.
 */
enum { TAG_GENERAL = 32, TAG_RUN = 64, RUN_SHORT_MOST = 64 };

/* `first_bundle` is added to the record's own number */
static inline void ntrace_put_core_record(struct ntrace_buf *b, struct ntrace_core_coder *c,
                                          const struct trace_record *r, uint32_t first_bundle)
{
    uint32_t bundle = r->bundle + first_bundle;
    bool is_expected = r->at == c->at && bundle == c->bundle;

    ntrace_buf_reserve(b, CORE_RECORD_MAX);
    if (is_expected && r->kind == TRACE_RUN && r->value <= RUN_SHORT_MOST) {
        ntrace_put_byte(b, TAG_RUN + (unsigned)r->value - 1);
        c->bundle += (uint32_t)r->value;
    } else if (is_expected && r->kind == TRACE_STALL && r->reason < TAG_GENERAL) {
        ntrace_put_byte(b, r->reason);
        ntrace_put_varint(b, (uint64_t)r->value);
    } else {
        ntrace_put_core_record_long(b, c, r, bundle);
        return;
    }
    c->at += r->value;
}
void ntrace_put_repeat(struct ntrace_buf *b, struct ntrace_core_coder *c,
                       const struct trace_repeat *r);

/* what a reader holds records against */
struct ntrace_core_limits {
    uint32_t bundle_count;              /* 0: not known */
    int8_t stall[64];                   /* reason by number in the file, -1: not known here */
};
/* One record or repeat (kind RECORD_REPEAT; *repeat is filled). False at the end or at a mistake
 * (c->is_bad). */
bool ntrace_get_core_record(struct ntrace_cursor *c, struct ntrace_core_coder *coder,
                            const struct ntrace_core_limits *limits, struct trace_record *r,
                            struct trace_repeat *repeat);

/* The other streams: each against the one before it, which starts as {0} with times at the
 * chunk's first cycle (HBM and links: picoseconds of it). */
#define OTHER_RECORD_MAX 160
void ntrace_put_dma(struct ntrace_buf *b, struct trace_dma *before, const struct trace_dma *d);
bool ntrace_get_dma(struct ntrace_cursor *c, struct trace_dma *d); /* *d holds the one before */
void ntrace_put_hbm(struct ntrace_buf *b, struct trace_hbm *before, const struct trace_hbm *h);
bool ntrace_get_hbm(struct ntrace_cursor *c, struct trace_hbm *h);
void ntrace_put_link(struct ntrace_buf *b, struct trace_link *before, const struct trace_link *l);
bool ntrace_get_link(struct ntrace_cursor *c, struct trace_link *l);
#endif
