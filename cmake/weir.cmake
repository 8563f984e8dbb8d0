# SPDX-License-Identifier: Apache-2.0
# weir_folder(NAME [DEPS ...] [LIBS ...] [DIRS ...]) declares one folder of src/ as one library.
#   DEPS  other folders it may see (weir_<name>), LIBS third-party targets, DIRS subfolders that belong to it.
# Sources are every *.cc of the folder and its DIRS; *_test.cc become the program weir_<name>_test.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
if(WEIR_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

add_library(weir_flags INTERFACE)
target_include_directories(weir_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(weir_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wimplicit-fallthrough -Werror=switch -Wno-missing-field-initializers> -fstack-protector-strong)
target_compile_definitions(weir_flags INTERFACE
  $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=2> $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS> WEIR_VERSION="${PROJECT_VERSION}")
if(WEIR_WERROR)
  target_compile_options(weir_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(WEIR_SANITIZE)
  target_compile_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(WEIR_SANITIZE MATCHES "undefined")
    # Its check opens a pipe to look at memory: without a free descriptor (a state that is tested) it reports what is right.
    target_compile_options(weir_flags INTERFACE -fno-sanitize=vptr)
  endif()
  target_link_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE})
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_link_options(-Wl,-z,relro,-z,now)

function(weir_sources out)
  set(found "")
  foreach(dir IN LISTS ARGN)
    file(GLOB here CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.cc ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.c)
    list(APPEND found ${here})
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

function(weir_folder name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS;DIRS;TEST_DEPS" ${ARGN})
  weir_sources(sources . ${ARG_DIRS})
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(sources)
    add_library(weir_${name} STATIC ${sources})
    target_link_libraries(weir_${name} PUBLIC weir_flags ${ARG_DEPS} PRIVATE ${ARG_LIBS})
  else()
    add_library(weir_${name} INTERFACE)
    target_link_libraries(weir_${name} INTERFACE weir_flags ${ARG_DEPS})
  endif()
  if(WEIR_TESTS AND tests)
    weir_test(weir_${name}_test SOURCES ${tests} DEPS weir_${name} ${ARG_LIBS} ${ARG_TEST_DEPS})
  endif()
endfunction()

# What is tested is compiled with every sanitizer; undefined behaviour in the test's own text is not worth the time that
# compiling it so costs (two to five times as long). All test programs share one precompiled header.
add_library(weir_test_flags INTERFACE)
if(WEIR_SANITIZE MATCHES "undefined")
  target_compile_options(weir_test_flags INTERFACE -fno-sanitize=undefined -O0)
endif()
if(WEIR_TESTS)
  add_executable(weir_test_headers ${CMAKE_SOURCE_DIR}/cmake/test_headers.cc)
  target_link_libraries(weir_test_headers PRIVATE weir_flags weir_test_flags fmt::fmt GTest::gmock GTest::gtest Threads::Threads)
  target_precompile_headers(weir_test_headers PRIVATE <gtest/gtest.h> <gmock/gmock.h> <string> <vector>)
endif()

# weir_test(NAME SOURCES ... DEPS ...) declares a GoogleTest program; script/test runs every one of them.
function(weir_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest GTest::gtest_main Threads::Threads)
  target_link_libraries(${name} PRIVATE weir_test_flags)
  target_precompile_headers(${name} REUSE_FROM weir_test_headers)
  add_test(NAME ${name} COMMAND ${name})
endfunction()
