// Reads and writes samples by the models of openapi-generator, and prints what they lose.
package openapi

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"
)

func TestSamples(t *testing.T) {
	content, _ := os.ReadFile("../samples.json")
	var rows [][]json.RawMessage
	json.Unmarshal(content, &rows)
	models := map[string]func() any{
		// MODELS
	}
	for _, row := range rows {
		var name string
		json.Unmarshal(row[0], &name)
		object := models[name]()
		if failure := json.Unmarshal(row[1], object); failure != nil {
			t.Error(name, failure)
		}
		again, _ := json.Marshal(object)
		var before, after any
		json.Unmarshal(row[1], &before)
		json.Unmarshal(again, &after)
		lost(t, name, before, after)
	}
}

func lost(t *testing.T, at string, before any, after any) {
	switch one := before.(type) {
	case map[string]any:
		other, _ := after.(map[string]any)
		for name, value := range one {
			lost(t, at+"."+name, value, other[name])
		}
	case []any:
		other, _ := after.([]any)
		for i := range one {
			if i < len(other) {
				lost(t, fmt.Sprint(at, "[", i, "]"), one[i], other[i])
			} else {
				t.Error(at, i, "is missing")
			}
		}
	default:
		first, failed := time.Parse(time.RFC3339, fmt.Sprint(before))
		second, _ := time.Parse(time.RFC3339, fmt.Sprint(after))
		if before != after && (failed != nil || !first.Equal(second)) {
			t.Error(at, before, "became", after)
		}
	}
}
