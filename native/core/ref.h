// Intrusive counted references. std::shared_ptr is not used: it binds __libc_single_threaded@GLIBC_2.32 and a
// libstdc++ symbol, which would raise the floor of the shipped library.
#pragma once

#include <atomic>
#include <utility>

namespace exactspawn {

template <typename T>
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  void retain() { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete static_cast<T*>(this);
  }

 protected:
  ~Counted() = default;

 private:
  std::atomic<int> count_{0};
};

template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(T* object) : object_(object) { retain(); }
  Ref(const Ref& other) : object_(other.object_) { retain(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  void retain() {
    if (object_ != nullptr) object_->retain();
  }
  T* object_ = nullptr;
};

}  // namespace exactspawn
