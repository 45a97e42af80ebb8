import type { Question } from '@oncue/core/wire'
import type { Store } from '@oncue/db'

/** Refuses a payload that does not fit the schema that workers announced for its topic, as the API does. */
export async function checkPayload(
  store: Store,
  note: (text: string) => void,
  topic: string,
  payload: unknown,
): Promise<void> {
  const validation = await validationOf(store, note)
  await validation.check(topic, payload, 'reject')
}

/** The same for many payloads. */
export async function payloadChecker(
  store: Store,
  note: (text: string) => void,
): Promise<(topic: string, payload: unknown) => void> {
  const validation = await validationOf(store, note)
  return validation.checker('reject')
}

/** Refuses a signal that workers did not announce for its topic, or whose data does not fit, as the API does. */
export async function checkSignal(
  store: Store,
  note: (text: string) => void,
  topic: string,
  name: string,
  data: unknown,
): Promise<void> {
  const validation = await validationOf(store, note)
  await validation.checkSignal(topic, name, data)
}

/** Refuses an answer that does not fit the schema of its question, as the API does. */
export async function checkAnswer(
  store: Store,
  note: (text: string) => void,
  question: Question,
  value: unknown,
): Promise<void> {
  const validation = await validationOf(store, note)
  validation.checkAnswer(question, value)
}

async function validationOf(store: Store, note: (text: string) => void) {
  const { createPayloadValidation } = await import('@oncue/api/payload-validation')
  return createPayloadValidation({ store, log: { warn: (_, message) => note(`note: ${message}`) } })
}
