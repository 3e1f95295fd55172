/* Of include/systole.h: variables on disk, for loops without a model. */
#ifndef SYSTOLE_CHECKPOINT_H
#define SYSTOLE_CHECKPOINT_H
#include <stdint.h>
#include "data.h"
#include "status.h"
#include "strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----- Checkpoints of loops of one's own ----- */

typedef struct sy_checkpoint {
    const char *folder;
    int64_t step, epoch;                /* done */
    int keep;                           /* the newest so many stay; 0: all */
    sy_distributed *data;               /* whose position is kept, too; NULL: none */
} sy_checkpoint;

/*
 * FOLDER/ckpt-STEP.safetensors with all variables that the strategy has now: whole or not there,
 * whenever the program is killed. The folder is locked by this process until the strategy is freed
 * or saves into another one. SY_ERROR: another process has the folder (which one is told); it has a
 * checkpoint of a later step, which is another training's.
 */
sy_status sy_checkpoint_save(sy_strategy *s, const sy_checkpoint *c);
/*
 * From the newest whole checkpoint of c->folder: variables, c->step, c->epoch, and c->data goes on
 * with the very next batch. The same variables must be there; the strategy that saved may have had
 * another number of replicas, or have been on the host: of what each replica has for itself a sum is
 * then replica 0's, a mean all replicas'. As with sy_model_restore damaged ones are passed over.
 * SY_END: there is none. SY_ERROR: damage (the tensor and byte), other variables or shapes (both
 * are named), another pipeline; before the last nothing has changed.
 */
sy_status sy_checkpoint_restore(sy_strategy *s, sy_checkpoint *c);

#ifdef __cplusplus
}
#endif
#endif
