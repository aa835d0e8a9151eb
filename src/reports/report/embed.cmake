# Writes a C++ file that holds the texts of others: cmake -DOUTPUT=x.cpp "-DINPUTS=a.html;b.js" -P embed.cmake
# a.html becomes a_html.
set(text "#include <string_view>\n\nnamespace rubato::reports {\n\n")
foreach(input IN LISTS INPUTS)
  get_filename_component(name ${input} NAME)
  string(MAKE_C_IDENTIFIER ${name} name)
  file(READ ${input} content)
  string(APPEND text "extern const std::string_view ${name};\nconst std::string_view ${name} = R\"embedded(${content})embedded\";\n\n")
endforeach()
string(APPEND text "}  // namespace rubato::reports\n")
file(WRITE ${OUTPUT} "${text}")
