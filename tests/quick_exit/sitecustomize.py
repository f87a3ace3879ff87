"""On the path of every Python that the gate starts. An interpreter that has imported torch spends half a second of its
end on looking for garbage among what the imports left; frozen, that is passed over. What a program's own exit handlers
do still happens before it."""

import atexit
import gc

atexit.register(gc.freeze)
