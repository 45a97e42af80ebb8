import { z } from 'zod'
import { type ClockAndChance, systemClock } from './clock.ts'

/** A UUID v7 in lower case. */
export type JobId = string

/*
 * RFC 9562, method 1: a 26-bit counter follows the 48-bit millisecond (12 bits in rand_a, 14 at the top of
 * rand_b), then 48 random bits. Ids of one process therefore ascend strictly: within a millisecond, and
 * when the clock steps back, because then the last millisecond is kept and the counter goes on. It starts
 * anywhere in its range; when it runs out, the id's time moves on by a millisecond, ahead of the clock.
 */
const COUNTER_LIMIT = 2 ** 26
const TIME_LIMIT = 2 ** 48

/** Fetching random bytes costs more than making an id, so they are fetched for many ids at once. */
const POOL_SIZE = 6 * 512

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const hex = (byte: number) => HEX[byte] as string

/** Makes ids of a given time, or of its own clock; each is greater than all before. */
export type NewJobId = (now?: number) => JobId

/** A sequence of ids from a clock and random bytes. With simulated ones it always makes the same ids. */
export function createJobIds({ now: clock, bytes }: Pick<ClockAndChance, 'now' | 'bytes'>): NewJobId {
  let pool: Uint8Array = new Uint8Array(0)
  let poolAt = 0
  let time = 0
  let counter = 0
  /** `time` as it appears in the id, cached while `time` stays the same. */
  let timeText = '00000000-0000-'

  function randomByte(): number {
    if (poolAt === pool.length) {
      pool = bytes(POOL_SIZE)
      poolAt = 0
    }
    return pool[poolAt++] as number
  }

  function moveTo(newTime: number): void {
    time = newTime
    const digits = time.toString(16).padStart(12, '0')
    timeText = `${digits.slice(0, 8)}-${digits.slice(8)}-`
    counter = ((randomByte() & 3) << 24) | (randomByte() << 16) | (randomByte() << 8) | randomByte()
  }

  return (now = clock()) => {
    const millisecond = Math.trunc(now)
    if (millisecond > time && millisecond < TIME_LIMIT) moveTo(millisecond)
    else if (++counter === COUNTER_LIMIT) moveTo(time + 1)

    const version7 = hex(0x70 | (counter >>> 22)) + hex((counter >>> 14) & 0xff)
    const variant2 = hex(0x80 | ((counter >>> 8) & 0x3f)) + hex(counter & 0xff)
    const random =
      hex(randomByte()) +
      hex(randomByte()) +
      hex(randomByte()) +
      hex(randomByte()) +
      hex(randomByte()) +
      hex(randomByte())
    return `${timeText}${version7}-${variant2}-${random}`
  }
}

/** A new id, greater than every id this process made before. */
export const newJobId: NewJobId = createJobIds(systemClock)

const JOB_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Whether a text has the form of an id. */
export function isJobId(text: unknown): text is JobId {
  return typeof text === 'string' && JOB_ID.test(text)
}

/** The form of an id, as a schema of zod. */
export const jobIdSchema = z.string().regex(JOB_ID).describe('a job id: a UUID v7 in lower case')
