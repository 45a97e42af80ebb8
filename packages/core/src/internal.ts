// What our own packages share and users do not write. It may change with any release.

export { type Registry, type TopicDescription, toJsonSchema, toRegistry } from './define/registry.ts'
export { asSignal, type Signal, signalOf } from './define/signals.ts'
export { readWorkers } from './define/workers.ts'
export { systemClock } from './job/clock.ts'
export { describeError } from './job/failure.ts'
export { type FlowEdge, refuseKeys, refuseKeysOfNodes, toBatch, toFlow } from './job/flow.ts'
export { createJobIds, type NewJobId } from './job/id.ts'
export { toInputError } from './job/input-error.ts'
export { encodeJson } from './job/json.ts'
export { hasDroppedKey } from './job/meta.ts'
export {
  assertOtherQueue,
  assertOtherTopic,
  assertQueue,
  assertTopic,
  INTERNAL_QUEUE,
  INTERNAL_TOPIC_PREFIX,
  queueSchema,
  topicSchema,
  unknownTopic,
} from './job/names.ts'
export { checkRequest, makeJob, prepareOwnJob, readPolicy, type TopicPolicy } from './job/prepare.ts'
export { ASK_ROLES, type AskRole, assertQuestion } from './job/question.ts'
export {
  crashVerdict,
  decideRetry,
  isRetriedKind,
  retriesOfUndoing,
  retryOptionsSchema,
} from './job/retry.ts'
export { acceptsAnything } from './job/schema.ts'
export { checkSignal, encodeAnswer, encodeSignal, signalSchema } from './job/signal.ts'
export { canAct, canTransition, TRANSITIONS } from './job/states.ts'
export { assertText, cleanText, formatPath, quote, truncateUtf8, utf8Length } from './job/text.ts'
export {
  encodeProgress,
  parseAnswer,
  parsePayload,
  parseProgress,
  parseResult,
  parseSignal,
} from './job/validate.ts'
