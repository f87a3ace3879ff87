// Every launch with the form for its values, compiled when they first come (make_specialised_pipeline).
#include <map>
#include <mutex>

#include "metal/engine/make_pipeline.h"
#include "metal/engine/source.h"
#include "metal/engine/specialised_forms.h"
#include "metal/lower/transform/propagate_arguments.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::metal::engine {
namespace {

class SpecialisedPipeline final : public pipeline::Pipeline {
 public:
  SpecialisedPipeline(const library::FunctionEntry& function, const lower::LoweringOptions& options)
      : source_(function, options), first_(make_pipeline(function, options)) {}

  const air::Signature& signature() const override { return first_->signature(); }
  abi::Route route() const override { return first_->route(); }

  void launch(const pipeline::Launch& launch, pipeline::Size threads, pipeline::Size group) override {
    form(argument_values(signature(), launch))->launch(launch, threads, group);
  }

 private:
  std::shared_ptr<pipeline::Pipeline> form(const lower::transform::ArgumentValues& known) {
    if (known.empty()) return first_;
    const std::lock_guard lock(mutex_);
    std::shared_ptr<pipeline::Pipeline>& form = forms_[known];
    if (form == nullptr) {
      lower::LoweringOptions options = source_.options;
      options.known = known;
      form = source_.pipeline(options);
    }
    return form;
  }

  const Source source_;
  const std::shared_ptr<pipeline::Pipeline> first_;
  std::mutex mutex_;
  std::map<lower::transform::ArgumentValues, std::shared_ptr<pipeline::Pipeline>> forms_;
};

}  // namespace

std::shared_ptr<pipeline::Pipeline> make_specialised_pipeline(const library::FunctionEntry& function,
                                                              const lower::LoweringOptions& options) {
  return std::make_shared<SpecialisedPipeline>(function, options);
}

}  // namespace anymps::metal::engine
