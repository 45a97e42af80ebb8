// What our own packages share and users do not write. It may change with any release.
export { readWorkers } from './define-workers.ts'
export { describeError } from './failure.ts'
export { toInputError } from './input-error.ts'
export { encodeJson } from './json.ts'
export { escapeLogLine } from './log-line.ts'
export { assertQueue, assertTopic, queueSchema, topicSchema } from './names.ts'
export { formatPath } from './path.ts'
export { type Registry, type TopicDescription, toRegistry } from './registry.ts'
export { crashVerdict, decideRetry, retryOptionsSchema } from './retry.ts'
export { isRetriedKind } from './retry-on.ts'
export { asSignal, type Signal, signalOf } from './signals.ts'
export { canTransition, TRANSITIONS } from './states.ts'
export { assertText, cleanText, truncateUtf8, utf8Length } from './text.ts'
export { unknownTopic } from './unknown-topic.ts'
export { parsePayload, parseResult } from './validate.ts'

/** The queue of Oncue's own jobs, which the API runs. Health and alerts leave it out: users do not wait for it. */
export const INTERNAL_QUEUE = 'oncue'

/** Topics that begin like this are Oncue's own: other callers may not enqueue them over the API. */
export const INTERNAL_TOPIC_PREFIX = 'oncue:'
