/* Holds the built-in chip files, written into the program by tools/embed_chips.sh. */
#ifndef SIM_CHIPS_H
#define SIM_CHIPS_H

struct chip_file {
    const char *name;                   /* "v3" */
    const char *text;                   /* the whole file sim/chips/v3.ini */
};
extern const struct chip_file chip_files[];     /* ended by a NULL name */
#endif
