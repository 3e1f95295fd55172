/*
 * Breakpoints and watches, inside: debug_stop_parse.c reads them,
 * debug_stop_check.c finds what was hit, debug_stops.c keeps the table.
 */
#ifndef CLI_DEBUG_STOPS_H
#define CLI_DEBUG_STOPS_H
#include "cli/debug/debug.h"
#include "cli/debug/debug_expr.h"

#define DEBUG_STOPS_MAX 64
#define DEBUG_WATCH_BYTES_MAX (1 << 20)

enum stop_kind {
    STOP_FREE, STOP_BUNDLE, STOP_OP, STOP_CYCLE, STOP_FLAG, STOP_ACCESS, STOP_STALL,
    STOP_WATCH,                         /* an expression */
    STOP_WATCH_BYTES                    /* a register or a range of a memory */
};

struct debug_stop {
    enum stop_kind kind;
    int number;
    int core;                           /* whose bundles, flags or memory; -1: any core's bundles */
    uint32_t bundle;
    cycle_t cycle;
    int flag;
    enum memory memory;
    bool is_write;
    int64_t first, bytes;               /* of memory; of a register, first is its number */
    enum register_kind reg;             /* of bytes that are a register's, where `is_register` */
    bool is_register;
    enum stall_reason reason;
    cycle_t least_cycles;               /* of one wait */
    int64_t after, hits;                /* stops from that hit on */
    char what[DEBUG_WORD_MAX];          /* operation; else as the user names it */
    char watched[DEBUG_LINE_MAX];       /* expression */
    char condition[DEBUG_LINE_MAX];     /* "": none */

    /* as it was when the machine last stood still */
    int32_t old_flag;
    cycle_t old_stall;
    struct debug_value old_value;
    unsigned char *old_bytes, *new_bytes;
    bool is_armed;                      /* the core's next bundle touches the range */
    struct debug_access access;         /* so */
};

/* a core at the last pause */
struct core_seen {
    int64_t issued, copies;
    uint32_t bundle;                    /* that was next */
};

struct debug_stops {
    struct debug_stop stop[DEBUG_STOPS_MAX];
    int end;                            /* behind the last that is in use */
    struct core_seen *seen;             /* by core */
    int last_number;
};

int debug_parse_break(const struct debugger *d, const char *text, struct debug_stop *stop,
                      struct err *e);
int debug_parse_watch(const struct debugger *d, const char *text, struct debug_stop *stop,
                      struct err *e);
/* what it watches, into `to`; the same bytes that old_bytes holds */
void debug_stop_read(const struct debugger *d, const struct debug_stop *stop, unsigned char *to);
/* take down how things stand for what it compares with */
void debug_stop_look(const struct debugger *d, struct debug_stop *stop);
#endif
