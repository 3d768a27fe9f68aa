package rawjson

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
)

// Equal reports whether two valid JSON texts are the same value: the order of
// keys, white space, escapes and the spelling of numbers (1.10 and 1.1, 1e2
// and 100) aside. Numbers are compared as exact decimals, lists in order.
func Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, err := parse(a)
	if err != nil {
		return false
	}
	y, err := parse(b)
	return err == nil && equal(x, y)
}

func parse(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	return v, d.Decode(&v)
}

func equal(x, y any) bool {
	switch x := x.(type) {
	case map[string]any:
		y, ok := y.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := y.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case json.Number:
		y, ok := y.(json.Number)
		return ok && (x == y || decimal(x) == decimal(y))
	}
	return x == y
}

// decimal spells a number in one way only: its significant digits and the
// power of ten of the last. No exponent is ever expanded.
func decimal(n json.Number) string {
	s := string(n)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	exp := new(big.Int)
	if exponent != "" {
		exp.SetString(strings.TrimPrefix(exponent, "+"), 10)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exp.Sub(exp, big.NewInt(int64(len(fraction))))
	digits := strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	if trimmed == "" {
		return "0"
	}
	exp.Add(exp, big.NewInt(int64(len(digits)-len(trimmed))))
	return sign + trimmed + "e" + exp.String()
}
