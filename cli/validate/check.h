/* The checks of systole check that have a file of their own. argv[0] names the check. */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H
int check_run_hardware(int argc, char **argv);
int check_run_optimizers(int argc, char **argv);
int check_run_models(int argc, char **argv);
int check_run_programs(int argc, char **argv);
int check_run_pallas(int argc, char **argv);
int check_run_shapes(int argc, char **argv);
#endif
