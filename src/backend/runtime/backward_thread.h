// On which thread backward passes run. PyTorch gives each device a thread for them, which lets several devices work at
// once; for the one device here it is a hand-over to a core with cold caches. So each thread that uses the device asks
// autograd to stay on it, as for the CPU. ANYMPS_BACKWARD_THREAD=1 keeps the thread that a Mac has.
#pragma once

namespace anymps::backend::runtime {

// Once per thread, and cheap after that. What the program itself sets later, by
// torch.autograd.set_multithreading_enabled, stands.
class BackwardThread {
 public:
  static void stay_on_caller() {
    if (!asked_) [[unlikely]]
      ask();
  }

 private:
  static void ask();
  static thread_local bool asked_;
};

}  // namespace anymps::backend::runtime
