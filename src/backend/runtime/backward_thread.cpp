#include "backend/runtime/backward_thread.h"

#include <c10/core/AutogradState.h>
#include <torch/csrc/autograd/graph_task.h>

#include <cstdlib>
#include <string_view>

namespace anymps::backend::runtime {

thread_local bool BackwardThread::asked_ = false;

void BackwardThread::ask() {
  // Inside a backward pass the flag is the pass's own: the thread may be the one that the program asked for.
  if (torch::autograd::get_current_graph_task_id() != -1) return;
  asked_ = true;
  const char* text = std::getenv("ANYMPS_BACKWARD_THREAD");
  if (text != nullptr && std::string_view(text) == "1") return;
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
}

}  // namespace anymps::backend::runtime
