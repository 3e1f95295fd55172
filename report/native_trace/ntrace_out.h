/*
 * Inside report/native_trace/ntrace_*.c: the file that chunks go to, one after the other,
 * from any thread. After the first write that fails nothing more is written.
 */
#ifndef REPORT_NTRACE_OUT_H
#define REPORT_NTRACE_OUT_H
#include "report/native_trace/ntrace_format.h"

#include <pthread.h>

struct ntrace_out {
    int fd;
    char *path;
    uint64_t size;
    int error;                          /* errno of the first failure */
    pthread_mutex_t lock;
};
int ntrace_out_open(struct ntrace_out *o, const char *path, struct err *e);
/* h->bytes and h->crc are worked out here */
void ntrace_out_chunk(struct ntrace_out *o, struct ntrace_chunk_head *h, const void *payload,
                      size_t bytes);
/* -1 with *e set when something could not be written so far */
int ntrace_out_check(struct ntrace_out *o, struct err *e);
/* writes the index of all chunks and closes */
int ntrace_out_close(struct ntrace_out *o, struct err *e);

/* Records of one stream on their way into chunks of about CHUNK_PAYLOAD_BYTES. */
#define CHUNK_PAYLOAD_BYTES ((size_t)32 << 10)
struct ntrace_stream_out {
    struct ntrace_buf buf;
    struct ntrace_chunk_head head;      /* kind, level and stream are set once */
};
/* room for a record of the time given */
static inline void ntrace_stream_note(struct ntrace_stream_out *s, cycle_t first, cycle_t last)
{
    if (s->head.count++ == 0) {
        s->head.first = first;
        s->head.last = last;
    }
    s->head.first = first < s->head.first ? first : s->head.first;
    s->head.last = later(s->head.last, last);
}
void ntrace_stream_flush(struct ntrace_stream_out *s, struct ntrace_out *o);
#endif
