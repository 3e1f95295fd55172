/*
 * Keras's callbacks for fit_train, with its parameters and standard values.
 *
 * Each function fills *c; the arena holds its state and must outlive the training. A monitored
 * number is "loss", a metric's name, or one of these of the validation: "val_loss".
 */
#ifndef TRAIN_CALLBACKS_H
#define TRAIN_CALLBACKS_H
#include "train/fit/fit.h"

enum monitor_mode { MONITOR_AUTO, MONITOR_MIN, MONITOR_MAX };   /* AUTO: max of accuracies, auc */

/* what MONITOR_AUTO makes of a name */
bool callback_larger_is_better(const char *monitor);

struct early_stopping {
    const char *monitor;                /* NULL: "val_loss" */
    double min_delta;                   /* what counts as better; 0 */
    int64_t patience;                   /* epochs without; 0 */
    enum monitor_mode mode;
    bool restores_best;                 /* the model's variables of the best epoch */
    int64_t start_from_epoch;
    bool has_baseline;
    double baseline;                    /* what must be beaten for an epoch to count */
    bool is_verbose;                    /* a line on standard output when it acts */
};
/* At the end of training with restores_best the model has the values of its best epoch. */
void callback_early_stopping(struct fit_callback *c, const struct early_stopping *o,
                             struct arena *a);

struct reduce_on_plateau {
    const char *monitor;                /* NULL: "val_loss" */
    double factor;                      /* of the learning rate; 0: 0.1 */
    int64_t patience;                   /* 0: 10 */
    enum monitor_mode mode;
    double min_delta;                   /* 0: 1e-4 */
    int64_t cooldown;                   /* epochs after a reduction that do not count */
    double min_rate;
    bool is_verbose;
};
void callback_reduce_on_plateau(struct fit_callback *c, const struct reduce_on_plateau *o,
                                struct arena *a);

/* the learning rate of each epoch (0 is the first) from the one so far */
typedef double (*rate_schedule)(void *context, int64_t epoch, double rate);
void callback_schedule(struct fit_callback *c, rate_schedule schedule, void *context,
                       struct arena *a);

/*
 * The same as text: a table of epochs from which on a rate holds, "0=0.1,10=0.01", or a formula of
 * `epoch` (from 0) and `lr`, the rate so far, as Python has it: "lr * 0.5 ** (epoch // 10)", with
 * exp, log, sqrt, min and max. -1: it is neither.
 */
int callback_rate_text(struct fit_callback *c, const char *text, bool is_verbose, struct arena *a,
                       struct err *e);

struct tensorboard_options {
    const char *folder;                 /* event files in its folders train and validation */
    int64_t update_steps;               /* the loss every so many steps, too; 0: never */
    bool writes_speed;                  /* steps of a second */
};
/* Scalars of each epoch as Keras names them, for TensorBoard. -1: the folder cannot be made. */
int callback_tensorboard(struct fit_callback *c, const struct tensorboard_options *o,
                         struct arena *a, struct err *e);

/*
 * A row per epoch: epoch, loss, metrics, val_loss, val_..., learning_rate, cycles of a step. The
 * file is whole after every epoch. With `appends` rows that are there stay. -1: it cannot be
 * written, or has other columns.
 */
int callback_csv(struct fit_callback *c, const char *path, bool appends, struct arena *a,
                 struct err *e);

/* the same with another character between columns */
int callback_csv_by(struct fit_callback *c, const char *path, char separator, bool appends,
                    struct arena *a, struct err *e);

/* before a training begins; -1: there is no such number, the nearest is named, or all are */
int callback_check_monitored(const struct fit *f, const char *name, struct err *e);
/* of an epoch's log; -1: there is no such number in it, the nearest is named */
int callback_monitored(const struct fit *f, const struct fit_log *log, const char *name,
                       double *value, struct err *e);
#endif
