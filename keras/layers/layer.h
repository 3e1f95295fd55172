/*
 * Layers: what they are called, what they take, what they do in a step.
 *
 * layers.def lists the kinds, layer_fields.def their parameters with Keras's names and standard
 * values; docs/keras.md has the equations. A layer belongs to a model (keras/model/model.h), which
 * makes it, calls it on other layers' outputs, builds it (its variables are then in a set) and
 * writes it into traces.
 *
 * Shapes here are of one sample, without the batch. Images are NHWC.
 */
#ifndef KERAS_LAYER_H
#define KERAS_LAYER_H
#include "keras/functions/activation.h"
#include "keras/functions/initializer.h"
#include "keras/functions/regularizer.h"
#include "stack/nn/nn.h"

#define LAYER_INPUTS_MAX 16
#define LAYER_OUTPUTS_MAX 16            /* of a Split */
#define LAYER_CONSTANTS_MAX 3           /* operands of an operation that may be constants */
#define LAYER_VARIABLES_MAX 10

enum layer_kind {
#define LAYER(id, class, name, least, most, functions, masking, meaning) LAYER_##id,
#include "keras/layers/layers.def"
    LAYER_COUNT
};

/*
 * Variables are f32 always. FLOAT32: so is all else. MIXED_BFLOAT16: floating inputs and
 * variables are cast to bf16, each operation's result is rounded to it; products are summed,
 * and means, variances and softmaxes computed, in f32. BFLOAT16 computes the same here (its
 * variables stay f32, as TPU programs keep a master copy).
 */
enum keras_policy { KERAS_FLOAT32, KERAS_MIXED_BFLOAT16, KERAS_BFLOAT16, KERAS_POLICY_COUNT };
const char *keras_policy_name(enum keras_policy p);
/* -1 with the names there are */
int keras_policy_find(const char *name, enum keras_policy *p, struct err *e);
/* the same of a file's: types that the cores have not are computed in the nearest one that they have,
   float16 in bfloat16 and float64 in float32 */
int keras_policy_read(const char *name, enum keras_policy *p, struct err *e);

/* how pixels between pixels are made: the nearest one, along lines or cubics between them, by the
   windowed sine of 6 or 10 pixels */
enum layer_interpolation {
    INTERPOLATION_NEAREST, INTERPOLATION_BILINEAR, INTERPOLATION_BICUBIC, INTERPOLATION_LANCZOS3,
    INTERPOLATION_LANCZOS5
};
/* what stands beyond an image's edge: a value, the last pixel, the image mirrored or repeated */
enum layer_fill { FILL_CONSTANT, FILL_NEAREST, FILL_REFLECT, FILL_WRAP };
enum layer_flip { FLIP_HORIZONTAL, FLIP_VERTICAL, FLIP_BOTH };
/* of whole numbers: themselves, a place for each of them, a place for each value, or how many */
enum layer_encoding { ENCODED_INT, ENCODED_ONE_HOT, ENCODED_MULTI_HOT, ENCODED_COUNT };
enum layer_score { SCORE_DOT, SCORE_CONCAT };
/* What becomes of the mask of a layer's input, which tells which steps count (layers.def). */
enum layer_masking {
    MASK_DROPPED,                       /* as Keras does with layers that know of none */
    MASK_PASSED,                        /* it is the output's, too */
    MASK_MERGED,                        /* a step counts in the output where it counts in any input */
    MASK_MADE,                          /* the layer makes one of its input */
    MASK_FOLLOWED,                      /* it changes what the layer computes */
    MASK_REFUSED                        /* it would, but that is not done here */
};

/* of recurrent layers: whether both directions run, and how their results become one */
enum layer_merge {
    LAYER_ONE_WAY, LAYER_CONCATENATED, LAYER_SUMMED, LAYER_MULTIPLIED, LAYER_AVERAGED,
    LAYER_APART                         /* each is an output of its own */
};

#define LAYER_OPEN INT64_MIN            /* where a part has no end of its own */

/* numbers that a file gives; count 0: none */
struct layer_reals {
    const double *value;
    int64_t count;
};

/* a constant, without a batch; value NULL: there is none */
struct layer_array {
    struct shape shape;
    const double *value;
};

