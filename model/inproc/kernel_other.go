//go:build !amd64

package inproc

func kernels() []kernel { return []kernel{portable()} }
