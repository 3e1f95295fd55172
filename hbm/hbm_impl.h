/*
 * One pseudo-channel: what is reserved on its data bus and for its activates,
 * the rows of its banks, the writes that it holds back.
 *
 * All of it starts as zeros, and a channel that nobody asks takes no memory.
 */
#ifndef HBM_HBM_IMPL_H
#define HBM_HBM_IMPL_H
#include "hbm/hbm.h"
#include "hbm/hbm_queue.h"

enum {
    BANK_RECENT = 8,                    /* runs that a bank remembers for its queue */
    CROWD_MAX = 16,
    FORGET_FROM = 24,                   /* reservations: it is not worth the while before */
    POSTPONED_MAX = 8,                  /* refreshes of a bank that is busy, as JEDEC has it */
    RESERVATIONS_MAX = 256              /* on a data bus, of activates: more are forgotten */
};

/* What a run looks at: a line of the host's cache. */
struct hbm_bank {
    int64_t open_row;                   /* 1 + the row; 0: closed */
    ps_t column_at;                     /* first column command to it */
    ps_t precharge_at;                  /* it may be closed from here on */
    int64_t epoch;                      /* refreshes before what is planned now */
    ps_t issued_at;                     /* the last column command of the latest run, */
    int32_t issued_bursts;              /* of so many; at most bank_queue, for more are as many */
    int32_t older_count;                /* runs before it that past has, and bank_queue needs */
    int64_t last_row;                   /* the one before, as long as it may still be read */
    ps_t last_precharge_at;             /* and it was closed, at the latest, here */
};

/* and what it seldom needs to know */
struct hbm_bank_past {
    ps_t last_column_at;                /* first column command to last_row */
    ps_t issued_at[BANK_RECENT - 1];    /* a ring of older runs */
    int32_t issued_bursts[BANK_RECENT - 1];
    int32_t next;                       /* the next one goes here */
};

/* of a data bus */
struct hbm_taken {
    ps_t start, end;
    int64_t group;                      /* of the last burst; -1: of several */
    bool is_write;
};

struct hbm_activate {
    ps_t at;
    int64_t group;
};

/* In the order in which a stream of reads asks for it. */
struct hbm_channel {
    struct hbm_taken *taken;            /* in order, apart from each other */
    size_t taken_count, taken_capacity;
    struct hbm_activate *activate;      /* in order */
    size_t activate_count, activate_capacity;
    ps_t floor_at;                      /* nothing is reserved before */
    uint64_t held_banks;                /* of writes held back: bit bank % 64 */
    ps_t drained_at;                    /* the last writes have left the buffer: reads go on */
    ps_t reads_gone_at;                 /* no read waits in the queue from here on */
    int64_t read_bank, read_row;        /* of the read that left last */
    int64_t crowd;                      /* more than half of CROWD_MAX: activates wait in turn */
    bool is_used;
    struct hbm_queue queue[2];          /* of reads; of writes planned, not yet on their way */
    struct hbm_write {
        int64_t row, column, bursts, bytes;     /* column in bytes */
        int64_t bank;
    } *write;                           /* held back, in the order asked */
    size_t write_count, write_capacity;
    int64_t held_bursts;                /* sum over them */
    ps_t held_at;                       /* when the latest of them was accepted */
};

struct hbm {
    struct hbm_config config;
    struct hbm_stats stats;
    int burst_shift, piece_shift;
    int64_t piece_bytes;                /* consecutive ones in one row of one bank */
    bool has_plain_channels;            /* the next piece lies on the next channel, or rotated */
    bool may_append;                    /* hbm_append.h: a run is one reservation, nobody watches */
    struct hbm_derived {                /* what follows from the configuration, and parts of it */
        ps_t latency_ps[2];             /* column command to data, of reads, of writes */
        ps_t closing_ps[2];             /* start of a burst's data to a precharge */
        ps_t window_ps;                 /* so long after an activate it bears on no other */
        int64_t piece_bursts;
        ps_t refresh_ps;                /* a refresh with its precharge */
        ps_t first_refresh_ps;          /* of bank 0; INT64_MAX: there are none */
        ps_t postponed_ps;              /* a refresh, at the most */
        ps_t next_bank_ps;              /* the refresh of a bank against that of the one below */
        ps_t front_ps, burst_ps, trcd_ps, trp_ps, tras_ps;
        int64_t bank_queue;
    } derived;
    struct hbm_cursor {                 /* where the piece lies that was last looked for */
        int64_t piece;                  /* its number; -1: none */
        int64_t alike;                  /* from it on so many whose places differ by the channel */
        int channel, bank, group;
        int64_t row, column;            /* column in bytes */
    } cursor;
    ps_t last_at;                       /* of the latest access, for the check of their order */
    struct hbm_channel *channels;
    struct hbm_bank *banks;             /* (bank, channel): pieces touch them in order */
    struct hbm_bank_past *past;
    hbm_watch_fn *watch;                /* NULL: nobody */
    void *watch_context;
};

