//go:build !race

package latchkey_test

const isRace = false
