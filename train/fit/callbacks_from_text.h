/*
 * Keras's callbacks written as Python writes them (keras/call/call.h), with its arguments:
 * "EarlyStopping('loss', patience=2)". What one says is the checkpoint's, the log's, the rate's
 * business: train/fit/callbacks.h, train/fit/fit_checkpoint.h.
 */
#ifndef TRAIN_CALLBACKS_FROM_TEXT_H
#define TRAIN_CALLBACKS_FROM_TEXT_H
#include "train/fit/callbacks.h"

struct callback_list {
    struct fit_callback *callback;      /* room for one more is the caller's business */
    int count;
    bool ends_on_nan;                   /* TerminateOnNaN: fit_run's */
};
/* -1: no such callback (the nearest is named), or arguments that it has not; `a` holds its state */
int callback_from_text(struct callback_list *list, const char *text, struct arena *a,
                       struct err *e);
#endif
