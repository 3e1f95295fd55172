/* `systole predict`: what a model that is there makes of samples. */
#include "cli/commands/cli.h"
#include "cli/train/train.h"

int cmd_predict(int argc, char **argv) { return train_run(argc, argv, TASK_PREDICT); }
