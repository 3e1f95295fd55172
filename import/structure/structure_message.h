/* Messages between devices, a send and its recv, as the collective-permute that they are. */
#ifndef IMPORT_STRUCTURE_MESSAGE_H
#define IMPORT_STRUCTURE_MESSAGE_H
#include "import/program/program.h"

/*
 * Changes the module where a computation has both ends of a channel and pairs of devices for it;
 * others stay as they are. -1: one waits for itself.
 */
bool structure_has_messages(const struct hlo_module *m);
int structure_messages(struct hlo_module *m, struct err *e);
#endif
