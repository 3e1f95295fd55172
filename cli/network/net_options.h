/* Holds and reads what `systole net` is asked for. */
#ifndef CLI_NET_OPTIONS_H
#define CLI_NET_OPTIONS_H
#include "base/err.h"
#include "interconnect/traffic.h"
#include "sim/chip/chip.h"

struct net_options {
    struct slice slice;                 /* with --grid its grid stands for that of the slice */
    struct chip chip;
    bool is_grid;                       /* --grid: `slice` has no name */
    bool is_exchange;                   /* --traffic all-to-all */
    double load;                        /* 0: a sweep */
    int seeds;
    const char *csv;                    /* NULL: none */
    struct traffic_request request;     /* load and seed aside complete */
};

/* Reads the command line; ends the program on a wrong use of it. 0 or -1 with *e. */
int net_options_read(struct net_options *o, int argc, char **argv, struct err *e);
#endif
