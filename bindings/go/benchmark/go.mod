module benchmark

go 1.23

require latchkey v0.0.0

require (
	go.etcd.io/bbolt v1.4.0 // indirect
	golang.org/x/sys v0.29.0 // indirect
)

replace latchkey => ../
