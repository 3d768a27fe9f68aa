package stripe

import "net/url"

// A kind is one of the kinds of objects that change.
type kind struct {
	name   string     // of the stream, and of the list: /v1/charges
	object string     // what its objects have under "object"
	query  url.Values // without which its list is not all
	types  []string   // of the events that tell of a change
}

// kinds returns the kinds.
//
// A list of subscriptions leaves out those that have ended unless it is asked
// for all; "all" has them "including those which are canceled"
// (https://docs.stripe.com/api/subscriptions/list).
//
// The types are named one by one, of which Stripe takes "up to 20"
// (https://docs.stripe.com/api/events/list); it also takes one name with a *,
// but not a name beside it, and half of what changes a charge is not called
// charge.*. What each event holds is told in
// https://docs.stripe.com/api/events/types. invoice.upcoming is of an invoice
// that does not exist yet.
func kinds() []kind {
	return []kind{
		{
			name: "charges", object: "charge",
			types: []string{
				"charge.captured", "charge.expired", "charge.failed", "charge.pending", "charge.refunded", "charge.succeeded", "charge.updated",
				"charge.dispute.closed", "charge.dispute.created", "charge.dispute.funds_reinstated", "charge.dispute.funds_withdrawn", "charge.dispute.updated",
				"charge.refund.updated", "refund.created", "refund.failed", "refund.updated",
				"review.closed", "review.opened",
			},
		},
		{
			name: "customers", object: "customer",
			types: []string{
				"customer.created", "customer.deleted", "customer.updated",
				"customer.discount.created", "customer.discount.deleted", "customer.discount.updated",
				"customer.source.created", "customer.source.deleted", "customer.source.expiring", "customer.source.updated",
				"customer.tax_id.created", "customer.tax_id.deleted", "customer.tax_id.updated",
			},
		},
		{
			name: "invoices", object: "invoice",
			types: []string{
				"invoice.created", "invoice.deleted", "invoice.finalization_failed", "invoice.finalized", "invoice.marked_uncollectible",
				"invoice.overdue", "invoice.overpaid", "invoice.paid", "invoice.payment_action_required", "invoice.payment_attempt_required",
				"invoice.payment_failed", "invoice.payment_succeeded", "invoice.sent", "invoice.updated", "invoice.voided", "invoice.will_be_due",
				"invoice_payment.paid", "credit_note.created", "credit_note.updated", "credit_note.voided",
			},
		},
		{
			name: "subscriptions", object: "subscription", query: url.Values{"status": {"all"}},
			types: []string{
				"customer.subscription.created", "customer.subscription.deleted", "customer.subscription.paused",
				"customer.subscription.pending_update_applied", "customer.subscription.pending_update_expired",
				"customer.subscription.resumed", "customer.subscription.trial_will_end", "customer.subscription.updated",
				"customer.discount.created", "customer.discount.deleted", "customer.discount.updated",
				"subscription_schedule.aborted", "subscription_schedule.canceled", "subscription_schedule.completed",
				"subscription_schedule.created", "subscription_schedule.released", "subscription_schedule.updated",
			},
		},
	}
}
