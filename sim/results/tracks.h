/*
 * Tracks: the units of a core that are counted, in one order, by number and by name. How many
 * there are follows from the chip: at most MACHINE_UNIT_MAX.
 */
#ifndef SIM_TRACKS_H
#define SIM_TRACKS_H
#include "sim/chip/chip.h"

enum {
    TRACK_SCALAR, TRACK_VALU, TRACK_EUP, TRACK_LOAD, TRACK_STORE, TRACK_MISC, TRACK_DMA,
    TRACK_XLU                           /* xlu0.., then mxu0.., then mxu0.push.. */
};
/* these are busy for the one cycle in which they issue */
#define TRACKS_SIMPLE (1u << TRACK_SCALAR | 1u << TRACK_VALU | 1u << TRACK_LOAD \
                       | 1u << TRACK_STORE | 1u << TRACK_MISC)

int track_count(const struct chip *chip);
const char *track_name(const struct chip *chip, int track);
int track_mxu(const struct chip *chip, int index);
int track_mxu_push(const struct chip *chip, int index);
#endif
