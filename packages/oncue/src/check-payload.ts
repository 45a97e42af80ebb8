import type { Store } from '@oncue/db'

/** Refuses a payload that does not fit the schema that workers announced for its topic, as the API does. */
export async function checkPayload(
  store: Store,
  note: (text: string) => void,
  topic: string,
  payload: unknown,
): Promise<void> {
  const { createPayloadValidation } = await import('@oncue/api/payload-validation')
  const validation = createPayloadValidation({
    store,
    log: { warn: (_, message) => note(`note: ${message}`) },
  })
  await validation.check(topic, payload, 'reject')
}
