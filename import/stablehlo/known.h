/* Attributes of operations that the fields of instructions hold: known.def, by name. */
#ifndef IMPORT_STABLEHLO_KNOWN_H
#define IMPORT_STABLEHLO_KNOWN_H
#include <stdbool.h>

bool known_attribute(const char *name);
#endif
