import { useLock } from '../../lib/api.tsx'
import { useSignedIn } from '../../lib/session.ts'
import type { Question } from './queries.ts'

/** Why this token may not answer a question; null: it may. The server checks it again. */
export function useAnswerLock({ role, topic, queue }: Question): string | null {
  const lock = useLock(role === 'admin' ? 'admin' : 'act')
  const { me } = useSignedIn()
  if (lock !== null || !me) return lock
  if (!allows(me.allowedTopics, topic)) return `Your token does not cover the topic ${topic}.`
  if (!allows(me.allowedQueues, queue)) return `Your token does not cover the queue ${queue}.`
  return null
}

/** As the API reads them: a name, or the beginning of names. */
function allows(patterns: readonly string[] | null, name: string): boolean {
  if (patterns === null) return true
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name,
  )
}
