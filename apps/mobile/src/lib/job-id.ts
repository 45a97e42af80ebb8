/** A UUID v7: it begins with the millisecond of its creation. */
const TIMED = /\b([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b/

interface JobMade {
  readonly id: string
  readonly at: Date
}

/** The job that a sentence names, and when it was enqueued. Null: it names none, or its id contains no time. */
export function jobNamedIn(text: string): JobMade | null {
  const [id, high = '', low = ''] = TIMED.exec(text) ?? []
  return id === undefined ? null : { id, at: new Date(Number.parseInt(high + low, 16)) }
}
