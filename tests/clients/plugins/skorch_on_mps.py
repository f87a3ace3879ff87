"""skorch's nets are on the CPU where a test names no device, as most do: this makes mps what they are on then."""

import inspect


def pytest_collection():
    from skorch import NeuralNet

    parameters = inspect.signature(NeuralNet.__init__).parameters.values()
    NeuralNet.__init__.__defaults__ = tuple(
        "mps" if parameter.name == "device" else parameter.default
        for parameter in parameters
        if parameter.default is not inspect.Parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    )
