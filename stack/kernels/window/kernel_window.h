/*
 * Kernels of windows: reduce-window and select-and-scatter (docs/kernels.md).
 */
#ifndef STACK_KERNEL_WINDOW_H
#define STACK_KERNEL_WINDOW_H
#include "stack/kernels/move/kernel_move.h"

extern const struct move_way window_general, window_outer, window_lines, window_scatter;
extern const struct kernel_kind kernel_window;
#endif
