/*
 * Prints what `systole net` finds: times in microseconds, loads in percent of what one link
 * carries.
 */
#ifndef CLI_NET_PRINT_H
#define CLI_NET_PRINT_H
#include "base/table.h"
#include "cli/network/net_options.h"

#include <stdio.h>

void net_print_heading(const struct net_options *o, const struct traffic_theory *t);
/* headings, then a row for each load; csv: NULL is none. table_end goes with it. */
void net_begin_table(struct table *t, FILE *csv);
void net_print_row(struct table *t, const struct traffic_result *r, FILE *csv);
/* kept_up: the highest load of a sweep that was accepted, below 0: no sweep */
void net_print_end(const struct net_options *o, const struct traffic_theory *t, double kept_up,
                   const struct traffic_result *last);
/* `other`: of the same grid, twisted or not, where there is such a one; NULL otherwise */
void net_print_exchange(const struct net_options *o, const struct traffic_exchange *here,
                        const struct traffic_exchange *other, FILE *csv);
#endif
