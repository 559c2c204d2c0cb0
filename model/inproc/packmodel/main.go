// Packmodel packs the weights of a downloaded package for inproc:
//
//	go run ./model/inproc/packmodel PACKAGE FILE
package main

import (
	"fmt"
	"os"

	"github.com/tenet-memory/tenet/model/inproc/pack"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: packmodel PACKAGE FILE")
		os.Exit(2)
	}
	name, err := pack.Pack(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "packmodel:", err)
		os.Exit(1)
	}
	fmt.Println("packed", name, "into", os.Args[2])
}
