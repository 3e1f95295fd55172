/*
 * What pointer, wheel and keys did, one at a time. viz/sdl/sdl_app.c makes it of what the
 * window system tells; what a key means is not said here.
 */
#ifndef VIZ_INPUT_H
#define VIZ_INPUT_H
#include <stdbool.h>
#include <stdint.h>

enum input_kind { INPUT_MOVE, INPUT_PRESS, INPUT_RELEASE, INPUT_DRAG, INPUT_WHEEL, INPUT_KEY };

struct input {
    enum input_kind kind;
    int x, y;                           /* of the pointer, window pixels */
    int dx, dy;                         /* of a drag or the wheel */
    int button;                         /* 1 left, 2 middle, 3 right */
    uint32_t key;                       /* a character, or enum input_key */
    bool has_shift, has_ctrl;
};
enum input_key {
    KEY_LEFT = 0x110000, KEY_RIGHT, KEY_UP, KEY_DOWN, KEY_HOME, KEY_END, KEY_ENTER, KEY_ESCAPE,
    KEY_TAB, KEY_BACKSPACE, KEY_PAGE_UP, KEY_PAGE_DOWN
};
#endif
