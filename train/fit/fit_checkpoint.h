/*
 * Checkpoints of a training: every variable of the set, and how far it has come.
 *
 * A training that goes on from one has the same bits as one that was never stopped: all variables
 * are in it (train/strategy/strategy_checkpoint.h).
 */
#ifndef TRAIN_FIT_CHECKPOINT_H
#define TRAIN_FIT_CHECKPOINT_H
#include "train/checkpoint/checkpoint.h"
#include "train/fit/fit.h"

/* FOLDER/ckpt-STEP.safetensors after `epoch` epochs; the `keep` newest stay (0: all) */
int fit_save(struct fit *f, const char *folder, int64_t epoch, int keep, struct err *e);

/*
 * From the newest checkpoint of the folder that is whole: 1, *epoch of them done, and fit_step has
 * its steps; 0: there is none. `skipped` tells what newer ones were damaged ("" if none). -1: other
 * variables or shapes, another seed; nothing has changed then.
 */
int fit_restore(struct fit *f, const char *folder, int64_t *epoch, struct err *skipped,
                struct err *e);

struct checkpoint_options {
    const char *folder;
    int64_t frequency;                  /* epochs; 0: 1; -1: none */
    int64_t steps;                      /* also after so many, within epochs; 0: none */
    int keep;                           /* 0: all */
    const char *monitor;                /* with best_only; NULL: "val_loss" */
    bool best_only, larger_is_better;
    bool overwrites;                    /* what another training left in the folder goes */
    const char *advice;                 /* behind the refusal to do so; NULL: none */
};
/* Training does not begin in a folder that checkpoint_check_own refuses. */
void callback_checkpoint(struct fit_callback *c, const struct checkpoint_options *o,
                         struct arena *a);

struct backup_options {
    const char *folder;
    int keep;                           /* checkpoints that stay, the newest */
    bool deletes;                       /* when training has come to its end */
};
/*
 * Keras's BackupAndRestore: a checkpoint after each epoch, and a training that finds one there goes
 * on from it.
 */
void callback_backup(struct fit_callback *c, const struct backup_options *o, struct arena *a);
#endif
