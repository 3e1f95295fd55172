/*
 * Private to synthetic traffic: declares where messages go (traffic_pattern.c) and how they get
 * there (traffic.c).
 */
#ifndef INTERCONNECT_TRAFFIC_IMPL_H
#define INTERCONNECT_TRAFFIC_IMPL_H
#include "base/rng.h"
#include "interconnect/traffic.h"

struct traffic_targets {
    const struct traffic_request *request;
    int chips;
    int *fixed;                         /* by chip, where the pattern has one; NULL otherwise */
    int hot;                            /* the chip of TRAFFIC_HOTSPOT, -1: none */
};

void traffic_targets_init(struct traffic_targets *t, const struct traffic_request *r);
void traffic_targets_fini(struct traffic_targets *t);
/* a chip of which `source` == traffic_targets_of(...) sends nothing */
int traffic_targets_of(const struct traffic_targets *t, int source, struct rng *rng);
bool traffic_targets_is_sender(const struct traffic_targets *t, int chip);

int traffic_chips(const struct net_config *c);
#endif
