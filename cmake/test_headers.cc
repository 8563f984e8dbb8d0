// SPDX-License-Identifier: Apache-2.0
// Carries the precompiled header that every test program shares; a program itself, so that it is
// compiled as they are.
int main() { return 0; }
