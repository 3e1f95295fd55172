/*
 * A graph as a string of bytes: equal for graphs that nobody can tell apart, different for others.
 *
 * All that a graph says goes in, names and sources too, for they come back in reports; order
 * counts. It is no file format: nothing reads it.
 */
#ifndef STACK_GRAPH_KEY_H
#define STACK_GRAPH_KEY_H
#include "base/archive.h"
#include "stack/hlo/graph.h"

/*
 * Appends to `key`. False, and `key` means nothing: the graph has messages between programs
 * (graph_message) or a node of a program that is kept (stack/hlo/kept.h), which have no key.
 */
bool graph_key(const struct graph *g, struct bytes *key);
#endif
