import type { Topic } from '../topics/queries.ts'

/** The schemas of the signals that workers announced for a topic, by name. Null: they did not announce the topic. */
export function signalsOf(
  topic: Pick<Topic, 'policy'> | undefined,
): Readonly<Record<string, unknown>> | null {
  if (!topic) return null
  const { signals } = (topic.policy ?? {}) as { readonly signals?: unknown }
  return typeof signals === 'object' && signals !== null ? { ...signals } : {}
}
