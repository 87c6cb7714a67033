package effect

// ListSQL is how a list reads its receipts.
const ListSQL = `SELECT ` + receiptColumns + ` FROM receipts r ORDER BY r.seq DESC`
