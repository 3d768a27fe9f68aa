package notion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/syncdhq/syncd"
)

// version is that of the API whose rules are in this package. It is the first
// in which the trash is told by in_trash alone
// (https://developers.notion.com/guides/get-started/upgrade-guide-2026-03-11).
const version = "2026-03-11"

// pageSize is the most that Notion gives
// (https://developers.notion.com/reference/intro#pagination).
const pageSize = 100

// An api is what a token may read.
type api struct{ client *syncd.Client }

// An answer is one page of a list.
type answer struct {
	body []byte
	next string // the cursor of the next page; "" at the end
	cut  bool   // at the end: Notion has more and does not list it
}

// ask asks for a page of a list, with a body (POST) or a query (GET).
// https://developers.notion.com/reference/intro#pagination
func (a *api) ask(ctx context.Context, ref string, query url.Values, body any) (answer, error) {
	got, err := a.page(ctx, ref, query, body)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", ref, err)
	}
	return got, nil
}

// send makes a request with a body (POST) or a query (GET).
func (a *api) send(ctx context.Context, ref string, query url.Values, body any) (*syncd.Response, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	req, err := a.client.NewRequest(ctx, ref, query, text)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Notion-Version", version)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, explain(err)
	}
	return resp, nil
}

func (a *api) page(ctx context.Context, ref string, query url.Values, body any) (answer, error) {
	resp, err := a.send(ctx, ref, query, body)
	if err != nil {
		return answer{}, err
	}
	var head struct {
		More   *bool   `json:"has_more"`
		Next   *string `json:"next_cursor"`
		Status struct {
			Type string `json:"type"` // complete or incomplete; mostly it is not there
		} `json:"request_status"`
	}
	if err := syncd.DecodeBody(resp.Body, &head); err != nil {
		return answer{}, err
	}
	got := answer{body: resp.Body}
	switch {
	case head.More == nil:
		return answer{}, errors.New("the answer is not as expected: it has no field has_more")
	case !*head.More:
		got.cut = head.Status.Type == "incomplete"
	case head.Next == nil || *head.Next == "":
		return answer{}, errors.New("the answer says that there is more, and gives no cursor")
	default:
		got.next = *head.Next
	}
	return got, nil
}

// explain adds to a refusal what Notion says of it and what to do
// (https://developers.notion.com/reference/status-codes).
func explain(err error) error {
	refused, ok := errors.AsType[*syncd.HTTPError](err)
	if !ok {
		return err
	}
	var told struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	// What is no JSON, a proxy's page, says nothing more.
	if json.Unmarshal(refused.Body, &told) == nil && told.Code != "" {
		err = fmt.Errorf("%w: %s: %s", err, told.Code, told.Message)
	}
	hint := ""
	switch refused.Status {
	case 401:
		hint = "set the connection's token, ntn_..., under credentials"
	case 403:
		hint = "give the connection the capability to read this, or leave the stream out of the option streams; the list of users needs user information, and is closed to personal access tokens"
	case 404:
		hint = "it is gone, or it is not shared with the connection: add the connection to the database in Notion"
	default:
		return err
	}
	return fmt.Errorf("%w (%s)", err, hint)
}

// An object is what pages, data sources and users have in common, as far as
// they have it. Without the capability to read content, Notion tells a page's
// id alone.
type object struct {
	ID     syncd.ID        `json:"id"`
	Edited syncd.Timestamp `json:"last_edited_time"`
	Trash  bool            `json:"in_trash"`
}

func (o object) record() syncd.Record {
	return syncd.Record{ID: string(o.ID), Mark: o.Edited.Mark(), Deleted: o.Trash}
}

// users is the Fetch of the stream users. Guests are not listed.
// https://developers.notion.com/reference/get-users
func (a *api) users(ctx context.Context, req syncd.Request) (syncd.Page, error) {
	query := url.Values{"page_size": {fmt.Sprint(pageSize)}}
	if req.Page != "" {
		query.Set("start_cursor", req.Page)
	}
	got, err := a.ask(ctx, "users", query, nil)
	if err == nil && got.cut {
		err = errCut("users")
	}
	if err != nil {
		return syncd.Page{}, err
	}
	records, err := syncd.Decode(got.body, "results", object.record)
	if err != nil {
		return syncd.Page{}, fmt.Errorf("users: %w", err)
	}
	return syncd.Page{Records: records, Next: got.next}, nil
}

// errCut is the error for a list that ends before it is whole: at 10,000
// elements (https://developers.notion.com/guides/data-apis/query-large-data-sources).
func errCut(list string) error {
	return fmt.Errorf("%s: Notion has more and does not list it (request_status incomplete)", list)
}
