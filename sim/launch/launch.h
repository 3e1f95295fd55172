/*
 * Launches, and machines with everything that listens to them: above the machine itself and
 * above checks, memos and traces, which it puts together. Of sim/machine/machine.h this room has
 * what makes machines, loads programs and runs launches.
 */
#ifndef SIM_LAUNCH_H
#define SIM_LAUNCH_H
struct machine;
struct core_hooks;

/* sim/launch/hooks.c: the table of every core of a machine */
extern const struct core_hooks launch_hooks;

/* sim/launch/launch.c: quiesced, as a launch finds the machine */
void launch_reset(struct machine *m);
#endif
