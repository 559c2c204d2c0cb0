// Package openai asks a model behind OpenAI's protocol, OpenAI's own or any
// compatible local server, through OpenAI's Go client.
//
// It imports tenet, model, model/prompted and the vendor's client. Only cmd,
// and a host that wants it, imports it: the engine knows no vendor.
package openai
