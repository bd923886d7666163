#include "guard_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clone_call.h"

#ifndef MFD_ALLOW_SEALING
#define MFD_ALLOW_SEALING 2U
#endif
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1U
#endif

extern "C" {
extern const char exactspawn_guard_code[] __attribute__((visibility("hidden")));
extern const char exactspawn_guard_code_end[] __attribute__((visibility("hidden")));
}

// Position independent, no data, no stack but one byte below the stack pointer.
#if defined(__x86_64__)
__asm__(R"(
  .section .rodata
  .globl exactspawn_guard_code
  .hidden exactspawn_guard_code
exactspawn_guard_code:
1:
  xor %eax, %eax          /* read(0, sp - 8, 1) */
  xor %edi, %edi
  lea -8(%rsp), %rsi
  mov $1, %edx
  syscall
  cmp $-4, %rax           /* EINTR */
  je 1b
  test %rax, %rax
  jg 2f
  mov $62, %eax           /* kill(0, SIGKILL) */
  xor %edi, %edi
  mov $9, %esi
  syscall
2:
  mov $231, %eax          /* exit_group(0) */
  xor %edi, %edi
  syscall
  hlt
  .globl exactspawn_guard_code_end
  .hidden exactspawn_guard_code_end
exactspawn_guard_code_end:
  .text
)");
#elif defined(__aarch64__)
__asm__(R"(
  .section .rodata
  .balign 4
  .globl exactspawn_guard_code
  .hidden exactspawn_guard_code
exactspawn_guard_code:
1:
  mov x0, #0              /* read(0, sp - 16, 1) */
  sub x1, sp, #16
  mov x2, #1
  mov x8, #63
  svc #0
  cmn x0, #4              /* EINTR */
  b.eq 1b
  cmp x0, #0
  b.gt 2f
  mov x0, #0              /* kill(0, SIGKILL) */
  mov x1, #9
  mov x8, #129
  svc #0
2:
  mov x0, #0              /* exit_group(0) */
  mov x8, #94
  svc #0
  brk #0
  .globl exactspawn_guard_code_end
  .hidden exactspawn_guard_code_end
exactspawn_guard_code_end:
  .text
)");
#endif

namespace exactspawn {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#endif
constexpr uint64_t kLoadAddress = 0x400000;
constexpr unsigned kMfdExec = 0x10;  // Linux 6.3; older kernels answer EINVAL and need no flag

constexpr const char* kShellScript = "read -r _ || kill -9 0";
const char* const shell_arguments[] = {"xs-guard", "-c", kShellScript, nullptr};

// One loadable segment that covers the whole file, and the header that makes the stack non-executable.
struct Image {
  Elf64_Ehdr header;
  Elf64_Phdr load;
  Elf64_Phdr stack;
};

Image image_of(size_t code_size) {
  Image image;
  memset(&image, 0, sizeof image);
  memcpy(image.header.e_ident, ELFMAG, SELFMAG);
  image.header.e_ident[EI_CLASS] = ELFCLASS64;
  image.header.e_ident[EI_DATA] = ELFDATA2LSB;
  image.header.e_ident[EI_VERSION] = EV_CURRENT;
  image.header.e_type = ET_EXEC;
  image.header.e_machine = kMachine;
  image.header.e_version = EV_CURRENT;
  image.header.e_entry = kLoadAddress + sizeof(Image);
  image.header.e_phoff = offsetof(Image, load);
  image.header.e_ehsize = sizeof(Elf64_Ehdr);
  image.header.e_phentsize = sizeof(Elf64_Phdr);
  image.header.e_phnum = 2;
  image.load.p_type = PT_LOAD;
  image.load.p_flags = PF_R | PF_X;
  image.load.p_vaddr = image.load.p_paddr = kLoadAddress;
  image.load.p_filesz = image.load.p_memsz = sizeof(Image) + code_size;
  image.load.p_align = 0x10000;
  image.stack.p_type = PT_GNU_STACK;
  image.stack.p_flags = PF_R | PF_W;
  return image;
}

bool write_all(int fd, const void* bytes, size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    ssize_t written = write(fd, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

struct Probe {
  int program_fd;
  int pipe_fd;
};

void run_probe(void* opaque) {
  auto* probe = static_cast<Probe*>(opaque);
  dup2(probe->pipe_fd, 0);
  char* const none[] = {nullptr};
  char* const argv[] = {const_cast<char*>("xs-guard"), nullptr};
  syscall(SYS_execveat, probe->program_fd, "", argv, none, AT_EMPTY_PATH);
  _exit(127);
}

}  // namespace

SysError make_guard_program(UniqueFd* out) {
  long fd = syscall(SYS_memfd_create, "xs-guard", MFD_CLOEXEC | MFD_ALLOW_SEALING | kMfdExec);
  if (fd < 0 && errno == EINVAL) fd = syscall(SYS_memfd_create, "xs-guard", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return {Stage::kFile, Syscall::kMemfdCreate, errno, -1};
  out->reset(static_cast<int>(fd));
  if (SysError error = lift_above_stdio(out, Stage::kFile)) return error;
  size_t code_size = static_cast<size_t>(exactspawn_guard_code_end - exactspawn_guard_code);
  Image image = image_of(code_size);
  if (!write_all(out->get(), &image, sizeof image) || !write_all(out->get(), exactspawn_guard_code, code_size)) {
    return {Stage::kFile, Syscall::kWrite, errno, -1};
  }
#if defined(F_ADD_SEALS)
  fcntl(out->get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
#endif
  return {};
}

char* const* guard_shell_arguments() { return const_cast<char* const*>(shell_arguments); }

SysError probe_guard_program(bool* runs) {
  UniqueFd program;
  Pipe pipe;
  if (SysError error = make_guard_program(&program)) return error;
  if (SysError error = make_pipe(&pipe)) return error;
  if (!write_all(pipe.write_end.get(), "q", 1)) return {Stage::kFile, Syscall::kWrite, errno, -1};
  Probe probe = {program.get(), pipe.read_end.get()};
  ChildStack stack;
  if (!stack.map()) return {Stage::kClone, Syscall::kMmap, ENOMEM, -1};
  AllSignalsBlocked blocked;
  pid_t pid = clone_shared(stack, nullptr, run_probe, &probe);
  if (pid < 0) return {Stage::kClone, Syscall::kClone, -pid, -1};
  int word = -1;
  while (waitpid(pid, &word, 0) < 0 && errno == EINTR) {
  }
  *runs = WIFEXITED(word) && WEXITSTATUS(word) == 0;
  return {};
}

}  // namespace exactspawn
