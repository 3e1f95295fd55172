"""Networks of keras.applications, as to_json() writes them: systole check models compiles and runs
a training step of each on four slices, with 8, 32 and 128 samples a core. This takes an hour and is
skipped but for SYSTOLE_LONG=1 (make check-long)."""
import os
import subprocess
import sys
import tempfile

NETWORKS = ("VGG16", "ResNet50V2", "InceptionV3", "Xception", "MobileNetV2", "MobileNetV3Small",
            "MobileNetV3Large", "DenseNet121", "EfficientNetB0", "NASNetMobile", "ConvNeXtTiny")
# without sizes these leave them open
SIZED = ("MobileNetV3Small", "MobileNetV3Large")

if not os.environ.get("SYSTOLE_LONG"):
    print("skipped: networks of keras.applications take an hour (SYSTOLE_LONG=1)")
    sys.exit(77)
os.environ["KERAS_BACKEND"] = "jax"
import keras  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    for name in NETWORKS:
        sizes = {"input_shape": (224, 224, 3)} if name in SIZED else {}
        model = getattr(keras.applications, name)(weights=None, **sizes)
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            file.write(model.to_json())
    sys.exit(subprocess.run([os.environ.get("SYSTOLE", "./systole"), "check", "models", folder],
                            check=False).returncode)
