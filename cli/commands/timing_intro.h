/* Holds the hand-written part of docs/timing.md: how the numbers of a chip file act. */
#ifndef CLI_TIMING_INTRO_H
#define CLI_TIMING_INTRO_H

extern const char *const timing_introduction[];        /* paragraphs, ended by NULL */
#endif
