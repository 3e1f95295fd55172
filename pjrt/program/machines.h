/*
 * Machines of executables that were launched: each takes some megabytes a device, and threads, so
 * only those of the latest launches are kept; another launch makes a new one.
 */
#ifndef PJRT_MACHINES_H
#define PJRT_MACHINES_H
struct PJRT_Client;
struct PJRT_Executable;

/* behind a launch, on the thread of the client's launches */
void machines_note(struct PJRT_Client *owner, struct PJRT_Executable *p);
/* before an executable goes, on any thread */
void machines_forget(struct PJRT_Executable *p);
#endif
