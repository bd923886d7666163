// Numbers for objects that JS refers to. A number names one object for ever: its upper part changes with each reuse of
// the slot, so a stale one finds nothing instead of somebody else's.
#pragma once

#include <stdint.h>

#include <utility>
#include <vector>

namespace exactspawn {

template <typename T>
class Slots {
 public:
  uint32_t add(T value) {
    uint32_t index;
    if (free_.empty()) {
      index = static_cast<uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      index = free_.back();
      free_.pop_back();
    }
    Slot& slot = slots_[index];
    slot.used = true;
    slot.value = std::move(value);
    return slot.generation << kIndexBits | index;
  }

  T* find(uint32_t id) {
    uint32_t index = id & kIndexMask;
    if (index >= slots_.size()) return nullptr;
    Slot& slot = slots_[index];
    return slot.used && slot.generation == id >> kIndexBits ? &slot.value : nullptr;
  }

  T take(uint32_t id) {
    T* value = find(id);
    if (value == nullptr) return T();
    T taken = std::move(*value);
    uint32_t index = id & kIndexMask;
    *value = T();
    slots_[index].used = false;
    slots_[index].generation = (slots_[index].generation + 1) & kGenerationMask;
    free_.push_back(index);
    return taken;
  }

  template <typename Visit>
  void each(Visit visit) {
    for (Slot& slot : slots_) {
      if (slot.used) visit(slot.value);
    }
  }

 private:
  static constexpr uint32_t kIndexBits = 20;
  static constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;
  static constexpr uint32_t kGenerationMask = (1u << (32 - kIndexBits)) - 1;
  struct Slot {
    T value = T();
    uint32_t generation = 0;
    bool used = false;
  };
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace exactspawn
