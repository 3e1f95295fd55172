/*
 * Synthetic traffic on a network: what it offers, what the network takes, how
 * long messages are under way, and what theory says of it. For `systole net`
 * and tests; programs on cores make their own traffic.
 *
 * Loads are fractions of what one link carries, per chip that sends: 1 is a
 * chip that starts messages as fast as one link could take them.
 */
#ifndef INTERCONNECT_TRAFFIC_H
#define INTERCONNECT_TRAFFIC_H
#include "base/err.h"
#include "interconnect/net.h"

enum traffic_pattern {
    TRAFFIC_UNIFORM,                    /* each message to any other chip */
    TRAFFIC_NEIGHBOUR,                  /* one further along every axis, round to the first */
    TRAFFIC_TORNADO,                    /* nearly halfway round every axis */
    TRAFFIC_TRANSPOSE,                  /* x to y, y to x; x to y to z to x in three axes */
    TRAFFIC_BIT_COMPLEMENT,             /* to the mirrored place on every axis */
    TRAFFIC_HOTSPOT,                    /* uniform, but a part of it to one chip in the middle */
    TRAFFIC_PERMUTATION,                /* chips in random pairs of sender and receiver */
    TRAFFIC_PATTERN_COUNT
};
const char *traffic_name(enum traffic_pattern p);
/* TRAFFIC_PATTERN_COUNT: no such name */
enum traffic_pattern traffic_find(const char *name);

struct traffic_request {
    struct net_config net;              /* not folded */
    enum traffic_pattern pattern;
    double load;                        /* above 0, at most TRAFFIC_LOAD_MAX */
    int64_t bytes;                      /* payload of a message */
    int messages;                       /* per chip, measured; half as many go before */
    int hot_percent;                    /* of TRAFFIC_HOTSPOT, to the one chip */
    uint64_t seed;
};
#define TRAFFIC_LOAD_MAX 6.0
#define TRAFFIC_MESSAGES_MAX (1 << 24)  /* of all chips together */

struct traffic_result {
    double offered, accepted;           /* loads, while measuring; accepted: what came out */
    ps_t mean_ps, p99_ps, most_ps;      /* of the messages that started while measuring */
    double use_min, use_mean, use_max;  /* of a link's time, while measuring; over all links */
    double source_min, source_max;      /* accepted of one sender */
    double least_share;                 /* of what it offers, of the sender that gets the least */
    double jain;                        /* (sum of accepted)^2 / (senders x sum of squares) */
    int64_t sent, delivered, delivered_bytes;   /* messages, bytes: of the whole run */
};

/* Whether the pattern makes sense on the grid, and all numbers are in range. */
int traffic_check(const struct traffic_request *r, struct err *e);
/*
 * Each chip starts messages at random instants (a slot of an eighth of a
 * message's time on a link has one with the same chance) until enough have been
 * measured; then all that are under way arrive.
 */
void traffic_run(const struct traffic_request *r, struct traffic_result *out);

/* What follows from the routes alone. */
struct traffic_theory {
    double hops;                        /* of a message, on average */
    double idle_ps;                     /* hops x hop_ps + busy: on an idle network */
    double busiest;                     /* load on the busiest link when all chips offer 1 */
    double saturation;                  /* 1 / busiest: no more can be accepted of all alike */
    int senders;                        /* chips that send: not those that would to themselves */
};
/* of routes by dimension order (xyz in place of adaptive) */
void traffic_find_theory(const struct traffic_request *r, struct traffic_theory *out);

/* All chips send `bytes` to each other chip, all at once. */
struct traffic_exchange {
    ps_t time_ps;                       /* until the last byte is there */
    ps_t bound_ps;                      /* all that the busiest link carries, and a hop */
    double use_min, use_mean, use_max;  /* of the time */
};
#define TRAFFIC_EXCHANGE_CHIPS 2048
void traffic_exchange(const struct net_config *net, int64_t bytes, struct traffic_exchange *out);
#endif
