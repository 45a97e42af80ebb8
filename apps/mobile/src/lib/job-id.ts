/** A UUID of version 7: it begins with the milliseconds at which it was made. */
const TIMED = /\b([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b/

interface JobMade {
  readonly id: string
  readonly at: Date
}

/** The job that a sentence is about, and when it was enqueued; null where none is named, or its id tells no time. */
export function jobNamedIn(text: string): JobMade | null {
  const [id, high = '', low = ''] = TIMED.exec(text) ?? []
  return id === undefined ? null : { id, at: new Date(Number.parseInt(high + low, 16)) }
}
