// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
//
// Models that are cut into shards.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "bindings.hpp"
#include "convert.hpp"
#include "gil.hpp"
#include "mapped_file.hpp"
#include "model/online_model.hpp"
#include "shards/messages.hpp"
#include "shards/shard.hpp"
#include "shards/shard_router.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace oplt::bindings {

namespace {

using Positions = std::vector<std::uint32_t>;
using Write = nb::typed<nb::callable, nb::object(nb::bytes)>;
using SendMessage = nb::typed<nb::callable, nb::object(std::uint32_t, nb::bytes)>;
using AskShard = nb::typed<nb::callable, std::uint64_t(std::uint32_t, nb::bytes)>;
using FetchAnswers =
    nb::typed<nb::callable,
              nb::typed<nb::list, nb::bytes>(nb::typed<nb::list, nb::typed<nb::tuple, std::uint32_t, std::uint64_t>>)>;

nb::bytes to_python(std::span<const std::byte> message) { return nb::bytes(message.data(), message.size()); }

std::span<const std::byte> view(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

/// The arrays of a message, in memory that is aligned for them.
ArrayReader read_message(const nb::bytes& message) {
  const FileBytes copied = copied_bytes(view(message));
  return {copied.bytes, copied.owner};
}

/// A set of subtrees for Python, where it is called Subtrees.
struct PythonSubtrees {
  SubtreeSet set;
};

/// Carries messages by Python functions. Called without the GIL.
class PythonLinks : public ShardLinks {
 public:
  PythonLinks(SendMessage learn, AskShard ask, FetchAnswers answers)
      : learn_(std::move(learn)), ask_(std::move(ask)), answers_(std::move(answers)) {}
  ~PythonLinks() override {
    const nb::gil_scoped_acquire acquire;
    learn_.reset();
    ask_.reset();
    answers_.reset();
  }
  PythonLinks(const PythonLinks&) = delete;
  PythonLinks& operator=(const PythonLinks&) = delete;

  void learn(std::uint32_t shard, Message message) override {
    const nb::gil_scoped_acquire acquire;
    learn_(shard, to_python(message));
  }

  std::uint64_t ask(std::uint32_t shard, Message message) override {
    const nb::gil_scoped_acquire acquire;
    return nb::cast<std::uint64_t>(ask_(shard, to_python(message)));
  }

  std::vector<Message> answers(std::span<const Ticket> tickets) override {
    const nb::gil_scoped_acquire acquire;
    nb::list due;
    for (const Ticket& ticket : tickets) {
      due.append(nb::make_tuple(ticket.shard, ticket.number));
    }
    std::vector<Message> answers;
    for (const nb::handle answer : nb::cast<nb::list>(answers_(due))) {
      const std::span<const std::byte> bytes = view(nb::cast<nb::bytes>(answer));
      answers.emplace_back(bytes.begin(), bytes.end());
    }
    if (answers.size() != tickets.size()) {
      throw InvalidInput("not all shards have answered");
    }
    return answers;
  }

 private:
  nb::object learn_;
  nb::object ask_;
  nb::object answers_;
};

void save_subtrees(const PythonSubtrees& subtrees, const nb::bytes& settings, const Write& write) {
  without_gil([&] {
    ArrayWriter writer([&](std::span<const std::byte> bytes) {
      const nb::gil_scoped_acquire acquire;
      write(to_python(bytes));
    });
    writer.put("settings", view(settings));
    save(subtrees.set, writer);
    writer.finish();
  });
}

PythonSubtrees load(const ArrayReader& file, const ModelParams& params) {
  return without_gil([&] {
    PythonSubtrees subtrees{load_subtrees(file, link_of(params.forest.learning))};
    for (const auto& [position, plt] : subtrees.set) {
      plt.check(kBiasFeature);
    }
    return subtrees;
  });
}

PythonSubtrees chosen(const PythonSubtrees& subtrees, const Positions& positions) {
  PythonSubtrees result;
  for (const std::uint32_t position : positions) {
    result.set.emplace(position, subtrees.set.at(position));
  }
  return result;
}

/// A number of each subtree, by position.
template <class Number>
auto by_position(Number number) {
  return [number](const PythonSubtrees& subtrees) {
    return without_gil([&] {
      std::map<std::uint32_t, std::size_t> numbers;
      for (const auto& [position, plt] : subtrees.set) {
        numbers[position] = number(plt);
      }
      return numbers;
    });
  };
}

nb::bytes search(Shard& shard, const nb::bytes& message) {
  const ArrayReader in = read_message(message);
  const Message answer = without_gil([&] {
    SentQueries sent(in);
    std::optional<LabelFilter> filter;
    if (sent.filter) {
      filter.emplace(filter_for(*sent.filter, shard.subtrees()));
      sent.params.filter = &*filter;
    }
    return encode(shard.search(sent.rows.views, sent.queries, sent.params, sent.ahead));
  });
  return to_python(answer);
}

ModelState joined(const ModelState& state, const std::vector<const PythonSubtrees*>& parts) {
  return without_gil([&] {
    std::map<std::uint32_t, const Plt*> by_position;
    for (const PythonSubtrees* part : parts) {
      for (const auto& [position, plt] : part->set) {
        by_position[position] = &plt;
      }
    }
    std::vector<const Plt*> subtrees;
    for (const auto& [position, plt] : by_position) {
      subtrees.push_back(plt);
    }
    return state.joined(subtrees);
  });
}

}  // namespace

void bind_shards(nb::module_& m) {
  nb::class_<PythonSubtrees>(m, "Subtrees")
      .def_static("load", &load, "file"_a, "params"_a, "Checks all content.")
      .def("save", &save_subtrees, "settings"_a, "write"_a)
      .def("chosen", &chosen, "positions"_a, "Some of them.")
      .def_prop_ro("n_labels", by_position([](const Plt& plt) { return plt.n_labels(); }), "By position.")
      .def_prop_ro("memory_bytes", by_position([](const Plt& plt) { return plt.memory_bytes(); }),
                   "By position, without what is in a mapped file.")
      .def_prop_ro("sizes", by_position([](const Plt& plt) { return plt.budget_bytes(); }),
                   "Bytes by position, wherever they are. Visits all cells of subtrees that were loaded.");

  nb::class_<Shard>(m, "Shard")
      .def(
          "__init__", [](Shard* shard, const ModelParams& params) { new (shard) Shard(params.forest); }, "params"_a)
      .def(
          "add",
          [](Shard& shard, const PythonSubtrees& subtrees) {
            for (const auto& [position, plt] : subtrees.set) {
              shard.add(position, plt);
            }
          },
          "subtrees"_a)
      .def(
          "remove", [](Shard& shard, std::uint32_t position) { shard.remove(position); }, "position"_a)
      .def(
          "subtrees", [](const Shard& shard) { return PythonSubtrees{shard.subtrees()}; },
          "A snapshot: it shares memory until the shard learns.")
      .def(
          "learn",
          [](Shard& shard, const nb::bytes& message, std::size_t threads) {
            const ArrayReader in = read_message(message);
            without_gil([&] { shard.learn(SentExamples(in).examples, threads); });
          },
          "message"_a, "threads"_a)
      .def("search", &search, "message"_a);

  m.def("can_cut", [](const OnlineModel& model) { return without_gil([&] { return model.can_cut(); }); }, "model"_a);
  m.def(
      "cut",
      [](OnlineModel& model) {
        PythonSubtrees subtrees;
        std::vector<Plt> parts = without_gil([&] { return model.cut(); });
        for (std::uint32_t i = 0; i < parts.size(); ++i) {
          subtrees.set.emplace(i, std::move(parts[i]));
        }
        return subtrees;
      },
      "model"_a);
  m.def(
      "route",
      [](OnlineModel& model, Positions shard_of, SendMessage learn, AskShard ask, FetchAnswers answers) {
        auto links = std::make_shared<PythonLinks>(std::move(learn), std::move(ask), std::move(answers));
        auto router = std::make_shared<ShardRouter>(std::move(links), std::move(shard_of));
        without_gil([&] { model.set_subtrees(std::move(router)); });
      },
      "model"_a, "shard_of"_a, "learn"_a, "ask"_a, "answers"_a, "Tells a cut model which shard has which subtree.");
  m.def("is_cut", &ModelState::is_cut, "state"_a);
  m.def("joined", &joined, "state"_a, "parts"_a, "The whole model of a cut one and its subtrees.");
}

}  // namespace oplt::bindings
