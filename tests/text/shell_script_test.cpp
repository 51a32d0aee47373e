// What a script's commands are, with its variables put in.
#include "sim/text/shell_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/text.hpp"

namespace ddpsim::testing {
namespace {

ShellScript read(const std::string& text) {
  return read_shell_script({make_source("job.sh", text), text});
}
// The last command; what is not known in angle brackets.
std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> found;
  auto script = read(text);
  if (script.commands.empty()) return found;
  for (const auto& word : script.commands.back())
    found.push_back(word.unknown.empty() ? word.text : word.text + "<" + word.unknown + ">");
  return found;
}
using ::testing::ElementsAre;

TEST(ShellScript, Variables) {
  EXPECT_THAT(words("A=1 B=x\nrun $A ${B}y \"$A $B\" '$A'"), ElementsAre("run", "1", "xy", "1 x", "$A"));
  EXPECT_THAT(words("OPTS=\"--a 1 \\\n --b\"\nOPTS+=' --c'\nrun $OPTS"),
              ElementsAre("run", "--a", "1", "--b", "--c"));
  EXPECT_THAT(words("export A=1\ndeclare -r B=2\nlocal C=3\nrun $A$B$C"), ElementsAre("run", "123"));
  EXPECT_THAT(words("A=${A:-7}\nB=\nrun $A ${B:-8} ${B-9} ${C:=5} $C ${A:+set}"),
              ElementsAre("run", "7", "8", "5", "5", "set"));
}

TEST(ShellScript, Arrays) {
  EXPECT_THAT(words("ARGS=(--a 1  # a comment\n --b 'x y')\nARGS+=(--c)\nrun \"${ARGS[@]}\" ${ARGS[*]}"),
              ElementsAre("run", "--a", "1", "--b", "x y", "--c", "--a", "1", "--b", "x", "y", "--c"));
  EXPECT_THAT(words("declare -a ARGS=(\"--a 1\")\nrun ${ARGS[@]} x${ARGS}"),
              ElementsAre("run", "--a", "1", "x--a", "1"));
}

TEST(ShellScript, Arithmetic) {
  EXPECT_THAT(words("N=2\nrun $((8*N)) $(($N * (3 + 4) - 7 / 2 % 2)) $(( ${N} ))"),
              ElementsAre("run", "16", "13", "2"));
  EXPECT_THAT(words("N=010\nrun $((010)) $((0x1F)) $((N)) $((08)) $(( $1 + 1 )) $((${1} * 2)) $((1 * 8))"),
              ElementsAre("run", "8", "31", "8", "<$((08))>", "<$1>", "<$1>", "8"));
  EXPECT_THAT(words("run $((8*N)) $((1/0)) $((9223372036854775807 + 1))"),
              ElementsAre("run", "<$N>", "<$((1/0))>", "<$((9223372036854775807 + 1))>"));
}

TEST(ShellScript, WhatOnlyARunningShellKnows) {
  EXPECT_THAT(words("run $DATA $1 \"$@\" $(hostname) `date` ${A%.x} pre$HOME/b"),
              ElementsAre("run", "<$DATA>", "<$1>", "<$@>", "<$(hostname)>", "<$(date)>", "<${A%.x}>",
                          "pre/b<$HOME>"));
}

TEST(ShellScript, WhatIsKnownBesideIt) {
  EXPECT_THAT(words("CMD=\"go $X --a 1\"\n$CMD b$Y"), ElementsAre("go", "<$X>", "--a", "1", "b<$Y>"));
  EXPECT_THAT(words("go \x01"), ElementsAre("go", "?"));
}

TEST(ShellScript, Conditions) {
  auto taken = [](const std::string& condition) {
    return words("A=fp8\nif " + condition + "; then\n X=yes\nelse\n X=no\nfi\nrun $X").back() == "yes";
  };
  for (const char* yes : {"[ $A = fp8 ]", "[[ \"$A\" == \"fp8\" ]]", "[ -n \"$A\" ]", "[[ -z $B ]]", "true",
                          "[[ $A == x || 3 -lt 4 ]]", "[ 2 -ge 2 ] && [ a != b ]"})
    EXPECT_TRUE(taken(yes)) << yes;
  for (const char* no :
       {"[ $A = x ]", "[ -n \"$B\" ]", "[ -f file ]", "grep -q x file", "[[ $A == fp8 && 4 -lt 3 ]]"})
    EXPECT_FALSE(taken(no)) << no;
  EXPECT_THAT(words("A=2\nif [ $A = 1 ]; then B=one; elif [ $A = 2 ]; then B=two; else B=many; fi\nrun $B"),
              ElementsAre("run", "two"));
  EXPECT_THAT(words("A=1; [ $A = 1 ] && B=2; [ $A = 2 ] && run never\nrun $B"), ElementsAre("run", "2"));
  EXPECT_THAT(read("if [ -f x ]; then A=1; fi").not_followed,
              ElementsAre("job.sh:1: an if whose condition is not known, taken as false"));
}

TEST(ShellScript, Cases) {
  std::string text = "case \"$M\" in\n 7b|7B)\n  L=32 ;;\n 13*) L=40;;\n *)\n  L=80\n ;;\nesac\nrun $L";
  EXPECT_THAT(words("M=7B\n" + text), ElementsAre("run", "32"));
  EXPECT_THAT(words("M=13b-chat\n" + text), ElementsAre("run", "40"));
  EXPECT_THAT(words("M=70b\n" + text), ElementsAre("run", "80"));
  EXPECT_THAT(words(text), ElementsAre("run", "80"));
  EXPECT_THAT(read(text).not_followed, ElementsAre("job.sh:1: case of $M, taken as empty"));
}

// As bash does: what does not follow a condition is not done, and the next line is no part of the list.
TEST(ShellScript, ListsOfCommands) {
  std::string two = "TP=2\nM=0\n", go = "\ngo $TP";
  EXPECT_THAT(words(two + "[ \"$M\" = 1 ] && TP=8" + go), ElementsAre("go", "2"));
  EXPECT_THAT(words(two + "[ \"$M\" = 0 ] && TP=8" + go), ElementsAre("go", "8"));
  EXPECT_THAT(words(two + "[[ $M == 1 ]] && TP=8 || TP=4" + go), ElementsAre("go", "4"));
  EXPECT_THAT(words(two + "(( TP == 2 )) && TP=3 || TP=4" + go), ElementsAre("go", "3"));
  EXPECT_THAT(words(two + "true || TP=4" + go), ElementsAre("go", "2"));
  EXPECT_THAT(words(two + "mkdir -p logs && TP=4" + go), ElementsAre("go", "4"));
  EXPECT_THAT(words(two + "mkdir -p logs || exit 1" + go), ElementsAre("go", "2"));
  EXPECT_THAT(words("D=false\nTP=2\n$D && TP=4" + go), ElementsAre("go", "2"));
  EXPECT_THAT(words(two + "[ 1 = 2 ] &&\n TP=8" + go), ElementsAre("go", "2"));
  EXPECT_THAT(words("[ 1 = 2 ] && A=1\ngo"), ElementsAre("go"));
  EXPECT_THAT(words("[ -n \"$X\" ] && A+=(--x)\ngo"), ElementsAre("go"));
  auto unknown = read("[ $(nproc) = 8 ] && TP=8\ngo $TP");
  EXPECT_THAT(unknown.not_followed, ElementsAre("job.sh:1: a condition that is not known, taken as false"));
}

// A command's own environment ends with it; what arithmetic sets is not known, and said.
TEST(ShellScript, WhatCommandsSet) {
  EXPECT_THAT(words("TP=2\nTP=8 true\ngo $TP"), ElementsAre("go", "2"));
  for (std::string sets : {"((TP*=2))", "((TP++))", "((++TP))", "((TP = 7))", "let TP=TP*2"}) {
    EXPECT_THAT(words("TP=2\n" + sets + "\ngo $TP"), ElementsAre("go", "<$TP>")) << sets;
    EXPECT_EQ(read("TP=2\n" + sets + "\ngo $TP").not_followed.size(), 1U) << sets;
  }
  EXPECT_THAT(words("TP=2\nif (( TP >= 2 && 1 )); then :; fi\ngo $TP"), ElementsAre("go", "2"));
  EXPECT_THAT(words("TP=2\nif (( TP > 4 )); then TP=8; else TP=6; fi\ngo $TP"), ElementsAre("go", "6"));
}

TEST(ShellScript, LoopsThatNeverRun) {
  EXPECT_THAT(words("N=0\nT=1\nwhile [ $N -eq 1 ]; do T=8; done\ngo $T"), ElementsAre("go", "1"));
  EXPECT_THAT(words("T=1\nfor x in ; do T=8; done\ngo $T"), ElementsAre("go", "1"));
  EXPECT_THAT(words("T=1\nuntil [ 1 -eq 1 ]; do T=8; done\ngo $T"), ElementsAre("go", "1"));
  EXPECT_THAT(words("T=1\nwhile [ 1 -eq 1 ]; do T=8; done\ngo $T"), ElementsAre("go", "8"));
}

TEST(ShellScript, BodiesOnce) {
  EXPECT_THAT(words("go() {\n run --a\n}\nfor N in 1 2; do run --n $N; done"),
              ElementsAre("run", "--n", "<$N>"));
}

// As bash does: a definition changes nothing until it is called.
TEST(ShellScript, Functions) {
  std::string sets = "TP=2\nsetup() {\n TP=8\n}\n";
  EXPECT_EQ(read("go() {\n run --a\n}\n").commands.size(), 0U);
  EXPECT_THAT(words(sets + "run $TP"), ElementsAre("run", "2"));
  EXPECT_THAT(words(sets + "setup\nrun $TP"), ElementsAre("run", "8"));
  EXPECT_THAT(words(sets + "[ $TP = 1 ] && setup\nrun $TP"), ElementsAre("run", "2"));
  EXPECT_THAT(words("function go {\n run $1 \"$@\" $# ${3:-no} $3;\n}\ngo a 'b c'"),
              ElementsAre("run", "a", "a", "b c", "2", "no"));
  EXPECT_THAT(words("go() { shift; run $1; }\ngo a b"), ElementsAre("run", "b"));
  EXPECT_THAT(words("go() { run ${1:-8}; }\ngo \"$@\""), ElementsAre("run", "8"));
  EXPECT_THAT(words("A=1\ngo()\n{ local A=2; B=3; }\ngo\nrun $A $B"), ElementsAre("run", "1", "3"));
  EXPECT_THAT(words("A=1\ngo() ( A=2; run $A )\ngo"), ElementsAre("run", "2"));
  EXPECT_THAT(words("go() { if [ \"$1\" = x ]; then return 1; fi; A=2; }\nA=1\ngo x || B=3\nrun $A $B"),
              ElementsAre("run", "1", "3"));
  EXPECT_THAT(words("f() { echo f; }\nexport -f f\ng() { f; run g; }\ng"), ElementsAre("run", "g"));
  EXPECT_THAT(read("f() { f; }\nf\n").not_followed, ElementsAre("job.sh:1: f, called too deeply"));
  EXPECT_THAT(words("f() { : ${A:=1}; }\nrun $A"), ElementsAre("run", "<$A>"));
}

// { } and ( ) run by what stands before them; what ( ) sets is gone behind it.
TEST(ShellScript, Groups) {
  EXPECT_THAT(words("A=1\n[ $A = 2 ] && { A=3; B=4; }\nrun $A $B"), ElementsAre("run", "1", "<$B>"));
  EXPECT_THAT(words("A=1\n[ $A = 2 ] || { A=3; B=4; }\nrun $A $B"), ElementsAre("run", "3", "4"));
  EXPECT_THAT(words("A=1\n{ [ $A = 2 ]; } && A=3 || { A=4; }\nrun $A"), ElementsAre("run", "4"));
  EXPECT_THAT(words("A=1\n( A=2; run $A )"), ElementsAre("run", "2"));
  EXPECT_THAT(words("A=1\n( A=2 )\nrun $A"), ElementsAre("run", "1"));
  EXPECT_THAT(words("A=1\n[ $A = 2 ] && ( run no )\nrun $A"), ElementsAre("run", "1"));
  EXPECT_EQ(read("[ 1 = 2 ] && ( run no )\n[ 1 = 2 ] && { run no; }").commands.size(), 0U);
  EXPECT_THAT(words("! ( [ 1 = 2 ] ) && A=2\nrun $A"), ElementsAre("run", "2"));
  EXPECT_THAT(words("run a > >(tee log) 2>&1"), ElementsAre("run", "a"));
  auto skipped = read(
      "[ 1 = 2 ] && for N in 1 2; do run $N; done\nfalse && while true; do run; done\n"
      "if false; then for M in 1; do run; done; fi\nN=3\ngo $N $M");
  EXPECT_THAT(skipped.not_followed, ElementsAre());
  EXPECT_EQ(skipped.commands.size(), 1U);
  EXPECT_EQ(skipped.commands.back()[1].text, "3");
}

TEST(ShellScript, Patterns) {
  auto fits = [](const std::string& condition) {
    return words("A=llama-70b\nB='*'\n" + condition + " && X=yes || X=no\nrun $X").back() == "yes";
  };
  for (const char* yes :
       {"[[ $A == llama* ]]", "[[ $A = *-70? ]]", "[[ $A == *[0-9]b ]]", "[[ $A != gpt* ]]", "[[ $A == $B ]]",
        "[[ $A == *\"70b\" ]]", "[[ ( $A == x || $A == l* ) && -n $A ]]", "! [[ $A == gpt* ]]",
        "[[ ! $A == gpt* && 010 -eq 8 ]]", "[ $A = x -o $A = llama-70b ]"})
    EXPECT_TRUE(fits(yes)) << yes;
  for (const char* no :
       {"[[ $A == \"llama*\" ]]", "[[ $A == 'l'\\* ]]", "[[ $A == \"$B\" ]]", "[ $A = llama* ]",
        "[[ $A == l* && $A == x ]]", "[[ $A =~ l.* ]]", "[[ $A == @(x|l*) ]]"})
    EXPECT_FALSE(fits(no)) << no;
  auto of = [](const std::string& pattern) {
    return words("M=7B\ncase $M in " + pattern + ") L=1 ;; *) L=2 ;; esac\nrun $L").back();
  };
  for (const char* one : {"?B", "[0-9]*", "x|*B", "\"7\"B", "(7*"}) EXPECT_EQ(of(one), "1") << one;
  for (const char* two : {"\"?B\"", "[a-z]*", "'7*'", "7\\*"}) EXPECT_EQ(of(two), "2") << two;
}

TEST(ShellScript, WhatIsNoCommand) {
  EXPECT_THAT(words("run --a 1 > log.txt 2>&1  # why\n# run\n"), ElementsAre("run", "--a", "1"));
  EXPECT_THAT(words("cat <<EOF > f\nrun --no\nEOF\nrun --yes"), ElementsAre("run", "--yes"));
  EXPECT_THAT(words("A=4\nsbatch <<EOF\nsrun --n $A\nEOF"), ElementsAre("EOF"));
  EXPECT_EQ(read("A=4\nsbatch <<EOF\nsrun --n $A\nEOF").commands[1][2].text, "4");
  EXPECT_THAT(words("sh -c \"cd x; python train.py --a 1\""),
              ElementsAre("sh", "-c", "cd", "x;", "python", "train.py", "--a", "1"));
  auto batch = read("#SBATCH --nodes=4 # of eight\n#SBATCH -N 2\n").batch_options;
  ASSERT_EQ(batch.size(), 3U);
  EXPECT_EQ(batch[0].text, "--nodes=4");
  EXPECT_EQ(batch[2].span.column, 12);
}

TEST(ShellScript, WordsKeepTheirPlaces) {
  auto script = read("A=(--x\n   --layers 3)\nrun \\\n  ${A[@]}");
  const auto& word = script.commands.back()[2];
  EXPECT_EQ(word.text, "--layers");
  EXPECT_EQ(std::pair(word.span.line, word.span.column), std::pair(2, 4));
}

TEST(ShellScript, Broken) {
  auto error = [](const std::string& text) { return brief_error([&] { read(text); }); };
  EXPECT_EQ(error("run 'a"), "job.sh:1:5: nothing closes this quote; add a ' at its end");
  EXPECT_EQ(error("A=1\nrun \"a"), "job.sh:2:5: nothing closes this quote; add a \" at its end");
  EXPECT_EQ(error("A=(1\n"), "job.sh:1:3: nothing closes this bracket; add a ) at its end");
  EXPECT_EQ(error("[[ -n $A\n"), "job.sh:1:1: nothing closes this bracket; add a ]] at its end");
  EXPECT_EQ(error("run ${A"), "job.sh:1:5: nothing closes this bracket; add a } at its end");
  std::string doubles = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 40; ++i) doubles += "A=$A$A\n";
  EXPECT_EQ(error(doubles),
            "job.sh:18:5: the script's variables say more than 4 MiB; write the command's flags into a file "
            "of their own");
}

}  // namespace
}  // namespace ddpsim::testing
