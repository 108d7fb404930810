//go:build race

package latchkey_test

const isRace = true // it allocates by itself
