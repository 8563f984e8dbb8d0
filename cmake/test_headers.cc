// SPDX-License-Identifier: Apache-2.0
// Carries the precompiled header that every test program shares; has no code of its own.
