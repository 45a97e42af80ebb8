// What our own packages share and users do not write. It may change with any release.
export { readWorkers } from './define-workers.ts'
export { describeError } from './failure.ts'
export { toInputError } from './input-error.ts'
export { encodeJson } from './json.ts'
export { assertQueue, assertTopic, queueSchema, topicSchema, unknownTopic } from './names.ts'
export { type Registry, type TopicDescription, toRegistry } from './registry.ts'
export { crashVerdict, decideRetry, isRetriedKind, retryOptionsSchema } from './retry.ts'
export { asSignal, type Signal, signalOf } from './signals.ts'
export { canTransition, TRANSITIONS } from './states.ts'
export { assertText, cleanText, escapeLogLine, formatPath, truncateUtf8, utf8Length } from './text.ts'
export { parsePayload, parseResult } from './validate.ts'

/** The queue of Oncue's own jobs, which the API runs. Health and alerts leave it out: users do not wait for it. */
export const INTERNAL_QUEUE = 'oncue'

/** Topics that begin like this are Oncue's own: other callers may not enqueue them over the API. */
export const INTERNAL_TOPIC_PREFIX = 'oncue:'
