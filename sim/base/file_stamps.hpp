#pragma once
// Whether files are still what they were when they were read: for who keeps what was in them.
#include <map>
#include <string>

#include <sys/stat.h>

namespace ddpsim {

class FileStamps {
 public:
  // Each file that this thread opens to be read, or looks for, while this lives and no later one does.
  class Watch {
   public:
    explicit Watch(FileStamps& stamps);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    FileStamps* before_;
  };
  // All of them, by device, number, size and times; also whether those that were not there still are not. A
  // file that had been written just before may have been written again since, at the same time by the file
  // system's clock: no.
  [[nodiscard]] bool unchanged() const;

 private:
  friend void stamp_file(const std::string& path);
  struct Stamp {
    struct stat status {};
    bool is_there = false, is_fresh = false;
  };
  static Stamp stamp_of(const std::string& path);
  std::map<std::string, Stamp> files_;
};

// Told of each path that is opened, or looked for; nothing happens where nobody watches.
void stamp_file(const std::string& path);

}  // namespace ddpsim
