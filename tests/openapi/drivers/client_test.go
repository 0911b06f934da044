// Makes the calls in given.json with the client of openapi-generator, and writes the answers and samples that the client read.
package openapi

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

type call struct {
	Go    string
	Model string
	Path  []string
	Query map[string]json.RawMessage
	Body  json.RawMessage
}

func TestClient(t *testing.T) {
	var given struct {
		Url, Key, Agent string
		Calls           []call
		Samples         [][]json.RawMessage
	}
	content, _ := os.ReadFile("../given.json")
	if failure := json.Unmarshal(content, &given); failure != nil {
		t.Fatal(failure)
	}
	configuration := NewConfiguration()
	configuration.Servers = ServerConfigurations{{URL: given.Url}}
	configuration.UserAgent = given.Agent
	configuration.AddDefaultHeader("Api-Key", given.Key)
	client := reflect.ValueOf(NewAPIClient(configuration)).Elem()
	answers, samples := []any{}, []any{}
	for _, one := range given.Calls {
		answers = append(answers, send(t, client, one))
	}
	models := map[string]func() any{
		// MODELS
	}
	for _, row := range given.Samples {
		var name string
		json.Unmarshal(row[0], &name)
		object := models[name]()
		if failure := json.Unmarshal(row[1], object); failure != nil {
			t.Error(name, failure)
		}
		samples = append(samples, object)
	}
	written, _ := json.Marshal(map[string]any{"answers": answers, "samples": samples})
	os.WriteFile("../read.json", written, 0o600)
}

func send(t *testing.T, client reflect.Value, one call) any {
	for i := 0; i < client.NumField(); i++ {
		if !client.Type().Field(i).IsExported() {
			continue
		}
		method := client.Field(i).MethodByName(one.Go)
		if !method.IsValid() {
			continue
		}
		arguments := []reflect.Value{reflect.ValueOf(context.Background())}
		for _, text := range one.Path {
			arguments = append(arguments, reflect.ValueOf(text))
		}
		request := method.Call(arguments)[0]
		for name, value := range one.Query {
			request = set(t, request, name, value)
		}
		if len(one.Model) > 0 {
			request = set(t, request, one.Model, one.Body)
		}
		results := request.MethodByName("Execute").Call(nil)
		if failure := results[len(results)-1].Interface(); failure != nil {
			t.Error(one.Go, failure)
		}
		if len(results) == 3 {
			return results[0].Interface()
		}
		return nil
	}
	t.Error("no method", one.Go)
	return nil
}

func set(t *testing.T, request reflect.Value, name string, value json.RawMessage) reflect.Value {
	method := request.MethodByName(name)
	if !method.IsValid() {
		method = request.MethodByName(name + "_") // the generator appends _ to words that Go reserves
	}
	argument := reflect.New(method.Type().In(0))
	if failure := json.Unmarshal(value, argument.Interface()); failure != nil {
		t.Error(name, failure)
	}
	return method.Call([]reflect.Value{argument.Elem()})[0]
}
