/*
 * Layers written as Python writes them (keras/call/call.h).
 *
 * Arguments without names come in Keras's order. Messages give the column where the text is
 * broken, else the class, the argument, what is allowed and the nearest name.
 */
#ifndef KERAS_LAYER_FROM_TEXT_H
#define KERAS_LAYER_FROM_TEXT_H
#include "keras/model/model.h"

/*
 * "Dense(128, activation='relu')": a layer of the model, still to be called; name=... sets its
 * name. input_shape=(28, 28, 1) goes to *input, which else gets rank 0 (s32 for an Embedding, else
 * f32). NULL with a message.
 */
struct layer *model_layer_from_text(struct model *m, const char *text, struct shape *input,
                                    struct err *e);
#endif
