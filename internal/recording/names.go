package recording

import (
	"bytes"
	"strings"
)

// secretEndings end the names of fields and parameters whose values are
// secret, as folded by secretName.
var secretEndings = []string{
	"accesskey", "accesstoken", "apikey", "apitoken", "authorization", "authtoken", "bearertoken", "clientassertion", "credential", "idtoken",
	"jwt", "passphrase", "passwd", "password", "privatekey", "privatetoken", "refreshtoken", "secret", "secretaccesskey", "secretkey",
	"securitytoken", "sessionid", "sessiontoken", "sharedkey", "signature", "signingkey",
}

// secretNames are secret as a whole name.
var secretNames = map[string]bool{
	"accesskeyid": true, "awsaccesskeyid": true, "authkey": true, "bearer": true, "codeverifier": true, "cookie": true, "credentials": true,
	"cookies": true, "googleaccessid": true, "otp": true, "passcode": true, "pwd": true, "session": true,
	"setcookie": true, "sig": true,
}

// cursorWords tell a token that continues a list from one that opens a door.
var cursorWords = []string{"page", "next", "previous", "sync", "continu", "cursor", "skip", "pagina", "start", "resum", "delta", "position", "offset"}

// secretName reports whether the value of a field, a parameter or a header of
// that name is a secret, however it is spelt: access_token, accessToken,
// X-Access-Token. Every token is one that does not continue a list, as
// nextPageToken and sync_token do: those a replay must find as they were.
func secretName(name []byte) bool {
	if len(name) < 3 || len(name) > 64 {
		return false
	}
	folded := make([]byte, 0, len(name))
	for _, c := range name {
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c == '-' || c == '_' || c == ' ' || c == '.' || c == '$':
			continue
		}
		folded = append(folded, c)
	}
	text := string(folded)
	if secretNames[text] {
		return true
	}
	for _, end := range secretEndings {
		if strings.HasSuffix(text, end) {
			return true
		}
	}
	rest, ok := strings.CutSuffix(text, "token")
	if !ok {
		return false
	}
	if rest == "prev" || rest == "change" || rest == "changes" {
		return false
	}
	for _, word := range cursorWords {
		if strings.Contains(rest, word) {
			return false
		}
	}
	return true
}

func nameByte(c byte) bool { return wordByte(c) || c == '-' || c == '$' }

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// named finds the values of secret names in a text: name=value, as in queries
// and forms; in a loose text, which is not known to be anything, also
// name: value, "name": "value" and <name>value</name>.
func named(text []byte, loose bool) (found []span) {
	past := 0 // the end of the last value
	for i, c := range text {
		if i < past || c != '=' && (!loose || c != ':' && c != '>') {
			continue
		}
		end := i
		for c != '>' && end > 0 && (bytes.IndexByte([]byte(`"'\]`), text[end-1]) >= 0 || loose && text[end-1] == ' ') {
			end--
		}
		begin := end
		for begin > 0 && nameByte(text[begin-1]) && end-begin <= 64 {
			begin--
		}
		if !secretName(text[begin:end]) || c == '>' && (begin == 0 || text[begin-1] != '<' && text[begin-1] != ':') {
			continue
		}
		if from, to := valueAt(text, i+1, c, loose); to > from {
			switch is := string(text[from:to]); is {
			case "null", "true", "false", "{", "[":
			default:
				found, past = append(found, span{from: from, to: to, secret: is}), to
			}
		}
	}
	return found
}

// valueAt returns where the value lies that follows a name and its separator.
func valueAt(text []byte, i int, separator byte, loose bool) (from, to int) {
	if separator == '>' {
		if n := bytes.IndexByte(text[i:], '<'); n >= 0 {
			return i, i + n
		}
		return i, len(text)
	}
	for loose && i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	if i < len(text) && (text[i] == '"' || text[i] == '\'') {
		quote := text[i]
		for to = i + 1; to < len(text) && text[to] != quote; to++ {
			if text[to] == '\\' && to+1 < len(text) {
				to++
			}
		}
		return i + 1, to
	}
	ends := "& \t\r\n\"'<>#"
	if separator == ':' {
		ends = "&\r\n\"'<>,}"
	}
	if loose {
		ends += "\\"
	}
	if n := bytes.IndexAny(text[i:], ends); n >= 0 {
		return i, i + n
	}
	return i, len(text)
}
