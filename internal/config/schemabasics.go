package config

import "strings"

// Patterns of values, for engines of regular expressions of all kinds.
const (
	namePattern     = `[a-z0-9_-]{1,64}`
	storePattern    = `^(sqlite:/?[^/]|sqlite:/$|postgres(ql)?://)`
	variablePattern = `(^|[^$])\$\{[A-Za-z_][A-Za-z0-9_]*\}` // $${ is no variable's beginning
	booleanPattern  = `^(on|On|ON|off|Off|OFF|yes|Yes|YES|no|No|NO)$`
	sharePattern    = `^(0*(100|[0-9]{1,2})(\.0+)?%|0+(\.[0-9]{1,2}0*)?|0*1(\.0+)?)$`
	timePattern     = `^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{1,2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}))?$`
)

// unitsPattern is of what parseUnits reads and does not refuse as negative.
func unitsPattern(units []unit) string {
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = u.name
	}
	return `^([0-9]+(\.[0-9]+)?(` + strings.Join(names, "|") + `))+$`
}

// basic returns the schema of a kind of value, nil if there is none of the
// name. Values of any kind may be those of variables. Which of the words that
// YAML 1.1 has for booleans are texts is up to the editor.
func basic(name string) object {
	variable := object{"$ref": "#/$defs/variable"}
	switch name {
	case "variable":
		return with(pattern(variablePattern), "description", "a value from the environment: ${NAME}")
	case "text":
		return object{"type": []string{"string", "number", "boolean"}}
	case "boolean":
		return anyOf(object{"type": "boolean"}, pattern(booleanPattern), variable)
	case "integer":
		return anyOf(object{"type": "integer"}, variable)
	case "natural":
		return anyOf(object{"type": "integer", "minimum": 0}, variable)
	case "number":
		return anyOf(object{"type": "number"}, variable)
	case "duration":
		return with(anyOf(pattern(unitsPattern(durationUnits)), variable), "description", "a duration such as 30s, 1h30m or 2d")
	case "size":
		return with(anyOf(pattern(unitsPattern(sizeUnits)), variable), "description", "a size such as 64MiB")
	case "share":
		return with(anyOf(object{"type": "number", "minimum": 0, "maximum": 1}, pattern(sharePattern), variable), "description", "a share such as 30% or 0.3")
	case "time":
		return with(anyOf(pattern(timePattern), variable), "description", "a time such as 2026-01-31T15:04:05Z, or a day such as 2026-01-31")
	}
	return nil
}
