/* Private to the race check: declares the copies under way and the log of one core. */
#ifndef SIM_RACE_IMPL_H
#define SIM_RACE_IMPL_H
#include "sim/check/race.h"

struct site {
    int core;
    cycle_t at;
    uint32_t bundle, line;
    uint32_t code;                      /* enum isa_opcode of the copy */
};

/* Bytes first..end-1. */
struct extent {
    int64_t first, end;
};

/* What a copy touches on one side: at least one piece, in order, apart from each other. */
struct side {
    enum memory_space space;
    bool is_write;
    struct extent *piece;
    size_t count, capacity;
};

enum role { ROLE_LOCAL, ROLE_SOURCE, ROLE_DESTINATION };

/* A copy that nobody has waited for, as far as it touches the memories of one core. */
struct copy {
    struct site site;
    enum role role;
    uint32_t number;                    /* of the copies of the core that issued it */
    int target;
    struct side side[2];
    int side_count;
    int32_t flag;
    int64_t granules;                   /* that it adds, or has added, to the flag */
    bool is_done;                       /* has added them */
    bool is_known;                      /* while race_learn works: to be taken off the list */
    uint32_t followed_from;             /* from this number on they arrive after this one */
    bool is_seen;                       /* of a source: who has got it has waited for it */
};

struct access {
    cycle_t at;
    struct extent extent;
    uint32_t bundle, op;                /* op: index in the source program */
    enum memory_space space;
    bool is_write;
};

struct race {
    const ps_t *now_ps;
    bool is_logged;                     /* else only the accesses of one bundle are kept */
    struct copy *copy;
    size_t copy_count, copy_capacity;
    struct access *log;                 /* in order of time */
    size_t log_count, log_capacity;
    uint32_t next_number;
};

/* sim/check/race_side.c; .piece is released by mem_free */
struct side race_side_of(const struct dma *d, bool is_write);
/* the first piece that `e` touches, or NULL */
const struct extent *race_side_piece_in(const struct side *s, const struct extent *e);
/* do they share a byte that one of them writes; the first pieces that do */
bool race_sides_meet(const struct side *a, const struct side *b, struct extent *of_a,
                     struct extent *of_b);
#endif
