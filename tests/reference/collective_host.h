/*
 * Plans of collectives carried out on the host, in any order that their lists
 * allow: which core goes on and which copy gets on is drawn from a seed.
 *
 * Checked on the way: ranges inside the arrays and the VMEM that the plan names;
 * no access to what a copy under way writes, no write to what one reads; no read
 * of VMEM that nobody has written; nobody waits for ever; all flags are 0 and
 * nothing is under way at the end.
 */
#ifndef TESTS_COLLECTIVE_HOST_H
#define TESTS_COLLECTIVE_HOST_H
#include "stack/collective/collective.h"

struct collective_host;

struct collective_host *host_create(const struct collective_plan *p);
void host_destroy(struct collective_host *h);
uint8_t *host_hbm(struct collective_host *h, int core);
/* NULL, or what is wrong; the host's until the next call */
const char *host_run(struct collective_host *h, uint64_t seed);
/* With `core` never doing anything: how many cores get to their ends. Runs end here. */
int host_finish_without(struct collective_host *h, int core);
/* of the last run */
int64_t host_sent_bytes(const struct collective_host *h, int core);
int host_most_in_flight(const struct collective_host *h);       /* of any core */

float host_bf16_to_f32(uint16_t bits);
uint16_t host_f32_to_bf16(float value);         /* to nearest, ties to even */
#endif
