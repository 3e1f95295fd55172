/* `systole train`: trains a model. */
#include "cli/commands/cli.h"
#include "cli/train/train.h"

int cmd_train(int argc, char **argv) { return train_run(argc, argv, TASK_TRAIN); }