/* layer_fields.def says which ones a kind has, and what they are called there */
struct layer_config {
    int64_t units, rows, heads, value_units, groups, axis, multiplier;
    int64_t size[3], strides[3], dilation[3];   /* height, width; of volumes depth before them */
    int64_t output_padding[3];                  /* -1: none is given */
    int64_t pads[6];                            /* before and behind each of them */
    int64_t reach, axes[2];
    int64_t power_iterations;           /* of a SpectralNormalization around it; 0: there is none */
    int64_t low[GRAPH_RANK_MAX], high[GRAPH_RANK_MAX];  /* GET_ITEM: of shape_count indices, */
    int64_t step[GRAPH_RANK_MAX];
    unsigned taken, added, wide;        /* bit i: one element; a new dimension; all that no other says */
    int64_t shape[GRAPH_RANK_MAX];                      /* of RESHAPE one may be -1 */
    int64_t shape_count;
    double momentum, epsilon, rate, recurrent_rate, max_value, negative_slope, threshold, alpha;
    double stddev, mask_value;
    enum nn_padding padding;
    int choice, fill;                   /* of the names of layer_choices: one of the enums above */
    const char *equation, *bias_axes;
    struct layer_reals mean, variance, scale, offset;
    int operation;                      /* OPERATION: which one (operations.def); its constants by */
    struct layer_array constant[LAYER_CONSTANTS_MAX];   /* operand, its numbers in a list */
    struct layer_reals list;            /* or the axes of an attention; none: all but the last */
    bool use_bias, is_centered, is_scaled, is_synchronized, is_causal, keeps_dims, is_inverse;
    bool returns_sequences, goes_backward, has_forget_bias, resets_after, returns_state;
    bool zeroes_masked, is_gated, masks_zero, returns_scores;
    bool takes_pairs;                   /* of an attention: its last input says which pairs count */
    bool transposes;                    /* of a product: its second operand's rows are its columns */
    bool crops_aspect, pads_aspect, antialiases;
    enum layer_merge both;
    struct activation activation, recurrent_activation;
    struct initializer kernel_initializer, bias_initializer, mean_initializer;
    struct initializer variance_initializer, pointwise_initializer;
    struct initializer recurrent_initializer;
    struct regularizer kernel_regularizer, bias_regularizer, activity_regularizer;
    struct regularizer pointwise_regularizer, recurrent_regularizer;
    struct shape input;                                 /* INPUT: of a sample, with its type */
};

struct layer {
    enum layer_kind kind;
    const char *name;
    struct layer_config c;              /* to be changed until it is called first */
    bool is_trainable;
    bool never_trains;                  /* in training it does what it does else */
    bool is_distributed;                /* it is called on each step of its inputs by itself */
    int64_t features;                   /* the dimension, the batch being 0, that it takes for the */
                                        /* last one; 0: that is where it is */
    const char *operation;              /* of keras.ops: its class there; NULL: it is a layer */
    const char *wrapped[2];             /* of layers inside this one: names in variables' paths */
    const char *cell;                   /* the same of a recurrent layer's; NULL: "lstm_cell" */
    int policy;                         /* enum keras_policy; -1: the model's */
    int device;                         /* logical one of a replica that does it; -1: not said */
    /* of the variable set, once the model is built */
    int variable[LAYER_VARIABLES_MAX];
    struct regularizer regularizer[LAYER_VARIABLES_MAX];
    int variable_count;
    bool is_called;
    int input_count;                    /* at its first call, */
    struct shape input[LAYER_INPUTS_MAX];
};

const char *layer_class(enum layer_kind kind);
/* Keras's class of it, which is the wrapper's where it stands in one ("Bidirectional"), and of
   keras.ops the operation's */
const char *layer_whole_class(const struct layer *l);
enum layer_masking layer_masking(enum layer_kind kind);
/* its variables belong to a layer inside it: TimeDistributed, SpectralNormalization */
bool layer_is_around(const struct layer *l);
/* -1 with the nearest class and all classes */
int layer_find(const char *class, enum layer_kind *kind, struct err *e);
/* Keras's standard values; numbers that must be given are 0 */
void layer_set_standard(struct layer *l, enum layer_kind kind);

/* shape and type of its output; -1 names the layer, the shapes and what is allowed */
int layer_shape(const struct layer *l, const struct shape *input, int input_count,
                struct shape *output, struct err *e);
/* outputs of a call: 1, and the states of a recurrent layer or the scores of an attention */
int layer_output_count(const struct layer *l);
/* of the output `which`, from 1, of a call that takes these and gives that; checked already */
struct shape layer_more_shape(const struct layer *l, const struct shape *input,
                              const struct shape *output, int which);
/* whether its output has a mask when those inputs have; -1: it cannot take one */
int layer_gives_mask(const struct layer *l, const struct shape *input, const bool *has_mask,
                     int input_count, bool *gives, struct err *e);
#endif
