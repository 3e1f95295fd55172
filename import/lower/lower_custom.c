/* Says of custom calls that are left why cores cannot carry them out. */
#include "import/lower/lower_impl.h"

#include <string.h>

/* beginnings of names of libraries for other machines */
static const struct { const char *begin, *what; } libraries[] = {
    {"te_", "Transformer Engine"}, {"lapack_", "LAPACK on the host"}, {"__cpu$", "XLA for CPUs"},
    {"__cublas", "cuBLAS"}, {"__cudnn", "cuDNN"}, {"cu", "a CUDA library"},
    {"hip", "a ROCm library"}, {"__gpu$", "XLA for GPUs"}, {"triton", "Triton"},
    {"__triton", "Triton"}, {"xla_python_", "Python on the host"},
    {"xla_ffi_", "Python on the host"}, {"AwsNeuron", "AWS Neuron"},
};

void lower_custom_call(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    const char *target = hlo_detail(i)->target ? hlo_detail(i)->target : "";

    (void)op;
    for (size_t k = 0; k < sizeof(libraries) / sizeof(libraries[0]); k++)
        if (strncmp(target, libraries[k].begin, strlen(libraries[k].begin)) == 0) {
            lower_refuse(s, "it calls %s of %s: export the program for the TPU", target,
                         libraries[k].what);
            return;
        }
    lower_refuse(s, "the custom call %s is not known", target);
}
