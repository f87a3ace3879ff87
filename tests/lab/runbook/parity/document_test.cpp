#include "lab/runbook/parity/document.h"

#include <gtest/gtest.h>

#include <limits>

#include "lab/runbook/parity/screen.h"
#include "lab/runbook/parity/section.h"
#include "lab/runbook/parity/summary.h"

namespace anymps::lab::runbook::parity {
namespace {

using nlohmann::json;

TensorDifference row(const std::string& name) {
  return {.name = name,
          .kind = "Linear",
          .dtype = "float32",
          .max_ulps = std::numeric_limits<std::uint64_t>::max(),
          .max_relative = 0.5,
          .max_element_relative = 1,
          .max_absolute = 2,
          .elements = 12,
          .not_finite = 1,
          .limit = 1e-3,
          .over = true,
          .random = false};
}

ParityDocument full_document() {
  ParityDocument document;
  document.head.verb = "parity";
  document.head.verdict = document::Verdict::kBad;
  document.reference = "cpu";
  document.seed = -1;
  document.no_dropout = true;
  Comparison compared;
  compared.device = "mps";
  compared.outcome = document::Outcome::kRan;
  compared.layers = {row("a"), row("b")};
  compared.layers[1].max_ulps.reset();
  compared.layers[1].random = true;
  compared.gradients = {row("a.weight")};
  compared.steps = {{.step = 1, .loss = 2.5, .reference_loss = 2, .relative = 0.2, .ulps = 3},
                    {.step = 2, .loss = {}, .reference_loss = {}, .relative = {}, .ulps = {}}};
  compared.drift = {.last_relative = {}, .limit = 0.01, .decades_per_step = 0.1};
  compared.random_from = "b";
  compared.findings = {"layer a (Linear) differs"};
  Comparison crashed;
  crashed.device = "cuda";
  crashed.outcome = document::Outcome::kCrashed;
  crashed.why = "ValueError: no";
  crashed.output = "Traceback\n";
  document.comparisons = {compared, crashed};
  document.metric = {
      .name = "accuracy", .tolerance = 0.5, .values = {{"cpu", 90.0}, {"mps", std::nullopt}}, .within = false};
  document.table = {.path = "parity.tsv", .updated = false, .slack = 2, .changed = {"layer a on mps is new"}};
  document.genuine = {{.op = "aten::tanh",
                       .kernel = "tanh_dense_scalar_float_float",
                       .elements = 12,
                       .max_ulps = 2,
                       .max_relative = 1e-7,
                       .not_finite = 0}};
  document.output = "Traceback\n";
  document.dtype_policy = {{.kind = "Linear",
                            .weight = "float32",
                            .output = "cpu: float32; mps: float16",
                            .statistics = "",
                            .gradient = "float32",
                            .disagree = true}};
  document.findings = compared.findings;
  document.notes = {"a note"};
  return document;
}

ParityDocument read_back(const ParityDocument& document) {
  return document::described_from<ParityDocument>(json::parse(document::to_json(document).dump()));
}

TEST(ParityDocument, ComesBack) {
  for (const ParityDocument& document : {full_document(), ParityDocument()}) {
    EXPECT_EQ(document::to_json(read_back(document)), document::to_json(document));
  }
}

TEST(ParityDocument, HasNoOutputWhereTheReferenceRan) {
  EXPECT_FALSE(document::to_json(ParityDocument()).contains("output"));
  EXPECT_TRUE(document::to_json(ParityDocument()).at("table").is_null());
}

TEST(ParityDocument, KeepsARowThatIsInfinitelyFarApart) {
  ParityDocument document = full_document();
  document.comparisons[0].layers[0].max_relative = std::numeric_limits<double>::infinity();
  const ParityDocument back = read_back(document);
  ASSERT_EQ(back.comparisons.at(0).layers.size(), 2U);
  EXPECT_GT(back.comparisons[0].layers[0].relative(), 1e300);
}

TEST(ParityDocument, OfAnotherKindIsShownNevertheless) {
  for (const char* text :
       {"null", "[1]", R"({"comparisons": [{}, 3], "metric": 3, "seed": "x", "table": {}, "verdict": 7, "notes": [1]})",
        R"({"comparisons": [{"device": "mps", "outcome": "unheard-of", "layers": [{}]}], "genuine": {}})"}) {
    const auto document = document::described_from<ParityDocument>(json::parse(text));
    EXPECT_NE(parity_screen(document, {}).find("it could not be found out"), std::string::npos);
    EXPECT_EQ(parity_headline(document), "");
    EXPECT_TRUE(parity_figures(document).empty());
    EXPECT_FALSE(parity_section({{.document = document, .label = "run 1"}}).empty());
  }
}

}  // namespace
}  // namespace anymps::lab::runbook::parity
