import { OncueError } from './errors.ts'
import { quote } from './text.ts'

const SHOWN = 20

/** `why` follows the topic; `known` are those that would do. */
export function unknownTopic(
  topic: unknown,
  why: string,
  known: readonly string[],
  hint?: string,
): OncueError {
  const there = known.length === 0 ? 'there are none' : `there are ${listed(known)}`
  return new OncueError('UNKNOWN_TOPIC', `${quote(topic)} ${why}: ${there}`, { hint })
}

/** Topics for people, not thousands of them. */
export function listed(topics: readonly string[]): string {
  const shown = topics.slice(0, SHOWN).join(', ')
  return topics.length > SHOWN ? `${shown} and ${topics.length - SHOWN} more` : shown
}