/* Bytes of one row that are asked for. */
struct hbm_request {
    ps_t at;                            /* first command not before */
    int channel, bank, group;
    int64_t row, column, bytes, bursts; /* column in bytes */
    bool is_write;
};

static inline int hbm_group_of(const struct hbm_config *c, int bank)
{
    bool is_power_of_two = (c->bank_groups & (c->bank_groups - 1)) == 0;

    return is_power_of_two ? bank & (c->bank_groups - 1) : bank % c->bank_groups;
}

static inline int64_t hbm_bursts_of(const struct hbm *h, int64_t column, int64_t bytes)
{
    return ((column + bytes - 1) >> h->burst_shift) - (column >> h->burst_shift) + 1;
}

/* of a bank of a channel, in banks and in past */
static inline size_t hbm_bank_index(const struct hbm *h, int channel, int64_t bank)
{
    return (size_t)bank * (size_t)h->config.channel_count + (size_t)channel;
}

/* hbm_access.c: where the piece of an address lies, until it is asked the next time */
const struct hbm_cursor *hbm_seek(struct hbm *h, int64_t address);

/* hbm.c: as if nobody had asked it; what it has allocated stays */
void hbm_reset_channel(struct hbm *h, int channel);
void hbm_free_channel(struct hbm_channel *ch);          /* it is unused then */

/* from the end of the one's data to the start of the other's */
static inline ps_t hbm_turn_ps(const struct hbm_config *c, const struct hbm_taken *before,
                               bool is_write, int64_t group)
{
    bool is_near = before->group < 0 || before->group == group;

    if (is_write == before->is_write)
        return is_near ? later(0, c->tccd_l_ps - c->burst_ps) : 0;
    if (is_write)
        return c->trtw_ps;
    return (is_near ? c->twtr_l_ps : c->twtr_ps) + c->tcl_ps;   /* tWTR ends at the command */
}

/* hbm_bus.c */

/* The first instant from `earliest` on for `busy_ps` of data, and its place among what is taken. */
ps_t hbm_bus_find(const struct hbm_config *c, const struct hbm_channel *ch, ps_t earliest,
                  ps_t busy_ps, bool is_write, int64_t group, size_t *place);
void hbm_bus_take(struct hbm_channel *ch, size_t place, ps_t start, ps_t end, bool is_write,
                  int64_t group, bool may_join);
ps_t hbm_activate_find(const struct hbm_config *c, struct hbm_channel *ch, ps_t earliest,
                       int64_t group, size_t *place);
void hbm_activate_take(struct hbm_channel *ch, size_t place, ps_t at, int64_t group);
/* what lies before `now` and bears on nothing any more goes */
void hbm_bus_forget(const struct hbm_config *c, struct hbm_channel *ch, ps_t now);

/* Between two refreshes of a bank, where its commands may be. */
struct hbm_epoch {
    ps_t start;                         /* not before; later where its refresh was postponed */
    ps_t due, end;                      /* from `due` on it is refreshed once it is idle */
};

static inline struct hbm_epoch hbm_epoch_of(const struct hbm *h, int bank, int64_t number)
{
    const struct hbm_derived *d = &h->derived;
    ps_t due = d->first_refresh_ps + bank * d->next_bank_ps + number * h->config.trefi_ps;

    return (struct hbm_epoch){
        .start = number > 0 ? due - h->config.trefi_ps + d->refresh_ps : 0,
        .due = due, .end = due + d->postponed_ps};
}

/* hbm_channel.c */

/* returns when the data end; *gone_at is when the request left its queue */
ps_t hbm_serve(struct hbm *h, struct hbm_request *q, ps_t *gone_at);

/* hbm_writes.c: returns when the writes are accepted */
ps_t hbm_write(struct hbm *h, const struct hbm_request *q);
/* before a read is served: whether all of it is among the writes held back */
bool hbm_write_has(struct hbm *h, const struct hbm_request *q);
/* what the channel has written before `now` because no read waited */
void hbm_write_idle(struct hbm *h, int channel, ps_t now);
void hbm_write_all(struct hbm *h, int channel, ps_t at);
#endif
