/* Numbers the units of a core that are counted, by kind and index, and names them. */
#include "sim/results/tracks.h"

int track_mxu(const struct chip *chip, int index)
{
    return TRACK_XLU + (int)chip->xlu_count + index;
}

int track_mxu_push(const struct chip *chip, int index)
{
    return track_mxu(chip, (int)chip->mxu_count + index);
}

int track_count(const struct chip *chip)
{
    return track_mxu_push(chip, (int)chip->mxu_count);
}

const char *track_name(const struct chip *chip, int track)
{
    static const char *const fixed[] = {"scalar", "valu", "eup", "load", "store", "misc", "dma"};
    static const char *const xlu[] = {"xlu0", "xlu1", "xlu2", "xlu3"};
    static const char *const mxu[] = {"mxu0", "mxu1", "mxu2", "mxu3",
                                      "mxu4", "mxu5", "mxu6", "mxu7"};
    static const char *const push[] = {"mxu0.push", "mxu1.push", "mxu2.push", "mxu3.push",
                                       "mxu4.push", "mxu5.push", "mxu6.push", "mxu7.push"};

    if (track < TRACK_XLU)
        return fixed[track];
    if (track < track_mxu(chip, 0))
        return xlu[track - TRACK_XLU];
    if (track < track_mxu_push(chip, 0))
        return mxu[track - track_mxu(chip, 0)];
    return push[track - track_mxu_push(chip, 0)];
}
