//go:build !amd64

package inproc

func fastest() kernel { return portable() }
