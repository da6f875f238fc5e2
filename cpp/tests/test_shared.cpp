// SPDX-FileCopyrightText: The oplt developers
// SPDX-License-Identifier: MIT
#include <thread>
#include <vector>

#include "base/shared.hpp"
#include "check.hpp"

using oplt::Shared;

namespace {

using Numbers = std::vector<int>;

/// Counts its instances and its copies.
struct Counted {
  static inline int n_alive = 0;
  static inline int n_copies = 0;

  Counted() { ++n_alive; }
  Counted(const Counted&) {
    ++n_alive;
    ++n_copies;
  }
  Counted(Counted&&) noexcept { ++n_alive; }
  ~Counted() { --n_alive; }
};

}  // namespace

TEST("an unshared part is written in place") {
  Shared<Numbers> numbers(Numbers{1, 2});
  const Numbers* const before = &*numbers;
  numbers.write().push_back(3);
  CHECK(&*numbers == before);
  CHECK_EQ(numbers->size(), 3U);
}

TEST("a shared part is copied by the first writer, and the other holders keep the old one") {
  Shared<Numbers> model(Numbers{1, 2});
  const Shared<Numbers> snapshot = model;
  CHECK(&*snapshot == &*model);
  CHECK(!model.is_unshared());
  model.write()[0] = 7;
  CHECK_EQ(*snapshot, (Numbers{1, 2}));
  CHECK_EQ(*model, (Numbers{7, 2}));
  CHECK(model.is_unshared() && snapshot.is_unshared());
}

TEST("handles are copied, moved and assigned like pointers, and the last one frees the part") {
  {
    Shared<Counted> a;
    Shared<Counted> b = a;
    Shared<Counted> c = std::move(a);
    CHECK_EQ(Counted::n_alive, 1);
    a = b;
    b = Shared<Counted>();
    CHECK_EQ(Counted::n_alive, 2);
    c = std::move(b);
    Shared<Counted>& same = a;
    a = same;
    CHECK_EQ(Counted::n_copies, 0);
    a.write();
  }
  CHECK_EQ(Counted::n_alive, 0);
}

TEST("snapshots may be read and dropped by other threads while the model is written") {
  Shared<Numbers> model(Numbers(100, 0));
  std::vector<std::thread> readers;
  for (int version = 0; version < 50; ++version) {
    readers.emplace_back([snapshot = model, version] {
      for (const int number : *snapshot) {
        CHECK_EQ(number, version);
      }
    });
    for (int& number : model.write()) {
      ++number;
    }
  }
  for (std::thread& reader : readers) {
    reader.join();
  }
  CHECK_EQ((*model)[99], 50);
}
