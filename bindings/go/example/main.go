// A first program: stores accounts and moves money between them. Argument: the path of the database.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"

	"latchkey"
)

func amountOf(tx *latchkey.Tx, accounts *latchkey.Tree, name string) (int, error) {
	text, err := tx.Get(accounts, []byte(name))
	if errors.Is(err, latchkey.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

func move(tx *latchkey.Tx, accounts *latchkey.Tree, from, to string, amount int) error {
	for _, change := range []struct {
		name string
		add  int
	}{{from, -amount}, {to, amount}} {
		has, err := amountOf(tx, accounts, change.name)
		if err != nil {
			return err
		}
		if has+change.add < 0 {
			return fmt.Errorf("%s has too little", change.name)
		}
		if err := tx.Put(accounts, []byte(change.name), []byte(strconv.Itoa(has+change.add))); err != nil {
			return err
		}
	}
	return nil
}

func run(path string) (err error) {
	db, err := latchkey.Open(path, nil)
	if err != nil {
		return err
	}
	defer func() {
		if closed := db.Close(); err == nil {
			err = closed
		}
	}()
	accounts, err := db.Tree("accounts")
	if err != nil {
		return err
	}
	if err := accounts.Put([]byte("alice"), []byte("100")); err != nil {
		return err
	}
	if err := accounts.Put([]byte("bob"), []byte("0")); err != nil {
		return err
	}
	if err := db.Update(func(tx *latchkey.Tx) error { return move(tx, accounts, "alice", "bob", 10) }); err != nil {
		return err
	}
	scan := accounts.Scan(latchkey.Range{})
	defer scan.Close()
	for scan.Next() {
		fmt.Printf("%s has %s\n", scan.Key(), scan.Value())
	}
	return scan.Err()
}

func main() {
	path := "accounts.db"
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	if err := run(path); err != nil {
		log.Fatal(err)
	}
}
