"""A functional model of Keras 3 on JAX, its own stateless training step with Adam."""
import os

os.environ["KERAS_BACKEND"] = "jax"
import jax  # noqa: E402
import keras  # noqa: E402

from common import arrays  # noqa: E402


def program():
    normal, whole = arrays(14)
    keras.utils.set_random_seed(1)
    inputs = keras.Input((14, 11, 3))
    x = keras.layers.SeparableConv2D(10, 3, padding="same", activation="relu")(inputs)
    y = keras.layers.Conv2D(10, 1)(inputs)
    x = keras.layers.LayerNormalization()(keras.layers.Add()([x, y]))
    x = keras.layers.MaxPooling2D(2)(x)
    x = keras.layers.Dense(9, activation="swish")(keras.layers.Flatten()(x))
    model = keras.Model(inputs, keras.layers.Dense(4)(x))
    optimizer = keras.optimizers.Adam(2e-3)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def loss(trainable, fixed, x, labels):
        y, _ = model.stateless_call(trainable, fixed, x, training=True)
        return loss_of(labels, y)

    def step(state, batch):
        trainable, slots, fixed = state
        value, gradients = jax.value_and_grad(loss)(trainable, fixed, *batch)
        trainable, slots = optimizer.stateless_apply(slots, gradients, trainable)
        return (trainable, slots, fixed), value

    state = ([v.value for v in model.trainable_variables], [v.value for v in optimizer.variables],
             [v.value for v in model.non_trainable_variables])
    return {"function": step, "arguments": (state, (normal(8, 14, 11, 3), whole(4, 8))),
            "carry": len(jax.tree.leaves(state)), "steps": 20}
