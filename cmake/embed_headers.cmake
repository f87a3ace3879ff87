# Writes the files of FOLDER into OUT, a C++ file that defines anymps::metal::frontend::lex::standard_headers().
file(GLOB_RECURSE files ${FOLDER}/*)
set(entries "")
foreach(file IN LISTS files)
  file(RELATIVE_PATH name ${FOLDER} ${file})
  file(READ ${file} text)
  # Compilers take strings of a limited length: adjacent ones are put together.
  string(LENGTH "${text}" length)
  set(parts "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 part)
    string(APPEND parts "R\"metal(${part})metal\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  string(APPEND entries "    {\"${name}\", ${parts}},\n")
endforeach()
file(WRITE ${OUT} "#include \"metal/frontend/lex/standard_headers.h\"

namespace anymps::metal::frontend::lex {
namespace {
constexpr StandardHeader kHeaders[] = {
${entries}};
}  // namespace

std::span<const StandardHeader> standard_headers() { return kHeaders; }

}  // namespace anymps::metal::frontend::lex
")
