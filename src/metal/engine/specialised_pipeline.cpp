// Every launch with the form for its values, compiled when they first come (make_specialised_pipeline).
#include <map>
#include <mutex>

#include "metal/engine/known_forms.h"
#include "metal/engine/source.h"
#include "metal/pipeline.h"

namespace anymps::metal {
namespace {

class SpecialisedPipeline final : public Pipeline {
 public:
  SpecialisedPipeline(const FunctionEntry& function, const lower::LoweringOptions& options)
      : source_(function, options), first_(make_pipeline(function, options)) {}

  const Signature& signature() const override { return first_->signature(); }
  lower::Route route() const override { return first_->route(); }

  void launch(const Launch& launch, Size threads, Size group) override {
    form(engine::known_bytes(signature(), launch))->launch(launch, threads, group);
  }

 private:
  std::shared_ptr<Pipeline> form(const lower::KnownBytes& known) {
    if (known.empty()) return first_;
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Pipeline>& form = forms_[known];
    if (form == nullptr) {
      lower::LoweringOptions options = source_.options;
      options.known = known;
      form = source_.pipeline(options);
    }
    return form;
  }

  const engine::Source source_;
  const std::shared_ptr<Pipeline> first_;
  std::mutex mutex_;
  std::map<lower::KnownBytes, std::shared_ptr<Pipeline>> forms_;
};

}  // namespace

std::shared_ptr<Pipeline> make_specialised_pipeline(const FunctionEntry& function,
                                                    const lower::LoweringOptions& options) {
  return std::make_shared<SpecialisedPipeline>(function, options);
}

}  // namespace anymps::metal
