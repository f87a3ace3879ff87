#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/options/runbook_options.h"
#include "cli/verbs.h"
#include "gpu/support/byte_size.h"
#include "lab/base/log.h"
#include "lab/host/python.h"
#include "lab/runbook/document/described.h"
#include "lab/runbook/handoff/pack.h"
#include "lab/runbook/handoff/smoke.h"
#include "lab/runbook/handoff/verify.h"

namespace anymps::cli {
namespace {

struct Pack {
  lab::runbook::trial::SessionOptions session;
  lab::runbook::handoff::PackOptions pack;
};

int pack(const Pack& options, const std::vector<std::string>& command) {
  const std::vector<std::string> words = lab::host::with_python(command);
  if (words.empty()) {
    lab::base::log().error(
        "nothing to pack; for example: anymps handoff pack -o train.tar.zst --owner ada -- python train.py");
    return options::kUsageError;
  }
  lab::runbook::trial::Session session("handoff pack", options.session, words, {{"bundle", options.pack.bundle}});
  const lab::runbook::handoff::PackDocument document =
      lab::runbook::handoff::pack_handoff(options.pack, options.session, session);
  return options::conclude(options.session, session.finish(lab::runbook::document::Verdict::kGood,
                                                           lab::runbook::document::to_json(document)));
}

struct Verify {
  lab::runbook::trial::SessionOptions session;
  lab::runbook::handoff::VerifyOptions verify;
  std::string most;
};

int verify_bundle(Verify options) {
  if (!options.most.empty()) {
    const auto bytes = gpu::support::parse_byte_size(options.most);
    if (!bytes) {
      lab::base::log().error("--most: `{}` is no size, such as 100gb", options.most);
      return options::kUsageError;
    }
    options.verify.limits.bytes = *bytes;
  }
  options.verify.data = options.session.data;
  // A bundle that cannot be used leaves nothing anywhere, not even in the logbook.
  const lab::runbook::handoff::Bundle bundle =
      lab::runbook::handoff::opened_bundle(options.verify.bundle, options.verify.sha256, options.verify.limits);
  lab::runbook::trial::Session session("handoff verify", options.session, bundle.manifest.golden.given,
                                       {{"bundle", bundle.sha256}});
  const lab::runbook::handoff::VerifyResult result =
      lab::runbook::handoff::verify_handoff(bundle, options.verify, session.progress());
  return options::conclude(options.session,
                           session.finish(result.verdict, lab::runbook::document::to_json(result.document)));
}

void add_pack(CLI::App& handoff, options::Action& chosen) {
  auto options = std::make_shared<Pack>();
  CLI::App* verb = handoff.add_subcommand("pack", "Make one archive of all that another host needs to run it so");
  verb->prefix_command();
  options::add_session_options(*verb, options->session);
  verb->get_option("--owner")->required();
  verb->add_option("-o,--output", options->pack.bundle, "The archive, such as train.tar.zst")
      ->type_name("FILE")
      ->required();
  verb->add_option("--include", options->pack.included, "A file or folder beside the script that it needs, too")
      ->type_name("PATH")
      ->allow_extra_args(false);
  verb->add_option("--profile", options->pack.profile, "A profiler's export, or the number of a run in the logbook")
      ->type_name("FILE|RUN");
  verb->add_flag("--with-data", options->pack.with_data, "Pack the contents of --data, too, not only their checksums");
  verb->callback([options, &chosen] {
    chosen = [options](const auto& command) { return options::guarded([&] { return pack(*options, command); }); };
  });
}

void add_verify(CLI::App& handoff, options::Action& chosen) {
  auto options = std::make_shared<Verify>();
  CLI::App* verb = handoff.add_subcommand("verify", "On the other side: is it whole, and what differs here?");
  options::add_session_options(*verb, options->session);
  verb->add_option("BUNDLE", options->verify.bundle, "What anymps handoff pack made")->type_name("FILE")->required();
  verb->add_option("--into", options->verify.into, "Unpack it into this new folder")->type_name("FOLDER");
  verb->add_option("--python", options->verify.python, "The interpreter that will run it")->type_name("PYTHON");
  verb->add_option("--sha256", options->verify.sha256, "What pack printed: no other bundle is taken")->type_name("HEX");
  verb->add_option("--most", options->most, "Take bundles up to this size (default: 64gb)")->type_name("SIZE");
  verb->callback([options, &chosen] {
    chosen = [options](const auto&) { return options::guarded([&] { return verify_bundle(*options); }); };
  });
}

struct Smoke {
  lab::runbook::trial::SessionOptions session;
  lab::runbook::handoff::SmokeOptions smoke;
  std::string sha256;
  double percent = 26;
};

int smoke(Smoke options) {
  options.smoke.threshold = options.percent / 100;
  const lab::runbook::handoff::Bundle bundle =
      lab::runbook::handoff::opened_bundle(options.smoke.bundle, options.sha256, {});
  const lab::runbook::handoff::SmokeOptions& chosen = options.smoke;
  lab::runbook::trial::Session session("handoff smoke", options.session, bundle.manifest.golden.given,
                                       {{"bundle", bundle.sha256},
                                        {"host", chosen.host},
                                        {"python", chosen.python},
                                        {"folder", chosen.folder},
                                        {"data", chosen.data},
                                        {"warm_up", chosen.warm_up},
                                        {"steps", chosen.steps},
                                        {"epochs", chosen.epochs},
                                        {"epoch_steps", chosen.epoch_steps},
                                        {"threshold", chosen.threshold}});
  const lab::runbook::handoff::SmokeResult result = lab::runbook::handoff::smoke_handoff(bundle, chosen, session);
  return options::conclude(options.session,
                           session.finish(result.verdict, lab::runbook::document::to_json(result.document)));
}

void add_smoke(CLI::App& handoff, options::Action& chosen) {
  auto options = std::make_shared<Smoke>();
  lab::runbook::handoff::SmokeOptions& smoke_options = options->smoke;
  CLI::App* verb = handoff.add_subcommand("smoke", "Copy it to a host by ssh, run it there for a while, compare");
  options::add_session_options(*verb, options->session);
  verb->add_option("HOST", smoke_options.host, "As ssh takes it")->type_name("HOST")->required();
  verb->add_option("BUNDLE", smoke_options.bundle, "What anymps handoff pack made")->type_name("FILE")->required();
  verb->add_option("--ssh", smoke_options.ssh, "The client with its options, such as \"ssh -p 2222\"")
      ->type_name("COMMAND");
  verb->add_option("--python", smoke_options.python, "The interpreter on that host")->type_name("PYTHON");
  verb->add_option("--folder", smoke_options.folder, "Where the bundle lies on that host")->type_name("FOLDER");
  verb->add_option("--remote-data", smoke_options.data, "Where the data set lies on that host")->type_name("PATH");
  verb->add_option("--sha256", options->sha256, "What pack printed: no other bundle is taken")->type_name("HEX");
  verb->add_option("--warm-up", smoke_options.warm_up, "Steps before those that count")->type_name("N");
  verb->add_option("--steps", smoke_options.steps, "Steps of the window")->type_name("N")->check(CLI::PositiveNumber);
  verb->add_option("--epochs", smoke_options.epochs, "Epochs of the plateau test")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  verb->add_option("--epoch-steps", smoke_options.epoch_steps, "Steps of such an epoch (default: the script's own)")
      ->type_name("N");
  verb->add_option("--threshold", options->percent, "By how many percent memory may rise (default: 26)")
      ->type_name("PERCENT");
  verb->callback([options, &chosen] {
    chosen = [options](const auto&) { return options::guarded([&] { return smoke(*options); }); };
  });
}

}  // namespace

void add_handoff(CLI::App& app, options::Action& chosen) {
  CLI::App* verb = app.add_subcommand("handoff", "Hand a command to another host, and see that it runs as it did here");
  verb->require_subcommand(1);
  verb->footer(R"text(Examples:
  anymps handoff pack -o train.tar.zst --owner ada --data images -- python train.py --epochs 3
  anymps handoff verify train.tar.zst --into train --data /data/images
  anymps handoff smoke build@mac-7 train.tar.zst --python /opt/venv/bin/python
)text");
  add_pack(*verb, chosen);
  add_verify(*verb, chosen);
  add_smoke(*verb, chosen);
}

}  // namespace anymps::cli
