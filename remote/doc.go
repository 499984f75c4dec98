// Package remote carries the windows of a run to judges on other machines, and their verdicts back, over
// NATS JetStream. It judges nothing, and knows neither histories nor levels: what a judge has to do, what it
// has to know of earlier windows, and its verdict are JSON of the caller's.
//
// Three stores of the server hold everything. All runs share them:
//
//   - the object store "isohound": the files of windows, RUN/000001, and verdicts that are too long for a message
//   - the stream "isohound-windows": a work queue with a message for each window that is not judged
//   - the key-value bucket "isohound": RUN.verdict.000001, and RUN.state.000001, what has to be known of a
//     window when the next one is judged
//
// A judge takes a message, fetches the window, and says that it is at work until the verdict is in the bucket.
// Only then it acknowledges the message. If it dies, the server gives the message to another judge after the
// acknowledgement wait. So each window is judged at least once. The run counts its verdict once, by its number.
//
// The run never depends on the server for its result. Each window is on the run's own disk. What cannot be
// published, and what no judge judges, the run judges itself. These are the invariants that show it what
// is lost: an unjudged window has its message in the queue or its verdict in the bucket; and a live judge
// is heard of every few seconds.
package remote
